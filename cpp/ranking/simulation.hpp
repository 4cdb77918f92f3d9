// Monte Carlo simulation of annotation errors: which records are wrong, in which way, and how that changes every score.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace verite {

// Items (objects or images); the effect of a wrong record depends only on the item's kind.
struct ItemRecords {
    std::span<const std::int32_t> kind;  // of every item
    std::span<const double> ways;        // kinds x ways: cumulative probabilities
    std::span<const double> change;      // kinds x ways x scores
    std::size_t way_count = 1, score_count = 1;
};

// Simulations first .. first + count. Each depends only on the seed and its number, however they are divided among
// calls.
struct Draws {
    std::uint64_t seed = 0, first = 0;
    std::size_t count = 0;
};

// Every record is wrong independently with probability rate times its share (one per item; empty: 1 throughout). Adds
// the changes to `scores` (simulations x scores).
void add_independent(const ItemRecords& records, double rate, std::span<const double> share, const Draws& draws,
                     std::span<double> scores);

// In every simulation, wrong[simulation][group] records of each group are wrong, chosen uniformly. Items are sorted by
// group; group g has the items offsets[g] .. offsets[g + 1].
void add_chosen(const ItemRecords& records, std::span<const std::int64_t> offsets, std::span<const std::int32_t> wrong,
                const Draws& draws, std::span<double> scores);

}  // namespace verite
