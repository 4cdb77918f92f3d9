// Which prediction takes which truth? Overlaps in, matches out; nothing here knows of boxes or masks.
#pragma once

#include <cstdint>
#include <span>

#include "columns/cells.hpp"
#include "evaluation/rules.hpp"
#include "similarity/overlaps.hpp"

namespace verite {

// A set of thresholds, one bit each. Sixteen are enough for most; more are matched sixteen at a time.
using Thresholds = std::uint16_t;
constexpr std::size_t most_thresholds = 16;

// What matching must know of truths and predictions, slot by slot.
struct MatchFlags {
    std::span<const Ranges> ignored;       // the ranges in which each truth neither rewards nor punishes
    std::span<const std::uint8_t> shared;  // truths that any number of predictions may take (crowds)
    std::span<const std::uint8_t>
        keeps_truth_free;           // predictions that take a truth and yet leave it free; may be empty
    std::span<const double> least;  // the overlap each truth asks for besides the threshold; may be empty
};

// The greedy rule. By falling confidence, a prediction takes the truth it overlaps most among those still free (of
// equal overlaps the later one, or the first), at each threshold and in each range for itself; truths that are ignored
// come after all others. Where only the best is wanted it takes that one or none, and an ignored one stays free; where
// the nearest is wanted, ignored ones are ranked by overlap among the others and stay free. Bit t
// of matched[c * ranges + range] says that candidate pair c was matched at the t-th of these thresholds.
void match_greedily(const Cells& truth, const Cells& pred, const CandidateView& candidates, const MatchFlags& standing,
                    const Rules& rules, std::span<const double> thresholds, unsigned threads,
                    std::span<Thresholds> matched);

// The ranges [low, high] that do not contain the area of the object in each slot, all of them where it is `left_out`
// (one entry an object; may be empty). An area that is not a number or not given is in every range.
void outside_ranges(std::span<const std::int32_t> rows, std::span<const double> areas,
                    std::span<const std::uint8_t> left_out, std::span<const double> ranges, unsigned threads,
                    std::span<Ranges> out);

}  // namespace verite
