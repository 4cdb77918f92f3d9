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

// Confidences of the true positives if each object takes the prediction of highest confidence.
std::vector<double> kitti_confidences(const KittiObjects& objects);

struct KittiCounts {
    std::vector<std::int64_t> tp, fp;  // at each threshold
};

// True and false positives among the predictions at or above each threshold, if each object takes the one of highest
// IoU. Throws std::invalid_argument where the columns do not fit.
KittiCounts kitti_counts(const KittiObjects& objects, std::span<const double> thresholds);

}  // namespace verite
