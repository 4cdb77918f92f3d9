#include "evaluation/outcomes.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "columns/parallel.hpp"

namespace verite {
namespace {

// Of the indices first .. last. Outcomes are numbered from 0 within this range.
void flag_stretch(const MatchedCandidates& given, const Rules& rules, std::size_t first, std::size_t last,
                  std::span<PredictionFlags> predictions, Column<Outcome>& kept) {
    const std::size_t ranges = rules.range_count();
    std::vector<Outcome> outcomes(ranges);
    for (std::size_t index = first; index < last; ++index) {
        predictions[index] = {given.outside[index], limit_of(given.ranks[index], rules.max_dets)};
        if (given.candidates.offsets[index] == given.candidates.offsets[index + 1]) continue;
        if (!find_outcomes(given, index, outcomes)) continue;
        predictions[index].outcome = static_cast<std::int32_t>(kept.rows() / ranges);
        kept.append(outcomes);
    }
}

void check(const MatchedCandidates& given, const Rules& rules, std::size_t thresholds) {
    const auto expect = [](bool holds, const char* what) {
        if (!holds) throw std::invalid_argument(std::string("flags: expected ") + what);
    };
    const std::size_t indices = given.ranks.size();
    expect(thresholds <= most_thresholds && rules.range_count() <= most_ranges,
           "at most 16 thresholds at a time and 24 ranges");
    expect(given.outside.size() == indices && given.candidates.offsets.size() == indices + 1,
           "columns of equal length for predictions");
    expect(given.matched.size() == rules.range_count() * given.candidates.truth.size(), "matches for every candidate");
    expect(given.has_null_id.empty() || given.has_null_id.size() == given.ignored.size(),
           "a flag for every ground-truth object");
}

}  // namespace

std::uint32_t limit_of(std::int64_t rank, std::span<const std::int64_t> max_dets) {
    std::uint32_t limit = 0;
    while (limit < max_dets.size() && rank >= max_dets[limit]) ++limit;
    return limit;
}

bool find_outcomes(const MatchedCandidates& given, std::size_t index, std::span<Outcome> outcomes) {
    const std::int64_t first = given.candidates.offsets[index], last = given.candidates.offsets[index + 1];
    if (first == last) return false;
    ThresholdSet any = 0;
    std::ranges::fill(outcomes, Outcome{0, 0});
    for (std::int64_t c = first; c < last; ++c) {
        const std::int32_t truth = given.candidates.truth[c];
        const bool has_null_id = !given.has_null_id.empty() && given.has_null_id[truth];
        for (std::size_t range = 0; range < outcomes.size(); ++range) {
            const ThresholdSet bits = given.matched[static_cast<std::size_t>(c) * outcomes.size() + range];
            if (given.ignored[truth] >> range & 1)
                outcomes[range].ignored |= bits;
            else if (!has_null_id)
                outcomes[range].tp |= bits;
            any |= bits;
        }
    }
    return any != 0;
}

PredictionOutcomes make_outcomes(const MatchedCandidates& given, const Rules& rules, std::size_t thresholds,
                                 unsigned threads) {
    check(given, rules, thresholds);
    const std::size_t indices = given.ranks.size(), pieces = threads > 1 ? std::size_t{4} * threads : 1;
    const auto first_of = [&](std::size_t piece) { return indices * piece / pieces; };
    PredictionOutcomes found{thresholds, rules.range_count(), {}, {}};
    found.predictions.resize(indices);
    std::vector<Column<Outcome>> parts(pieces);
    in_parallel(pieces, threads, [&](std::size_t piece) {
        flag_stretch(given, rules, first_of(piece), first_of(piece + 1), found.predictions, parts[piece]);
    });
    found.outcomes = std::move(parts[0]);
    for (std::size_t piece = 1; piece < pieces; ++piece) {
        const auto base = static_cast<std::int32_t>(found.matched_count());
        found.outcomes.append(parts[piece].values());
        for (std::size_t index = first_of(piece); index < first_of(piece + 1); ++index)
            if (found.predictions[index].outcome >= 0) found.predictions[index].outcome += base;
    }
    return found;
}

}  // namespace verite
