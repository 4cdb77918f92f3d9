// What stands for a COCO file in a few characters: a digest of each of its columns, as Python would take it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "columns/shapes.hpp"
#include "evaluation/settled.hpp"

namespace verite {

struct Fact {
    std::string name;
    std::size_t bytes;
    std::uint64_t digest;
};

// Names and sizes of the images: those without a name are called by their id.
std::vector<Fact> facts_of(const json::Images& images);

// Everything about objects but their polygons and masks. Flags that nobody carries are left out.
std::vector<Fact> facts_of(const json::Annotations& objects, const Positions& positions);

std::vector<Fact> facts_of(const Shapes& shapes);

}  // namespace verite
