// The polygons and masks of all objects of a COCO file, object by object.
#pragma once

#include "columns/memory.hpp"
#include "json/regions.hpp"
#include "similarity/coco_masks.hpp"

namespace verite {

struct Shapes {
    json::Polygons polygons;                        // of the objects that have them, as the file has them
    json::Runs runs;                                // the same of masks
    Array<std::int64_t> ring_objects, run_objects;  // object i has the rings ring_objects[i] .. ring_objects[i + 1], …
    Array<std::int32_t> run_sizes;                  // height and width of each object's mask, zeros where it has none
    Array<std::int64_t> ring_numbers;               // where the numbers of each ring start: two a point

    bool has_polygons() const { return polygons.ring_starts.rows() > 1; }
    bool has_runs() const { return runs.lengths.rows() > 0; }

    // What kernels see of it; boxes and sizes of images are the caller's.
    Outlines outlines(std::span<const double> boxes, std::span<const std::int32_t> images) const;
};

// Throws json::ParseError for the first segmentation that is wrong.
Shapes read_shapes(std::span<const char> text, const json::Document& document, const json::RegionLimits& limits,
                   unsigned threads);

// Has every object a polygon or a mask?
bool all_have_shapes(const json::Annotations& objects);

}  // namespace verite
