// Which prediction takes which truth? Overlaps in, matches out; nothing here knows of boxes or masks.
#pragma once

#include <cstdint>
#include <span>

#include "columns/cells.hpp"
#include "similarity/overlaps.hpp"

namespace verite {

// Sets of thresholds, one bit each, come in two sizes: sixteen are enough for most, and a quarter of the memory.
template <class Bits>
constexpr std::size_t most_thresholds = 8 * sizeof(Bits);
// A set of area ranges, one bit each.
using Ranges = std::uint32_t;
constexpr std::size_t most_ranges = 24;

// What matching must know of truths and predictions, slot by slot.
struct Rules {
    std::span<const double> thresholds;
    std::size_t ranges = 1;
    std::span<const Ranges> ignored;         // the ranges in which each truth neither rewards nor punishes
    std::span<const std::uint8_t> shared;    // truths that any number of predictions may take (crowds)
    std::span<const std::uint8_t> grasping;  // predictions that take a truth and yet leave it free; may be empty
};

// COCO's greedy rule. By falling confidence, a prediction takes the truth it overlaps most among those still free (of
// equal overlaps the later one), at each threshold and in each range for itself; truths that are ignored come after
// all others. Bit t of matched[c * ranges + range] says that candidate pair c was matched at threshold t.
template <class Bits>
void match_greedily(const Cells& truth, const Cells& pred, const CandidateView& candidates, const Rules& rules,
                    unsigned threads, std::span<Bits> matched);

// The ranges [low, high] that do not contain the area of the object in each slot, all of them where it is `left_out`
// (one entry an object; may be empty). An area that is not a number is in every range.
void outside_ranges(std::span<const std::int32_t> rows, std::span<const double> areas,
                    std::span<const std::uint8_t> left_out, std::span<const double> ranges, unsigned threads,
                    std::span<Ranges> out);

}  // namespace verite
