// What the kernels see of the caller's memory: plain structs of spans, owning nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace verite {

// Corners x1, y1, x2, y2, four numbers a box.
struct Boxes {
    std::span<const double> corners;

    std::size_t size() const { return corners.size() / 4; }
    const double* operator[](std::size_t i) const { return corners.data() + 4 * i; }
};

}  // namespace verite
