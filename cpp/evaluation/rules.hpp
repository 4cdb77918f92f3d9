// What an evaluation is told: plain values, checked where they are said.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "columns/cells.hpp"

namespace verite {

// Which ground-truth object may a prediction match: the one of highest IoU among those still free, ignored ones after
// all others (COCO); only the one of highest IoU, matched already or not (Pascal VOC); or the one of highest IoU among
// those still free, where ignored ones are ranked like others and stay free?
enum class Wants : std::uint8_t { free, best, nearest };

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
    bool is_strict = false;       // an overlap must exceed its threshold
    bool class_agnostic = false;  // all classes are one
    bool orders_by_class =
        true;  // then equal confidences and equal overlaps of an image come class by class, else as given

    std::size_t range_count() const { return ranges.size() / 2; }
    std::int64_t most() const { return limits.back(); }
};

// Throws std::invalid_argument where a list is empty, too long or in the wrong order.
void check(const Rules& rules);

}  // namespace verite
