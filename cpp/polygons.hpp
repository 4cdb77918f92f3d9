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

// Draws ring after ring with memory that is used again.
class RingDrawer {
  public:
    void draw(std::span<const double> xy, Size size, std::vector<std::uint32_t>& counts);

  private:
    struct Corner {
        int x, y;
    };
    // Columns of pixels that the ring may cross: first .. last.
    struct Columns {
        std::int64_t first, last;
    };

    static Corner corner_at(const double* xy);
    static Columns columns_between(int low, int high, Size size);
    Columns read_corners(std::span<const double> xy, Size size);
    template <class Cross>
    static void cross_columns(Corner from, Corner to, Size size, Cross&& cross);
    template <class Cross>
    void each_crossing(Size size, Cross&& cross) const;
    bool draw_by_column(Columns columns, Size size, std::vector<std::uint32_t>& counts);
    void draw_by_place(Size size, std::vector<std::uint32_t>& counts);

    static constexpr std::size_t room = 8;  // crossings of a column that are kept beside each other

    std::vector<Corner> corners_;
    std::vector<std::uint16_t> filled_;  // how many crossings each column has; no char, which may be anything's memory
    std::vector<std::uint32_t> rows_;    // [column][room] where they are, in order
    std::vector<std::uint32_t> places_;  // all crossings of a ring that folds over itself more often than that
};

}  // namespace verite
