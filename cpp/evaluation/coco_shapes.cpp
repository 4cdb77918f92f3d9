#include "evaluation/coco_shapes.hpp"

#include <algorithm>

namespace verite {
namespace {

std::vector<std::int64_t> records_of(const json::Annotations& objects, json::RegionKind kind) {
    std::vector<std::int64_t> records;
    const auto kinds = objects.region_kinds.values();
    for (std::size_t i = 0; i < kinds.size(); ++i)
        if (kinds[i] == kind) records.push_back(static_cast<std::int64_t>(i));
    return records;
}

// Offsets of some objects as offsets of all.
Array<std::int64_t> spread(const Column<std::int64_t>& starts, std::span<const std::int64_t> records,
                           std::size_t count) {
    Array<std::int64_t> offsets(count + 1, 0);
    for (std::size_t i = 0; i < records.size(); ++i)
        offsets[static_cast<std::size_t>(records[i]) + 1] = starts[i + 1] - starts[i];
    for (std::size_t i = 0; i < count; ++i) offsets[i + 1] += offsets[i];
    return offsets;
}

}  // namespace

Outlines Shapes::outlines(std::span<const double> boxes, std::span<const std::int32_t> images) const {
    Outlines found{{}, {}, {}, boxes, images};
    if (has_runs()) found.runs = {{runs.lengths.values(), run_objects}, run_sizes};
    if (has_polygons()) {
        found.rings = {polygons.points.values(), ring_numbers};
        found.objects = ring_objects;
    }
    return found;
}

Shapes read_shapes(std::span<const char> text, const json::Document& document, const json::RegionLimits& limits,
                   unsigned threads) {
    const json::Annotations& objects = document.annotations;
    Shapes shapes;
    if (const auto records = records_of(objects, json::RegionKind::polygons); !records.empty()) {
        shapes.polygons = json::read_polygons(text, document, records, limits, threads);
        shapes.ring_objects = spread(shapes.polygons.object_starts, records, objects.count);
        const auto starts = shapes.polygons.ring_starts.values();
        shapes.ring_numbers.resize(starts.size());
        std::ranges::transform(starts, shapes.ring_numbers.begin(), [](std::int64_t start) { return 2 * start; });
    }
    if (const auto records = records_of(objects, json::RegionKind::runs); !records.empty()) {
        shapes.runs = json::read_runs(text, document, records, limits, threads);
        shapes.run_objects = spread(shapes.runs.starts, records, objects.count);
        shapes.run_sizes.assign(2 * objects.count, 0);
        for (std::size_t i = 0; i < records.size(); ++i)
            std::copy_n(&shapes.runs.sizes.values()[2 * i], 2,
                        &shapes.run_sizes[2 * static_cast<std::size_t>(records[i])]);
    }
    return shapes;
}

bool all_have_shapes(const json::Annotations& objects) {
    const auto kinds = objects.region_kinds.values();
    return kinds.size() == objects.count && std::ranges::all_of(kinds, [](json::RegionKind kind) {
               return kind == json::RegionKind::polygons || kind == json::RegionKind::runs;
           });
}

}  // namespace verite
