// What an evaluation is told: plain values, checked where they are said.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "columns/cells.hpp"

namespace verite {

// Which truth may a prediction take: the one it overlaps most of those still free, or only the one it overlaps most of
// all, whether it is taken or not (Pascal VOC)?
enum class Wants : std::uint8_t { free, best };

// Which of two truths that are overlapped equally?
enum class Equal : std::uint8_t { later, first };

// A set of area ranges, one bit each.
using Ranges = std::uint32_t;
constexpr std::size_t most_ranges = 24;
constexpr std::size_t most_limits = 127;

struct Rules {
    std::vector<double> thresholds;    // of overlaps
    std::vector<double> ranges;        // of areas: lowest, highest, lowest, …
    std::vector<std::int64_t> limits;  // numbers of predictions of a group that count, rising
    std::vector<double> recalls;       // rising: where precision is read
    Wants wants = Wants::free;
    Equal equal = Equal::later;
    Ties ties = Ties::image;
    bool is_strict = false;    // an overlap must exceed its threshold
    bool is_together = false;  // all classes are one

    std::size_t range_count() const { return ranges.size() / 2; }
    std::int64_t most() const { return limits.back(); }
};

// Throws std::invalid_argument where a list is empty, too long or in the wrong order.
void check(const Rules& rules);

}  // namespace verite
