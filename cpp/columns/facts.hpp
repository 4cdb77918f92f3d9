// Digests of columns: name, size and hash of each, from which the digest of a dataset is made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "columns/objects.hpp"

namespace verite {

struct Fact {
    std::string name;
    std::size_t bytes;
    std::uint64_t digest;
};

// Names and sizes of the images; an image without a name is named by its id.
std::vector<Fact> facts_of(const Images& images);

// All columns of objects except polygons and masks.
std::vector<Fact> facts_of(const Columns& columns);

std::vector<Fact> facts_of(const Shapes& shapes);

}  // namespace verite
