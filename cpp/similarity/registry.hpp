// The registry of similarities, one line each; each is defined in the file of its name.
#pragma once

#include "similarity/similarity.hpp"

// clang-format off
#define VERITE_EACH_SIMILARITY(line) \
    line(box)                        \
    line(mask)                       \
    line(boundary)                   \
    line(keypoints)                  \
    line(rotated)                    \
    line(point)                      \
    line(corner_box)
// clang-format on

namespace verite {

#define VERITE_DECLARE(name) extern const SimilarityMeasure name##_similarity;
VERITE_EACH_SIMILARITY(VERITE_DECLARE)
#undef VERITE_DECLARE

}  // namespace verite
