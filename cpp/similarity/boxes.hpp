// How much do boxes overlap?
#pragma once

#include "columns/views.hpp"
#include "similarity/overlaps.hpp"

namespace verite {

// Intersection over union of every truth with every prediction, into a matrix of truth.size() rows.
// `pixel` is added to every width and height: 1 where corners are pixel indices (Pascal VOC), else 0.
void box_iou(Boxes truth, Boxes pred, double pixel, std::span<double> out);

// Pairs within one cell (the objects of one image and label) that overlap enough to matter.
// Truths are sorted by cell, predictions come in any order. Pairs with an overlap of zero or below `floor` are
// left out.
Candidates box_candidates(Boxes truth, std::span<const std::int64_t> truth_cells, Boxes pred,
                          std::span<const std::int64_t> pred_cells, double pixel, double floor);

// COCO's overlap of one prediction with one truth, both left, top, width, height: intersection over union, or over the
// prediction's area where the truth is a crowd. Computed in pycocotools' order of operations, to the last bit.
double coco_overlap(const double* pred, const double* truth, bool is_crowd);

// Width times height.
void box_areas(std::span<const double> sizes, unsigned threads, std::span<double> out);

}  // namespace verite
