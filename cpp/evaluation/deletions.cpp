#include "evaluation/deletions.hpp"

#include <algorithm>

namespace verite {

DeletionAverages::DeletionAverages(std::span<const double> recalls, double epsilon, std::span<const OutcomeWord> words,
                                   ThresholdSet thresholds, double positives)
    : recalls_(recalls), positives_(positives), needed_(recalls.size()), curves_(most_thresholds) {
    find_needed_true_positives(recalls, positives, needed_);
    for (double& needed : needed_) needed = std::max(needed, 1.0);
    for (std::size_t threshold = 0; threshold < most_thresholds; ++threshold) {
        if (!(thresholds >> threshold & 1)) continue;
        Curve& curve = curves_[threshold];
        std::int32_t seen = 0;
        for (std::size_t i = 0; i < words.size(); ++i) {
            const OutcomeWord word = words[i] >> threshold;
            seen += !(word >> 16 & 1);
            if (!(word & 1)) continue;
            const auto found = static_cast<double>(curve.places.size() + 1), all = static_cast<double>(seen) + epsilon;
            curve.places.push_back(static_cast<std::int32_t>(i));
            curve.precision.push_back(found / all);
            curve.best_after.push_back((found - 1) / all);
        }
        for (std::size_t k = curve.best_after.size(); k-- > 1;)
            curve.best_after[k - 1] = std::max(curve.best_after[k - 1], curve.best_after[k]);
        curve.best_in_level.assign(recalls.size(), 0.0);
        for (std::size_t r = 0; r < recalls.size(); ++r) {
            const std::size_t last = r + 1 < recalls.size() ? first_of(r + 1, curve) : curve.precision.size();
            for (std::size_t k = first_of(r, curve); k < last; ++k)
                curve.best_in_level[r] = std::max(curve.best_in_level[r], curve.precision[k]);
        }
        double best = 0;
        curve.unchanged = sum_levels([&](std::size_t r) { return best = std::max(best, curve.best_in_level[r]); });
    }
}

// The first true positive at which a recall level is reached; their number if none reaches it.
std::size_t DeletionAverages::first_of(std::size_t recall, const Curve& curve) const {
    const auto count = static_cast<double>(curve.precision.size());
    return static_cast<std::size_t>(std::min(needed_[recall] - 1, count));
}

double DeletionAverages::average(std::size_t threshold, std::optional<std::size_t> place) const {
    const Curve& curve = curves_[threshold];
    if (!place) return curve.unchanged;
    const auto found = std::ranges::lower_bound(curve.places, static_cast<std::int32_t>(*place));
    const auto deleted = static_cast<std::size_t>(found - curve.places.begin());
    double best = 0;
    return sum_levels([&](std::size_t r) {
        // The k-th true positive from now on is the one after it, from the deleted one on.
        const std::size_t first = first_of(r, curve);
        if (first >= deleted) {
            best = first + 1 < curve.best_after.size() ? curve.best_after[first + 1] : 0.0;
            return best;
        }
        const std::size_t last = r + 1 < recalls_.size() ? first_of(r + 1, curve) : curve.precision.size();
        if (last <= deleted) return best = std::max(best, curve.best_in_level[r]);
        if (deleted + 1 < curve.best_after.size()) best = std::max(best, curve.best_after[deleted + 1]);
        for (std::size_t k = first; k < deleted; ++k) best = std::max(best, curve.precision[k]);
        return best;
    });
}

// From the last level to the first. Levels of the same precision are added with one rounding.
template <typename Best>
double DeletionAverages::sum_levels(const Best& best) const {
    double sum = 0, level = 0, times = 0;
    for (std::size_t r = recalls_.size(); r-- > 0;) {
        const double now = best(r);
        if (now > level) {
            sum += level * times;
            times = 0;
        }
        ++times;
        level = now;
    }
    return (sum + level * times) / static_cast<double>(recalls_.size());
}

}  // namespace verite
