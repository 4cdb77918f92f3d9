// Intersection over union (IoU) of axis-aligned bounding boxes.
#pragma once

#include "columns/views.hpp"
#include "similarity/candidates.hpp"

namespace verite {

// IoU of every ground-truth box with every predicted box, into a matrix of truth.size() rows. `pixel` is added to every
// width and height: 1 where corners are pixel indices (Pascal VOC), else 0.
void box_iou(Boxes truth, Boxes pred, double pixel, std::span<double> out);

// Pairs within one cell (image and class) with a positive IoU of at least `floor`. Ground truth is sorted by cell,
// predictions come in any order; `pixel` as above.
Candidates box_candidates(Boxes truth, std::span<const std::int64_t> truth_cells, Boxes pred,
                          std::span<const std::int64_t> pred_cells, double pixel, double floor);

// COCO's IoU of one prediction with one ground-truth box, both left, top, width, height; over the prediction's area
// where the ground truth is a crowd. In pycocotools' order of operations, bit for bit.
double coco_box_iou(const double* pred, const double* truth, bool is_crowd);

// Width times height of boxes given as left, top, width, height.
void box_areas(std::span<const double> sizes, unsigned threads, std::span<double> out);

}  // namespace verite
