#include "evaluation/readings.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "columns/parallel.hpp"
#include "evaluation/constants.hpp"

namespace verite {
namespace {

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

    // At the recalls 0, 0.01, … 1: the precision at the first recall that reaches it, or that exceeds it; 0 where none
    // does.
    std::vector<double> at_hundredths(std::int64_t truths, bool exceeds) const {
        std::vector<double> found(101, 0.0);
        std::size_t hit = 0;
        for (std::size_t r = 0; r <= 100; ++r) {
            const double level = r == 100 ? 1.0 : static_cast<double>(r) * 0.01;
            const auto recall = [&] { return static_cast<double>(hit + 1) / static_cast<double>(truths); };
            while (hit < best.size() && (exceeds ? recall() <= level : recall() < level)) ++hit;
            if (hit < best.size()) found[r] = best[hit];
        }
        return found;
    }

    Areas areas(std::int64_t truths, std::int64_t count) const {
        Areas found{};
        std::vector<double> own(all.size());
        for (std::size_t i = 0; i < own.size(); ++i) own[i] = precision(i);
        found.every = sum_pairwise(best) / static_cast<double>(truths);
        found.eleven = at_eleven(truths);
        found.hundred = sum_pairwise(at_hundredths(truths, false)) / 101;
        found.raw = sum_pairwise(own) / static_cast<double>(truths);
        std::vector<double> beyond = at_hundredths(truths, true);
        found.trapezoid = below_lines(beyond);
        const double last = static_cast<double>(all.size()) / static_cast<double>(truths);
        const double end = count == 0 ? 0 : static_cast<double>(all.size()) / static_cast<double>(count);
        for (std::size_t r = 0; r < 100; ++r)
            if (const double level = static_cast<double>(r) * 0.01; level >= last)
                beyond[r] = end * (1 - level) / (1 - last);
        found.sloped = below_lines(beyond);
        return found;
    }

    static double below_lines(std::vector<double> heights) {
        heights.front() /= 2;
        heights.back() /= 2;
        return sum_pairwise(heights) / 100;
    }
};

}  // namespace

std::vector<Reading> read_curves(const Walked& walk, std::size_t threshold, unsigned threads) {
    std::vector<Reading> readings(walk.labels());
    in_parallel(readings.size(), threads, [&](std::size_t label) {
        Reading& reading = readings[label];
        const auto truths = static_cast<std::int64_t>(walk.positives[label * walk.ranges]);
        reading = {{absent, absent, absent, absent, absent, absent}, truths, 0, 0, absent, absent};
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
        reading.areas = hits.areas(reading.truths, all);
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
