// Precision and recall from outcomes, class by class: COCO's accumulation, bit for bit.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "evaluation/outcomes.hpp"

namespace verite {

// The predictions of every class by descending confidence, and their outcomes at up to sixteen thresholds.
struct AccumulationInput {
    std::span<const std::int32_t> order;           // indices of predictions, class by class
    std::span<const std::int64_t> offsets;         // class k has order[offsets[k]] .. order[offsets[k + 1]]
    std::span<const PredictionFlags> predictions;  // by index
    std::span<const Outcome> outcomes;             // [matched prediction][area range]
    std::span<const double> confidence;            // by index; may be empty where no confidences are wanted
    std::span<const double> positives;             // [class][area range] ground-truth objects that are not ignored
    std::size_t thresholds = 0, ranges = 0;

    std::size_t labels() const { return offsets.size() - 1; }
};

// How often each image counts, as if it were repeated, copies one after the other.
struct Weighting {
    std::span<const double> weights;      // by image: whole numbers, or not where `is_whole` is false
    std::span<const std::int32_t> image;  // of each place in `order`
    std::span<const std::uint32_t> runs;  // how many predictions from this place on share image and confidence
    bool is_whole = true;
};

// Which numbers are wanted.
struct CurveRequest {
    std::span<const double> recalls;  // ascending levels at which precision is read
    std::size_t max_dets = 1;         // how many values of maxDets there are
    std::size_t precision_limit = 0;  // the index of the one that holds for precision
    std::size_t ranges = 0;           // how many area ranges are accumulated, from the first on
};

// Distances between neighbours in an array of curves.
struct Strides {
    std::size_t range, threshold, recall, label, limit;
};

// Where curves are that only classes with ground truth have: [area range][threshold][recall][column], each area range
// with as many columns as it has such classes.
struct CurveColumns {
    std::span<const std::size_t> first;     // [area range] where its curves begin
    std::span<const std::size_t> width;     // [area range] its columns
    std::span<const std::uint32_t> column;  // [area range][class]; without ground truth `none`
    std::size_t labels = 0, levels = 0;     // classes, and recalls of a curve
    std::size_t first_threshold = 0;        // the one that is counted as 0

    static constexpr std::uint32_t none = 0xFFFFFFFF;

    std::size_t row(std::size_t range, std::size_t threshold, std::size_t recall) const {
        return first[range] + ((first_threshold + threshold) * levels + recall) * width[range];
    }
    std::size_t column_of(std::size_t range, std::size_t label) const { return column[range * labels + label]; }
};

// Where the numbers go. Classes and area ranges without ground truth are not written.
struct CurveOutput {
    std::span<double> precision;   // interpolated: the best precision at this recall or a higher one
    std::span<double> confidence;  // the same shape: the confidence at which that recall is reached; may be empty
    Strides strides;
    std::span<double> recall;  // of all predictions within each maxDets; may be empty
    Strides recall_strides;
    std::optional<CurveColumns> columns{};  // where precision goes, instead of by strides
};

struct CurveTask {
    CurveRequest request;
    CurveOutput out;
};

// Precision is tp / (tp + fp + 2^-52), read where recall first reaches a level, as in pycocotools. With whole weights
// the numbers are bit for bit those of the images repeated.
//
// Several tasks may differ in precision_limit and output: neighbours in memory are written together. Throws
// std::invalid_argument where columns differ in length or recalls do not rise. The same bits for any number of threads.
void accumulate(const AccumulationInput& given, std::span<const CurveTask> tasks, unsigned threads);
void accumulate(const AccumulationInput& given, const CurveRequest& request, const Weighting* weighting,
                unsigned threads, const CurveOutput& out);
// The same of these classes only.
void accumulate_classes(const AccumulationInput& given, const CurveRequest& request, const Weighting* weighting,
                        std::span<const std::int32_t> labels, unsigned threads, const CurveOutput& out);

// How many true positives are needed to reach a recall: the smallest whole n with n / positives >= level in floating
// point; infinity for a level above 1.
double true_positives_needed(double level, double positives);

}  // namespace verite
