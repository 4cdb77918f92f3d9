#include "regions/shapes.hpp"

namespace verite {

void Shape::read(const Side& side, std::int64_t row) {
    if (row == row_) return;
    row_ = row;
    region_.read(side.masks.counts[row], side.masks.size_of(row));
    const bool given = side.outlines.size() && !side.outlines.counts[row].empty();
    if (given)
        contour_.read(side.outlines.counts[row], side.outlines.size_of(row));
    else
        contour_.outline(region_);
    contour_.pixels(pixels_);
    area_ = region_.count();
}

}  // namespace verite
