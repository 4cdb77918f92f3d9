// IoU of rotated bounding boxes (oriented bounding boxes, OBB) and other convex quadrilaterals, exactly.
#include <algorithm>
#include <vector>

#include "columns/parallel.hpp"
#include "regions/quadrilaterals.hpp"
#include "similarity/registry.hpp"

namespace verite {
namespace {

class QuadrilateralIoU {
  public:
    explicit QuadrilateralIoU(const Comparison& comparison)
        : truth_(comparison.truth), pred_(comparison.pred), almost_(comparison.floor * (1 - 1e-9)) {}

    void set_truths(std::span<const std::int32_t> rows) {
        others_.clear();
        is_crowd_.clear();
        for (const std::int32_t row : rows) {
            others_.emplace_back(&truth_.quads[8 * static_cast<std::size_t>(row)]);
            is_crowd_.push_back(!truth_.crowd.empty() && truth_.crowd[static_cast<std::size_t>(row)]);
        }
    }

    void set_pred(std::int32_t row) { mine_ = Quadrilateral(&pred_.quads[8 * static_cast<std::size_t>(row)]); }

    // The intersection is no larger than that of the boxes around them, nor than the smaller one. NaN is a candidate.
    template <class Visit>
    void each_candidate(Visit&& visit) const {
        for (std::size_t t = 0; t < others_.size(); ++t) {
            const Quadrilateral& other = others_[t];
            const double width = std::min(mine_.right(), other.right()) - std::max(mine_.left(), other.left());
            const double height = std::min(mine_.bottom(), other.bottom()) - std::max(mine_.top(), other.top());
            const double most = std::min({std::max(width, 0.0) * std::max(height, 0.0), mine_.area(), other.area()});
            const double all = is_crowd_[t] ? mine_.area() : mine_.area() + other.area() - most;
            if (!(most < almost_ * all)) visit(t);
        }
    }

    double value(std::size_t t) const { return quad_iou(others_[t], mine_, is_crowd_[t]); }

  private:
    const Objects &truth_, &pred_;
    double almost_;
    Quadrilateral mine_;
    std::vector<Quadrilateral> others_;
    std::vector<std::uint8_t> is_crowd_;
};

void quad_areas(const Objects& objects, unsigned threads, std::span<double> out) {
    in_stretches(out.size(), threads, [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) out[i] = Quadrilateral(&objects.quads[8 * i]).area();
    });
}

}  // namespace

static_assert(Similarity<QuadrilateralIoU>);

constinit const SimilarityMeasure rotated_similarity =
    make_similarity<QuadrilateralIoU>("rotated", "rotated boxes", {.quads = true}, quad_areas);

}  // namespace verite
