// Masks by COCO's rules: what objects look like, and how much they overlap.
#pragma once

#include "memory.hpp"
#include "overlaps.hpp"
#include "views.hpp"

namespace verite {

// What is known of the shape of objects. The mask counts; where there is none the polygons, and without them the box.
struct Outlines {
    Runs runs;                              // an object without a mask has no runs; may hold no objects at all
    Ragged<double> rings;                   // x1, y1, x2, y2, … of each ring
    std::span<const std::int64_t> objects;  // object i has the rings objects[i] .. objects[i + 1]; may be empty
    std::span<const double> boxes;          // left, top, width, height
    std::span<const std::int32_t> images;   // height and width of the image of each object

    std::size_t size() const { return images.size() / 2; }
    Size image_of(std::size_t i) const { return {images[2 * i], images[2 * i + 1]}; }
};

struct Masks {
    Column<std::uint32_t> counts;
    Array<std::int64_t> offsets;  // object i has the runs offsets[i] .. offsets[i + 1]
    Array<std::int32_t> sizes;    // height and width of each mask
};

// The mask of every object: as given, or drawn the way pycocotools draws polygons (a box is a polygon of its corners).
Masks draw_masks(const Outlines& outlines, unsigned threads);

// The number of pixels of each mask.
void mask_areas(const Runs& masks, std::span<double> out);

// Left, top, width and height of the pixels of each mask, as pycocotools tells them.
void mask_bounds(const Runs& masks, std::span<double> out);

// The overlap of two masks as pycocotools computes it: shared pixels over all pixels, or over the prediction's where
// the truth is a crowd; 0 where their bounds are apart and -1 where they are of images of different sizes.
double mask_overlap(const Runs& preds, std::size_t pred, const Runs& truths, std::size_t truth, bool is_crowd);

// Candidates of laid-out cells by that overlap. `crowd` has one entry a truth. What must be drawn is drawn cell by
// cell, and only where both sides have objects: masks of a whole data set would fill more memory than everything else.
Candidates mask_candidates(const Cells& truth, const Outlines& truths, std::span<const std::uint8_t> crowd,
                           const Cells& pred, const Outlines& preds, double floor, unsigned threads);

}  // namespace verite
