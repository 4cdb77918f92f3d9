// Boundaries of masks, and their areas in pairs of masks, as boundary IoU compares them.
#pragma once

#include "regions/shapes.hpp"

namespace verite {

// Writes the areas in pixels of both boundaries and of their intersection, three numbers per pair. A boundary is the
// pixels within widths[i] steps of the outside. Runs must add up to the sizes of their masks.
void boundary_areas(const Side& truth, const Side& pred, std::span<const std::int64_t> widths, std::span<double> out);

// Appends the boundary of every mask as runs, widths[i] pixels wide, and writes the offsets of all of them.
void boundary_masks(const RLEMasks& masks, std::span<const std::int64_t> widths, std::vector<std::uint32_t>& counts,
                    std::vector<std::int64_t>& offsets);

}  // namespace verite
