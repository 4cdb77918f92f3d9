// At which prediction is the k-th truth found? All that average precision needs of a class, threshold by threshold.
//
// An image that is there w times repeats its predictions w times, so that weights need no walk of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "evaluation/matching.hpp"

namespace verite {

// What became of a prediction at up to sixteen thresholds, in one range: hits in the low half, in the high half where
// it counts for nothing.
using Word = std::uint32_t;

// Counts for nothing at any threshold: as if it were not there.
constexpr Word nobody = 0xFFFF0000;

// The predictions of a class by falling confidence, and how often each is there.
struct ClassWords {
    std::span<const Word> words;
    std::span<const std::uint8_t> limits;  // the lowest one each is within
    // The rest is empty where each is there once.
    std::span<const std::int32_t> image;   // of each prediction
    std::span<const std::uint32_t> runs;   // predictions from this one on of the same image and confidence
    std::span<const std::uint8_t> copies;  // of each image
};

// For each threshold the truths found by predictions within a limit.
void count_hits(const ClassWords& given, std::size_t limit, std::span<double> out);

// Keeps its memory from class to class.
class HitRanks {
  public:
    // `epsilon` is what precision adds to the number of predictions.
    HitRanks(std::span<const double> recalls, double epsilon)
        : recalls_(recalls), epsilon_(epsilon), needed_(recalls.size()) {}

    // All predictions together must be fewer than 2^31.
    void read(const ClassWords& given);

    // For each of these thresholds the mean over all recalls of the best precision at that recall or a higher one;
    // without any recalls, the sum wherever recall changes.
    void average(Thresholds thresholds, double positives, std::span<double> out);

  private:
    static constexpr std::size_t lanes = 4;  // thresholds side by side

    void grow(std::size_t room);
    // Of so many thresholds from this one on.
    template <std::size_t width>
    void sum_up(std::size_t threshold, double* out);
    template <std::size_t width>
    std::size_t rank(std::size_t threshold);
    template <std::size_t width>
    void sum_levels(std::size_t most, double* out) const;
    template <std::size_t width>
    void sum_all(std::size_t most, double* out) const;
    void find_needed(double positives);

    std::span<const double> recalls_;
    const double epsilon_;
    std::vector<double> needed_;  // [recall] truths to be found
    // Predictions that found something or are spared, each as often as it is there.
    std::size_t count_ = 0;
    std::vector<Word> words_;
    std::vector<std::int32_t> at_;     // predictions up to and with each
    std::vector<std::int32_t> ranks_;  // [truth found][lane] predictions up to then; -1: not found
};

}  // namespace verite
