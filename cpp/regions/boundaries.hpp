// How much do the rims of two regions overlap?
#pragma once

#include "regions/shapes.hpp"

namespace verite {

// The rim of a region: its pixels within `width` steps (to any of eight neighbours) of a pixel outside it, the border
// of the image counting as outside. Writes the sizes of both rims and of what they share, three numbers a pair.
void rim_overlaps(const Side& truth, const Side& pred, std::span<const std::int64_t> widths, std::span<double> out);

}  // namespace verite
