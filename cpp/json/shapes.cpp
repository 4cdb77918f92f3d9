#include "json/shapes.hpp"

#include <algorithm>
#include <vector>

#include "columns/memory.hpp"

namespace verite::json {
namespace {

std::vector<std::int64_t> records_of(const Annotations& objects, SegmentationKind kind) {
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

Shapes read_shapes(const Content& content, const Document& document, const RegionLimits& limits, unsigned threads) {
    const Annotations& objects = document.annotations;
    Shapes shapes;
    if (const auto records = records_of(objects, SegmentationKind::polygons); !records.empty()) {
        Polygons found = read_polygons(content, document, records, limits, threads);
        shapes.ring_objects = keep(spread(found.object_starts, records, objects.count));
        shapes.points = keep(std::move(found.points));
        shapes.rings = keep(std::move(found.ring_starts));
    }
    if (const auto records = records_of(objects, SegmentationKind::runs); !records.empty()) {
        RLEMasks found = read_runs(content, document, records, limits, threads);
        shapes.run_objects = keep(spread(found.starts, records, objects.count));
        Array<std::int32_t> sizes(2 * objects.count, 0);
        for (std::size_t i = 0; i < records.size(); ++i)
            std::copy_n(&found.sizes.values()[2 * i], 2, &sizes[2 * static_cast<std::size_t>(records[i])]);
        shapes.sizes = keep(std::move(sizes));
        shapes.counts = keep(std::move(found.lengths));
    }
    return shapes;
}

}  // namespace verite::json
