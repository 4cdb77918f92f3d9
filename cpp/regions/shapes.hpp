// One side of pairs of masks, and one mask of it with its contour.
#pragma once

#include <vector>

#include "regions/rasters.hpp"

namespace verite {

// Masks, and for some objects an outline of their own: a contour that was given rather than derived from the mask.
// An object without one has no runs in `outlines`.
struct Side {
    RLEMasks masks;
    RLEMasks outlines;                   // as many objects as masks, or none at all
    std::span<const std::int64_t> rows;  // pair i has object rows[i]
};

// One mask, decoded once for consecutive pairs that share it.
class Shape {
  public:
    void read(const Side& side, std::int64_t row);

    const Raster& region() const { return region_; }
    const Raster& contour() const { return contour_; }
    std::span<const Pixel> pixels() const { return pixels_; }  // of the contour, column by column, downwards
    std::uint64_t area() const { return area_; }
    Frame frame() const { return around(region_.frame(), contour_.frame()); }

  private:
    std::int64_t row_ = -1;
    Raster region_, contour_;
    std::vector<Pixel> pixels_;
    std::uint64_t area_ = 0;
};

}  // namespace verite
