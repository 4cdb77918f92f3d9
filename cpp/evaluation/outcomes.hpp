// True positive, false positive or ignored: the outcome of every prediction, all that accumulation needs of an
// evaluation.
//
// A whole evaluation, a weighted one, one with changed ground truth, a merged partial result and a single image are all
// accumulated from these.
#pragma once

#include <cstdint>
#include <span>

#include "columns/memory.hpp"
#include "evaluation/matching.hpp"

namespace verite {

// The thresholds at which a prediction is a true positive, and those at which it matched an ignored object. At all
// others it is a false positive, unless it is outside the area range.
struct Outcome {
    ThresholdSet tp, ignored;
};

// What accumulation reads first of a prediction. Accumulation goes by confidence, which jumps around in memory, so this
// is eight bytes.
struct PredictionFlags {
    PredictionFlags() = default;
    PredictionFlags(AreaRangeSet outside, std::uint32_t limit) : flags(outside | limit << most_ranges), outcome(-1) {}

    // Whether its area is outside this range: then it is ignored unless it is a true positive.
    bool is_outside(std::size_t range) const { return flags >> range & 1; }
    // The index of the smallest maxDets it is within; as many as there are where it is within none.
    std::uint32_t limit() const { return flags >> most_ranges; }

    std::uint32_t flags;
    std::int32_t outcome;  // the position of its outcomes; -1 where it matched nothing
};

// Of all predictions, at up to sixteen thresholds.
struct PredictionOutcomes {
    std::size_t thresholds = 0, ranges = 0;
    Array<PredictionFlags> predictions;  // by index
    Column<Outcome> outcomes;            // [matched prediction][area range]

    std::size_t matched_count() const { return ranges ? outcomes.rows() / ranges : 0; }
};

// The index of the smallest maxDets that contains a prediction of this rank (from 0) within its image and class.
std::uint32_t limit_of(std::int64_t rank, std::span<const std::int64_t> max_dets);

// What outcomes are made of, by index.
struct MatchedCandidates {
    std::span<const std::int32_t> ranks;    // of predictions within their image and class, from 0
    std::span<const AreaRangeSet> outside;  // the ranges in which a prediction is ignored if it matches nothing
    CandidateView candidates;
    std::span<const ThresholdSet> matched;  // [candidate][area range], from match_greedily
    std::span<const AreaRangeSet> ignored;  // the ranges in which a ground-truth object is ignored
    // Objects with the id 0, whose matches pycocotools takes for none; may be empty.
    std::span<const std::uint8_t> has_null_id;
};

// Throws std::invalid_argument where columns differ in length.
PredictionOutcomes make_outcomes(const MatchedCandidates& given, const Rules& rules, std::size_t thresholds,
                                 unsigned threads);

// The outcomes of the prediction at `index`, one per area range; false where it matched nothing.
bool find_outcomes(const MatchedCandidates& given, std::size_t index, std::span<Outcome> outcomes);

}  // namespace verite
