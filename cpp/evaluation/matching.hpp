// Greedy matching of predictions with ground truth by confidence, at every IoU threshold at once, one bit per
// threshold.
//
// A prediction's candidates are the ground-truth objects of its image and class whose IoU may reach a threshold. One
// pass over them settles all thresholds: a set of thresholds is a word of sixteen bits, and so is the set at which an
// object is matched already. IoUs come in, matches go out; nothing here knows of boxes or masks.
#pragma once

#include <cstdint>
#include <span>

#include "columns/cells.hpp"
#include "evaluation/rules.hpp"
#include "similarity/candidates.hpp"

namespace verite {

// A set of IoU thresholds, one bit each. More than sixteen are matched in blocks of sixteen.
using ThresholdSet = std::uint16_t;
constexpr std::size_t most_thresholds = 16;

// What matching must know of ground-truth objects and predictions, by index in their cells.
struct MatchFlags {
    std::span<const AreaRangeSet> ignored;           // of each object: the area ranges in which it is ignored
    std::span<const std::uint8_t> multi_match;       // objects that any number of predictions may match (crowds)
    std::span<const std::uint8_t> keeps_truth_free;  // predictions whose match leaves the object free; may be empty
    std::span<const double> min_iou;  // the IoU that each object requires besides the threshold; may be empty
};

// Matches the predictions of every image in the order of `pred`, which is by descending confidence within a class.
//
// At each threshold and in each area range by itself, a prediction is matched with one of its candidates as
// rules.match says (see Match); of equal IoUs as rules.equal says. `thresholds` are at most sixteen, and bit t of
// matched[c * ranges + range] is set where candidate c is matched at the t-th of them. `matched` has one word per
// candidate and area range and is overwritten.
//
// Throws std::invalid_argument where columns differ in length, there are more than sixteen thresholds or 24 area
// ranges, or a candidate is of another image.
void match_greedily(const Cells& truth, const Cells& pred, const CandidateView& candidates, const MatchFlags& flags,
                    const Rules& rules, std::span<const double> thresholds, unsigned threads,
                    std::span<ThresholdSet> matched);

// For the object at each index, the area ranges that do not contain its area; all of them where it is `left_out`.
//
// `rows` is the object at each index; `areas` (square pixels) and `left_out` are by object and may be empty. An area
// that is NaN or not given is in every range. Throws std::invalid_argument for more than 24 ranges.
void outside_ranges(std::span<const std::int32_t> rows, std::span<const double> areas,
                    std::span<const std::uint8_t> left_out, std::span<const AreaRange> ranges, unsigned threads,
                    std::span<AreaRangeSet> out);

}  // namespace verite
