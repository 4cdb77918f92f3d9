// The rank of the k-th true positive among the predictions of a class: all that average precision needs, threshold by
// threshold.
//
// An image drawn w times repeats its predictions w times, so that a bootstrap replicate needs no matching of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "evaluation/matching.hpp"

namespace verite {

// The outcome of a prediction at up to sixteen thresholds, in one area range: true positive in the low half, ignored in
// the high half.
using OutcomeWord = std::uint32_t;

// Ignored at every threshold: as if the prediction did not exist.
constexpr OutcomeWord ignored_everywhere = 0xFFFF0000;

// The predictions of a class by descending confidence, and how often each is repeated.
struct ClassWords {
    std::span<const OutcomeWord> words;
    std::span<const std::uint8_t> limits;  // the index of the smallest maxDets that each is within
    // The rest is empty where every image is there once.
    std::span<const std::int32_t> image;   // of each prediction
    std::span<const std::uint32_t> runs;   // how many predictions from this one on share image and confidence
    std::span<const std::uint8_t> copies;  // of each image
};

// For each threshold the number of true positives within the maxDets at index `limit`.
void count_true_positives(const ClassWords& given, std::size_t limit, std::span<double> out);
// The number of predictions that are neither true positives nor ignored.
void count_false_positives(const ClassWords& given, std::span<double> out);

// For each recall level the smallest number of true positives that reaches it; infinite for levels above 1.
void find_needed_true_positives(std::span<const double> recalls, double positives, std::span<double> out);

// Keeps its memory from class to class.
class TruePositiveRanks {
  public:
    // `epsilon` is added to the number of predictions in the denominator of precision.
    TruePositiveRanks(std::span<const double> recalls, double epsilon)
        : recalls_(recalls), epsilon_(epsilon), needed_(recalls.size()) {}

    // All copies together must be fewer than 2^31.
    void read(const ClassWords& given);

    // For each of these thresholds the mean of interpolated precision over all recall levels; without levels, the sum
    // wherever recall changes. Other elements of `out` are not written.
    void average(ThresholdSet thresholds, double positives, std::span<double> out);

  private:
    static constexpr std::size_t lanes = 4;  // thresholds side by side

    void grow(std::size_t room);
    // Of `width` thresholds from this one on.
    template <std::size_t width>
    void sum_up(std::size_t threshold, double* out);
    template <std::size_t width>
    std::size_t rank(std::size_t threshold);
    template <std::size_t width>
    std::size_t compress(std::size_t threshold);
    template <std::size_t width>
    void sum_levels(std::size_t most, double* out) const;
    template <std::size_t width>
    void sum_all(std::size_t most, double* out) const;

    std::span<const double> recalls_;
    const double epsilon_;
    std::vector<double> needed_;  // [recall] true positives needed
    // Predictions that are a true positive or ignored at some threshold, each as often as it is repeated.
    std::size_t count_ = 0;
    std::vector<OutcomeWord> words_;
    std::vector<std::int32_t> at_;     // predictions up to and including each
    std::vector<std::int32_t> lists_;  // [lane][true positive] ranks, where the processor compresses vectors
    std::vector<std::int32_t> ranks_;  // [true positive][lane] predictions up to and including it; -1: there is none
};

}  // namespace verite
