// What encloses a polygon, a mask or keypoints?
#include <algorithm>
#include <limits>

#include "columns/memory.hpp"
#include "columns/objects.hpp"

namespace verite {
namespace {

struct Corners {
    double left, top, right, bottom;
};

Corners bound_rings(const Shapes& shapes, std::size_t object) {
    constexpr double most = std::numeric_limits<double>::infinity();
    Corners found{most, most, -most, -most};
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
Corners bound_points(std::span<const double> keypoints) {
    Corners found{keypoints[0], keypoints[1], keypoints[0], keypoints[1]};
    for (std::size_t i = 3; i < keypoints.size(); i += 3)
        found = {std::min(found.left, keypoints[i]), std::min(found.top, keypoints[i + 1]),
                 std::max(found.right, keypoints[i]), std::max(found.bottom, keypoints[i + 1])};
    return found;
}

Corners bound_runs(const Shapes& shapes, std::size_t object) {
    const std::int64_t height = shapes.sizes[2 * object];
    std::int64_t left = INT64_MAX, right = 0, top = INT64_MAX, bottom = 0, next = 0;
    const auto start = static_cast<std::size_t>(shapes.run_objects[object]);
    const auto end = static_cast<std::size_t>(shapes.run_objects[object + 1]);
    for (std::size_t at = start; at < end; ++at) {
        const std::int64_t first = next, last = first + shapes.counts[at] - 1;
        next = last + 1;
        if ((at - start) % 2 == 0 || last < first) continue;
        const bool is_tall = first / height != last / height;  // over a column's end: touches bottom and top
        left = std::min(left, first / height);
        right = std::max(right, last / height + 1);
        top = std::min(top, is_tall ? 0 : first % height);
        bottom = std::max(bottom, is_tall ? height : last % height + 1);
    }
    if (right == 0) return {0, 0, 0, 0};
    return {static_cast<double>(left), static_cast<double>(top), static_cast<double>(right),
            static_cast<double>(bottom)};
}

}  // namespace

Regions bound(const Regions& regions) {
    if (!regions.boxed || (!regions.shapes && !regions.keypoints)) return regions;
    static const Shapes none;
    const Shapes& shapes = regions.shapes ? regions.shapes->get() : none;
    Array<double> boxes(regions.boxes.begin(), regions.boxes.end());
    const auto corners_of = [&](std::size_t i) {
        if (regions.kind(i) == RegionKind::polygon) return bound_rings(shapes, i);
        return regions.kind(i) == RegionKind::mask ? bound_runs(shapes, i) : bound_points(regions.keypoints[i]);
    };
    for (std::size_t i = 0; i < regions.count(); ++i) {
        if (regions.boxed[i] || (regions.kind(i) == RegionKind::box && !regions.has_keypoints(i))) continue;
        const Corners found = corners_of(i);
        const bool is_corners = regions.layout == BoxLayout::corners;
        boxes[4 * i] = found.left;
        boxes[4 * i + 1] = found.top;
        boxes[4 * i + 2] = is_corners ? found.right : found.right - found.left;
        boxes[4 * i + 3] = is_corners ? found.bottom : found.bottom - found.top;
    }
    Regions bounded = regions;
    bounded.boxes = keep(std::move(boxes));
    return bounded;
}

}  // namespace verite
