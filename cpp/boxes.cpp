#include "boxes.hpp"

#include <algorithm>
#include <cmath>

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
                found.truth.push_back(static_cast<std::int32_t>(t));
                found.overlap.push_back(overlap);
            }
        }
        found.offsets.push_back(static_cast<std::int64_t>(found.truth.size()));
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

class CocoMeasure {
  public:
    CocoMeasure(std::span<const double> truth, std::span<const std::uint8_t> crowd, std::span<const double> pred)
        : truth_(truth), crowd_(crowd), pred_(pred) {}

    void meet(std::span<const std::int32_t> truths) {
        others_.resize(truths.size());
        for (std::size_t t = 0; t < truths.size(); ++t)
            others_[t] = Box(&truth_[4 * std::size_t(truths[t])], crowd_[truths[t]]);
    }

    void start(std::int32_t row) { mine_ = Box(&pred_[4 * static_cast<std::size_t>(row)], false); }

    double overlap(std::size_t t) const {
        const Box& other = others_[t];
        // std::fmin is slow because it prefers a number to a NaN; a plain comparison does where there is none.
        if (mine_.has_nan || other.has_nan) return coco_overlap(mine_.sizes, other.sizes, other.is_crowd);
        const double width = std::min(mine_.right, other.right) - std::max(mine_.left, other.left);
        const double height = std::min(mine_.bottom, other.bottom) - std::max(mine_.top, other.top);
        if (width <= 0 || height <= 0) return 0;
        const double shared = width * height;
        return shared / (other.is_crowd ? mine_.area : mine_.area + other.area - shared);
    }

  private:
    struct Box {
        double left, top, right, bottom, area;
        const double* sizes;
        bool has_nan, is_crowd;

        Box() = default;
        Box(const double* box, bool is_crowd)
            : left(box[0]),
              top(box[1]),
              right(box[2] + box[0]),
              bottom(box[3] + box[1]),
              area(box[2] * box[3]),
              sizes(box),
              has_nan(std::isnan(right + bottom + left + top)),
              is_crowd(is_crowd) {}
    };

    std::span<const double> truth_;
    std::span<const std::uint8_t> crowd_;
    std::span<const double> pred_;
    Box mine_;
    std::vector<Box> others_;
};

}  // namespace

Candidates coco_box_candidates(const Cells& truth, std::span<const double> truth_sizes,
                               std::span<const std::uint8_t> crowd, const Cells& pred,
                               std::span<const double> pred_sizes, double floor, unsigned threads) {
    return find_candidates(truth, pred, floor, threads, [&] { return CocoMeasure(truth_sizes, crowd, pred_sizes); });
}

void box_areas(std::span<const double> sizes, std::span<double> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = sizes[4 * i + 2] * sizes[4 * i + 3];
}

}  // namespace verite
