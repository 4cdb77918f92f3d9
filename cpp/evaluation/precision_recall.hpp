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

// Average precision and recall are means over classes and thresholds. The others are of all predictions, whatever their
// confidence: precision, recall and F1 of the objects of all classes together (micro), or averaged over the classes
// with ground truth (macro); both are means over thresholds.
enum class Statistic : std::uint8_t {
    average_precision,
    average_recall,
    micro_precision,
    micro_recall,
    micro_f1,
    macro_precision,
    macro_recall,
    macro_f1,
};

constexpr bool is_of_counts(Statistic statistic) { return statistic > Statistic::average_recall; }

// What a mean is taken of, such as AP50 or AR of small objects.
struct MeanQuery {
    Statistic statistic = Statistic::average_precision;
    std::optional<std::int64_t> threshold;  // its index; none: all of them; -1: one that was not evaluated, mean NaN
    std::size_t range = 0, limit = 0;       // indices of the area range and of maxDets
    std::vector<std::uint8_t> classes{};    // one flag per class; empty: all

    bool is_precision() const { return statistic == Statistic::average_precision; }
};

// How many numbers the precision-recall curves of all classes with ground truth have; `positives` is [class][area
// range].
std::size_t count_curve_points(const Rules& rules, std::span<const double> positives);

// Only classes with ground truth have curves of precision, in each area range by itself: a long list of classes without
// objects costs no memory.
class PrecisionRecall {
  public:
    // Every number is absent (NaN) until it is written. `positives` is [class][area range].
    PrecisionRecall(const Rules& rules, std::size_t labels, std::span<const double> positives);

    // The numbers of all classes, of which each part has some, one after the other; there is at least one part.
    static PrecisionRecall join(std::vector<PrecisionRecall> parts);

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
    // [area range][threshold][recall][class] of the first `ranges` area ranges, at the largest maxDets; NaN for classes
    // without ground truth.
    Array<double> precision(std::size_t ranges) const;
    std::span<const double> recall() const { return recall_; }

  private:
    std::span<const double> values(const MeanQuery& query) const;
    bool is_present(std::size_t label, const MeanQuery& query) const;
    // Lays out a column for each class and area range with ground truth; all curves are absent then.
    void lay_out(std::span<const double> positives);
    std::uint32_t column_of(std::size_t range, std::size_t label) const { return column_[range * labels_ + label]; }

    std::size_t labels_, ranges_, thresholds_, levels_, max_dets_;
    Array<double> positives_;            // [class][area range]
    std::vector<std::size_t> first_;     // [area range] where its curves begin in precision_
    std::vector<std::size_t> width_;     // [area range] classes with ground truth
    std::vector<std::uint32_t> column_;  // [area range][class] its place among them
    Array<double> precision_;            // [area range][threshold][recall][class with ground truth]
    Array<double> recall_;               // [maxDets][area range][threshold][class]
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
