// Matching of KITTI's 2-D object detection benchmark: ground-truth objects choose among the predictions, again at every
// confidence threshold.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace verite {

// The objects of one class and difficulty. Pairs are listed by ground-truth object, predictions in their order.
struct KittiObjects {
    std::span<const std::int64_t> offsets;    // object i has the pairs offsets[i] .. offsets[i + 1]
    std::span<const std::int32_t> pred;       // the prediction of each pair
    std::span<const double> iou;              // above the IoU threshold
    std::span<const std::int8_t> truth;       // 0: counted, 1: ignored, -1: takes no part
    std::span<const std::int8_t> state;       // the same for each prediction
    std::span<const std::uint8_t> in_region;  // whether a prediction lies in a DontCare region
    std::span<const double> confidence;
};

// The predictions that are true positives if each object takes the one of highest confidence.
std::vector<std::int32_t> kitti_true_positives(const KittiObjects& objects);

// How the numbers of true and false positives of an image change where the confidence threshold falls to a value:
// summed over all values at or above a threshold, they are its numbers of true and false positives.
struct KittiSteps {
    std::vector<double> confidence;
    std::vector<std::int32_t> image, tp, fp;
};

// The steps of all images, if at every threshold each object takes the prediction of highest IoU at or above it.
// `images` has the image of each prediction; pairs are within an image, and objects are matched in their order. Throws
// std::invalid_argument where the columns do not fit.
KittiSteps kitti_steps(const KittiObjects& objects, std::span<const std::int32_t> images);

}  // namespace verite
