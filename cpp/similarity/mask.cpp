// Masks as COCO compares them: shared pixels over all, or over the prediction's where the truth is a crowd.
#include "regions/masks.hpp"
#include "similarity/mask_measure.hpp"
#include "similarity/registry.hpp"

namespace verite {

constinit const Similarity mask_similarity =
    make_similarity<MaskMeasure>("mask", "masks", {.outlines = true}, outline_areas);

}  // namespace verite
