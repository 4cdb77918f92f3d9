// Keypoints as COCO compares them: object keypoint similarity (OKS), a Gaussian of the distance of each labelled point,
// as wide as the object is large and as people disagree about that point, averaged.
//
// Ronchi, Perona, Benchmarking and Error Diagnosis in Multi-Instance Pose Estimation, ICCV 2017.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "columns/sums.hpp"
#include "similarity/boxes.hpp"
#include "similarity/registry.hpp"

namespace verite {
namespace {

constexpr double spacing = std::numeric_limits<double>::epsilon();  // numpy's spacing(1), added to every area
constexpr double far = 2;                                           // beyond it a point adds less than exp(-2)

// 0 inside of [low, high], else how far outside; what is not a number stays so.
double distance_to(double low, double high, double at) {
    const auto positive = [](double value) { return value <= 0 ? 0 : value; };
    return positive(low - at) + positive(at - high);
}

// One truth: where its points are, or its box doubled where none is labelled.
struct Pose {
    const double* points = nullptr;  // x, y, visibility; null where none is labelled
    double left = 0, top = 0, right = 0, bottom = 0;
    double area = 0;
    std::span<const double> variances;
    std::vector<std::int32_t> labelled;  // points that count
    std::vector<double> nearness;        // of each, what makes a squared distance the exponent, about
};

class KeypointMeasure {
  public:
    explicit KeypointMeasure(const Comparison& comparison)
        : truth_(comparison.truth), pred_(comparison.pred), almost_(comparison.floor * (1 - 1e-9)) {
        variances_.reserve(truth_.sigmas.values.size());
        for (const double sigma : truth_.sigmas.values) variances_.push_back(sigma * 2 * (sigma * 2));
    }

    void meet(std::span<const std::int32_t> rows) {
        if (poses_.size() < rows.size()) poses_.resize(rows.size());
        count_ = rows.size();
        for (std::size_t t = 0; t < count_; ++t) read(poses_[t], static_cast<std::size_t>(rows[t]));
    }

    void start(std::int32_t row) { mine_ = pred_.keypoints[static_cast<std::size_t>(row)].data(); }

    // Exponentials are left to those that have enough points near enough. What does not compare is possible.
    template <class Visit>
    void each_possible(Visit&& visit) const {
        for (std::size_t t = 0; t < count_; ++t)
            if (may_reach(poses_[t])) visit(t);
    }

    double overlap(std::size_t t) {
        const Pose& pose = poses_[t];
        terms_.resize(pose.labelled.size());
        for (std::size_t i = 0; i < terms_.size(); ++i) {
            const auto point = static_cast<std::size_t>(pose.labelled[i]);
            const auto [dx, dy] = offset(pose, point);
            terms_[i] = std::exp(-((dx * dx + dy * dy) / pose.variances[point] / (pose.area + spacing) / 2));
        }
        return sum_pairwise(terms_) / static_cast<double>(terms_.size());
    }

  private:
    struct Offset {
        double x, y;
    };

    Offset offset(const Pose& pose, std::size_t point) const {
        const double x = mine_[3 * point], y = mine_[3 * point + 1];
        if (pose.points) return {x - pose.points[3 * point], y - pose.points[3 * point + 1]};
        return {distance_to(pose.left, pose.right, x), distance_to(pose.top, pose.bottom, y)};
    }

    void read(Pose& pose, std::size_t row) const {
        const auto label = static_cast<std::size_t>(truth_.labels[row]);
        const auto first = static_cast<std::size_t>(truth_.sigmas.offsets[label]);
        pose.variances = std::span(variances_).subspan(first, truth_.sigmas[label].size());
        const auto points = truth_.keypoints[row];
        pose.labelled.clear();
        for (std::size_t i = 0; 3 * i < points.size(); ++i)
            if (points[3 * i + 2] > 0) pose.labelled.push_back(static_cast<std::int32_t>(i));
        pose.points = pose.labelled.empty() ? nullptr : points.data();
        if (!pose.points) {
            const double* box = &truth_.boxes[4 * row];
            pose.left = box[0] - box[2];
            pose.right = box[0] + box[2] * 2;
            pose.top = box[1] - box[3];
            pose.bottom = box[1] + box[3] * 2;
            for (std::size_t i = 0; i < pose.variances.size(); ++i)
                pose.labelled.push_back(static_cast<std::int32_t>(i));
        }
        pose.area = truth_.areas[row];
        pose.nearness.clear();
        for (const std::int32_t point : pose.labelled)
            pose.nearness.push_back(1 / (2 * pose.variances[static_cast<std::size_t>(point)] * (pose.area + spacing)));
    }

    // At most 1 of each point that is near and exp(-far) of each other.
    bool may_reach(const Pose& pose) const {
        double near = 0, total = 0;
        for (std::size_t i = 0; i < pose.labelled.size(); ++i) {
            const auto [dx, dy] = offset(pose, static_cast<std::size_t>(pose.labelled[i]));
            const double exponent = (dx * dx + dy * dy) * pose.nearness[i];
            near += exponent > far ? 0.1353352833 : 1.0;
            total += exponent;
        }
        return !(near < almost_ * static_cast<double>(pose.labelled.size())) || std::isnan(total);
    }

    const Objects &truth_, &pred_;
    double almost_;
    std::vector<double> variances_;
    std::vector<Pose> poses_;
    std::size_t count_ = 0;
    const double* mine_ = nullptr;
    std::vector<double> terms_;
};

}  // namespace

constinit const Similarity keypoint_similarity = make_similarity<KeypointMeasure>(
    "keypoints", {.keypoints = true},
    [](const Objects& objects, unsigned threads, std::span<double> out) { box_areas(objects.boxes, threads, out); });

}  // namespace verite
