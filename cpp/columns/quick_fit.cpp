#include "columns/quick_fit.hpp"

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
};

void look(const Surveyed& truth, const Surveyed& pred, std::span<const std::size_t> truths,
          std::span<const std::size_t> preds, const FitRules& rules, QuickFit& fit, Seen& seen) {
    std::vector<Corners> boxes;
    for (const std::size_t row : preds) boxes.push_back(corners_of(pred, row));
    for (const std::size_t row : truths) {
        const Corners box = corners_of(truth, row);
        double best = 0;
        std::size_t by = 0;
        for (std::size_t p = 0; p < boxes.size(); ++p)
            if (const double overlap = overlap_of(box, boxes[p]); overlap > best) best = overlap, by = p;
        fit.precise += best >= rules.precise;
        if (best < rules.found) continue;
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

// Images with truths and without predictions.
void count_unpredicted(const Surveyed& truth, const Surveyed& pred, std::size_t images, QuickFit& fit) {
    std::vector<std::uint32_t> truths(images, 0);
    std::vector<std::uint8_t> has_pred(images, 0);
    std::size_t wanted = 0;
    for (std::size_t row = 0; row < truth.count(); ++row)
        if (truth.crowd.empty() || !truth.crowd[row]) ++truths[static_cast<std::size_t>(truth.image[row])], ++wanted;
    for (const std::int32_t image : pred.image) has_pred[static_cast<std::size_t>(image)] = 1;
    const double rate = wanted ? static_cast<double>(pred.count()) / static_cast<double>(wanted) : 0;
    for (std::size_t image = 0; image < images; ++image) {
        if (!truths[image]) continue;
        ++fit.asked;
        fit.expected += std::exp(-rate * truths[image]);
        if (!has_pred[image]) fit.unpredicted.add(image);
    }
}

}  // namespace

QuickFit quick_fit(const Surveyed& truth, const Surveyed& pred, std::size_t images, const FitRules& rules) {
    check_columns(truth, images);
    check_columns(pred, images);
    const auto drawn = draw(truth, truth.crowd, pred, images, rules.images);
    const auto truths = rows_of(truth, truth.crowd, drawn, rules.images);
    auto preds = rows_of(pred, {}, drawn, rules.images);
    QuickFit fit;
    Seen seen;
    for (std::size_t i = 0; i < truths.size(); ++i) {
        if (!pred.confidence.empty())
            std::ranges::stable_sort(preds[i], std::greater(), [&](std::size_t row) {
                return std::isnan(pred.confidence[row]) ? -HUGE_VAL : pred.confidence[row];
            });
        preds[i].resize(std::min(preds[i].size(), rules.per_image));
        look(truth, pred, truths[i], preds[i], rules, fit, seen);
    }
    count_unpredicted(truth, pred, images, fit);
    fit.exchanges = find_exchanges(seen.taken_for, rules);
    fit.is_good = !pred.confidence.empty() && fit.possible > 0 &&
                  static_cast<double>(fit.precise) >= rules.share * static_cast<double>(fit.possible) &&
                  (fit.found < rules.fewest || 2 * fit.agreeing > fit.found);
    for (const std::size_t which : {0, 1})
        if (!(static_cast<double>(seen.large[which]) > rules.most_small * static_cast<double>(seen.numbers[which])))
            fit.is_good = false;
    return fit;
}

}  // namespace verite
