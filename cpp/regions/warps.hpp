// Rasterisation of a polygon after a bilinear warp: shift, scaling, rotation or perspective.
#pragma once

#include <vector>

#include "columns/views.hpp"

namespace verite {

// Edges of an outline, four numbers each (u1, v1, u2, v2), in any order; together they enclose the region. A warp is
// eight numbers: a point (u, v) goes to x = c0 + c1 u + c2 v + c3 u v and y = c4 + c5 u + c6 v + c7 u v.
// A pixel is inside where a ray from its centre crosses the moved edges an odd number of times, edges left and above
// included. Appends the runs of one mask per warp, clipped to the image, and where each ends to `objects`.
// Throws std::invalid_argument where a moved corner is not a finite number.
void warp_runs(std::span<const double> edges, std::span<const double> warps, Size size,
               std::vector<std::uint32_t>& counts, std::vector<std::int64_t>& objects);

}  // namespace verite
