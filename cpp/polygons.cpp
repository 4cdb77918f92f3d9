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

struct Point {
    int x, y;
};

Point corner(const double* xy) {
    for (int i = 0; i < 2; ++i)
        if (!(std::abs(xy[i]) <= furthest))
            throw std::invalid_argument("a polygon point: expected a coordinate within 4e8, found " +
                                        std::to_string(xy[i]));
    // Cut off towards zero after adding a half, as C's cast does.
    return {static_cast<int>(scale * xy[0] + .5), static_cast<int>(scale * xy[1] + .5)};
}

class Crossings {
  public:
    Crossings(Size size, std::vector<std::uint32_t>& found) : size_(size), found_(found) {}

    // Where the edge between two corners crosses the middle of pixel columns.
    void add(Point from, Point to) {
        if (from.x == to.x) return;
        const int dx = std::abs(to.x - from.x), dy = std::abs(to.y - from.y);
        // The finer grid is walked along the longer side, from its smaller end.
        if (dx >= dy) {
            if (from.x > to.x) std::swap(from, to);
            const double slope = static_cast<double>(to.y - from.y) / dx;
            each_column(from.x, to.x, [&](int column) {
                const int t = scale * column + middle - from.x;
                const auto y = [&](int at) { return static_cast<int>(from.y + slope * at + .5); };
                cross(column, std::min(y(t), y(t + 1)));
            });
        } else {
            if (from.y > to.y) std::swap(from, to);
            const double slope = static_cast<double>(to.x - from.x) / dy;
            const auto x = [&](int at) { return static_cast<int>(from.x + slope * at + .5); };
            each_column(std::min(from.x, to.x), std::max(from.x, to.x), [&](int column) {
                const int before = scale * column + middle;
                // The step between rows `at` and `at + 1` in which x leaves `before` for its neighbour.
                const auto beyond = [&](int at) { return slope > 0 ? x(at) > before : x(at) <= before; };
                int at = static_cast<int>(std::clamp((before + .5 - from.x) / slope, 0., double(dy - 1)));
                while (at > 0 && beyond(at)) --at;
                while (at < dy - 1 && !beyond(at + 1)) ++at;
                cross(column, from.y + at);
            });
        }
    }

  private:
    // Columns whose middle lies between two places on the fine grid, within the image.
    template <class Visit>
    void each_column(int low, int high, Visit visit) const {
        const std::int64_t first = std::max<std::int64_t>(0, (std::int64_t{low} - middle + scale - 1) / scale);
        const std::int64_t last = std::min<std::int64_t>(size_.width - 1, (std::int64_t{high} - middle - 1) / scale);
        if (high <= middle) return;
        for (std::int64_t column = first; column <= last; ++column) visit(static_cast<int>(column));
    }

    void cross(int column, int y) const {
        const double row = std::ceil(std::clamp((y + .5) / scale - .5, 0., static_cast<double>(size_.height)));
        if (found_.size() == most_crossings)
            throw std::invalid_argument("a polygon: expected at most 268,435,456 crossings of pixel columns");
        found_.push_back(static_cast<std::uint32_t>(column * static_cast<std::uint64_t>(size_.height) + row));
    }

    Size size_;
    std::vector<std::uint32_t>& found_;
};

// Crossings, in order, to runs; two at the same place undo each other.
void to_runs(std::vector<std::uint32_t>& places, std::vector<std::uint32_t>& counts) {
    std::sort(places.begin(), places.end());
    std::uint32_t before = 0;
    for (auto& place : places) {
        const std::uint32_t here = place;
        place -= before;
        before = here;
    }
    std::size_t i = 0;
    counts.push_back(places[i++]);
    while (i < places.size()) {
        if (places[i] > 0) {
            counts.push_back(places[i++]);
        } else {
            ++i;
            if (i < places.size()) counts.back() += places[i++];
        }
    }
}

}  // namespace

void rasterise_ring(std::span<const double> xy, Size size, std::vector<std::uint32_t>& counts) {
    if (size.pixels() > UINT32_MAX)
        throw std::invalid_argument("an image: expected at most 4,294,967,295 pixels, found " +
                                    std::to_string(size.pixels()));
    std::vector<std::uint32_t> places;
    Crossings crossings(size, places);
    const std::size_t corners = xy.size() / 2;
    for (std::size_t i = 0; i < corners; ++i) crossings.add(corner(&xy[2 * i]), corner(&xy[2 * ((i + 1) % corners)]));
    places.push_back(static_cast<std::uint32_t>(size.pixels()));
    to_runs(places, counts);
}

void rasterise(Ragged<double> rings, std::size_t first, std::size_t last, Size size,
               std::vector<std::uint32_t>& counts) {
    unite_each(first, last, size, counts,
               [&](std::size_t r, std::vector<std::uint32_t>& ring) { rasterise_ring(rings[r], size, ring); });
}

}  // namespace verite
