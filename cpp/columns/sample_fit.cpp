#include "columns/sample_fit.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

namespace verite {
namespace {

// Rows by the image of the sample they are in.
using Rows = std::vector<std::vector<std::size_t>>;

// Which image of the sample each image is; -1 for the others. Evenly spaced ones that have objects of both sides.
std::vector<std::int32_t> draw(const Surveyed& truth, std::span<const std::uint8_t> left_out, const Surveyed& pred,
                               std::size_t images, std::size_t most) {
    enum { has_truth = 1, has_pred = 2 };
    std::vector<std::uint8_t> has(images, 0);
    const auto mark = [&](const Surveyed& side, int what, std::span<const std::uint8_t> without) {
        for (std::size_t row = 0; row < side.count(); ++row) {
            const auto image = static_cast<std::size_t>(side.image[row]);
            if (without.empty() || !without[row]) has[image] = static_cast<std::uint8_t>(has[image] | what);
        }
    };
    mark(truth, has_truth, left_out);
    mark(pred, has_pred, {});
    std::vector<std::size_t> both;
    for (std::size_t image = 0; image < images; ++image)
        if (has[image] == (has_truth | has_pred)) both.push_back(image);
    std::vector<std::int32_t> drawn(images, -1);
    const std::size_t count = std::min(most, both.size());
    for (std::size_t i = 0; i < count; ++i)
        drawn[both[count > 1 ? i * (both.size() - 1) / (count - 1) : 0]] = static_cast<std::int32_t>(i);
    return drawn;
}

Rows rows_of(const Surveyed& side, std::span<const std::uint8_t> left_out, std::span<const std::int32_t> drawn,
             std::size_t count) {
    Rows rows(count);
    for (std::size_t row = 0; row < side.count(); ++row) {
        const std::int32_t place = drawn[static_cast<std::size_t>(side.image[row])];
        if (place >= 0 && (left_out.empty() || !left_out[row])) rows[static_cast<std::size_t>(place)].push_back(row);
    }
    return rows;
}

// What is seen in the images of the sample, added up.
struct Seen {
    std::size_t numbers[2] = {}, large[2] = {};                      // of the truth and of the predictions
    std::vector<std::pair<std::int32_t, std::int32_t>> taken_for{};  // class of each truth found, and of its finder
    std::vector<std::pair<double, bool>> scored{};                   // confidence of each prediction, and is it right?
};

// The four numbers of a prediction as corners under another layout; see `other_layouts`.
Corners read_as(const Surveyed& side, std::size_t row, std::size_t layout) {
    const double* n = &side.numbers[4 * row];
    switch (layout) {
        case 0:
            return {n[0], n[1], n[0] + n[2], n[1] + n[3]};
        case 1:
            return {n[0], n[1], n[2], n[3]};
        case 2:
            return {n[0] - n[2] / 2, n[1] - n[3] / 2, n[0] + n[2] / 2, n[1] + n[3] / 2};
        case 3:
            return {n[1], n[0], n[1] + n[3], n[0] + n[2]};
        default:
            return {n[1], n[0], n[3], n[2]};
    }
}

// Does some prediction have this box precisely, if its numbers are read in another layout?
void try_other_layouts(const Surveyed& pred, std::span<const std::size_t> preds, const Corners& box,
                       const FitRules& rules, SampleFit& fit) {
    const std::size_t own = pred.is_corners ? 1 : 0;
    for (std::size_t layout = 0; layout < fit.gained.size(); ++layout) {
        if (layout == own) continue;
        const auto fits = [&](std::size_t row) {
            const Corners other = read_as(pred, row, layout);
            return other.right > other.left && other.bottom > other.top && box_iou_of(box, other) >= rules.precise;
        };
        fit.gained[layout] += std::ranges::any_of(preds, fits);
    }
}

void look(const Surveyed& truth, const Surveyed& pred, std::span<const std::size_t> truths,
          std::span<const std::size_t> preds, const FitRules& rules, SampleFit& fit, Seen& seen) {
    std::vector<Corners> boxes;
    for (const std::size_t row : preds) boxes.push_back(corners_of(pred, row));
    for (const std::size_t row : truths) {
        const Corners box = corners_of(truth, row);
        double best = 0;
        std::size_t by = 0;
        for (std::size_t p = 0; p < boxes.size(); ++p)
            if (const double overlap = box_iou_of(box, boxes[p]); overlap > best) best = overlap, by = p;
        fit.precise += best >= rules.precise;
        if (best < rules.found) {
            try_other_layouts(pred, preds, box, rules, fit);
            continue;
        }
        ++fit.found;
        fit.agreeing += truth.label[row] == pred.label[preds[by]];
        seen.taken_for.emplace_back(truth.label[row], pred.label[preds[by]]);
    }
    fit.possible += std::min(truths.size(), preds.size());
    const auto measure = [&](const Surveyed& side, std::span<const std::size_t> rows, std::size_t which) {
        for (const std::size_t row : rows)
            for (std::size_t i = 0; i < 4; ++i) {
                ++seen.numbers[which];
                seen.large[which] += std::abs(side.numbers[4 * row + i]) > rules.pixels;
            }
    };
    measure(truth, truths, 0);
    measure(pred, preds, 1);
}

// Predictions of an image by descending confidence: which are true positives, and which duplicate a more confident one,
// as before non-maximum suppression? A second one of an object is neither a true nor a false positive here: of a still
// scene with a hundred predictions per object, the hundredth says nothing about the order of confidences.
void judge(const Surveyed& truth, const Surveyed& pred, std::span<const std::size_t> truths,
           std::span<const std::size_t> preds, const FitRules& rules, SampleFit& fit, Seen& seen) {
    if (pred.confidence.empty()) return;
    std::vector<bool> is_taken(truths.size());
    for (std::size_t i = 0; i < preds.size(); ++i) {
        const std::size_t row = preds[i];
        const double confidence = pred.confidence[row];
        if (std::isnan(confidence)) continue;
        const Corners box = corners_of(pred, row);
        const auto is_clone_of = [&](std::size_t other) {
            if (pred.label[other] != pred.label[row] || !(confidence >= rules.as_sure * pred.confidence[other]))
                return false;
            const double overlap = box_iou_of(box, corners_of(pred, other));
            return overlap >= rules.clone && overlap < rules.same;  // no detector writes the very same box again
        };
        ++fit.looked_at;
        fit.unsuppressed += std::ranges::any_of(preds.first(i), is_clone_of);
        bool is_right = false, is_duplicate = false;
        for (std::size_t t = 0; t < truths.size() && !is_right; ++t) {
            if (truth.label[truths[t]] != pred.label[row] ||
                box_iou_of(box, corners_of(truth, truths[t])) < rules.found)
                continue;
            is_right = !is_taken[t];
            is_duplicate = is_taken[t];
            is_taken[t] = true;
        }
        if (is_right || !is_duplicate) seen.scored.emplace_back(confidence, is_right);
    }
}

// How often a true positive is more confident than a false positive: the Mann-Whitney statistic.
void compare_confidences(std::vector<std::pair<double, bool>>& scored, SampleFit& fit) {
    std::ranges::sort(scored);
    for (std::size_t first = 0, last; first < scored.size(); first = last) {
        std::size_t right = 0;
        for (last = first; last < scored.size() && scored[last].first == scored[first].first; ++last)
            right += scored[last].second;
        const std::size_t wrong = last - first - right;
        fit.u_statistic +=
            static_cast<double>(right) * (static_cast<double>(fit.false_positives) + static_cast<double>(wrong) / 2);
        fit.true_positives += right;
        fit.false_positives += wrong;
    }
}

// Every class of which enough was found, as which other one most of it was; only those that go round in circles. A weak
// detector takes one class for another, and that one for itself.
std::vector<Exchange> find_exchanges(std::vector<std::pair<std::int32_t, std::int32_t>>& pairs, const FitRules& rules) {
    std::ranges::sort(pairs);
    std::vector<Exchange> all;
    for (std::size_t first = 0, last; first < pairs.size(); first = last) {
        std::size_t most = 0;
        std::int32_t as = 0;
        for (last = first; last < pairs.size() && pairs[last].first == pairs[first].first;) {
            const std::size_t start = last;
            while (last < pairs.size() && pairs[last] == pairs[start]) ++last;
            if (last - start > most) most = last - start, as = pairs[start].second;
        }
        const std::size_t found = last - first;
        const bool is_enough =
            most >= rules.fewest && static_cast<double>(most) >= rules.taken_for * static_cast<double>(found);
        if (is_enough && as != pairs[first].first) all.push_back({pairs[first].first, as, most, found});
    }
    const auto next = [&](std::int32_t label) {
        const auto at = std::ranges::lower_bound(all, label, {}, &Exchange::label);
        return at != all.end() && at->label == label ? at : all.end();
    };
    std::vector<Exchange> round;
    for (const Exchange& one : all) {
        auto at = next(one.as);
        for (std::size_t step = 0; step < all.size() && at != all.end() && at->label != one.label; ++step)
            at = next(at->as);
        if (at != all.end() && at->label == one.label) round.push_back(one);
    }
    return round;
}

// How many predictions fall on a truth, by the images that have some: a rate under which as many fall on them as do,
// none of them being without. Images without any annotation do not lower it.
double rate_of(std::span<const std::uint32_t> truths, std::span<const std::uint32_t> preds) {
    std::vector<double> images;  // with this number of objects, and a prediction
    double fallen = 0, wanted = 0;
    for (std::size_t image = 0; image < truths.size(); ++image) {
        if (!truths[image] || !preds[image]) continue;
        images.resize(std::max<std::size_t>(images.size(), truths[image] + std::size_t{1}), 0);
        ++images[truths[image]];
        fallen += preds[image];
        wanted += truths[image];
    }
    double low = 0, high = wanted > 0 ? fallen / wanted : 0;
    for (int step = 0; step < 40; ++step) {
        const double rate = (low + high) / 2;
        double expected = 0;
        for (std::size_t many = 1; many < images.size(); ++many)
            if (images[many] > 0) {
                const double mean = rate * static_cast<double>(many);
                expected += images[many] * (mean > 1e-9 ? mean / -std::expm1(-mean) : 1);
            }
        (expected < fallen ? low : high) = rate;
    }
    return high;
}

// Images with ground truth and without predictions.
void count_unpredicted(const Surveyed& truth, const Surveyed& pred, std::size_t images, SampleFit& fit) {
    std::vector<std::uint32_t> truths(images, 0), preds(images, 0);
    for (std::size_t row = 0; row < truth.count(); ++row)
        if (truth.crowd.empty() || !truth.crowd[row]) ++truths[static_cast<std::size_t>(truth.image[row])];
    for (const std::int32_t image : pred.image) ++preds[static_cast<std::size_t>(image)];
    const double rate = rate_of(truths, preds);
    for (std::size_t image = 0; image < images; ++image) {
        if (!truths[image]) continue;
        ++fit.images_with_objects;
        fit.expected += std::exp(-rate * truths[image]);
        if (!preds[image]) fit.unpredicted.add(image);
    }
}

// How far predictions reach, how many objects lie beyond, and how many predictions an image has at most.
void measure_reach(const Surveyed& truth, const Surveyed& pred, std::size_t images, SampleFit& fit) {
    std::vector<std::uint32_t> counts(images, 0);
    for (std::size_t row = 0; row < pred.count(); ++row) {
        const Corners box = corners_of(pred, row);
        const auto many = ++counts[static_cast<std::size_t>(pred.image[row])];
        fit.images_predicted += many == 1;
        fit.most_in_image = std::max<std::size_t>(fit.most_in_image, many);
        if (!std::isfinite(box.right + box.bottom)) continue;
        fit.reach[0] = std::max(fit.reach[0], box.right);
        fit.reach[1] = std::max(fit.reach[1], box.bottom);
    }
    for (std::size_t row = 0; row < pred.count(); ++row) {
        const Corners box = corners_of(pred, row);
        fit.at_reach += std::abs(box.right - fit.reach[0]) < 1e-3 || std::abs(box.bottom - fit.reach[1]) < 1e-3;
    }
    for (std::size_t row = 0; row < truth.count(); ++row) {
        if (!truth.crowd.empty() && truth.crowd[row]) continue;
        const Corners box = corners_of(truth, row);
        ++fit.objects;
        fit.beyond_reach += (box.left + box.right) / 2 > fit.reach[0] || (box.top + box.bottom) / 2 > fit.reach[1];
    }
}

}  // namespace

SampleFit sample_fit(const Surveyed& truth, const Surveyed& pred, std::size_t images, const FitRules& rules) {
    check_columns(truth, images);
    check_columns(pred, images);
    const auto drawn = draw(truth, truth.crowd, pred, images, rules.images);
    const auto truths = rows_of(truth, truth.crowd, drawn, rules.images);
    auto preds = rows_of(pred, {}, drawn, rules.images);
    SampleFit fit;
    Seen seen;
    for (std::size_t i = 0; i < truths.size(); ++i) {
        if (!pred.confidence.empty())
            std::ranges::stable_sort(preds[i], std::greater(), [&](std::size_t row) {
                return std::isnan(pred.confidence[row]) ? -HUGE_VAL : pred.confidence[row];
            });
        preds[i].resize(std::min(preds[i].size(), rules.per_image));
        look(truth, pred, truths[i], preds[i], rules, fit, seen);
        judge(truth, pred, truths[i], preds[i], rules, fit, seen);
    }
    compare_confidences(seen.scored, fit);
    count_unpredicted(truth, pred, images, fit);
    measure_reach(truth, pred, images, fit);
    fit.exchanges = find_exchanges(seen.taken_for, rules);
    const auto possible = static_cast<double>(fit.possible), matched = static_cast<double>(fit.found);
    const auto precise = static_cast<double>(fit.precise);
    const bool are_precise = precise >= rules.share * possible ||
                             (matched >= rules.matched * possible && precise >= rules.mostly_precise * matched);
    fit.is_good = !pred.confidence.empty() && fit.possible > 0 && are_precise &&
                  (fit.found < rules.fewest || 2 * fit.agreeing > fit.found);
    for (const std::size_t which : {0, 1})
        if (!(static_cast<double>(seen.large[which]) > rules.most_small * static_cast<double>(seen.numbers[which])))
            fit.is_good = false;
    return fit;
}

}  // namespace verite
