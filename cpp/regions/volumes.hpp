// Surface distances between two volumes (medical segmentation): surface voxels and exact Euclidean distances.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace verite {

// Numbers of voxels of the ground truth, of the prediction and of both, and the same of their surfaces: voxels with one
// of six neighbours outside, the border of the volume being outside. Squared distances of the prediction's surface to
// the ground truth's and back, in units of `spacing`; none where either is empty.
struct Surfaces {
    std::array<std::int64_t, 3> voxels{}, surfaces{};
    std::vector<double> to_truth, to_pred;
};

// Volumes of bytes [z, y, x], anything but 0 being object; `spacing` is the distance between voxels along z, y and x.
Surfaces compare_volumes(const std::uint8_t* truth, const std::uint8_t* pred, std::array<std::int64_t, 3> shape,
                         std::array<double, 3> spacing, unsigned threads);

}  // namespace verite
