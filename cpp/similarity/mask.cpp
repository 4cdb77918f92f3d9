// Mask IoU as COCO computes it: intersection over union in pixels, or over the prediction's area in a crowd.
#include "regions/masks.hpp"
#include "similarity/mask_similarity.hpp"
#include "similarity/registry.hpp"

namespace verite {

static_assert(Similarity<MaskSimilarity>);

constinit const SimilarityMeasure mask_similarity =
    make_similarity<MaskSimilarity>("mask", "masks", {.outlines = true}, outline_areas);

}  // namespace verite
