#include "columns/objects.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "columns/lookup.hpp"
#include "columns/memory.hpp"

namespace verite {
namespace {

template <class T>
View<T> take_rows(const View<T>& column, std::span<const std::int64_t> rows, std::size_t width = 1) {
    if (!column) return {};
    Array<T> taken(rows.size() * width);
    for (std::size_t i = 0; i < rows.size(); ++i)
        std::copy_n(column.data() + static_cast<std::size_t>(rows[i]) * width, width, taken.data() + i * width);
    return keep(std::move(taken));
}

// Where the chosen rows of a ragged column start, one after the other.
View<std::int64_t> take_starts(const View<std::int64_t>& starts, std::span<const std::int64_t> rows) {
    Array<std::int64_t> taken(rows.size() + 1, 0);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto row = static_cast<std::size_t>(rows[i]);
        taken[i + 1] = taken[i] + starts[row + 1] - starts[row];
    }
    return keep(std::move(taken));
}

// The rows of the flat column behind the chosen rows of a ragged one.
Array<std::int64_t> rows_behind(const View<std::int64_t>& starts, std::span<const std::int64_t> rows) {
    Array<std::int64_t> behind;
    for (const std::int64_t row : rows)
        for (std::int64_t at = starts[static_cast<std::size_t>(row)]; at < starts[static_cast<std::size_t>(row) + 1];
             ++at)
            behind.push_back(at);
    return behind;
}

RaggedView<double> take_rows(const RaggedView<double>& column, std::span<const std::int64_t> rows) {
    if (!column) return {};
    auto starts = take_starts(column.starts, rows);
    if (starts[rows.size()] == 0) return {};
    Array<double> taken(static_cast<std::size_t>(starts[rows.size()]));
    for (std::size_t i = 0; i < rows.size(); ++i)
        std::ranges::copy(column[static_cast<std::size_t>(rows[i])], taken.begin() + starts[i]);
    return {keep(std::move(taken)), std::move(starts)};
}

Shapes take(const Shapes& shapes, std::span<const std::int64_t> rows) {
    Shapes taken;
    if (shapes.has_polygons()) {
        const auto rings = rows_behind(shapes.ring_objects, rows);
        taken.points = take_rows(shapes.points, rows_behind(shapes.rings, rings), 2);
        taken.rings = take_starts(shapes.rings, rings);
        taken.ring_objects = take_starts(shapes.ring_objects, rows);
    }
    if (shapes.has_runs()) {
        taken.counts = take_rows(shapes.counts, rows_behind(shapes.run_objects, rows));
        taken.run_objects = take_starts(shapes.run_objects, rows);
        taken.sizes = take_rows(shapes.sizes, rows, 2);
    }
    return taken;
}

RaggedView<double> scale(const RaggedView<double>& keypoints, std::span<const double> factors) {
    if (!keypoints) return {};
    Array<double> scaled(keypoints.values.begin(), keypoints.values.end());
    for (std::size_t object = 0; object < keypoints.size(); ++object)
        for (auto at = static_cast<std::size_t>(keypoints.starts[object]);
             at + 1 < static_cast<std::size_t>(keypoints.starts[object + 1]); at += 3)
            for (const std::size_t axis : {0, 1}) scaled[at + axis] *= factors[2 * object + axis];
    return {keep(std::move(scaled)), keypoints.starts};
}

Shapes scale(const Shapes& shapes, std::span<const double> factors) {
    Shapes scaled = shapes;
    if (!shapes.has_polygons()) return scaled;
    Array<double> points(shapes.points.begin(), shapes.points.end());
    for (std::size_t object = 0; object + 1 < shapes.ring_objects.size(); ++object) {
        const auto start_of = [&](std::int64_t ring) {
            return 2 * static_cast<std::size_t>(shapes.rings[static_cast<std::size_t>(ring)]);
        };
        const std::size_t last = start_of(shapes.ring_objects[object + 1]);
        for (std::size_t i = start_of(shapes.ring_objects[object]); i < last; ++i)
            points[i] *= factors[2 * object + i % 2];
    }
    scaled.points = keep(std::move(points));
    return scaled;
}

bool is_every(std::span<const std::int64_t> rows, std::size_t count) {
    if (rows.size() != count) return false;
    for (std::size_t i = 0; i < count; ++i)
        if (rows[i] != static_cast<std::int64_t>(i)) return false;
    return true;
}

void check_rows(std::span<const std::int64_t> rows, std::size_t count) {
    for (const std::int64_t row : rows)
        if (static_cast<std::uint64_t>(row) >= count)  // far too large if negative
            throw std::out_of_range("rows: expected 0 to " + std::to_string(count) + ", found " + std::to_string(row));
}

View<std::int32_t> look_up(const View<std::int32_t>& positions, const View<std::int32_t>& table) {
    if (!table) return positions;
    Array<std::int32_t> moved(positions.size());
    for (std::size_t i = 0; i < positions.size(); ++i) {
        const auto position = static_cast<std::uint32_t>(positions[i]);
        if (position >= table.size()) throw std::out_of_range("position " + std::to_string(positions[i]));
        moved[i] = table[position];
    }
    return keep(std::move(moved));
}

}  // namespace

bool is_sized(const Images& images) {
    const auto is_positive = [](std::int32_t length) { return length > 0; };
    return std::all_of(images.widths.begin(), images.widths.end(), is_positive) &&
           std::all_of(images.heights.begin(), images.heights.end(), is_positive);
}

