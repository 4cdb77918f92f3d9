#include "evaluation/counts.hpp"

#include <cstdlib>

#include "evaluation/one_to_one.hpp"

namespace verite {

OutcomeCounts count_outcomes(const Evaluation& evaluation) {
    OutcomeCounts found;
    const std::size_t labels = found.labels = evaluation.labels(), images = found.images = evaluation.images();
    const std::size_t thresholds = found.thresholds = evaluation.rules().thresholds.size();
    const std::size_t ranges = evaluation.rules().range_count();
    for (auto* column : {&found.truths, &found.preds, &found.error, &found.absolute_error, &found.squared_error})
        column->assign(labels, 0);
    for (auto* table : {&found.tp, &found.ignored, &found.iou}) table->assign(labels * thresholds, 0);
    for (auto* column : {&found.image_truths, &found.image_preds}) column->assign(images, 0);
    for (auto* table : {&found.image_tp, &found.image_ignored}) table->assign(images * thresholds, 0);
    const GroupedObjects &truths = evaluation.truths(), &preds = evaluation.preds().cells;
    const CandidateView pairs = evaluation.candidates();
    Array<std::int64_t> difference(labels, 0);  // of one image
    std::vector<std::size_t> touched;
    const auto add = [&](std::size_t label, std::int64_t sign) {
        if (difference[label] == 0) touched.push_back(label);
        difference[label] += sign;
    };
    for (std::size_t image = 0; image < images; ++image) {
        for (auto i = static_cast<std::size_t>(truths.images[image]);
             i < static_cast<std::size_t>(truths.images[image + 1]); ++i) {
            if (evaluation.ignored()[i] & 1) continue;
            const auto label = static_cast<std::size_t>(truths.labels[i]);
            ++found.truths[label];
            ++found.image_truths[image];
            add(label, -1);
        }
        for (auto i = static_cast<std::size_t>(preds.images[image]);
             i < static_cast<std::size_t>(preds.images[image + 1]); ++i) {
            const auto label = static_cast<std::size_t>(preds.labels[i]);
            ++found.preds[label];
            ++found.image_preds[image];
            bool is_counted = true;
            for (std::size_t block = 0; block < evaluation.matched().size(); ++block) {
                const auto& matched = evaluation.matched()[block];
                ThresholdSet taken = 0;
                for (auto c = static_cast<std::size_t>(pairs.offsets[i]);
                     c < static_cast<std::size_t>(pairs.offsets[i + 1]); ++c) {
                    const ThresholdSet bits = matched[c * ranges];
                    if (!bits) continue;
                    taken |= bits;
                    const bool is_ignored = evaluation.ignored()[static_cast<std::size_t>(pairs.truth[c])] & 1;
                    is_counted &= !(is_ignored && block == 0 && (bits & 1));
                    const std::int64_t whole = is_ignored ? 0 : whole_iou(pairs.iou[c]);
                    for (std::size_t t = 0; t < evaluation.thresholds(block).size(); ++t) {
                        if (!(bits >> t & 1)) continue;
                        const std::size_t at = block * most_thresholds + t;
                        ++(is_ignored ? found.ignored : found.tp)[label * thresholds + at];
                        ++(is_ignored ? found.image_ignored : found.image_tp)[image * thresholds + at];
                        found.iou[label * thresholds + at] += whole;
                    }
                }
                if (!(evaluation.outside()[i] & 1)) continue;  // ignored where it matches nothing
                for (std::size_t t = 0; t < evaluation.thresholds(block).size(); ++t) {
                    if (taken >> t & 1) continue;
                    const std::size_t at = block * most_thresholds + t;
                    ++found.ignored[label * thresholds + at];
                    ++found.image_ignored[image * thresholds + at];
                    is_counted &= at != 0;
                }
            }
            if (is_counted) add(label, 1);
        }
        for (const std::size_t label : touched) {  // a class may be listed twice; its difference is taken once
            const std::int64_t error = difference[label];
            found.error[label] += error;
            found.absolute_error[label] += std::abs(error);
            found.squared_error[label] += error * error;
            difference[label] = 0;
        }
        touched.clear();
    }
    return found;
}

}  // namespace verite
