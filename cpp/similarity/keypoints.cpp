// Object keypoint similarity (OKS) as COCO computes it: a Gaussian of the distance of each labelled keypoint, as wide
// as the object is large and as annotators disagree about that keypoint (sigma), averaged.
//
// Ronchi, Perona, Benchmarking and Error Diagnosis in Multi-Instance Pose Estimation, ICCV 2017.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "columns/memory.hpp"
#include "columns/sums.hpp"
#include "similarity/boxes.hpp"
#include "similarity/registry.hpp"

namespace verite {
namespace {

constexpr double spacing = std::numeric_limits<double>::epsilon();  // numpy's spacing(1), added to every area
constexpr double far = 2;                                           // beyond it a point adds less than exp(-2)
constexpr double far_share = 0.1353352833;                          // exp(-2), rounded up

// How far a place is outside of [low, high]; what is not a number stays so.
double distance_to(double low, double high, double at) {
    const auto positive = [](double value) { return value <= 0 ? 0 : value; };
    return positive(low - at) + positive(at - high);
}

// Points one after the other by coordinate, so that several are looked at at once.
struct Places {
    std::vector<double> x, y;

    void read(const double* points, std::size_t count) {
        x.resize(count);
        y.resize(count);
        for (std::size_t i = 0; i < count; ++i) {
            x[i] = points[3 * i];
            y[i] = points[3 * i + 1];
        }
    }
};

// One ground-truth object: its keypoints, or its box doubled where none is labelled.
struct Pose {
    Places places;
    bool has_points = false;
    double left = 0, top = 0, right = 0, bottom = 0;  // of the doubled box
    double area = 0;
    std::span<const double> variances;
    std::vector<std::int32_t> labelled;  // points that count
    std::vector<double> nearness;        // of every point, what makes a squared distance the exponent, about; else 0
    std::uint64_t most_far = 0;          // points that may be far off if the floor is to be reached
};

class KeypointSimilarity {
  public:
    explicit KeypointSimilarity(const Comparison& comparison)
        : truth_(comparison.truth), pred_(comparison.pred), almost_(comparison.floor * (1 - 1e-9)) {
        variances_.reserve(truth_.sigmas.values.size());
        weights_.reserve(truth_.sigmas.values.size() + 1);
        for (const double sigma : truth_.sigmas.values) {
            variances_.push_back(sigma * 2 * (sigma * 2));
            weights_.push_back(1 / (2 * variances_.back()));
        }
        weights_.push_back(0);  // a class without sigmas starts behind all others
    }

    void set_truths(std::span<const std::int32_t> rows) {
        if (poses_.size() < rows.size()) poses_.resize(rows.size());
        count_ = rows.size();
        for (std::size_t t = 0; t < count_; ++t) read(poses_[t], static_cast<std::size_t>(rows[t]));
    }

    // Predictions of an image may be anywhere in their file, and so in memory. Inlined: a call that only prefetches is
    // dropped by the compiler as one without effect.
    [[gnu::always_inline]] void prefetch_pred(std::int32_t row) const {
        constexpr std::size_t line = 64 / sizeof(double);
        const auto points = pred_.keypoints[static_cast<std::size_t>(row)];
        for (std::size_t i = 0; i < points.size(); i += line) prefetch(&points[i]);
    }

    void set_pred(std::int32_t row) {
        const auto points = pred_.keypoints[static_cast<std::size_t>(row)];
        mine_.read(points.data(), points.size() / 3);
    }

    // Exponentials are left to objects with enough keypoints near enough. NaN is a candidate.
    template <class Visit>
    void each_candidate(Visit&& visit) const {
        for (std::size_t t = 0; t < count_; ++t)
            if (may_reach(poses_[t])) visit(t);
    }

    double value(std::size_t t) {
        const Pose& pose = poses_[t];
        if (!has_as_many_points(pose)) return 0;
        terms_.resize(pose.labelled.size());
        for (std::size_t i = 0; i < terms_.size(); ++i) {
            const auto point = static_cast<std::size_t>(pose.labelled[i]);
            const double squared = pose.has_points ? distance_to_points(pose, point) : distance_to_box(pose, point);
            terms_[i] = std::exp(-(squared / pose.variances[point] / (pose.area + spacing) / 2));
        }
        return sum_pairwise(terms_) / static_cast<double>(terms_.size());
    }

