// Grouping of objects by image and class, and the order of predictions by confidence.
//
// A cell holds the objects of one image and one class; only objects of the same cell are ever compared. Cells are laid
// out image by image, class by class within an image; the position of an object in this layout is its index.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "columns/memory.hpp"

namespace verite {

// The rank of each object's image and class; an object of rank -1 does not take part.
struct ObjectPlaces {
    std::span<const std::int32_t> image, label;
    std::int32_t images = 0, labels = 0;
    std::span<const std::int32_t> rows = {};  // which objects there are and in which order; empty: all, as given

    std::size_t size() const { return rows.empty() ? image.size() : rows.size(); }
};

// The order of equal confidences of a class: by image and then by row, or by row.
enum class TieOrder : std::uint8_t { image, row };

// Objects by index, in the caller's memory.
struct Cells {
    std::span<const std::int32_t> rows;    // the object at each index
    std::span<const std::int32_t> labels;  // its class
    std::span<const std::int64_t> images;  // image i has the indices images[i] .. images[i + 1]

    std::size_t image_count() const { return images.size() - 1; }
};

// The same, owned.
struct GroupedObjects {
    Array<std::int32_t> rows, labels;
    Array<std::int64_t> images;

    Cells view() const { return {rows, labels, images}; }
};

// Images cut into pieces with about as many objects each, of which image i has images[i] .. images[i + 1]: piece i has
// the images pieces[i] .. pieces[i + 1].
std::vector<std::size_t> cut_images(std::span<const std::int64_t> images, std::size_t pieces);

// Objects of a cell stay in the order in which they are given. Throws std::invalid_argument where a place is out of
// range.
GroupedObjects group_objects(const ObjectPlaces& places);

// A sort key that rises as the confidence falls; equal confidences have equal keys, NaN has the largest.
std::uint64_t falling_key(double confidence);

// Predictions by descending confidence, equal ones of a cell by row.
struct OrderedPredictions {
    GroupedObjects cells;               // each cell by descending confidence, cut off after `most` (maxDets)
    Array<std::int32_t> ranks;          // rank of each prediction within its cell, from 0
    Array<std::int32_t> by_label;       // indices, class by class, all images together by descending confidence
    Array<std::int64_t> label_offsets;  // class k has by_label[label_offsets[k]] .. [label_offsets[k + 1]]
};

OrderedPredictions order_predictions(const ObjectPlaces& places, std::span<const double> confidence, std::int32_t most,
                                     TieOrder ties, unsigned threads);

}  // namespace verite
