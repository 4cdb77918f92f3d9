// All similarities there are; each is made in the file of its name.
#pragma once

#include "similarity/similarity.hpp"

namespace verite {

extern const Similarity box_similarity, corner_box_similarity, mask_similarity, boundary_similarity,
    keypoint_similarity, rotated_similarity;

}  // namespace verite
