// Boundary IoU of masks: the IoU of two masks or of their boundaries, whichever is less. In a crowd the masks alone are
// compared: a crowd's boundary surrounds a group, not one object.
//
// Cheng et al., Boundary IoU: Improving Object-Centric Image Segmentation Evaluation, CVPR 2021; crowds as in its code.
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "regions/rasters.hpp"
#include "similarity/mask_similarity.hpp"
#include "similarity/registry.hpp"

namespace verite {
namespace {

// A boundary is this part of the image's diagonal wide, and at least a pixel.
constexpr double rim = 0.02;

std::int64_t rim_width(Size size) {
    const auto height = static_cast<double>(size.height), width = static_cast<double>(size.width);
    return std::max<std::int64_t>(std::llrint(rim * std::sqrt(height * height + width * width)), 1);
}

// Most pairs are settled by their masks; boundaries are found once, when they are first needed.
class BoundaryIoU {
  public:
    explicit BoundaryIoU(const Comparison& comparison) : masks_(comparison), floor_(comparison.floor) {}

    void set_truths(std::span<const std::int32_t> rows) {
        masks_.set_truths(rows);
        if (others_.size() < rows.size()) others_.resize(rows.size());
        for (std::size_t t = 0; t < rows.size(); ++t) others_[t].is_read = false;
    }

    void set_pred(std::int32_t row) {
        masks_.set_pred(row);
        mine_.is_read = false;
    }

    template <class Visit>
    void each_candidate(Visit&& visit) const {
        masks_.each_candidate(visit);
    }

    double value(std::size_t t) {
        const double iou = masks_.value(t);
        if (!(iou >= floor_) || !(iou > 0) || masks_.is_crowd(t)) return iou;
        Mask& other = masks_.other(t);
        const std::int64_t width = rim_width(other.size);
        if (is_thin(masks_.mine(), width) && is_thin(other, width)) return iou;  // the boundaries are the masks
        mine_.read(masks_.mine(), width);
        others_[t].read(other, width);
        const std::uint64_t both = count_common(mine_.rim, others_[t].rim);
        const std::uint64_t all = mine_.size + others_[t].size - both;
        return std::min(iou, both > 0 ? static_cast<double>(both) / static_cast<double>(all) : 0.0);
    }

  private:
    // Nothing of it is further than `width` steps from the outside. Irregular masks have no bounds.
    static bool is_thin(const Mask& mask, std::int64_t width) {
        const auto& [left, top, right, bottom] = mask.bounds;
        return !mask.is_odd && std::min(right - left, bottom - top) <= 2 * width;
    }

    struct OwnRim {
        Raster rim;
        std::uint64_t size = 0;
        bool is_read = false;

        void read(Mask& mask, std::int64_t width) {
            if (is_read) return;
            const auto counts = mask.counts();
            if (std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}) != mask.size.pixels())
                throw std::invalid_argument("expected masks whose runs add up to their size");
            rim.rim(counts, mask.size, width);
            size = rim.count();
            is_read = true;
        }
    };

    MaskSimilarity masks_;
    double floor_;
    OwnRim mine_;
    std::vector<OwnRim> others_;
};

}  // namespace

static_assert(Similarity<BoundaryIoU>);

constinit const SimilarityMeasure boundary_similarity =
    make_similarity<BoundaryIoU>("boundary", "masks and their boundaries", {.outlines = true}, outline_areas);

}  // namespace verite