  private:
    // Where evaluation is class-agnostic, poses of different skeletons are compared: their OKS is 0.
    bool has_as_many_points(const Pose& pose) const { return mine_.x.size() == pose.variances.size(); }

    double distance_to_points(const Pose& pose, std::size_t point) const {
        const double dx = mine_.x[point] - pose.places.x[point], dy = mine_.y[point] - pose.places.y[point];
        return dx * dx + dy * dy;
    }

    double distance_to_box(const Pose& pose, std::size_t point) const {
        const double dx = distance_to(pose.left, pose.right, mine_.x[point]);
        const double dy = distance_to(pose.top, pose.bottom, mine_.y[point]);
        return dx * dx + dy * dy;
    }

    void read(Pose& pose, std::size_t row) const {
        const auto label = static_cast<std::size_t>(truth_.labels[row]);
        const auto first = static_cast<std::size_t>(truth_.sigmas.offsets[label]);
        pose.variances = std::span(variances_).subspan(first, truth_.sigmas[label].size());
        const double* weights = &weights_[first];
        const auto points = truth_.keypoints[row];
        pose.labelled.clear();
        for (std::size_t i = 0; 3 * i < points.size(); ++i)
            if (points[3 * i + 2] > 0) pose.labelled.push_back(static_cast<std::int32_t>(i));
        pose.has_points = !pose.labelled.empty();
        if (pose.has_points) {
            pose.places.read(points.data(), points.size() / 3);
        } else {
            const double* box = &truth_.boxes[4 * row];
            pose.left = box[0] - box[2];
            pose.right = box[0] + box[2] * 2;
            pose.top = box[1] - box[3];
            pose.bottom = box[1] + box[3] * 2;
            for (std::size_t i = 0; i < pose.variances.size(); ++i)
                pose.labelled.push_back(static_cast<std::int32_t>(i));
        }
        pose.area = truth_.areas[row];
        const double by_area = 1 / (pose.area + spacing);
        pose.nearness.assign(pose.variances.size(), 0);
        for (const std::int32_t point : pose.labelled)
            pose.nearness[static_cast<std::size_t>(point)] = by_area * weights[static_cast<std::size_t>(point)];
        // At most 1 of each point that is near and exp(-2) of each that is far off.
        const auto count = static_cast<double>(pose.labelled.size());
        pose.most_far = static_cast<std::uint64_t>(std::max(count * (1 - almost_) / (1 - far_share), 0.0));
    }

    bool may_reach(const Pose& pose) const {
        if (!has_as_many_points(pose)) return false;
        return pose.has_points ? may_reach(pose, [&](std::size_t i) { return distance_to_points(pose, i); })
                               : may_reach(pose, [&](std::size_t i) { return distance_to_box(pose, i); });
    }

    // Whether few enough points are far off, or something is not a number. Asked of the bits of numbers, so that the
    // compiler may take several points at once.
    template <class Distance>
    static bool may_reach(const Pose& pose, Distance&& squared_distance) {
        std::uint64_t far_off = 0, odd = 0;
        const std::size_t count = pose.nearness.size();
        const double* nearness = pose.nearness.data();
        for (std::size_t i = 0; i < count; ++i) {
            const double exponent = squared_distance(i) * nearness[i];
            far_off += std::bit_cast<std::uint64_t>(far - exponent) >> 63;
            odd |= ((std::bit_cast<std::uint64_t>(exponent) >> 52) + 1) >> 11;
        }
        return far_off <= pose.most_far || odd > 0;
    }

    const Objects &truth_, &pred_;
    double almost_;
    std::vector<double> variances_, weights_;  // of every sigma; about 1 / (2 variance)
    std::vector<Pose> poses_;
    std::size_t count_ = 0;
    Places mine_;
    std::vector<double> terms_;
};

}  // namespace

static_assert(Similarity<KeypointSimilarity>);

constinit const SimilarityMeasure keypoints_similarity = make_similarity<KeypointSimilarity>(
    "keypoints", "keypoints", {.keypoints = true},
    [](const Objects& objects, unsigned threads, std::span<double> out) { box_areas(objects.boxes, threads, out); });

}  // namespace verite
