// One-to-one matching without confidences: optimal assignment or greedy by descending IoU, at every IoU threshold.
//
// Neither depends on the order of predictions or ground-truth objects: the number of matches and the sum of their IoUs
// are the same for any order. Predictions that match nothing and overlap an ignored object are ignored.
#pragma once

#include <cstdint>
#include <span>

#include "evaluation/matching.hpp"

namespace verite {

// IoUs are compared and added as multiples of 2^-40, so that sums are exact in any order.
constexpr double iou_unit = 0x1p-40;
std::int64_t whole_iou(double iou);

// As match_greedily, for rules.match optimal (most matches with IoU >= threshold, then the largest sum of IoUs) and
// falling_iou (pairs by descending IoU; among equal IoUs as many as possible, so that no order decides: a rank-maximal
// matching, Irving et al., ACM Transactions on Algorithms 2006).
void match_one_to_one(const Cells& truth, const Cells& pred, const CandidateView& candidates, const MatchFlags& flags,
                      const Rules& rules, std::span<const double> thresholds, unsigned threads,
                      std::span<ThresholdSet> matched);

}  // namespace verite
