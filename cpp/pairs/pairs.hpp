// Everything the localization metrics ask about two regions, counted once.
#pragma once

#include <vector>

#include "regions/distances.hpp"
#include "regions/shapes.hpp"
#include "regions/transforms.hpp"

namespace verite {

// Area of the truth, of the pred and of both, three numbers a pair, without a pixel drawn.
void overlaps(const Side& truth, const Side& pred, std::span<double> out);

// How many numbers a pair has: three areas (truth, pred, shared), three contour lengths (truth, pred, shared), the five
// of Directed from the pred's contour to the truth's, and the same five the other way.
constexpr std::size_t statistic_count = 16;

// One row of statistics a pair; distances are 0 where either contour is empty.
// This and the others throw std::invalid_argument where a pair's masks are of images of different sizes.
void measure(const Side& truth, const Side& pred, std::span<double> out);

// The squared distances of the pred's pixels outside the truth to the truth, summed; 0 where the truth is empty.
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

// The same two where neighbouring pixels do not lie one apart.
using SpacedLists = Lists<double>;
void list_distances(const Side& truth, const Side& pred, Spacing spacing, SpacedLists& to_truth, SpacedLists& to_pred);
void sum_outside(const Side& truth, const Side& pred, Spacing spacing, std::span<double> out);

}  // namespace verite
