// True positives, predictions and objects counted by class and by image, with the sums of matched IoUs: what precision,
// recall, F1, mean IoU and count errors are made of.
#pragma once

#include <cstdint>

#include "evaluation/evaluation.hpp"

namespace verite {

struct OutcomeCounts {
    std::size_t labels = 0, images = 0, thresholds = 0;
    // By class; [class][threshold] where it depends on the threshold.
    Array<std::int64_t> truths, preds, tp, ignored;  // objects that are not ignored, predictions, matches
    Array<std::int64_t> iou;                         // sums of the IoUs of true positives, in units of 2^-40
    // Over the images: predictions that are not ignored at the first threshold, minus objects.
    Array<std::int64_t> error, absolute_error, squared_error;
    // By image, in the order of ranks.
    Array<std::int64_t> image_truths, image_preds, image_tp, image_ignored;
};

// Of the first area range.
OutcomeCounts count_outcomes(const Evaluation& evaluation);

}  // namespace verite
