// What is wrong with wrong predictions, and what would precision be if some of it were fixed?
#pragma once

#include <cstdint>
#include <span>

namespace verite {

// By their order in the analysis; what is left is no error of a prediction.
enum class ErrorType : std::int8_t { none = -1, label, place, both, duplicate, background };
constexpr std::size_t error_sets = 64;  // of these five and missed truths, one bit each

// Predictions at one threshold, and whom each overlaps most.
struct Overlapping {
    std::span<const std::int8_t> state;   // 1 right, 0 wrong, others are set aside
    std::span<const double> same, other;  // the largest overlap with truths of the own and of other labels
    std::span<const std::int32_t> same_truth, other_truth;
    std::span<const std::int64_t> places;  // by falling confidence, of all labels together
    // Pairs of one label that overlap at all, and truths that were taken or are asked for.
    std::span<const std::int32_t> pair_pred, pair_truth;
    std::span<const double> pair_overlap;
    std::span<const std::uint8_t> is_taken, is_asked;
    double iou, background;
};

// The error of every prediction, its target, whether it becomes right if it is fixed, and truths that are missed.
struct Typed {
    std::span<std::int8_t> kind;
    std::span<std::int32_t> target;
    std::span<std::uint8_t> is_mended, is_missed;
};

void find_error_types(const Overlapping& given, const Typed& out);

// Predictions label by label, by falling confidence, and what became of them.
struct Faulty {
    std::span<const std::int64_t> rows, offsets;  // label k has rows[offsets[k]] .. rows[offsets[k + 1]]
    std::span<const std::int64_t> places;
    std::span<const std::int8_t> state, kind;
    std::span<const std::int32_t> target, truth_label;
    std::span<const std::uint8_t> is_mended;
    // Of each label: truths, those that are left without the missed ones; and how many hits each recall needs that is
    // read, for as many truths, for those that are left and for those that are found, one list after the other.
    std::span<const std::int64_t> truths, left;
    std::span<const std::int64_t> needed, needed_offsets;
    double slack;  // added to the number of predictions that precision divides by

    std::size_t labels() const { return offsets.size() - 1; }
};

// Average precision [label][set] with the types of a set fixed, and [label][2] with right predictions before all wrong
// ones and with nothing to be found but what is found. Labels without truths stay as they are.
void fix_errors(const Faulty& given, unsigned threads, std::span<double> values, std::span<double> specials);

}  // namespace verite
