// Statistics of pairs of masks for localization metrics: areas, contours and distances between contours in pixels.
#pragma once

#include <vector>

#include "regions/distances.hpp"
#include "regions/shapes.hpp"
#include "regions/transforms.hpp"

namespace verite {

// Areas in pixels of the ground-truth mask, of the predicted one and of their intersection, three numbers per pair,
// computed on runs without rasterising.
void areas_of_pairs(const Side& truth, const Side& pred, std::span<double> out);

// Numbers per pair: three areas (ground truth, prediction, intersection), three contour lengths (likewise), the five of
// Directed from the prediction's contour to the ground truth's, and the same five the other way.
constexpr std::size_t statistic_count = 16;

// One row of statistics per pair; distances are 0 where either contour is empty. All functions here throw
// std::invalid_argument where a pair's masks are of images of different sizes.
void measure(const Side& truth, const Side& pred, std::span<double> out);

// The sum of squared distances of the predicted pixels outside the ground truth to it; 0 where that is empty.
void sum_outside(const Side& truth, const Side& pred, std::span<double> out);

// Squared distances of every contour pixel of one side to the other side's contour, pair by pair; none where either
// side is empty. `offsets` gets one entry more than there are pairs.
template <class Number>
struct Lists {
    std::vector<Number> squared;
    std::vector<std::int64_t> offsets;
};
using PixelLists = Lists<std::int64_t>;
void list_distances(const Side& truth, const Side& pred, PixelLists& to_truth, PixelLists& to_pred);

// The same with another distance between neighbouring pixels.
using SpacedLists = Lists<double>;
void list_distances(const Side& truth, const Side& pred, Spacing spacing, SpacedLists& to_truth, SpacedLists& to_pred);
void sum_outside(const Side& truth, const Side& pred, Spacing spacing, std::span<double> out);

}  // namespace verite
