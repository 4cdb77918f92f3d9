// Average precision of a class after one true positive became a false positive, as happens when one annotation is
// removed: read off the recall levels, without going through the predictions again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "evaluation/true_positive_ranks.hpp"

namespace verite {

// The same bits as TruePositiveRanks: only the largest precision from each recall level on differs in how it is found.
class DeletionAverages {
  public:
    // The predictions of a class by descending confidence, at these thresholds, for this number of positives.
    DeletionAverages(std::span<const double> recalls, double epsilon, std::span<const OutcomeWord> words,
                     ThresholdSet thresholds, double positives);

    double positives() const { return positives_; }
    // The mean of interpolated precision over the recall levels at a threshold, with the true positive at this place
    // (an index of the predictions) as a false positive; with none, all as they are.
    double average(std::size_t threshold, std::optional<std::size_t> place) const;

  private:
    // True positives at one threshold. Elements are by rank among them, from 0; precision is at each.
    struct Curve {
        std::vector<std::int32_t> places;
        std::vector<double> precision;
        std::vector<double> best_after;     // largest precision at each and all after it if one before it is no more
        std::vector<double> best_in_level;  // [recall] largest precision from this level to below the next
        double unchanged;
    };

    std::size_t first_of(std::size_t recall, const Curve& curve) const;
    template <typename Best>
    double sum_levels(const Best& best) const;

    std::span<const double> recalls_;
    double positives_;
    std::vector<double> needed_;  // [recall] true positives needed, at least 1
    std::vector<Curve> curves_;   // [threshold]
};

}  // namespace verite
