#include "polygons.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "masks.hpp"

namespace verite {
namespace {

constexpr int scale = 5;   // sub-pixels a pixel
constexpr int middle = 2;  // an edge that steps from sub-pixel 5 x + 2 to 5 x + 3 crosses column x
// Beyond this a corner on the fine grid would not fit an int.
constexpr double furthest = 400'000'000;

// Runs from one crossing to the next, which are told in order; two at the same place undo each other.
class CrossingWriter {
  public:
    // There must be room for as many runs as there will be places.
    explicit CrossingWriter(std::uint32_t* room) : start_(room), at_(room) {}

    void operator()(std::uint64_t place) {
        const auto run = static_cast<std::uint32_t>(place - before_);
        before_ = place;
        if (is_joined_) {
            at_[-1] += run;
            is_joined_ = false;
        } else if (run > 0 || at_ == start_) {
            *at_++ = run;
        } else {
            is_joined_ = true;  // an empty run is left out, and the one after it goes on with the one before
        }
    }

    std::size_t written() const { return static_cast<std::size_t>(at_ - start_); }

  private:
    std::uint32_t *start_, *at_;
    std::uint64_t before_ = 0;
    bool is_joined_ = false;
};

// Appends the runs between crossings, of which there are so many, up to the end of the image.
template <class TellAll>
void write_runs(std::size_t crossings, Size size, std::vector<std::uint32_t>& counts, TellAll&& tell_all) {
    const std::size_t start = counts.size();
    counts.resize(start + crossings + 1);
    CrossingWriter tell(&counts[start]);
    tell_all(tell);
    tell(size.pixels());
    counts.resize(start + tell.written());
}

}  // namespace

RingDrawer::Corner RingDrawer::corner_at(const double* xy) {
    for (int i = 0; i < 2; ++i)
        if (!(std::abs(xy[i]) <= furthest))
            throw std::invalid_argument("a polygon point: expected a coordinate within 4e8, found " +
                                        std::to_string(xy[i]));
    // Cut off towards zero after adding a half, as C's cast does.
    return {static_cast<int>(scale * xy[0] + .5), static_cast<int>(scale * xy[1] + .5)};
}

// Columns whose middle lies between two places on the fine grid, within the image.
RingDrawer::Columns RingDrawer::columns_between(int low, int high, Size size) {
    if (high <= middle) return {0, -1};
    return {std::max<std::int64_t>(0, (std::int64_t{low} - middle + scale - 1) / scale),
            std::min<std::int64_t>(size.width - 1, (std::int64_t{high} - middle - 1) / scale)};
}

RingDrawer::Columns RingDrawer::read_corners(std::span<const double> xy, Size size) {
    corners_.clear();
    int low = INT32_MAX, high = INT32_MIN;
    for (std::size_t i = 0; i + 1 < xy.size(); i += 2) {
        corners_.push_back(corner_at(&xy[i]));
        low = std::min(low, corners_.back().x);
        high = std::max(high, corners_.back().x);
    }
    return columns_between(low, high, size);
}

// Calls cross(column, row) wherever the edge between two corners crosses the middle of a column of pixels. The row is
// the first whose middle is not above the crossing: ceil((y + 1/2) / 5 - 1/2), within the image.
template <class Cross>
void RingDrawer::cross_columns(Corner from, Corner to, Size size, Cross&& cross) {
    if (from.x == to.x) return;
    const auto row = [&](int y) {
        return static_cast<std::uint32_t>(std::clamp((y + middle) / scale, 0, static_cast<int>(size.height)));
    };
    const int dx = std::abs(to.x - from.x), dy = std::abs(to.y - from.y);
    const auto [first, last] = columns_between(std::min(from.x, to.x), std::max(from.x, to.x), size);
    // The finer grid is walked along the longer side, from its smaller end.
    if (dx >= dy) {
        if (from.x > to.x) std::swap(from, to);
        const double slope = static_cast<double>(to.y - from.y) / dx;
        // The smaller one of the two neighbours on the line counts.
        const int step = slope < 0;
        for (std::int64_t column = first; column <= last; ++column) {
            const int at = static_cast<int>(scale * column + middle - from.x) + step;
            cross(column, row(static_cast<int>(from.y + slope * at + .5)));
        }
        return;
    }
    if (from.y > to.y) std::swap(from, to);
    const double slope = static_cast<double>(to.x - from.x) / dy, inverse = 1 / slope;
    const auto x = [&](int at) { return static_cast<int>(from.x + slope * at + .5); };
    for (std::int64_t column = first; column <= last; ++column) {
        const int before = static_cast<int>(scale * column + middle);
        // The step between rows `at` and `at + 1` in which x leaves `before` for its neighbour.
        const auto beyond = [&](int at) { return slope > 0 ? x(at) > before : x(at) <= before; };
        int at = static_cast<int>(std::clamp((before + .5 - from.x) * inverse, 0., double(dy - 1)));
        while (at > 0 && beyond(at)) --at;
        while (at < dy - 1 && !beyond(at + 1)) ++at;
        cross(column, row(from.y + at));
    }
}

template <class Cross>
void RingDrawer::each_crossing(Size size, Cross&& cross) const {
    for (std::size_t i = 0; i + 1 < corners_.size(); ++i) cross_columns(corners_[i], corners_[i + 1], size, cross);
    cross_columns(corners_.back(), corners_.front(), size, cross);
}

// Most rings cross a column twice: crossings are put in order as they come. False where a column has too many.
bool RingDrawer::draw_by_column(Columns columns, Size size, std::vector<std::uint32_t>& counts) {
    const auto count = static_cast<std::size_t>(columns.last - columns.first + 1);
    filled_.assign(count, 0);
    if (rows_.size() < count * room) rows_.resize(count * room);
    bool has_room = true;
    std::size_t crossings = 0;
    each_crossing(size, [first = columns.first, filled = filled_.data(), all_rows = rows_.data(), &has_room](
                            std::int64_t column, std::uint32_t row) {
        const auto c = static_cast<std::size_t>(column - first);
        std::size_t place = filled[c];
        if (place == room) {
            has_room = false;
            return;
        }
        filled[c] = static_cast<std::uint16_t>(place + 1);
        std::uint32_t* rows = all_rows + c * room;
        for (; place > 0 && rows[place - 1] > row; --place) rows[place] = rows[place - 1];
        rows[place] = row;
    });
    for (const std::uint16_t filled : filled_) crossings += filled;
    if (!has_room) return false;
    write_runs(crossings, size, counts, [&](CrossingWriter& tell) {
        for (std::size_t c = 0; c < count; ++c) {
            const auto top = (static_cast<std::uint64_t>(columns.first) + c) * static_cast<std::uint64_t>(size.height);
            for (std::size_t i = 0; i < filled_[c]; ++i) tell(top + rows_[c * room + i]);
        }
    });
    return true;
}

void RingDrawer::draw_by_place(Size size, std::vector<std::uint32_t>& counts) {
    places_.clear();
    each_crossing(size, [&](std::int64_t column, std::uint32_t row) {
        if (places_.size() == most_crossings)
            throw std::invalid_argument("a polygon: expected at most 268,435,456 crossings of pixel columns");
        places_.push_back(static_cast<std::uint32_t>(column * size.height + row));
    });
    std::sort(places_.begin(), places_.end());
    write_runs(places_.size(), size, counts, [&](CrossingWriter& tell) {
        for (const std::uint32_t place : places_) tell(place);
    });
}

void RingDrawer::draw(std::span<const double> xy, Size size, std::vector<std::uint32_t>& counts) {
    if (size.pixels() > UINT32_MAX)
        throw std::invalid_argument("an image: expected at most 4,294,967,295 pixels, found " +
                                    std::to_string(size.pixels()));
    const Columns columns = read_corners(xy, size);
    if (columns.first > columns.last)
        counts.push_back(static_cast<std::uint32_t>(size.pixels()));
    else if (!draw_by_column(columns, size, counts))
        draw_by_place(size, counts);
}

void rasterise_ring(std::span<const double> xy, Size size, std::vector<std::uint32_t>& counts) {
    RingDrawer().draw(xy, size, counts);
}

void rasterise(Ragged<double> rings, std::size_t first, std::size_t last, Size size,
               std::vector<std::uint32_t>& counts) {
    RingDrawer drawer;
    unite_each(first, last, size, counts,
               [&](std::size_t r, std::vector<std::uint32_t>& ring) { drawer.draw(rings[r], size, ring); });
}

}  // namespace verite
