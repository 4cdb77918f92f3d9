#include "similarity/boxes.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "columns/parallel.hpp"

namespace verite {
namespace {

double area(const double* box, double pixel) { return (box[2] - box[0] + pixel) * (box[3] - box[1] + pixel); }

// Overlap only where both sides of the intersection are positive, as in VOCevaldet.m.
double iou(const double* a, const double* b, double pixel) {
    const double width = std::min(a[2], b[2]) - std::max(a[0], b[0]) + pixel;
    if (!(width > 0)) return 0;
    const double height = std::min(a[3], b[3]) - std::max(a[1], b[1]) + pixel;
    if (!(height > 0)) return 0;
    const double shared = width * height;
    return shared / (area(a, pixel) + area(b, pixel) - shared);
}

}  // namespace

void box_iou(Boxes truth, Boxes pred, double pixel, std::span<double> out) {
    double* cell = out.data();
    for (std::size_t t = 0; t < truth.size(); ++t)
        for (std::size_t p = 0; p < pred.size(); ++p) *cell++ = iou(truth[t], pred[p], pixel);
}

Candidates box_candidates(Boxes truth, std::span<const std::int64_t> truth_cells, Boxes pred,
                          std::span<const std::int64_t> pred_cells, double pixel, double floor) {
    Candidates found;
    found.offsets.reserve(pred.size() + 1);
    found.offsets.push_back(0);
    for (std::size_t p = 0; p < pred.size(); ++p) {
        const auto [first, last] = std::equal_range(truth_cells.begin(), truth_cells.end(), pred_cells[p]);
        for (auto t = first - truth_cells.begin(); t < last - truth_cells.begin(); ++t) {
            const double overlap = iou(truth[t], pred[p], pixel);
            if (overlap > 0 && overlap >= floor) {
                found.truth.push(static_cast<std::int32_t>(t));
                found.overlap.push(overlap);
            }
        }
        found.offsets.push_back(static_cast<std::int64_t>(found.truth.rows()));
    }
    return found;
}

double coco_overlap(const double* pred, const double* truth, bool is_crowd) {
    const double width = std::fmin(pred[2] + pred[0], truth[2] + truth[0]) - std::fmax(pred[0], truth[0]);
    if (width <= 0) return 0;
    const double height = std::fmin(pred[3] + pred[1], truth[3] + truth[1]) - std::fmax(pred[1], truth[1]);
    if (height <= 0) return 0;
    const double shared = width * height, pred_area = pred[2] * pred[3];
    return shared / (is_crowd ? pred_area : pred_area + truth[2] * truth[3] - shared);
}

namespace {

// Boxes of one cell side by side, so that several are compared at once.
class CocoMeasure {
  public:
    CocoMeasure(std::span<const double> truth, std::span<const std::uint8_t> crowd, std::span<const double> pred,
                double floor)
        : truth_(truth), crowd_(crowd), pred_(pred), almost_(floor * (1 - 1e-9)) {}

    void meet(std::span<const std::int32_t> truths) {
        count_ = truths.size();
        if (left_.size() < count_)
            for (auto* column : {&left_, &top_, &right_, &bottom_, &area_, &is_single_, &excess_})
                column->resize(count_);
        rows_ = truths;
        has_nan_ = false;
        for (std::size_t t = 0; t < count_; ++t) {
            const double* box = &truth_[4 * static_cast<std::size_t>(truths[t])];
            left_[t] = box[0];
            top_[t] = box[1];
            right_[t] = box[2] + box[0];
            bottom_[t] = box[3] + box[1];
            area_[t] = box[2] * box[3];
            is_single_[t] = crowd_[truths[t]] ? 0.0 : 1.0;
            has_nan_ |= std::isnan(right_[t] + bottom_[t] + left_[t] + top_[t]);
        }
    }

    void start(std::int32_t row) { box_ = &pred_[4 * static_cast<std::size_t>(row)]; }

    // Divisions are left to those whose shared area comes near the floor; everything here is rounded by far less than
    // `almost_` allows for. What does not compare is possible.
    template <class Visit>
    void each_possible(Visit&& visit) {
        const double left = box_[0], top = box_[1], right = box_[2] + left, bottom = box_[3] + top;
        const double area = box_[2] * box_[3];
        if (has_nan_ || !(almost_ > 0) || std::isnan(right + bottom + left + top)) {
            for (std::size_t t = 0; t < count_; ++t) visit(t);
            return;
        }
        for (std::size_t t = 0; t < count_; ++t) {
            const double width = std::min(right, right_[t]) - std::max(left, left_[t]);
            const double height = std::min(bottom, bottom_[t]) - std::max(top, top_[t]);
            const double shared = std::max(width, 0.0) * std::max(height, 0.0);
            excess_[t] = shared - almost_ * (area + is_single_[t] * (area_[t] - shared));
        }
        for (std::size_t t = 0; t < count_; ++t)
            if (!(excess_[t] < 0)) visit(t);
    }

    double overlap(std::size_t t) const {
        const std::int32_t row = rows_[t];
        return coco_overlap(box_, &truth_[4 * static_cast<std::size_t>(row)], crowd_[row]);
    }

  private:
    std::span<const double> truth_;
    std::span<const std::uint8_t> crowd_;
    std::span<const double> pred_;
    double almost_;
    std::span<const std::int32_t> rows_;
    const double* box_ = nullptr;
    std::size_t count_ = 0;
    bool has_nan_ = false;
    std::vector<double> left_, top_, right_, bottom_, area_, is_single_, excess_;
};

}  // namespace

Candidates coco_box_candidates(const Cells& truth, std::span<const double> truth_sizes,
                               std::span<const std::uint8_t> crowd, const Cells& pred,
                               std::span<const double> pred_sizes, double floor, unsigned threads) {
    return find_candidates(truth, pred, floor, threads,
                           [&] { return CocoMeasure(truth_sizes, crowd, pred_sizes, floor); });
}

void box_areas(std::span<const double> sizes, unsigned threads, std::span<double> out) {
    in_stretches(out.size(), threads, [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) out[i] = sizes[4 * i + 2] * sizes[4 * i + 3];
    });
}

}  // namespace verite
