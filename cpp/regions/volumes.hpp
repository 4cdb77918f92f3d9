// How far apart are the surfaces of two volumes?
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace verite {

// Voxels of the truth, of the pred and of both, and the same of their surfaces: voxels with one of six neighbours
// outside, the border of the volume being outside. Squared distances of the pred's surface to the truth's and back;
// none where either is empty.
struct Surfaces {
    std::array<std::int64_t, 3> voxels{}, surfaces{};
    std::vector<double> to_truth, to_pred;
};

// Volumes of bytes [z, y, x], anything but 0 being object, whose voxels lie so far apart along z, y and x.
Surfaces compare_volumes(const std::uint8_t* truth, const std::uint8_t* pred, std::array<std::int64_t, 3> shape,
                         std::array<double, 3> spacing, unsigned threads);

}  // namespace verite
