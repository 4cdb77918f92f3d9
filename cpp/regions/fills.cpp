#include "regions/fills.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "columns/pause.hpp"
#include "regions/masks.hpp"
#include "regions/rasters.hpp"

namespace verite {
namespace {

void check(Size size) {
    if (size.pixels() > UINT32_MAX)
        throw std::invalid_argument("an image: expected at most 4,294,967,295 pixels, found " +
                                    std::to_string(size.pixels()));
}

}  // namespace

void fill_box(const double* corners, Size size, std::vector<std::uint32_t>& counts) {
    check(size);
    for (int i = 0; i < 4; ++i)
        if (std::isnan(corners[i])) throw std::invalid_argument("a box: expected four numbers, found nan");
    const std::int64_t x1 = first_pixel(corners[0], size.width), x2 = first_pixel(corners[2], size.width);
    const std::int64_t y1 = first_pixel(corners[1], size.height), y2 = first_pixel(corners[3], size.height);
    RunWriter writer(size, counts);
    for (std::int64_t x = x1; x < x2; ++x) writer.add(x, y1, y2);
    writer.close();
}

void fill_ring(std::span<const double> xy, Size size, std::vector<std::uint32_t>& counts) {
    check(size);
    for (const double value : xy)
        if (!std::isfinite(value))
            throw std::invalid_argument("a polygon point: expected a finite number, found " + std::to_string(value));
    // Where each edge crosses the middles of columns.
    std::vector<std::pair<std::int64_t, double>> crossed;
    const std::size_t corners = xy.size() / 2;
    for (std::size_t i = 0; i < corners; ++i) {
        const double *a = &xy[2 * i], *b = &xy[2 * ((i + 1) % corners)];
        const std::int64_t first = first_pixel(std::min(a[0], b[0]), size.width);
        const std::int64_t last = first_pixel(std::max(a[0], b[0]), size.width);
        if (crossed.size() + static_cast<std::size_t>(last - first) > most_crossings)
            throw std::invalid_argument("a polygon: expected at most 268,435,456 crossings of pixel columns");
        for (std::int64_t x = first; x < last; ++x) {
            const double middle = static_cast<double>(x) + .5;
            crossed.emplace_back(x, a[1] + (middle - a[0]) / (b[0] - a[0]) * (b[1] - a[1]));
        }
    }
    std::sort(crossed.begin(), crossed.end());
    RunWriter writer(size, counts);
    for (std::size_t i = 0; i + 1 < crossed.size(); i += 2)  // a closed ring crosses a column an even number of times
        writer.add(crossed[i].first, first_pixel(crossed[i].second, size.height),
                   first_pixel(crossed[i + 1].second, size.height));
    writer.close();
}

void fill_rings(Rings rings, std::size_t first, std::size_t last, Size size, std::vector<std::uint32_t>& counts) {
    unite_each(first, last, size, counts,
               [&](std::size_t r, std::vector<std::uint32_t>& ring) { fill_ring(rings[r], size, ring); });
}

void fill_outline(std::span<const std::uint32_t> outline, Size size, std::vector<std::uint32_t>& counts) {
    Raster curve;
    curve.read(outline, size);
    const Frame frame = curve.frame();
    // One byte a pixel with a free border all around the curve's frame.
    const std::int64_t height = frame.height() + 2, width = frame.width() + 2;
    constexpr std::uint8_t free = 0, wall = 1, outside = 2;
    std::vector<std::uint8_t> place(static_cast<std::size_t>(height * width), free);
    std::int64_t from = 0;
    bool is_curve = false;
    for (const std::uint32_t count : outline) {
        for (const std::int64_t to = from + count; is_curve && from < to;) {  // column by column
            const std::int64_t x = from / size.height, y = from % size.height;
            const std::int64_t pixels = std::min(to - from, size.height - y);
            std::fill_n(place.begin() + (x - frame.x1 + 1) * height + (y - frame.y1 + 1), pixels, wall);
            from += pixels;
        }
        if (!is_curve) from += count;
        is_curve = !is_curve;
    }
    // Free stretches of columns that can be reached from the border, each known by one of its pixels.
    Pause pause(1024);
    std::vector<std::int64_t> open{0};
    while (!open.empty()) {
        pause();
        const std::int64_t at = open.back(), top = at / height * height, bottom = top + height;
        open.pop_back();
        if (place[at] != free) continue;
        std::int64_t first = at, last = at + 1;
        while (first > top && place[first - 1] == free) --first;
        while (last < bottom && place[last] == free) ++last;
        std::fill(place.begin() + first, place.begin() + last, outside);
        for (const std::int64_t aside : {-height, height}) {
            if (first + aside < 0 || first + aside >= height * width) continue;
            for (std::int64_t next = first; next < last; ++next)
                if (place[next + aside] == free && (next == first || place[next + aside - 1] != free))
                    open.push_back(next + aside);
        }
    }
    RunWriter writer(size, counts);
    for (std::int64_t x = 1; x + 1 < width; ++x)
        for (std::int64_t y = 1; y + 1 < height;) {
            if (place[x * height + y] == outside) {
                ++y;
                continue;
            }
            const std::int64_t from = y;
            while (y + 1 < height && place[x * height + y] != outside) ++y;
            writer.add(frame.x1 + x - 1, frame.y1 + from - 1, frame.y1 + y - 1);
        }
    writer.close();
}

}  // namespace verite
