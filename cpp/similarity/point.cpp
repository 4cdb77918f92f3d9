// Similarity of points by their distance: 1 at the same place, 1/2 at the maximum distance of the ground-truth point, 0
// at twice that. A crowd region with an area is matched by the points inside it.
#include <algorithm>
#include <cmath>
#include <vector>

#include "similarity/boxes.hpp"
#include "similarity/registry.hpp"
#include "similarity/window.hpp"

namespace verite {
namespace {

class PointSimilarity {
  public:
    explicit PointSimilarity(const Comparison& comparison)
        : truth_(comparison.truth), pred_(comparison.pred.points), reach_(2 * (1 - comparison.floor) * (1 + 1e-9)) {}

    void set_truths(std::span<const std::int32_t> rows) {
        rows_ = rows;
        const std::size_t count = rows.size();
        if (left_.size() < count)
            for (auto* column : {&left_, &top_, &right_, &bottom_}) column->resize(count);
        for (std::size_t t = 0; t < count; ++t) {
            const double* point = point_of(t);
            const double reach = reach_ * point[2];
            left_[t] = point[0] - reach;
            top_[t] = point[1] - reach;
            right_[t] = point[0] + reach;
            bottom_[t] = point[1] + reach;
            if (!is_crowd(t)) continue;
            const double* box = box_of(t);
            left_[t] = std::min(left_[t], box[0]);
            top_[t] = std::min(top_[t], box[1]);
            right_[t] = std::max(right_[t], box[0] + box[2]);
            bottom_[t] = std::max(bottom_[t], box[1] + box[3]);
        }
        is_large_ =
            count >= Window::fewest && window_.build({std::span(left_).first(count), std::span(top_).first(count),
                                                      std::span(right_).first(count), std::span(bottom_).first(count)});
    }

    void set_pred(std::int32_t row) { mine_ = &pred_[3 * static_cast<std::size_t>(row)]; }

    // The others are farther away than twice their maximum distance times 1 - floor. NaN is a candidate.
    template <class Visit>
    void each_candidate(Visit&& visit) {
        const double x = mine_[0], y = mine_[1];
        if (is_large_ && !std::isnan(x + y)) {
            for (const std::int32_t t : window_.find(x, y, x, y)) visit(static_cast<std::size_t>(t));
            return;
        }
        for (std::size_t t = 0; t < rows_.size(); ++t)
            if (!(x < left_[t] || x > right_[t] || y < top_[t] || y > bottom_[t])) visit(t);
    }

    double value(std::size_t t) const {
        if (is_crowd(t) && has_area(box_of(t))) return is_inside(box_of(t)) ? 1 : -1;
        const double* point = point_of(t);
        const double distance = std::hypot(mine_[0] - point[0], mine_[1] - point[1]);
        if (distance == 0) return 1;
        const double found = 1 - distance / (2 * point[2]);
        return found > 0 || std::isnan(found) ? found : -1;
    }

  private:
    const double* point_of(std::size_t t) const { return &truth_.points[3 * static_cast<std::size_t>(rows_[t])]; }
    const double* box_of(std::size_t t) const { return &truth_.boxes[4 * static_cast<std::size_t>(rows_[t])]; }
    bool is_crowd(std::size_t t) const {
        return !truth_.crowd.empty() && truth_.crowd[static_cast<std::size_t>(rows_[t])];
    }
    static bool has_area(const double* box) { return box[2] > 0 && box[3] > 0; }
    bool is_inside(const double* box) const {
        const double x = mine_[0] - box[0], y = mine_[1] - box[1];
        return x >= 0 && y >= 0 && x <= box[2] && y <= box[3];
    }

    const Objects& truth_;
    std::span<const double> pred_;
    double reach_;
    std::span<const std::int32_t> rows_;
    const double* mine_ = nullptr;
    bool is_large_ = false;
    std::vector<double> left_, top_, right_, bottom_;
    Window window_;
};

}  // namespace

static_assert(Similarity<PointSimilarity>);

constinit const SimilarityMeasure point_similarity = make_similarity<PointSimilarity>(
    "point", "points by their distance", {.points = true},
    [](const Objects& objects, unsigned threads, std::span<double> out) { box_areas(objects.boxes, threads, out); });

}  // namespace verite
