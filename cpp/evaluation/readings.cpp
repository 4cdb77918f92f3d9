#include "evaluation/readings.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "columns/parallel.hpp"

namespace verite {
namespace {

constexpr double absent = std::numeric_limits<double>::quiet_NaN();

// The points of one curve that are hits: right ones and all so far.
struct Hits {
    std::vector<std::int64_t> all;
    std::vector<double> best;  // the best precision at this recall or a higher one

    double precision(std::size_t i) const { return static_cast<double>(i + 1) / static_cast<double>(all[i]); }

    // Precision falls from a hit to the next one, so that hits alone decide.
    void rise() {
        best.resize(all.size());
        double highest = 0;
        for (std::size_t i = all.size(); i-- > 0;) best[i] = highest = std::max(highest, precision(i));
    }

    double at_eleven(std::int64_t truths) const {
        std::vector<double> found(11, 0.0);
        for (std::int64_t r = 0; r <= 10; ++r) {
            // Recall r / 10 is reached by the first so many hits; 0 by the first prediction, where the best is the
            // same.
            const auto needed = static_cast<std::size_t>(std::max<std::int64_t>((r * truths + 9) / 10, 1));
            if (needed <= best.size()) found[static_cast<std::size_t>(r)] = best[needed - 1];
        }
        return sum_pairwise(found) / 11;
    }
};

}  // namespace

std::vector<Reading> read_curves(const Walked& walk, std::size_t threshold, unsigned threads) {
    std::vector<Reading> readings(walk.labels());
    in_parallel(readings.size(), threads, [&](std::size_t label) {
        Reading& reading = readings[label];
        const auto truths = static_cast<std::int64_t>(walk.positives[label * walk.ranges]);
        reading = {absent, absent, truths, 0, 0, absent, absent};
        Hits hits;
        std::int64_t all = 0;
        double best = -1, before = absent, f1 = 0;
        const auto choose = [&] {  // predictions of equal confidence are kept or dropped together
            if (all > 0 && f1 > best) best = f1, reading.f1_confidence = before;
        };
        for (auto i = static_cast<std::size_t>(walk.offsets[label]);
             i < static_cast<std::size_t>(walk.offsets[label + 1]); ++i) {
            const auto slot = static_cast<std::size_t>(walk.order[i]);
            const Brief& brief = walk.briefs[slot];
            const Outcome outcome = brief.outcome < 0
                                        ? Outcome{0, 0}
                                        : walk.outcomes[static_cast<std::size_t>(brief.outcome) * walk.ranges];
            const bool is_right = outcome.hits >> threshold & 1;
            if (!is_right && (brief.is_outside(0) || outcome.spared >> threshold & 1)) continue;
            if (all > 0 && walk.confidence[slot] != before) choose();
            ++all;
            if (is_right) hits.all.push_back(all);
            f1 = static_cast<double>(2 * static_cast<std::int64_t>(hits.all.size())) /
                 static_cast<double>(all + reading.truths);
            before = walk.confidence[slot];
        }
        choose();
        reading.right = static_cast<std::int64_t>(hits.all.size());
        reading.wrong = all - reading.right;
        if (reading.truths == 0) {
            reading.f1_confidence = absent;
            return;
        }
        reading.f1 = std::max(best, 0.0);
        hits.rise();
        reading.every = sum_pairwise(hits.best) / static_cast<double>(reading.truths);
        reading.eleven = hits.at_eleven(reading.truths);
    });
    return readings;
}

std::vector<Reading> read_curves(const Evaluation& evaluation, std::size_t threshold, unsigned threads) {
    if (threshold >= evaluation.rules().thresholds.size())
        throw std::invalid_argument("curves: expected one of the thresholds");
    const Flags& flags = evaluation.flags()[threshold / most_thresholds];
    const Ordered& preds = evaluation.preds();
    return read_curves({preds.by_label, preds.label_offsets, flags.briefs, flags.outcomes.values(),
                        evaluation.confidence(), evaluation.positives(), flags.thresholds, flags.ranges},
                       threshold % most_thresholds, threads);
}

}  // namespace verite
