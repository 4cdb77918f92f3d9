// Precision and recall of every class, threshold, area range and maxDets, and the means that protocols print (AP, AR).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "columns/memory.hpp"
#include "columns/sums.hpp"
#include "evaluation/accumulate.hpp"

namespace verite {

// What a mean is taken of, such as AP50 or AR of small objects.
struct MeanQuery {
    bool is_precision = true;               // else recall
    std::optional<std::int64_t> threshold;  // its index; none: all of them; -1: one that was not evaluated, mean NaN
    std::size_t range = 0, limit = 0;       // indices of the area range and of maxDets
    std::vector<std::uint8_t> classes{};    // one flag per class; empty: all
};

class PrecisionRecall {
  public:
    // Every number is absent (NaN) until it is written. `positives` is [class][area range].
    PrecisionRecall(const Rules& rules, std::size_t labels, std::span<const double> positives);

    // Whether the indices and the number of flags of a query are those of this evaluation.
    bool has(const MeanQuery& query) const;

    // The mean over everything that is present, summed as numpy does, bit for bit; NaN where nothing is.
    double mean(const MeanQuery& query) const;
    // The same for each class; the query's own flags do not matter.
    std::vector<double> class_means(const MeanQuery& query) const;

    // Replaces the numbers of ground-truth objects, and makes these classes absent until they are written again.
    void change(std::span<const double> positives, std::span<const std::int32_t> labels);

    // Where the numbers of the thresholds from `first` on are written.
    CurveOutput curves(std::size_t first);

    std::size_t labels() const { return labels_; }
    std::size_t ranges() const { return ranges_; }
    std::size_t thresholds() const { return thresholds_; }
    std::size_t levels() const { return levels_; }
    std::size_t max_dets() const { return max_dets_; }
    std::span<const double> positives() const { return positives_; }
    std::span<const double> precision() const { return precision_; }
    std::span<const double> recall() const { return recall_; }

  private:
    std::span<const double> values(const MeanQuery& query) const;

    std::size_t labels_, ranges_, thresholds_, levels_, max_dets_;
    Array<double> precision_;  // [area range][threshold][recall][class], at the largest maxDets
    Array<double> recall_;     // [maxDets][area range][threshold][class]
    Array<double> positives_;  // [class][area range]
};

// Arrays in pycocotools' shapes: precision and confidence [threshold][recall][class][area range][maxDets], recall
// [threshold][class][area range][maxDets].
struct ArraySpans {
    std::span<double> precision, confidence, recall;
};

// Which part of the arrays is filled: a block of sixteen thresholds, and the classes from `first_label` on; `labels` is
// the number of all classes.
struct ArrayPlace {
    std::size_t block, first_label, labels;
};

void clear_arrays(const ArraySpans& out, double absent);
void fill_arrays(const AccumulationInput& given, const Rules& rules, const ArrayPlace& place, unsigned threads,
                 const ArraySpans& out);

}  // namespace verite
