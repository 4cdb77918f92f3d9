// Bit masks cropped to their object: contours, boundaries and intersections by word operations.
#pragma once

#include <bit>
#include <vector>

#include "columns/views.hpp"

namespace verite {

// The bits of a word that are set. Processors count them at once, but not all that this is compiled for.
constexpr std::uint64_t count_bits(std::uint64_t word) {
    word -= word >> 1 & 0x5555555555555555;
    word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
    word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f;
    word += word >> 8;
    word += word >> 16;
    word += word >> 32;
    return word & 0x7f;
}

struct Pixel {
    std::int32_t x, y;
};

// Half-open ranges of pixels, empty without any.
struct Frame {
    std::int32_t x1 = 0, y1 = 0, x2 = 0, y2 = 0;

    bool empty() const { return x1 >= x2 || y1 >= y2; }
    std::int32_t width() const { return x2 - x1; }
    std::int32_t height() const { return y2 - y1; }
};

Frame around(const Frame& a, const Frame& b);

// The smallest frame around a mask.
Frame frame_of(std::span<const std::uint32_t> counts, Size size);

// Columns of bits. Rows start at a multiple of 64, so that words of two rasters line up.
class Raster {
  public:
    // The smallest frame around the object, and its bits. Everything outside is background.
    void read(std::span<const std::uint32_t> counts, Size size);
    void read(const std::uint8_t* rows, Size size);  // row by row, anything but 0 is object
    // The pixels of `region` with a 4-neighbour that is not in it, or an 8-neighbour `with_corners`; the border of the
    // image counts as outside.
    void outline(const Raster& region, bool with_corners = false);
    // The pixels of a mask within `width` steps (to any of eight neighbours) of a pixel outside it; likewise the
    // border.
    void rim(std::span<const std::uint32_t> counts, Size size, std::int64_t width);

    const Frame& frame() const { return frame_; }
    std::int32_t first_word() const { return frame_.y1 >> 6; }
    std::int32_t words() const { return words_; }  // a column
    // The words of column x, which must lie in the frame.
    const std::uint64_t* column(std::int32_t x) const {
        return bits_.data() + static_cast<std::size_t>(x - frame_.x1) * words_;
    }

    std::uint64_t count() const;
    void pixels(std::vector<Pixel>& found) const;  // column by column, downwards
    void runs(Size size, std::vector<std::uint32_t>& counts) const;

    // Calls visit(x, y of the word's first bit, bits) for every word of `a & b` (or `a & ~b`) that is not 0.
    template <class Visit>
    static void common(const Raster& a, const Raster& b, bool outside, Visit visit);

  private:
    void reframe(const Frame& frame);
    // Stretches of pixels in the frame's columns, each without `width` pixels at either end.
    void draw(std::span<const std::uint32_t> counts, Size size, std::int32_t width,
              std::vector<std::uint64_t>& bits) const;

    Frame frame_;
    std::int32_t words_ = 0;
    std::vector<std::uint64_t> bits_;
    std::vector<std::uint64_t> scratch_;
};

std::uint64_t count_common(const Raster& a, const Raster& b);

template <class Visit>
void Raster::common(const Raster& a, const Raster& b, bool outside, Visit visit) {
    const std::int32_t shift = a.first_word() - b.first_word();
    for (std::int32_t x = a.frame_.x1; x < a.frame_.x2; ++x) {
        const std::uint64_t* mine = a.column(x);
        const bool both = x >= b.frame_.x1 && x < b.frame_.x2;
        if (!both && !outside) continue;
        const std::uint64_t* theirs = both ? b.column(x) : nullptr;
        for (std::int32_t w = 0; w < a.words_; ++w) {
            const std::int32_t v = w + shift;
            const std::uint64_t other = theirs && v >= 0 && v < b.words_ ? theirs[v] : 0;
            const std::uint64_t bits = outside ? mine[w] & ~other : mine[w] & other;
            if (bits) visit(x, (a.first_word() + w) << 6, bits);
        }
    }
}

}  // namespace verite
