// Exact Euclidean distances from pixels to the nearest pixel of a set (distance transform), computed only where needed.
#pragma once

#include <vector>

#include "regions/rasters.hpp"

namespace verite {

// For every place in a strip of columns the distance along the row to the nearest pixel of the set. A query then looks
// up and down its own column only as far as something nearer can still be found.
class Field {
  public:
    // `set` must not be empty and is given as a raster and as a list; queries may be anywhere in the frame `asked`.
    void build(const Raster& set, std::span<const Pixel> pixels, const Frame& asked);

    // Squared distances from each of `from`, which must come column by column, downwards.
    void distances(std::span<const Pixel> from, std::vector<std::int64_t>& squared) const;

    // The sum of squared distances from the pixels of one raster that are not in another.
    std::int64_t sum_outside(const Raster& from, const Raster& other) const;

  private:
    template <class T>
    void fill(std::vector<T>& reach, std::span<const Pixel> pixels);
    // Calls work with the reaches in use.
    template <class Work>
    auto with_reach(Work work) const {
        return bytes_ == 1 ? work(small_) : bytes_ == 2 ? work(medium_) : work(large_);
    }

    Frame frame_;    // the asked columns, and the rows of the set
    int bytes_ = 1;  // which of the three is in use: the smallest that can hold the distances
    std::vector<std::uint8_t> small_;
    std::vector<std::uint16_t> medium_;
    std::vector<std::int32_t> large_;
    std::vector<std::int32_t> least_;
};

// Sums over a directed list of distances in pixels.
struct Directed {
    double sum = 0, sum_squared = 0, sum_cubed = 0;
    double merit = 0;  // sum of 1 / (1 + d² / 9)
    double largest_squared = 0;
};

Directed summary(std::span<const std::int64_t> squared);

}  // namespace verite
