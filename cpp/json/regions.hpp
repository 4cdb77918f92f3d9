// Decoding of segmentations (polygons and RLE masks), which read_coco only locates.
#pragma once

#include <cstdint>
#include <span>

#include "columns/columns.hpp"
#include "json/content.hpp"
#include "json/document.hpp"

namespace verite::json {

struct RegionLimits {
    std::int64_t side_px = 65535;
    std::int64_t pixels = 500'000'000;
    std::int64_t points = 1'000'000;  // of one object
    double coordinate_px = 1e7;
    // Strict: runs fill their image exactly and rings have three points or more.
    // Otherwise runs may end early and rings may have any even number of coordinates.
    bool is_strict = true;
};

// Objects of rings of points. Object i has rings object_starts[i] to object_starts[i + 1], a ring points likewise.
struct Polygons {
    Column<double, 2> points;  // x, y
    Column<std::int64_t> ring_starts, object_starts;
};

// Run-length masks: lengths of runs of 0 and 1 in turn, column by column of the image, starting with 0.
struct RLEMasks {
    Column<std::uint32_t> lengths;
    Column<std::int64_t> starts;
    Column<std::int32_t, 2> sizes;  // height, width
};

// The segmentations of these records of `document`, which was read from `content`. Throws ParseError for the first that
// is wrong, and std::invalid_argument for a record that does not exist or whose segmentation is of another kind.
Polygons read_polygons(const Content& content, const Document& document, std::span<const std::int64_t> records,
                       const RegionLimits& limits = {}, unsigned threads = 1);
RLEMasks read_runs(const Content& content, const Document& document, std::span<const std::int64_t> records,
                   const RegionLimits& limits = {}, unsigned threads = 1);

}  // namespace verite::json
