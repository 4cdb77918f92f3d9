#include "columns/bounds.hpp"

#include <algorithm>
#include <limits>

#include "columns/memory.hpp"
#include "columns/objects.hpp"
#include "columns/parallel.hpp"
#include "columns/pause.hpp"

namespace verite {
namespace {

struct Extent {
    double left, top, right, bottom;
};

Extent bound_rings(const Shapes& shapes, std::size_t object) {
    constexpr double most = std::numeric_limits<double>::infinity();
    Extent found{most, most, -most, -most};
    const auto point_of = [&](std::int64_t ring) {
        return static_cast<std::size_t>(shapes.rings[static_cast<std::size_t>(ring)]);
    };
    const std::size_t last = point_of(shapes.ring_objects[object + 1]);
    for (std::size_t point = point_of(shapes.ring_objects[object]); point < last; ++point) {
        const double x = shapes.points[2 * point], y = shapes.points[2 * point + 1];
        found = {std::min(found.left, x), std::min(found.top, y), std::max(found.right, x), std::max(found.bottom, y)};
    }
    return found;
}

// All of them, labelled or not, as pycocotools does.
Extent bound_points(std::span<const double> keypoints) {
    Extent found{keypoints[0], keypoints[1], keypoints[0], keypoints[1]};
    for (std::size_t i = 3; i < keypoints.size(); i += 3)
        found = {std::min(found.left, keypoints[i]), std::min(found.top, keypoints[i + 1]),
                 std::max(found.right, keypoints[i]), std::max(found.bottom, keypoints[i + 1])};
    return found;
}

Extent bound_mask(const Shapes& shapes, std::size_t object) {
    const auto first = static_cast<std::size_t>(shapes.run_objects[object]);
    const auto last = static_cast<std::size_t>(shapes.run_objects[object + 1]);
    const Bounds found = bound_runs(shapes.counts.values.subspan(first, last - first), shapes.sizes[2 * object]);
    return {static_cast<double>(found.left), static_cast<double>(found.top), static_cast<double>(found.right),
            static_cast<double>(found.bottom)};
}

}  // namespace

Bounds bound_runs(std::span<const std::uint32_t> counts, std::int64_t height) {
    if (height <= 0) return {};
    Bounds bounds{INT64_MAX, INT64_MAX, 0, 0};
    std::int64_t at = 0;
    // The column of a pixel is found by going on from the last one: runs are short, and dividing is slow.
    std::int64_t column = 0, column_end = height;
    bool is_any = false;
    for (std::size_t i = 0; i + 1 < counts.size(); i += 2) {
        const std::int64_t first = at + counts[i], last = first + counts[i + 1];
        at = last;
        if (first == last) continue;
        is_any = true;
        if (first >= column_end + 4 * height) column = first / height, column_end = (column + 1) * height;
        while (first >= column_end) ++column, column_end += height;
        bounds.left = std::min(bounds.left, column);
        if (last <= column_end) {
            bounds.top = std::min(bounds.top, first - (column_end - height));
            bounds.bottom = std::max(bounds.bottom, last - (column_end - height));
        } else {  // a run over the end of a column touches the last row and the first
            bounds.top = 0;
            bounds.bottom = height;
            column = (last - 1) / height;
            column_end = (column + 1) * height;
        }
        bounds.right = std::max(bounds.right, column + 1);
    }
    return is_any ? bounds : Bounds{};
}

Regions bound(const Regions& regions, unsigned threads) {
    if (!regions.boxed || (!regions.shapes && !regions.keypoints)) return regions;
    static const Shapes none;
    const Shapes& shapes = regions.shapes ? regions.shapes->get() : none;
    Array<double> boxes(regions.boxes.begin(), regions.boxes.end());
    const auto corners_of = [&](std::size_t i) {
        if (regions.kind(i) == RegionKind::polygon) return bound_rings(shapes, i);
        return regions.kind(i) == RegionKind::mask ? bound_mask(shapes, i) : bound_points(regions.keypoints[i]);
    };
    const bool is_corners = regions.layout == BoxLayout::corners;
    in_stretches(regions.count(), threads, [&](std::size_t first, std::size_t last) {
        Pause pause(64);
        for (std::size_t i = first; i < last; ++i) {
            pause();
            if (regions.boxed[i] || (regions.kind(i) == RegionKind::box && !regions.has_keypoints(i))) continue;
            const Extent found = corners_of(i);
            boxes[4 * i] = found.left;
            boxes[4 * i + 1] = found.top;
            boxes[4 * i + 2] = is_corners ? found.right : found.right - found.left;
            boxes[4 * i + 3] = is_corners ? found.bottom : found.bottom - found.top;
        }
    });
    Regions bounded = regions;
    bounded.boxes = keep(std::move(boxes));
    return bounded;
}

}  // namespace verite
