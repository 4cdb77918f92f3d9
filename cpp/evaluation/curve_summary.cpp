#include "evaluation/curve_summary.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "columns/parallel.hpp"
#include "evaluation/constants.hpp"

namespace verite {
namespace {

// The points of one precision-recall curve at which a true positive is added.
struct TruePositives {
    std::vector<std::int64_t> all;  // predictions up to and including each true positive
    std::vector<double> best;       // interpolated precision: the best at this recall or a higher one

    double precision(std::size_t i) const { return static_cast<double>(i + 1) / static_cast<double>(all[i]); }

    // Precision falls between true positives, so that these points alone decide.
    void interpolate() {
        best.resize(all.size());
        double highest = 0;
        for (std::size_t i = all.size(); i-- > 0;) best[i] = highest = std::max(highest, precision(i));
    }

    double at_eleven_points(std::int64_t truths) const {
        std::vector<double> found(11, 0.0);
        for (std::int64_t r = 0; r <= 10; ++r) {
            // True positives needed for recall r / 10; recall 0 is reached by the first prediction, where interpolated
            // precision is the same.
            const auto needed = static_cast<std::size_t>(std::max<std::int64_t>((r * truths + 9) / 10, 1));
            if (needed <= best.size()) found[static_cast<std::size_t>(r)] = best[needed - 1];
        }
        return sum_pairwise(found) / 11;
    }

    // At the recalls 0, 0.01, … 1: the precision at the first recall that reaches it, or that exceeds it; 0 where none
    // does.
    std::vector<double> at_hundred_one(std::int64_t truths, bool exceeds) const {
        std::vector<double> found(101, 0.0);
        std::size_t point = 0;
        for (std::size_t r = 0; r <= 100; ++r) {
            const double level = r == 100 ? 1.0 : static_cast<double>(r) * 0.01;
            const auto recall = [&] { return static_cast<double>(point + 1) / static_cast<double>(truths); };
            while (point < best.size() && (exceeds ? recall() <= level : recall() < level)) ++point;
            if (point < best.size()) found[r] = best[point];
        }
        return found;
    }

    AveragePrecisions average_precisions(std::int64_t truths, std::int64_t count) const {
        AveragePrecisions found{};
        std::vector<double> own(all.size());
        for (std::size_t i = 0; i < own.size(); ++i) own[i] = precision(i);
        found.all_points = sum_pairwise(best) / static_cast<double>(truths);
        found.eleven_points = at_eleven_points(truths);
        found.hundred_one = sum_pairwise(at_hundred_one(truths, false)) / 101;
        found.raw = sum_pairwise(own) / static_cast<double>(truths);
        std::vector<double> beyond = at_hundred_one(truths, true);
        found.trapezoid = trapezoid_area(beyond);
        const double last = static_cast<double>(all.size()) / static_cast<double>(truths);
        const double end = count == 0 ? 0 : static_cast<double>(all.size()) / static_cast<double>(count);
        for (std::size_t r = 0; r < 100; ++r)
            if (const double level = static_cast<double>(r) * 0.01; level >= last)
                beyond[r] = end * (1 - level) / (1 - last);
        found.sloped_trapezoid = trapezoid_area(beyond);
        return found;
    }

    static double trapezoid_area(std::vector<double> heights) {
        heights.front() /= 2;
        heights.back() /= 2;
        return sum_pairwise(heights) / 100;
    }
};

}  // namespace

std::vector<CurveSummary> summarise_curves(const AccumulationInput& given, std::size_t threshold, unsigned threads) {
    std::vector<CurveSummary> summaries(given.labels());
    in_parallel(summaries.size(), threads, [&](std::size_t label) {
        CurveSummary& summary = summaries[label];
        const auto truths = static_cast<std::int64_t>(given.positives[label * given.ranges]);
        summary = {{absent, absent, absent, absent, absent, absent}, truths, 0, 0, absent, absent};
        TruePositives points;
        std::int64_t all = 0;
        double best = -1, before = absent, f1 = 0;
        const auto choose = [&] {  // a confidence threshold keeps or drops equal confidences together
            if (all > 0 && f1 > best) best = f1, summary.f1_confidence = before;
        };
        for (auto i = static_cast<std::size_t>(given.offsets[label]);
             i < static_cast<std::size_t>(given.offsets[label + 1]); ++i) {
            const auto index = static_cast<std::size_t>(given.order[i]);
            const PredictionFlags& prediction = given.predictions[index];
            const Outcome outcome = prediction.outcome < 0
                                        ? Outcome{0, 0}
                                        : given.outcomes[static_cast<std::size_t>(prediction.outcome) * given.ranges];
            const bool is_tp = outcome.tp >> threshold & 1;
            if (!is_tp && (prediction.is_outside(0) || outcome.ignored >> threshold & 1)) continue;
            if (all > 0 && given.confidence[index] != before) choose();
            ++all;
            if (is_tp) points.all.push_back(all);
            f1 = static_cast<double>(2 * static_cast<std::int64_t>(points.all.size())) /
                 static_cast<double>(all + summary.truths);
            before = given.confidence[index];
        }
        choose();
        summary.tp = static_cast<std::int64_t>(points.all.size());
        summary.fp = all - summary.tp;
        if (summary.truths == 0) {
            summary.f1_confidence = absent;
            return;
        }
        summary.best_f1 = std::max(best, 0.0);
        points.interpolate();
        summary.ap = points.average_precisions(summary.truths, all);
    });
    return summaries;
}

std::vector<CurveSummary> summarise_curves(const Evaluation& evaluation, std::size_t threshold, unsigned threads) {
    if (threshold >= evaluation.rules().thresholds.size())
        throw std::invalid_argument("curves: expected one of the thresholds");
    const PredictionOutcomes& flags = evaluation.pred_outcomes()[threshold / most_thresholds];
    const OrderedPredictions& preds = evaluation.preds();
    return summarise_curves({preds.by_label, preds.label_offsets, flags.predictions, flags.outcomes.values(),
                             evaluation.confidence(), evaluation.positives(), flags.thresholds, flags.ranges},
                            threshold % most_thresholds, threads);
}

}  // namespace verite
