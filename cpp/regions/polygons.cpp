#include "regions/polygons.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "regions/masks.hpp"

namespace verite {
namespace {

constexpr int scale = 5;   // sub-pixels a pixel
constexpr int stride = 8;  // columns whose crossings are computed together
constexpr int middle = 2;  // an edge that steps from sub-pixel 5 x + 2 to 5 x + 3 crosses column x
// Beyond this the way from one corner to another on the fine grid would not fit an int.
constexpr double furthest = 200'000'000;

// Places at which pixels of the object start and end, from crossings that are added in order: two at the same place
// undo each other.
class EndWriter {
  public:
    // There must be room for as many places as are added.
    explicit EndWriter(std::uint32_t* room) : start_(room), at_(room) {}

    void add(std::uint32_t place) {
        if (at_ != start_ && at_[-1] == place)
            --at_;
        else
            *at_++ = place;
    }

    std::size_t written() const { return static_cast<std::size_t>(at_ - start_); }

  private:
    std::uint32_t *start_, *at_;
};

}  // namespace

RingDrawer::Corner RingDrawer::corner_at(const double* xy) {
    for (int i = 0; i < 2; ++i)
        if (!(std::abs(xy[i]) <= furthest))
            throw std::invalid_argument("a polygon point: expected a coordinate within 2e8, found " +
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

// The columns of pixels whose middles the edge between two corners crosses; the rows at which it does are in `edge_`. A
// row is the first whose middle is not above the crossing: ceil((y + 1/2) / 5 - 1/2), within the image.
RingDrawer::Columns RingDrawer::cross_columns(Corner from, Corner to, Size size) {
    if (from.x == to.x) return {0, -1};
    const Columns columns = columns_between(std::min(from.x, to.x), std::max(from.x, to.x), size);
    const auto count = static_cast<int>(columns.count());
    if (edge_.size() < columns.count() + stride) edge_.resize(columns.count() + stride);
    std::uint32_t* const rows = edge_.data();
    const auto row_of = [height = static_cast<std::uint32_t>(size.height)](int y) {
        return std::min(static_cast<std::uint32_t>(std::max(y + middle, 0)) / unsigned{scale}, height);
    };
    const int dx = std::abs(to.x - from.x), dy = std::abs(to.y - from.y);
    const int first = static_cast<int>(scale * columns.first + middle);
    // The finer grid is walked along the longer side, from its smaller end.
    if (dx >= dy) {
        if (from.x > to.x) std::swap(from, to);
        const double slope = static_cast<double>(to.y - from.y) / dx;
        // The smaller one of the two neighbours on the line counts.
        const int at = first - from.x + (slope < 0);
        // A few columns at once, and some behind the edge: most edges then take the same few instructions.
        for (int i = 0; i < count; i += stride)
            for (int k = i; k < i + stride; ++k)
                rows[k] = row_of(static_cast<int>(from.y + slope * (at + scale * k) + .5));
        return columns;
    }
    if (from.y > to.y) std::swap(from, to);
    const double slope = static_cast<double>(to.x - from.x) / dy, inverse = 1 / slope;
    const auto x = [&](int at) { return static_cast<int>(from.x + slope * at + .5); };
    for (int i = 0; i < count; ++i) {
        const int before = first + scale * i;
        // The step between rows `at` and `at + 1` in which x leaves `before` for its neighbour.
        const auto beyond = [&](int at) { return slope > 0 ? x(at) > before : x(at) <= before; };
        int at = static_cast<int>(std::clamp((before + .5 - from.x) * inverse, 0., double(dy - 1)));
        while (at > 0 && beyond(at)) --at;
        while (at < dy - 1 && !beyond(at + 1)) ++at;
        rows[i] = row_of(from.y + at);
    }
    return columns;
}

// Calls take(columns, rows) for every edge.
template <class Take>
void RingDrawer::each_edge(Size size, Take&& take) {
    Corner from = corners_.back();
    for (const Corner to : corners_) {
        if (const Columns columns = cross_columns(from, to, size); columns.count() > 0) take(columns, edge_.data());
        from = to;
    }
}

// Most rings cross a column twice: crossings are kept by column. False where one has too many.
bool RingDrawer::find_by_column(Columns columns, Size size, Array<std::uint32_t>& ends) {
    filled_.assign(columns.count(), 0);
    if (rows_.size() < columns.count() * room) rows_.resize(columns.count() * room);
    each_edge(size, [&](Columns crossed, const std::uint32_t* at) {
        std::uint32_t* filled = filled_.data() + (crossed.first - columns.first);
        std::uint32_t* rows = rows_.data() + (crossed.first - columns.first) * static_cast<std::int64_t>(room);
        const std::size_t count = crossed.count();
        for (std::size_t c = 0; c < count; ++c, rows += room) rows[filled[c]++ % room] = at[c];
    });
    std::size_t crossings = 0, most = 0;
    for (const std::size_t filled : filled_) {
        crossings += filled;
        most = std::max(most, filled);
    }
    if (most > room) return false;
    ends.resize(crossings);
    EndWriter writer(ends.data());
    auto top = static_cast<std::uint32_t>(columns.first * size.height);
    std::uint32_t* rows = rows_.data();
    for (const std::uint32_t filled : filled_) {
        if (filled == 2) {
            const std::uint32_t one = rows[0], other = rows[1];
            writer.add(top + std::min(one, other));
            writer.add(top + std::max(one, other));
        } else {
            std::sort(rows, rows + filled);
            for (std::size_t i = 0; i < filled; ++i) writer.add(top + rows[i]);
        }
        top += static_cast<std::uint32_t>(size.height);
        rows += room;
    }
    ends.resize(writer.written());
    return true;
}

void RingDrawer::find_by_place(Size size, Array<std::uint32_t>& ends) {
    places_.clear();
    each_edge(size, [&](Columns crossed, const std::uint32_t* at) {
        if (places_.size() + crossed.count() > most_crossings)
            throw std::invalid_argument("a polygon: expected at most 268,435,456 crossings of pixel columns");
        for (std::size_t c = 0; c < crossed.count(); ++c)
            places_.push_back(static_cast<std::uint32_t>((crossed.first + static_cast<std::int64_t>(c)) * size.height) +
                              at[c]);
    });
    std::sort(places_.begin(), places_.end());
    ends.resize(places_.size());
    EndWriter writer(ends.data());
    for (const std::uint32_t place : places_) writer.add(place);
    ends.resize(writer.written());
}

void RingDrawer::find_ends(std::span<const double> xy, Size size, Array<std::uint32_t>& ends) {
    if (size.pixels() > UINT32_MAX)
        throw std::invalid_argument("an image: expected at most 4,294,967,295 pixels, found " +
                                    std::to_string(size.pixels()));
    const Columns columns = read_corners(xy, size);
    if (columns.count() == 0)
        ends.clear();
    else if (!find_by_column(columns, size, ends))
        find_by_place(size, ends);
}

void RingDrawer::draw(std::span<const double> xy, Size size, std::vector<std::uint32_t>& counts) {
    find_ends(xy, size, ends_);
    append_runs(ends_, size, counts);
}

void append_runs(std::span<const std::uint32_t> ends, Size size, std::vector<std::uint32_t>& counts) {
    std::uint32_t before = 0;
    for (const std::uint32_t end : ends) {
        counts.push_back(end - before);
        before = end;
    }
    const auto rest = static_cast<std::uint32_t>(size.pixels() - before);
    if (rest > 0 || ends.empty()) counts.push_back(rest);
}

void rasterise(Rings rings, std::size_t first, std::size_t last, Size size, std::vector<std::uint32_t>& counts) {
    RingDrawer drawer;
    unite_each(first, last, size, counts,
               [&](std::size_t r, std::vector<std::uint32_t>& ring) { drawer.draw(rings[r], size, ring); });
}

}  // namespace verite
