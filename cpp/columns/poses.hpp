// Anomalies in keypoints: wrong numbers of points, points outside of their image, left and right exchanged.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "columns/objects.hpp"

namespace verite {

// Objects with another number of keypoints than the first of their class, with coordinates that are not finite, with
// points that leave their image by more than a tenth of its side; and whether objects have keypoints of which none is
// labelled.
struct PoseFaults {
    std::size_t miscounted = 0, not_finite = 0, outside = 0, unlabelled = 0;
};

PoseFaults find_pose_faults(const Columns& columns, const Images& images, bool is_truth, bool is_relative,
                            unsigned threads = 1);

// Of a sample of ground-truth poses, how many fit the prediction of the same box twice as well one way as the other,
// and how many of these with left and right exchanged. `others` lists, for each class, the mirror keypoint of each
// keypoint.
struct MirroredPoses {
    std::size_t compared = 0, better = 0;
};

MirroredPoses find_mirrored_poses(const Columns& truth, const Columns& pred, std::size_t images,
                                  const std::vector<std::vector<std::int64_t>>& others);

}  // namespace verite
