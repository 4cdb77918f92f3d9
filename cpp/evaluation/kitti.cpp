#include "evaluation/kitti.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
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

std::vector<std::int32_t> kitti_true_positives(const KittiObjects& objects) {
    check(objects);
    std::vector<std::uint8_t> is_taken(objects.state.size(), 0);
    std::vector<std::int32_t> found;
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
        if (objects.truth[i] == 0 && objects.state[static_cast<std::size_t>(chosen)] == 0) found.push_back(chosen);
    }
    return found;
}

KittiSteps kitti_steps(const KittiObjects& objects, std::span<const std::int32_t> images) {
    check(objects);
    if (images.size() != objects.state.size()) throw std::invalid_argument("images: expected one per prediction");
    KittiSteps steps;
    const auto add = [&](double confidence, std::int32_t image, std::int64_t tp, std::int64_t fp) {
        if (tp == 0 && fp == 0) return;
        steps.confidence.push_back(confidence);
        steps.image.push_back(image);
        steps.tp.push_back(static_cast<std::int32_t>(tp));
        steps.fp.push_back(static_cast<std::int32_t>(fp));
    };
    const auto counts_if_free = [&](std::size_t row) { return objects.state[row] == 0 && !objects.in_region[row]; };

    // Objects that share predictions, directly or through others, are matched together; whatever else is in the image
    // changes nothing. Predictions without a pair are false positives whatever the threshold.
    std::vector<std::int32_t> owner(objects.state.size(), -1);  // an object with a pair with this prediction
    std::vector<std::size_t> group(objects.truth.size()), order;
    std::iota(group.begin(), group.end(), std::size_t{0});
    const auto first_of = [&](std::size_t i) {
        while (group[i] != i) i = group[i] = group[group[i]];
        return i;
    };
    for (std::size_t i = 0; i < objects.truth.size(); ++i) {
        if (objects.truth[i] < 0 || objects.offsets[i] == objects.offsets[i + 1]) continue;
        order.push_back(i);
        for (std::int64_t at = objects.offsets[i]; at < objects.offsets[i + 1]; ++at) {
            std::int32_t& own = owner[static_cast<std::size_t>(objects.pred[at])];
            if (own < 0) own = static_cast<std::int32_t>(i);
            const std::size_t one = first_of(static_cast<std::size_t>(own)), two = first_of(i);
            group[std::max(one, two)] = std::min(one, two);
        }
    }
    for (std::size_t row = 0; row < objects.state.size(); ++row)
        if (owner[row] < 0 && counts_if_free(row)) add(objects.confidence[row], images[row], 0, 1);
    for (const std::size_t i : order) group[i] = first_of(i);
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return group[i]; });

    std::vector<std::int32_t> preds;  // with pairs, of one group
    std::vector<double> thresholds;   // their confidences
    std::vector<std::uint8_t> is_taken(objects.state.size(), 0);
    Pause pause(1024);
    for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
        const std::int32_t image = images[static_cast<std::size_t>(objects.pred[objects.offsets[order[first]]])];
        preds.clear();
        thresholds.clear();
        for (; last < order.size() && group[order[last]] == group[order[first]]; ++last)
            for (std::int64_t at = objects.offsets[order[last]]; at < objects.offsets[order[last] + 1]; ++at)
                if (objects.state[static_cast<std::size_t>(objects.pred[at])] >= 0) preds.push_back(objects.pred[at]);
        std::ranges::sort(preds);
        preds.erase(std::ranges::unique(preds).begin(), preds.end());
        for (const std::int32_t row : preds) thresholds.push_back(objects.confidence[static_cast<std::size_t>(row)]);
        std::ranges::sort(thresholds, std::ranges::greater());
        thresholds.erase(std::ranges::unique(thresholds).begin(), thresholds.end());

        std::int64_t tp_before = 0, fp_before = 0;
        for (const double least : thresholds) {
            pause();
            for (const std::int32_t row : preds) is_taken[static_cast<std::size_t>(row)] = 0;
            std::int64_t tp = 0, fp = 0;
            for (std::size_t place = first; place < last; ++place) {
                const std::size_t i = order[place];
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
                tp += objects.truth[i] == 0 && !is_ignored;
            }
            for (const std::int32_t row : preds) {
                const auto at = static_cast<std::size_t>(row);
                fp += counts_if_free(at) && !is_taken[at] && objects.confidence[at] >= least;
            }
            add(least, image, tp - tp_before, fp - fp_before);
            tp_before = tp;
            fp_before = fp;
        }
    }
    return steps;
}

}  // namespace verite
