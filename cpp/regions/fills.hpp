// Rasterisation of boxes, polygons and closed contours by pixel centres.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "columns/views.hpp"

namespace verite {

// The first pixel whose centre is not before `edge`, within 0 .. limit.
inline std::int64_t first_pixel(double edge, std::int64_t limit) {
    return static_cast<std::int64_t>(std::clamp(std::ceil(edge - .5), 0., static_cast<double>(limit)));
}

// A pixel is inside where its centre is, left and upper edges included: column j of a box where x1 <= j + 1/2 < x2. All
// append the runs of one object, clipped to the image.
void fill_box(const double* corners, Size size, std::vector<std::uint32_t>& counts);

// A ring is filled where a ray crosses it an odd number of times.
// Throws std::invalid_argument where a coordinate is not a finite number.
void fill_ring(std::span<const double> xy, Size size, std::vector<std::uint32_t>& counts);

// The union of the rings first .. last, each filled by itself.
void fill_rings(Rings rings, std::size_t first, std::size_t last, Size size, std::vector<std::uint32_t>& counts);

// A contour together with everything it encloses: pixels that cannot be reached from outside by steps to 4-neighbours
// without stepping on the contour.
void fill_outline(std::span<const std::uint32_t> outline, Size size, std::vector<std::uint32_t>& counts);

}  // namespace verite
