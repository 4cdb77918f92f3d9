// What became of every prediction: all that accumulation needs of an evaluation, and nothing else.
//
// Whoever has flags can walk them: a whole evaluation, one with weights or with a changed truth, merged parts, an image
// by itself.
#pragma once

#include <cstdint>
#include <span>

#include "columns/memory.hpp"
#include "evaluation/matching.hpp"

namespace verite {

// The thresholds at which a prediction took a truth to be found, and those at which it took an ignored one.
struct Outcome {
    Thresholds hits, spared;
};

// What a walk needs of a prediction. Walks go by confidence, which is anywhere in memory, so it is kept close together.
struct Brief {
    Brief() = default;
    Brief(Ranges outside, std::uint32_t limit) : flags(outside | limit << most_ranges), outcome(-1) {}

    // The ranges in which it counts for nothing if it takes nothing.
    bool is_outside(std::size_t range) const { return flags >> range & 1; }
    // The lowest limit it is within; as many as there are where it is within none.
    std::uint32_t limit() const { return flags >> most_ranges; }

    std::uint32_t flags;
    std::int32_t outcome;  // where the outcomes of its ranges are; -1 for those that took nothing
};

// Of up to sixteen thresholds.
struct Flags {
    std::size_t thresholds = 0, ranges = 0;
    Array<Brief> briefs;       // by slot
    Column<Outcome> outcomes;  // of all ranges, one prediction after the other

    std::size_t took() const { return ranges ? outcomes.rows() / ranges : 0; }
};

// The lowest limit that a prediction of this rank within its group is within.
std::uint32_t limit_of(std::int64_t rank, std::span<const std::int64_t> limits);

// What flags are made of, by slot.
struct Matched {
    std::span<const std::int32_t> ranks;  // of predictions within their groups
    std::span<const Ranges> outside;      // the ranges in which a prediction that takes nothing counts for nothing
    CandidateView candidates;
    std::span<const Thresholds> matched;    // [candidate][range]
    std::span<const Ranges> ignored;        // the ranges in which a truth neither rewards nor punishes
    std::span<const std::uint8_t> is_void;  // truths that count as no match though they were taken; may be empty
};

Flags make_flags(const Matched& given, const Rules& rules, std::size_t thresholds, unsigned threads);

// The outcomes of one prediction in all ranges; false where it took nothing.
bool find_outcomes(const Matched& given, std::size_t slot, std::span<Outcome> outcomes);

}  // namespace verite
