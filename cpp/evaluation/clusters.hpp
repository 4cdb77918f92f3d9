// Clusters of unmatched detections: predicted boxes of several detectors that agree on an object the ground truth
// lacks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace verite {

// Boxes (left, top, width, height) with a key each, such as image and class; those of one key are neighbours.
struct KeyedBoxes {
    std::span<const std::int64_t> keys;  // ascending
    std::span<const double> boxes;       // four numbers each
};

// Within each key in the given order, a box that matches no ground-truth object of its key and is in no cluster begins
// one and takes all such boxes whose IoU with it reaches `min_iou`. A box matches an object if their IoU reaches
// `min_iou`; of a crowd, if that part of the box lies in it.
//
// Returns the number of the cluster of each box, or -1. Throws std::invalid_argument where keys do not rise or lengths
// differ.
std::vector<std::int32_t> cluster_boxes(const KeyedBoxes& preds, const KeyedBoxes& truths,
                                        std::span<const std::uint8_t> crowd, double min_iou);

}  // namespace verite
