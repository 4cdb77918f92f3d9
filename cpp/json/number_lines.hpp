// Lines of numbers with a separator between them, as in MOTChallenge's text files: a matrix of float64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace verite {

// The lines that hold nothing but numbers in JSON's spelling, blanks around them allowed. Blank lines are in neither
// list. Lines end at LF, CRLF or CR and are counted from 1.
struct NumberLines {
    std::vector<double> values;       // a row of `columns` numbers for each line; not a number behind its last one
    std::vector<std::int64_t> line;   // the number of each row's line
    std::vector<std::int32_t> count;  // how many numbers each line has
    std::vector<std::int64_t> other;  // numbers of the lines that are anything else, or longer than `columns`
};

// Reads a text that `padding` bytes of any content precede and follow, so that numbers may be loaded as words.
inline constexpr std::size_t number_padding = 64;
NumberLines read_number_lines(const std::string& padded, char separator, std::size_t columns);

}  // namespace verite
