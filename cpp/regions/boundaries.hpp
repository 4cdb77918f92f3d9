// How much do the rims of two regions overlap?
#pragma once

#include "regions/shapes.hpp"

namespace verite {

// Writes the sizes of both rims and of what they share, three numbers a pair. The runs must add up to the sizes.
void rim_overlaps(const Side& truth, const Side& pred, std::span<const std::int64_t> widths, std::span<double> out);

}  // namespace verite
