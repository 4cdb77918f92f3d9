// Rasterisation of polygons by COCO's rule, bit for bit as pycocotools.
#pragma once

#include <vector>

#include "columns/memory.hpp"
#include "columns/views.hpp"

namespace verite {

// The runs of the pixels that an object's rings (rows of x1, y1, x2, y2, …) cover in an image of that size, exactly as
// pycocotools draws each: corners rounded to fifths of a pixel, edges drawn on that finer grid, a column of pixels
// entered and left where an edge crosses its middle; the pixels of any of them. An object without a ring is all
// background. Appended to `counts`.
// Throws std::invalid_argument where a coordinate is not a number or too large to draw.
void rasterise(Rings rings, std::size_t first, std::size_t last, Size size, std::vector<std::uint32_t>& counts);

// Appends the runs between these places, at which the object's pixels start and end in turn.
void append_runs(std::span<const std::uint32_t> ends, Size size, std::vector<std::uint32_t>& counts);

// Rasterises one ring after the other and reuses its memory.
class RingDrawer {
  public:
    // The runs of a ring, appended.
    void draw(std::span<const double> xy, Size size, std::vector<std::uint32_t>& counts);

    // The same as places, counted column by column, at which runs of the object's pixels start and end in turn.
    void find_ends(std::span<const double> xy, Size size, Array<std::uint32_t>& ends);

  private:
    struct Corner {
        int x, y;
    };
    // Columns of pixels that the ring or one of its edges may cross: first .. last.
    struct Columns {
        std::int64_t first, last;

        std::size_t count() const { return first > last ? 0 : static_cast<std::size_t>(last - first + 1); }
    };

    static Corner corner_at(const double* xy);
    static Columns columns_between(int low, int high, Size size);
    Columns read_corners(std::span<const double> xy, Size size);
    Columns cross_columns(Corner from, Corner to, Size size);
    template <class Take>
    void each_edge(Size size, Take&& take);
    bool find_by_column(Columns columns, Size size, Array<std::uint32_t>& ends);
    void find_by_place(Size size, Array<std::uint32_t>& ends);

    static constexpr std::size_t room = 8;  // crossings of a column that are kept beside each other

    std::vector<Corner> corners_;
    Array<std::uint32_t> edge_;    // the row at which an edge crosses each of its columns
    Array<std::uint32_t> filled_;  // how many crossings each column has
    Array<std::uint32_t> rows_;    // [column][room] where they are
    Array<std::uint32_t> places_;  // all crossings of a ring that folds over itself more often than that
    Array<std::uint32_t> ends_;
};

}  // namespace verite