Regions take(const Regions& regions, View<std::int64_t> rows) {
    check_rows(rows.values, regions.count());
    if (is_every(rows.values, regions.count())) return regions;
    Regions taken{take_rows(regions.boxes, rows.values, 4), regions.layout, take_rows(regions.kinds, rows.values),
                  take_rows(regions.boxed, rows.values),    nullptr,        take_rows(regions.keypoints, rows.values)};
    if (regions.shapes)
        taken.shapes = std::make_shared<const LazyShapes>(
            [shapes = regions.shapes, rows = std::move(rows)] { return take(shapes->get(), rows.values); });
    return taken;
}

Columns take(const Columns& columns, View<std::int64_t> rows) {
    Columns taken{take(columns.regions, rows),
                  take_rows(columns.image, rows.values),
                  take_rows(columns.label, rows.values),
                  take_rows(columns.confidence, rows.values),
                  take_rows(columns.area, rows.values),
                  take_rows(columns.ids, rows.values),
                  {},
                  take_rows(columns.labelled, rows.values),
                  take_rows(columns.track, rows.values)};
    for (std::size_t i = 0; i < columns.flags.size(); ++i) {
        auto flags = take_rows(columns.flags[i], rows.values);
        if (std::ranges::find(flags.values, 1) != flags.end()) taken.flags[i] = std::move(flags);
    }
    return taken;
}

Regions scale(const Regions& regions, View<double> factors) {
    if (factors.size() != 2 * regions.count()) throw std::invalid_argument("factors: expected two for each object");
    Array<double> boxes(regions.boxes.size());
    for (std::size_t i = 0; i < boxes.size(); ++i) boxes[i] = regions.boxes[i] * factors[i / 4 * 2 + i % 2];
    Regions scaled = regions;
    scaled.boxes = keep(std::move(boxes));
    scaled.keypoints = scale(regions.keypoints, factors.values);
    if (regions.shapes)
        scaled.shapes = std::make_shared<const LazyShapes>(
            [shapes = regions.shapes, factors = std::move(factors)] { return scale(shapes->get(), factors.values); });
    return scaled;
}

Columns move(const Columns& columns, const View<std::int32_t>& images, const View<std::int32_t>& labels) {
    Columns moved = columns;
    moved.image = look_up(columns.image, images);
    moved.label = look_up(columns.label, labels);
    return moved;
}

Columns only(const Columns& columns, const View<std::int32_t>& labels) {
    Columns moved = move(columns, {}, labels);
    Array<std::int64_t> rows;
    for (std::size_t i = 0; i < moved.count(); ++i)
        if (moved.label[i] >= 0) rows.push_back(static_cast<std::int64_t>(i));
    return take(moved, keep(std::move(rows)));
}

View<double> boxes_as(const Regions& regions, BoxLayout layout) {
    if (layout == regions.layout) return regions.boxes;
    Array<double> boxes(regions.boxes.begin(), regions.boxes.end());
    for (std::size_t i = 0; i < boxes.size(); i += 4)
        for (const std::size_t side : {i, i + 1})
            layout == BoxLayout::corners ? boxes[side + 2] += boxes[side] : boxes[side + 2] -= boxes[side];
    return keep(std::move(boxes));
}

std::vector<std::int64_t> count_keypoints(const Columns& columns, std::size_t labels) {
    std::vector<std::int64_t> most(labels, 0);
    const auto& keypoints = columns.regions.keypoints;
    for (std::size_t i = 0; i < keypoints.size(); ++i)
        if (static_cast<std::uint32_t>(columns.label[i]) < labels) {
            std::int64_t& known = most[static_cast<std::size_t>(columns.label[i])];
            known = std::max(known, (keypoints.starts[i + 1] - keypoints.starts[i]) / 3);
        }
    return most;
}

View<std::uint8_t> kinds_of(const Shapes& shapes, std::size_t count) {
    if (!shapes.has_polygons() && !shapes.has_runs()) return {};
    Array<std::uint8_t> kinds(count, static_cast<std::uint8_t>(RegionKind::box));
    const auto mark = [&](const View<std::int64_t>& starts, RegionKind kind) {
        for (std::size_t i = 0; i < count; ++i)
            if (starts[i] < starts[i + 1]) kinds[i] = static_cast<std::uint8_t>(kind);
    };
    if (shapes.has_polygons()) mark(shapes.ring_objects, RegionKind::polygon);
    if (shapes.has_runs()) mark(shapes.run_objects, RegionKind::mask);
    return keep(std::move(kinds));
}

View<std::int32_t> rank(const Images& images) {
    std::vector<std::int32_t> order(images.count());
    std::iota(order.begin(), order.end(), 0);
    if (images.ids) {
        if (std::ranges::is_sorted(images.ids.values)) return {};
        order = rows_by_id(images.ids.values);
    } else {
        const auto name_of = [&](std::int32_t row) {
            const auto name = images.names[static_cast<std::size_t>(row)];
            return std::string_view(name.data(), name.size());
        };
        if (std::ranges::is_sorted(order, {}, name_of)) return {};
        std::ranges::stable_sort(order, {}, name_of);
    }
    Array<std::int32_t> ranks(order.size());
    for (std::size_t i = 0; i < order.size(); ++i)
        ranks[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i);
    return keep(std::move(ranks));
}

}  // namespace verite
