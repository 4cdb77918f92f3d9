// Does everything in a COCO document have its place? What an evaluation needs beyond the columns of the file.
#pragma once

#include <cstdint>
#include <optional>

#include "columns/memory.hpp"
#include "json/document.hpp"

namespace verite {

struct ImageLimits {
    std::int64_t side_px, pixels;
};

// The images and classes of a truth in the order of their ids, in which COCO works: the rank of each. Empty where they
// stand in this order anyway.
struct Ranks {
    Array<std::int32_t> image, label;
};

// Nothing where anything is unusual: a section is missing or empty, ids are texts or there twice, a class has no name,
// a size is no size of a picture. Names are not compared.
std::optional<Ranks> ranks_of(const json::Document& truth, const ImageLimits& limits);

// For each object the position of its image and its class in the tables of the truth.
struct Positions {
    Array<std::int32_t> image, label;
};

// Nothing where anything is unusual: there are no objects, ids of images are texts or unknown, an object has no box,
// or only some have a score or an id.
std::optional<Positions> positions_of(const json::Document& objects, const json::Document& truth, unsigned threads);

}  // namespace verite
