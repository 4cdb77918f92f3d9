// What can be wrong with a JSON file, and where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace verite::json {

enum class Fault : std::uint8_t {
    empty,         // no document at all
    truncated,     // the file ends inside the document
    syntax,        // not JSON
    encoding,      // not UTF-8, or half of a surrogate pair
    depth,         // nested too deeply
    number,        // a number that its field cannot hold
    type,          // a value of another kind than its field wants
    missing_key,   // a needed key is absent or null
    repeated_key,  // a key twice in one object
    mixed_ids,     // numbers and text in one column of ids
    limit,         // larger than we agree to read
    run_sum,       // runs that do not fill their image
    ring_points,   // a polygon ring with too few or an odd number of coordinates
};

std::string_view name_of(Fault fault);

// A fault as the scanner meets it, before anyone knows which record it belongs to.
struct Defect {
    Fault fault;
    std::size_t byte;
    std::string message;
};

// Which record it belongs to.
struct Location {
    std::string section;       // "images", "categories", "annotations", "results", or "" between them
    std::int64_t record = -1;  // counted from 0; -1 outside of records
    std::string_view field;    // "" outside of known fields
};

// A fault as the user reads it: `annotations[17].bbox: expected 4 numbers, found 3 (byte 1234, line 1)`.
class ParseError : public std::invalid_argument {
  public:
    ParseError(const Defect& defect, Location where, std::span<const char> text);

    Fault fault() const { return fault_; }
    std::size_t byte() const { return byte_; }  // counted from 0
    std::size_t line() const { return line_; }  // counted from 1
    const std::string& section() const { return where_.section; }
    std::int64_t record() const { return where_.record; }

  private:
    Fault fault_;
    std::size_t byte_, line_;
    Location where_;
};

}  // namespace verite::json
