// Matching of KITTI's 2-D object detection benchmark: ground-truth objects choose among the predictions, again at every
// confidence threshold.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace verite {

// The pairs of a dataset: object i has the pairs offsets[i] .. offsets[i + 1], predictions in their order.
struct KittiPairs {
    std::span<const std::int64_t> offsets;
    std::span<const std::int64_t> pred;
    std::span<const double> iou;
};

// One class. `role` of each object: 0 of the class, 1 of a neighbouring one, -1 of others; pairs count above `least`.
struct KittiClass {
    std::span<const std::int8_t> role;
    std::span<const std::int32_t> label;   // of each prediction
    std::int32_t own_label = 0;            // that of the class
    std::span<const double> height;        // of each prediction
    std::span<const double> region_share;  // of each prediction: share of its area in a DontCare region
    std::span<const double> confidence;
    std::span<const std::int64_t> order;  // the predictions by falling confidence
    std::span<const std::int32_t> image;  // of each prediction; pairs are within an image
    double least = 0;
};

// One difficulty: objects outside its limits are ignored, and predictions lower than `height`.
struct KittiDifficulty {
    std::span<const std::uint8_t> is_beyond;  // of each object
    double height = 0;
};

// How the numbers of true and false positives of an image change where the confidence threshold falls to a value, by
// falling confidence: summed over all values at or above a threshold, they are its numbers of true and false positives.
// Hits are the true positives where each object takes the prediction of highest confidence.
struct KittiSteps {
    std::vector<double> confidence, tp, fp, hit_confidence;
    std::vector<std::int64_t> image, hit_image;
};

// The steps of a class, one for each difficulty, if at every threshold each object takes the prediction of highest IoU
// at or above it, objects in their order. Throws std::invalid_argument where the columns do not fit.
std::vector<KittiSteps> kitti_steps(const KittiPairs& pairs, const KittiClass& own,
                                    std::span<const KittiDifficulty> difficulties);

}  // namespace verite
