// How differently do two contours look from everywhere in the image?
#pragma once

#include "regions/shapes.hpp"

namespace verite {

// Sum over all pixels of the image of |min(d to truth, cutoff) - min(d to pred, cutoff)| ^ power, for each pair one
// number a power; 0 where either contour is empty. Distances are exact.
void distance_differences(const Side& truth, const Side& pred, std::span<const double> powers, double cutoff,
                          std::span<double> out);

}  // namespace verite
