// Scores under drawn truths: which records are wrong, in which way, and what that adds to every score.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace verite {

// What an item does if its record is wrong depends on its kind alone.
struct ItemRecords {
    std::span<const std::int32_t> kind;  // of every item
    std::span<const double> ways;        // kinds x ways: cumulative probabilities
    std::span<const double> change;      // kinds x ways x scores
    std::size_t way_count = 1, score_count = 1;
};

// Draw number d depends on the seed and on first + d alone, however the draws are divided among calls.
struct Draws {
    std::uint64_t seed = 0, first = 0;
    std::size_t count = 0;
};

// Every record is wrong with probability rate times its share (one an item, or none at all for 1 throughout),
// independently. Adds to `scores` (draws x scores).
void add_independent(const ItemRecords& records, double rate, std::span<const double> share, const Draws& draws,
                     std::span<double> scores);

// In every draw so many records of each group are wrong (draws x groups), every choice of them as likely as any other.
// Items stand sorted by group; `offsets` says where each begins, and the end of the last.
void add_chosen(const ItemRecords& records, std::span<const std::int64_t> offsets, std::span<const std::int32_t> wrong,
                const Draws& draws, std::span<double> scores);

}  // namespace verite
