// How much do the rims of two regions overlap?
#pragma once

#include <vector>

#include "regions/shapes.hpp"

namespace verite {

// The rim of a region: its pixels within `width` steps (to any of eight neighbours) of a pixel outside it, the border
// of the image counting as outside.
class Rim {
  public:
    // The runs must add up to the size.
    void read(std::span<const std::uint32_t> counts, Size size, std::int64_t width);

    struct Sizes {
        std::uint64_t mine = 0, other = 0, both = 0;
    };
    Sizes compare(const Rim& other) const;

  private:
    std::uint64_t word(std::int32_t x, std::int32_t word_of_image) const;

    Raster region_;
    // The region without its rim, in the words of its own raster.
    class Core {
      public:
        void read(const Raster& region, std::int64_t width);

        // The core's word of the region's column x (counted from its frame).
        std::uint64_t word(std::int64_t x, std::int64_t w) const {
            return x >= shift_ && x - shift_ < columns_ ? bits_[(x - shift_) * words_ + w] : 0;
        }

      private:
        void and_columns(std::int64_t steps);

        std::int64_t words_ = 0, columns_ = 0, shift_ = 0;
        std::vector<std::uint64_t> bits_;
    };
    Core core_;
};

// Writes the sizes of both rims and of what they share, three numbers a pair.
void rim_overlaps(const Side& truth, const Side& pred, std::span<const std::int64_t> widths, std::span<double> out);

}  // namespace verite
