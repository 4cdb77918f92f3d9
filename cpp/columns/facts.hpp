// What stands for columns in a few characters: a digest of each.
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

// Names and sizes of the images: those without a name are called by their id.
std::vector<Fact> facts_of(const Images& images);

// Everything about objects but their polygons and masks.
std::vector<Fact> facts_of(const Columns& columns);

std::vector<Fact> facts_of(const Shapes& shapes);

}  // namespace verite
