// Which objects meet, and in which order are predictions looked at?
//
// A cell holds the objects of one image and one class; only objects of the same cell are ever compared. Cells are laid
// out image by image, class by class within an image; the place of an object in this layout is its slot.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "columns/memory.hpp"

namespace verite {

// Where objects belong: the rank of each one's image and of its class; -1 leaves an object out.
struct Places {
    std::span<const std::int32_t> image, label;
    std::int32_t images = 0, labels = 0;
    std::span<const std::int32_t> rows = {};  // which objects there are and in which order; empty: all, as given

    std::size_t size() const { return rows.empty() ? image.size() : rows.size(); }
};

// In which order do equal confidences of a class come: by image and then as given, or as given?
enum class Ties : std::uint8_t { image, row };

// Objects slot by slot, as the caller's memory has them.
struct Cells {
    std::span<const std::int32_t> rows;    // the object in each slot
    std::span<const std::int32_t> labels;  // its class
    std::span<const std::int64_t> images;  // image i has the slots images[i] .. images[i + 1]

    std::size_t image_count() const { return images.size() - 1; }
};

// The same, owned.
struct Grouped {
    Array<std::int32_t> rows, labels;
    Array<std::int64_t> images;

    Cells view() const { return {rows, labels, images}; }
};

// Images cut into pieces with about as many objects each, of which image i has images[i] .. images[i + 1]: piece i has
// the images pieces[i] .. pieces[i + 1].
std::vector<std::size_t> cut_images(std::span<const std::int64_t> images, std::size_t pieces);

// Objects of a cell stay in the order in which they are given. Throws std::invalid_argument where a place is out of
// range.
Grouped group_objects(const Places& places);

// A number that rises where the confidence falls; equal confidences have equal keys, and what is not a number the last.
std::uint64_t falling_key(double confidence);

// Predictions by falling confidence, equal ones of a group as given.
struct Ordered {
    Grouped cells;                      // each cell by falling confidence, cut off after `most`
    Array<std::int32_t> ranks;          // place of each slot within its cell, from 0
    Array<std::int32_t> by_label;       // slots, class by class, all images together by falling confidence
    Array<std::int64_t> label_offsets;  // class k has by_label[label_offsets[k]] .. [label_offsets[k + 1]]
};

Ordered order_predictions(const Places& places, std::span<const double> confidence, std::int32_t most, Ties ties,
                          unsigned threads);

}  // namespace verite
