#include "evaluation/kitti.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "columns/pause.hpp"

namespace verite {
namespace {

void check(const KittiObjects& objects) {
    const std::size_t truths = objects.truth.size(), preds = objects.state.size();
    const bool fits = objects.offsets.size() == truths + 1 && objects.pred.size() == objects.iou.size() &&
                      objects.in_region.size() == preds && objects.confidence.size() == preds &&
                      objects.offsets.front() == 0 && std::ranges::is_sorted(objects.offsets) &&
                      objects.offsets.back() == static_cast<std::int64_t>(objects.pred.size()) &&
                      std::ranges::all_of(objects.pred, [&](std::int32_t row) {
                          return row >= 0 && static_cast<std::size_t>(row) < preds;
                      });
    if (!fits) throw std::invalid_argument("pairs: expected columns that fit together");
}

}  // namespace

std::vector<double> kitti_confidences(const KittiObjects& objects) {
    check(objects);
    std::vector<std::uint8_t> is_taken(objects.state.size(), 0);
    std::vector<double> found;
    Pause pause(1024);
    for (std::size_t i = 0; i < objects.truth.size(); ++i) {
        pause();
        if (objects.truth[i] < 0) continue;
        std::int32_t chosen = -1;
        double highest = -std::numeric_limits<double>::infinity();
        for (std::int64_t at = objects.offsets[i]; at < objects.offsets[i + 1]; ++at) {
            const auto row = static_cast<std::size_t>(objects.pred[at]);
            if (objects.state[row] < 0 || is_taken[row] || !(objects.confidence[row] > highest)) continue;
            chosen = objects.pred[at];
            highest = objects.confidence[row];
        }
        if (chosen < 0) continue;
        is_taken[static_cast<std::size_t>(chosen)] = 1;
        if (objects.truth[i] == 0 && objects.state[static_cast<std::size_t>(chosen)] == 0) found.push_back(highest);
    }
    return found;
}

KittiCounts kitti_counts(const KittiObjects& objects, std::span<const double> thresholds) {
    check(objects);
    KittiCounts counts{std::vector<std::int64_t>(thresholds.size()), std::vector<std::int64_t>(thresholds.size())};
    std::vector<std::uint8_t> is_taken(objects.state.size());
    Pause pause(1024);
    for (std::size_t t = 0; t < thresholds.size(); ++t) {
        std::ranges::fill(is_taken, std::uint8_t{0});
        const double least = thresholds[t];
        for (std::size_t i = 0; i < objects.truth.size(); ++i) {
            pause();
            if (objects.truth[i] < 0) continue;
            std::int32_t chosen = -1;
            double highest = 0;
            bool is_ignored = false;  // the chosen prediction
            for (std::int64_t at = objects.offsets[i]; at < objects.offsets[i + 1]; ++at) {
                const auto row = static_cast<std::size_t>(objects.pred[at]);
                if (objects.state[row] < 0 || is_taken[row] || objects.confidence[row] < least) continue;
                if (objects.state[row] == 0 && (objects.iou[at] > highest || is_ignored)) {
                    highest = objects.iou[at];
                    chosen = objects.pred[at];
                    is_ignored = false;
                } else if (objects.state[row] == 1 && chosen < 0) {
                    chosen = objects.pred[at];
                    is_ignored = true;
                }
            }
            if (chosen < 0) continue;
            is_taken[static_cast<std::size_t>(chosen)] = 1;
            counts.tp[t] += objects.truth[i] == 0 && !is_ignored;
        }
        for (std::size_t row = 0; row < objects.state.size(); ++row)
            counts.fp[t] += objects.state[row] == 0 && !is_taken[row] && !objects.in_region[row] &&
                            objects.confidence[row] >= least;
    }
    return counts;
}

}  // namespace verite
