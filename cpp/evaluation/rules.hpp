// The rules of an evaluation protocol: IoU thresholds, area ranges, maxDets, recall levels and how predictions are
// matched with ground truth. COCO, Pascal VOC, LVIS and the others are values of one record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "columns/cells.hpp"

namespace verite {

// Which ground-truth object a prediction is matched with.
enum class Match : std::uint8_t {
    greedy,   // COCO: the unmatched object of highest IoU; ignored objects come after all others
    argmax,   // Pascal VOC: the object of highest IoU or none, even where it is matched already; ignored ones stay free
    nearest,  // the unmatched object of highest IoU, where ignored ones rank like others and stay free
    // One-to-one without confidences, whatever the order of predictions:
    optimal,      // most matches, then the largest sum of IoUs
    falling_iou,  // pairs by descending IoU
};

constexpr bool is_one_to_one(Match match) { return match == Match::optimal || match == Match::falling_iou; }

// Which of two ground-truth objects of equal IoU is matched: the later one (pycocotools) or the first.
enum class EqualIoU : std::uint8_t { later, first };

// A set of area ranges, one bit each.
using AreaRangeSet = std::uint32_t;
constexpr std::size_t most_ranges = 24;
constexpr std::size_t most_max_dets = 127;

// Areas in square pixels, both ends included.
struct AreaRange {
    double low, high;

    bool operator==(const AreaRange&) const = default;
};

struct Rules {
    std::vector<double> thresholds;  // of IoU (or OKS)
    std::vector<AreaRange> area_ranges;
    std::vector<std::int64_t> max_dets;  // predictions of an image and class that count, ascending
    std::vector<double> recalls;         // ascending levels at which precision is read
    Match match = Match::greedy;
    EqualIoU equal = EqualIoU::later;
    TieOrder ties = TieOrder::image;
    bool is_strict = false;       // an IoU must exceed its threshold; else reaching it is enough
    bool class_agnostic = false;  // all classes are one
    // Equal confidences and equal IoUs of an image are ordered class by class, as in pycocotools; else by row.
    bool orders_by_class = true;

    std::size_t range_count() const { return area_ranges.size(); }
    std::int64_t largest_max_dets() const { return max_dets.back(); }
};

// Throws std::invalid_argument where a list is empty, too long or in the wrong order.
void check(const Rules& rules);

}  // namespace verite
