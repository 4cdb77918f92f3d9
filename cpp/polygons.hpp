// Which pixels does a polygon cover, by COCO's own rule?
#pragma once

#include <vector>

#include "views.hpp"

namespace verite {

// The runs of the pixels that one ring (x1, y1, x2, y2, …) covers in an image of that size, exactly as
// pycocotools draws it: corners rounded to fifths of a pixel, edges drawn on that finer grid, a column of pixels
// entered and left where an edge crosses its middle. Appended to `counts`.
// Throws std::invalid_argument where a coordinate is not a number or too large to draw.
void rasterise_ring(std::span<const double> xy, Size size, std::vector<std::uint32_t>& counts);

// The same for an object of several rings: the pixels of any of them. An object without a ring is all background.
// `rings` are rows of coordinates.
void rasterise(Ragged<double> rings, std::size_t first, std::size_t last, Size size,
               std::vector<std::uint32_t>& counts);

}  // namespace verite
