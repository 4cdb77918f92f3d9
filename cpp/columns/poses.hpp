// What may be wrong with keypoints, counted: whether somebody has to look.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "columns/objects.hpp"

namespace verite {

// Objects with another number of points than the first of their label, with points that are no numbers, with points
// that leave their image by more than a tenth of its side; and whether objects have points, but none is labelled.
struct PoseFaults {
    std::size_t miscounted = 0, not_finite = 0, outside = 0, unlabelled = 0;
};

PoseFaults find_pose_faults(const Columns& columns, const Images& images, bool is_truth, bool is_relative,
                            unsigned threads = 1);

// Of a sample of truths, how many poses fit the prediction around the same box twice as well one way as the other, and
// how many of them when points change places with those on the other side, which `others` gives for each label.
struct MirroredPoses {
    std::size_t compared = 0, better = 0;
};

MirroredPoses find_mirrored_poses(const Columns& truth, const Columns& pred, std::size_t images,
                                  const std::vector<std::vector<std::int64_t>>& others);

}  // namespace verite
