// Scores under drawn truths: which records are wrong, in which way, and what that adds to every score.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace verite {

// Items stand sorted by group. What an item does if its record is wrong depends on its kind alone.
struct Records {
    std::span<const std::int32_t> kind;     // of every item
    std::span<const std::int64_t> offsets;  // where each group's items begin, and the end of the last
    std::span<const double> share;          // per item: its rate over its group's, or empty for 1 throughout
    std::span<const double> ways;           // kinds x ways: cumulative probabilities
    std::span<const double> change;         // kinds x ways x scores
    std::size_t way_count = 1, score_count = 1;
};

// For every draw and group each record is wrong with the group's rate in that draw (draws x groups).
// Adds to `scores` (draws x score_count). Draw number d depends on the seed and first_draw + d alone.
void add_independent(const Records& records, std::span<const double> rates, std::uint64_t seed,
                     std::uint64_t first_draw, std::span<double> scores);

// For every draw exactly this many records are wrong, every choice of them as likely as any other.
void add_chosen(const Records& records, std::span<const std::int64_t> counts, std::uint64_t seed,
                std::uint64_t first_draw, std::span<double> scores);

}  // namespace verite
