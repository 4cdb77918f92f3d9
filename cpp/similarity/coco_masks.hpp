// COCO masks: rasterised polygons and RLE masks, their areas, bounding boxes and IoU as pycocotools computes them.
#pragma once

#include <array>
#include <vector>

#include "columns/bounds.hpp"
#include "columns/memory.hpp"
#include "columns/shapes.hpp"
#include "columns/views.hpp"
#include "regions/polygons.hpp"
#include "similarity/candidates.hpp"

namespace verite {

// Regions of objects: the mask where there is one, else the polygons, else the box.
struct Outlines {
    RLEMasks runs;  // an object without a mask has no runs; may hold no objects at all
    Rings rings;
    std::span<const std::int64_t> objects;  // object i has the rings objects[i] .. objects[i + 1]; may be empty
    std::span<const double> boxes;          // left, top, width, height
    std::span<const std::int32_t> images;   // height and width of the image of each object

    std::size_t size() const { return images.size() / 2; }
    Size image_of(std::size_t i) const { return {images[2 * i], images[2 * i + 1]}; }
};

// What kernels see of shapes; boxes and sizes of images are the caller's.
Outlines list_outlines(const Shapes& shapes, std::span<const double> boxes, std::span<const std::int32_t> images);

// The ring of object i: its polygon, or the corners of its box, which are put into `corners`. Empty where it has
// several.
std::span<const double> only_ring(const Outlines& outlines, std::size_t i, std::array<double, 8>& corners);

// The size of an object's image, in which it is drawn.
Size drawing_size(const Outlines& outlines, std::size_t i);

// The runs of an object that has no mask, appended to `counts`.
void draw_outline(const Outlines& outlines, std::size_t i, RingDrawer& drawer, std::vector<std::uint32_t>& counts);

struct Masks {
    Column<std::uint32_t> counts;
    Array<std::int64_t> offsets;  // object i has the runs offsets[i] .. offsets[i + 1]
    Array<std::int32_t> sizes;    // height and width of each mask
};

// The mask of every object: as given, or drawn the way pycocotools draws polygons (a box is a polygon of its corners).
Masks draw_masks(const Outlines& outlines, unsigned threads);

// The number of pixels of each mask.
void mask_areas(const RLEMasks& masks, std::span<double> out);

// Left, top, width and height of the pixels of each mask, as pycocotools computes them.
void mask_bounds(const RLEMasks& masks, std::span<double> out);

// IoU of two masks as pycocotools computes it, or intersection over the prediction's area where the ground truth is a
// crowd; 0 where their bounding boxes are apart and -1 where their images differ in size.
double mask_iou(std::span<const std::uint32_t> pred, Size pred_size, std::span<const std::uint32_t> truth,
                Size truth_size, bool is_crowd);

// The number of pixels of every object, drawn one after the other: masks of a whole dataset would need more memory
// than everything else.
void draw_areas(const Outlines& outlines, unsigned threads, std::span<double> out);

}  // namespace verite
