// Box IoU of one prediction with the boxes of its group, laid out in columns so that several are compared at once; in
// large groups only with those nearby.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "similarity/similarity.hpp"
#include "similarity/window.hpp"

namespace verite {

struct BoxEdges {
    double left, top, right, bottom, area;

    bool has_nan() const { return std::isnan(right + bottom + left + top); }
};

// How four numbers are read as a box, and the IoU of two boxes. needs_overlap(floor): whether boxes apart can be no
// candidates.
template <class T>
concept BoxFormula = std::constructible_from<T, const Comparison&> &&
                     requires(const T formula, const double* box, bool is_crowd, double floor) {
                         { formula.read(box) } -> std::same_as<BoxEdges>;
                         { formula.iou(box, box, is_crowd) } -> std::same_as<double>;
                         { T::needs_overlap(floor) } -> std::same_as<bool>;
                     };

template <BoxFormula Formula>
class BoxSimilarity {
  public:
    explicit BoxSimilarity(const Comparison& comparison)
        : formula_(comparison),
          truth_(comparison.truth.boxes),
          crowd_(comparison.truth.crowd),
          pred_(comparison.pred.boxes),
          almost_(comparison.floor * (1 - 1e-9)) {}

    void set_truths(std::span<const std::int32_t> truths) {
        count_ = truths.size();
        if (left_.size() < count_)
            for (auto* column : {&left_, &top_, &right_, &bottom_, &area_, &is_single_, &excess_})
                column->resize(count_);
        rows_ = truths;
        has_nan_ = false;
        for (std::size_t t = 0; t < count_; ++t) {
            const BoxEdges box = formula_.read(&truth_[4 * static_cast<std::size_t>(truths[t])]);
            left_[t] = box.left;
            top_[t] = box.top;
            right_[t] = box.right;
            bottom_[t] = box.bottom;
            area_[t] = box.area;
            is_single_[t] = is_crowd(truths[t]) ? 0.0 : 1.0;
            has_nan_ |= box.has_nan();
        }
        is_large_ = Formula::needs_overlap(almost_) && count_ >= Window::fewest && !has_nan_ &&
                    window_.build({std::span(left_).first(count_), std::span(top_).first(count_),
                                   std::span(right_).first(count_), std::span(bottom_).first(count_)});
    }

    [[gnu::always_inline]] void prefetch_pred(std::int32_t row) const {
        prefetch(&pred_[4 * static_cast<std::size_t>(row)]);
    }
    [[gnu::always_inline]] void prefetch_truth(std::int32_t row) const {
        prefetch(&truth_[4 * static_cast<std::size_t>(row)]);
    }

    void set_pred(std::int32_t row) { box_ = &pred_[4 * static_cast<std::size_t>(row)]; }

    // Division is left to boxes whose intersection comes near the floor; everything here is rounded by far less than
    // `almost_` allows for. NaN is a candidate.
    template <class Visit>
    void each_candidate(Visit&& visit) {
        const BoxEdges mine = formula_.read(box_);
        if (has_nan_ || mine.has_nan()) return visit_all(visit);
        if (is_large_) {
            for (const std::int32_t t : window_.find(mine.left, mine.top, mine.right, mine.bottom))
                visit(static_cast<std::size_t>(t));
            return;
        }
        if (!(almost_ > 0)) return visit_all(visit);
        for (std::size_t t = 0; t < count_; ++t) {
            // Boxes apart have an intersection that ends where it begins; compilers branch where a side is compared
            // with 0.
            const double left = std::max(mine.left, left_[t]), top = std::max(mine.top, top_[t]);
            const double width = std::max(std::min(mine.right, right_[t]), left) - left;
            const double height = std::max(std::min(mine.bottom, bottom_[t]), top) - top;
            const double shared = width * height;
            excess_[t] = shared - almost_ * (mine.area + is_single_[t] * (area_[t] - shared));
        }
        for (std::size_t t = 0; t < count_; ++t)
            if (!(excess_[t] < 0)) visit(t);
    }

    double value(std::size_t t) const {
        const std::int32_t row = rows_[t];
        return formula_.iou(box_, &truth_[4 * static_cast<std::size_t>(row)], is_crowd(row));
    }

  private:
    bool is_crowd(std::int32_t row) const { return !crowd_.empty() && crowd_[static_cast<std::size_t>(row)]; }

    template <class Visit>
    void visit_all(Visit&& visit) const {
        for (std::size_t t = 0; t < count_; ++t) visit(t);
    }

    const Formula formula_;
    std::span<const double> truth_;
    std::span<const std::uint8_t> crowd_;
    std::span<const double> pred_;
    double almost_;
    std::span<const std::int32_t> rows_;
    const double* box_ = nullptr;
    std::size_t count_ = 0;
    bool has_nan_ = false, is_large_ = false;
    std::vector<double> left_, top_, right_, bottom_, area_, is_single_, excess_;
    Window window_;
};

}  // namespace verite
