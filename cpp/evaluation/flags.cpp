#include "evaluation/flags.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "columns/parallel.hpp"

namespace verite {
namespace {

// Of the slots first .. last. Outcomes are counted from 0 for this stretch.
void flag_stretch(const Matched& given, const Rules& rules, std::size_t first, std::size_t last,
                  std::span<Brief> briefs, Column<Outcome>& kept) {
    const std::size_t ranges = rules.range_count();
    std::vector<Outcome> outcomes(ranges);
    for (std::size_t slot = first; slot < last; ++slot) {
        briefs[slot] = {given.outside[slot], limit_of(given.ranks[slot], rules.limits)};
        if (given.candidates.offsets[slot] == given.candidates.offsets[slot + 1]) continue;
        if (!find_outcomes(given, slot, outcomes)) continue;
        briefs[slot].outcome = static_cast<std::int32_t>(kept.rows() / ranges);
        kept.append(outcomes);
    }
}

void check(const Matched& given, const Rules& rules, std::size_t thresholds) {
    const auto expect = [](bool holds, const char* what) {
        if (!holds) throw std::invalid_argument(std::string("flags: expected ") + what);
    };
    const std::size_t slots = given.ranks.size();
    expect(thresholds <= most_thresholds && rules.range_count() <= most_ranges,
           "at most 16 thresholds at a time and 24 ranges");
    expect(given.outside.size() == slots && given.candidates.offsets.size() == slots + 1,
           "columns of equal length for predictions");
    expect(given.matched.size() == rules.range_count() * given.candidates.truth.size(), "matches for every candidate");
    expect(given.is_void.empty() || given.is_void.size() == given.ignored.size(), "a flag for every truth");
}

}  // namespace

std::uint32_t limit_of(std::int64_t rank, std::span<const std::int64_t> limits) {
    std::uint32_t limit = 0;
    while (limit < limits.size() && rank >= limits[limit]) ++limit;
    return limit;
}

bool find_outcomes(const Matched& given, std::size_t slot, std::span<Outcome> outcomes) {
    const std::int64_t first = given.candidates.offsets[slot], last = given.candidates.offsets[slot + 1];
    if (first == last) return false;
    Thresholds any = 0;
    std::ranges::fill(outcomes, Outcome{0, 0});
    for (std::int64_t c = first; c < last; ++c) {
        const std::int32_t truth = given.candidates.truth[c];
        const bool is_void = !given.is_void.empty() && given.is_void[truth];
        for (std::size_t range = 0; range < outcomes.size(); ++range) {
            const Thresholds bits = given.matched[static_cast<std::size_t>(c) * outcomes.size() + range];
            if (given.ignored[truth] >> range & 1)
                outcomes[range].spared |= bits;
            else if (!is_void)
                outcomes[range].hits |= bits;
            any |= bits;
        }
    }
    return any != 0;
}

Flags make_flags(const Matched& given, const Rules& rules, std::size_t thresholds, unsigned threads) {
    check(given, rules, thresholds);
    const std::size_t slots = given.ranks.size(), pieces = threads > 1 ? std::size_t{4} * threads : 1;
    const auto first_of = [&](std::size_t piece) { return slots * piece / pieces; };
    Flags found{thresholds, rules.range_count(), {}, {}};
    found.briefs.resize(slots);
    std::vector<Column<Outcome>> parts(pieces);
    in_parallel(pieces, threads, [&](std::size_t piece) {
        flag_stretch(given, rules, first_of(piece), first_of(piece + 1), found.briefs, parts[piece]);
    });
    found.outcomes = std::move(parts[0]);
    for (std::size_t piece = 1; piece < pieces; ++piece) {
        const auto base = static_cast<std::int32_t>(found.took());
        found.outcomes.append(parts[piece].values());
        for (std::size_t slot = first_of(piece); slot < first_of(piece + 1); ++slot)
            if (found.briefs[slot].outcome >= 0) found.briefs[slot].outcome += base;
    }
    return found;
}

}  // namespace verite
