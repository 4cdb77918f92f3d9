// Decodes the polygons and masks of all objects of a COCO file.
#pragma once

#include "columns/shapes.hpp"
#include "json/regions.hpp"

namespace verite::json {

// Throws ParseError for the first segmentation that is wrong.
Shapes read_shapes(const Content& content, const Document& document, const RegionLimits& limits, unsigned threads);

}  // namespace verite::json
