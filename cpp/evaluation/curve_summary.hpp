// Average precision of one precision-recall curve in six interpolations, and its best F1.
#pragma once

#include <cstdint>
#include <vector>

#include "evaluation/evaluation.hpp"

namespace verite {

// The area under the curve; NaN without ground truth. Precision is interpolated (the best at this recall or a higher
// one) in all but `raw`.
struct AveragePrecisions {
    double all_points;        // summed wherever recall changes (Pascal VOC from 2010 on)
    double eleven_points;     // the mean at the recalls 0, 0.1, … 1 (Pascal VOC 2007)
    double hundred_one;       // the mean at the recalls 0, 0.01, … 1 (COCO)
    double raw;               // every true positive with its own precision
    double trapezoid;         // trapezoids between the recalls 0, 0.01, … 1, precision just beyond each recall
    double sloped_trapezoid;  // the same, and beyond the last recall a line down to 0 at recall 1
};

struct CurveSummary {
    AveragePrecisions ap;
    std::int64_t truths, tp, fp;    // ground-truth objects that are not ignored, true and false positives
    double best_f1, f1_confidence;  // the highest F1, and the confidence threshold at which it is reached
};

// Of every class at one threshold, in the first area range; ignored predictions are in no curve. `threshold` is an
// index within the block of sixteen that `given` holds, and `given` needs confidences.
std::vector<CurveSummary> summarise_curves(const AccumulationInput& given, std::size_t threshold, unsigned threads);
// Throws std::invalid_argument for a threshold that was not evaluated.
std::vector<CurveSummary> summarise_curves(const Evaluation& evaluation, std::size_t threshold, unsigned threads);

}  // namespace verite
