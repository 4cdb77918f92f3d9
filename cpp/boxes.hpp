// How much do boxes overlap?
#pragma once

#include <vector>

#include "views.hpp"

namespace verite {

// Intersection over union of every truth with every prediction, into a matrix of truth.size() rows.
// `pixel` is added to every width and height: 1 where corners are pixel indices (Pascal VOC), else 0.
void box_iou(Boxes truth, Boxes pred, double pixel, std::span<double> out);

// Pairs within one cell (the objects of one image and label) that overlap enough to matter, prediction by
// prediction, truths in their order within a prediction.
struct Candidates {
    std::vector<std::int64_t> offsets;  // prediction i has the candidates offsets[i] .. offsets[i + 1]
    std::vector<std::int32_t> truth;
    std::vector<double> overlap;
};

// Truths are sorted by cell, predictions come in any order. Pairs with an overlap of zero or below `floor` are
// left out.
Candidates box_candidates(Boxes truth, std::span<const std::int64_t> truth_cells, Boxes pred,
                          std::span<const std::int64_t> pred_cells, double pixel, double floor);

}  // namespace verite
