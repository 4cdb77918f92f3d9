// A toy: boxes are as alike as their centres are near, 1 where they are the same, 1/2 where they are a pixel apart.
#include <cmath>

#include "similarity/boxes.hpp"
#include "similarity/registry.hpp"

namespace verite {
namespace {

class CentreSimilarity {
  public:
    explicit CentreSimilarity(const Comparison& comparison)
        : truth_(comparison.truth.boxes), pred_(comparison.pred.boxes) {}

    void set_truths(std::span<const std::int32_t> truths) { rows_ = truths; }

    void set_pred(std::int32_t row) { mine_ = &pred_[4 * static_cast<std::size_t>(row)]; }

    template <class Visit>
    void each_candidate(Visit&& visit) const {
        for (std::size_t t = 0; t < rows_.size(); ++t) visit(t);
    }

    double value(std::size_t t) const {
        const double* other = &truth_[4 * static_cast<std::size_t>(rows_[t])];
        const double x = mine_[0] + mine_[2] / 2 - other[0] - other[2] / 2;
        const double y = mine_[1] + mine_[3] / 2 - other[1] - other[3] / 2;
        return 1 / (1 + std::hypot(x, y));
    }

  private:
    std::span<const double> truth_, pred_;
    std::span<const std::int32_t> rows_;
    const double* mine_ = nullptr;
};

}  // namespace

constinit const SimilarityMeasure centre_similarity = make_similarity<CentreSimilarity>(
    "centre", "centres of boxes", {},
    [](const Objects& objects, unsigned threads, std::span<double> out) { box_areas(objects.boxes, threads, out); });

}  // namespace verite
