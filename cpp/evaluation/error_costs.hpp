// Error types of detections (TIDE: classification, localization, both, duplicate, background, missed) and their cost in
// average precision.
//
// Bolya et al., TIDE: A General Toolbox for Identifying Object Detection Errors, ECCV 2020.
#pragma once

#include <cstdint>
#include <span>

namespace verite {

// In the order in which they are reported; `none`: the prediction is no error.
enum class ErrorType : std::int8_t { none = -1, classification, localization, both, duplicate, background };
constexpr std::size_t error_sets = 64;  // sets of these five and missed objects, one bit each

// Predictions at one IoU threshold, and the ground-truth objects of highest IoU.
struct ErrorInput {
    std::span<const std::int8_t> state;   // of each prediction: 1 true positive, 0 false positive, others are ignored
    std::span<const double> same, other;  // the highest IoU with an object of the same class and of other classes
    std::span<const std::int32_t> same_truth, other_truth;  // the rows of those objects, -1 for none
    std::span<const std::int64_t> places;                   // ranks by descending confidence over all classes
    // Pairs of one class that overlap at all.
    std::span<const std::int32_t> pair_pred, pair_truth;
    std::span<const double> pair_iou;
    // Ground-truth objects: matched; not ignored.
    std::span<const std::uint8_t> is_matched, counted_truth;
    double iou, background;  // thresholds: of a match, and below which there is background
};

// The error of every prediction.
struct ErrorOutput {
    std::span<std::int8_t> kind;        // an ErrorType
    std::span<std::int32_t> target;     // of classification and localization errors: the object they are about; else -1
    std::span<std::uint8_t> is_fixed;   // whether fixing its error makes the prediction a true positive
    std::span<std::uint8_t> is_missed;  // of ground-truth objects: neither matched nor the target of an error
};

void find_error_types(const ErrorInput& given, const ErrorOutput& out);

// Predictions class by class, by descending confidence, with their errors.
struct FixInput {
    std::span<const std::int64_t> rows, offsets;  // class k has rows[offsets[k]] .. rows[offsets[k + 1]]
    std::span<const std::int64_t> places;
    std::span<const std::int8_t> state, kind;
    std::span<const std::int32_t> target, truth_label;
    std::span<const std::uint8_t> is_fixed;
    // Of each class: ground-truth objects, and those that are not missed.
    std::span<const std::int64_t> truths, not_missed;
    // How many true positives each recall level needs, one list after the other: of each class for all objects, for
    // those not missed and for those matched.
    std::span<const std::int64_t> needed, needed_offsets;
    double slack;  // added to the number of predictions in the denominator of precision

    std::size_t labels() const { return offsets.size() - 1; }
};

// Average precision [class][set] with the error types of a set fixed; and [class][2] without false positives (true
// positives ranked first) and without false negatives (only matched objects count). Classes without ground truth are
// not written.
void fix_errors(const FixInput& given, unsigned threads, std::span<double> values, std::span<double> specials);

}  // namespace verite
