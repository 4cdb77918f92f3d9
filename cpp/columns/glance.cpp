#include "columns/glance.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace verite {
namespace {

struct Box {
    double left, top, right, bottom;

    double area() const { return (right - left) * (bottom - top); }
};

Box box_of(const Glimpsed& side, std::size_t row) {
    const double* at = &side.numbers[4 * row];
    if (side.is_corners) return {at[0], at[1], at[2], at[3]};
    return {at[0], at[1], at[0] + at[2], at[1] + at[3]};
}

double overlap_of(const Box& a, const Box& b) {
    const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
    const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
    if (!(width > 0) || !(height > 0)) return 0;
    const double shared = width * height;
    return shared / (a.area() + b.area() - shared);
}

bool are_numbers(std::span<const double> values) {
    double sums[4] = {};  // of zeros, unless one of the values is infinite or no number; side by side for speed
    std::size_t i = 0;
    for (; i + 4 <= values.size(); i += 4)
        for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += values[i + lane] * 0;
    for (; i < values.size(); ++i) sums[0] += values[i] * 0;
    return sums[0] + sums[1] + sums[2] + sums[3] == 0;
}

bool have_sizes(const Glimpsed& side) {
    bool has_negative = false;
    for (std::size_t i = 0; i + 3 < side.numbers.size(); i += 4) {
        const double* at = &side.numbers[i];
        const double x = side.is_corners ? at[0] : 0, y = side.is_corners ? at[1] : 0;
        has_negative |= (at[2] < x) | (at[3] < y);
    }
    return !has_negative;
}

// Rows by the image of the sample they are in.
using Rows = std::vector<std::vector<std::size_t>>;

// Which image of the sample each image is; -1 for the others. Evenly spaced ones that have objects of both sides.
std::vector<std::int32_t> draw(const Glimpsed& truth, std::span<const std::uint8_t> left_out, const Glimpsed& pred,
                               std::size_t images, std::size_t most) {
    enum { has_truth = 1, has_pred = 2 };
    std::vector<std::uint8_t> has(images, 0);
    const auto mark = [&](const Glimpsed& side, int what, std::span<const std::uint8_t> without) {
        for (std::size_t row = 0; row < side.image.size(); ++row) {
            const auto image = static_cast<std::size_t>(side.image[row]);  // far too large if negative
            if (image >= images) throw std::invalid_argument("an object outside the images");
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

Rows rows_of(const Glimpsed& side, std::span<const std::uint8_t> left_out, std::span<const std::int32_t> drawn,
             std::size_t count) {
    Rows rows(count);
    for (std::size_t row = 0; row < side.image.size(); ++row) {
        const std::int32_t place = drawn[static_cast<std::size_t>(side.image[row])];
        if (place >= 0 && (left_out.empty() || !left_out[row])) rows[static_cast<std::size_t>(place)].push_back(row);
    }
    return rows;
}

// What is seen in the images of the sample, added up.
struct Seen {
    std::size_t possible = 0, precise = 0, found = 0, agreeing = 0;
    std::size_t numbers[2] = {}, large[2] = {};  // of the truth and of the predictions
};

void look(const Glimpsed& truth, const Glimpsed& pred, std::span<const std::size_t> truths,
          std::span<const std::size_t> preds, const GlanceRules& rules, Seen& seen) {
    std::vector<Box> boxes;
    for (const std::size_t row : preds) boxes.push_back(box_of(pred, row));
    for (const std::size_t row : truths) {
        const Box box = box_of(truth, row);
        double best = 0;
        std::size_t by = 0;
        for (std::size_t p = 0; p < boxes.size(); ++p)
            if (const double overlap = overlap_of(box, boxes[p]); overlap > best) best = overlap, by = p;
        seen.precise += best >= rules.precise;
        if (best < rules.found) continue;
        ++seen.found;
        seen.agreeing += truth.label[row] == pred.label[preds[by]];
    }
    seen.possible += std::min(truths.size(), preds.size());
    const auto measure = [&](const Glimpsed& side, std::span<const std::size_t> rows, std::size_t which) {
        for (const std::size_t row : rows)
            for (std::size_t i = 0; i < 4; ++i) {
                ++seen.numbers[which];
                seen.large[which] += std::abs(side.numbers[4 * row + i]) > rules.pixels;
            }
    };
    measure(truth, truths, 0);
    measure(pred, preds, 1);
}

}  // namespace

bool looks_sound(const Glimpsed& truth, std::span<const std::uint8_t> left_out, const Glimpsed& pred,
                 std::span<const double> confidence, std::size_t images, const GlanceRules& rules) {
    for (const Glimpsed* side : {&truth, &pred})
        if (side->label.size() != side->image.size() || side->numbers.size() != 4 * side->image.size())
            throw std::invalid_argument("expected an image, a label and four numbers for every object");
    if (confidence.size() != pred.image.size() || (!left_out.empty() && left_out.size() != truth.image.size()))
        throw std::invalid_argument("expected a confidence for every prediction and a flag for every truth");
    if (!are_numbers(pred.numbers) || !are_numbers(confidence) || !have_sizes(pred)) return false;
    const auto drawn = draw(truth, left_out, pred, images, rules.images);
    const auto truths = rows_of(truth, left_out, drawn, rules.images);
    auto preds = rows_of(pred, {}, drawn, rules.images);
    Seen seen;
    for (std::size_t i = 0; i < truths.size(); ++i) {
        const auto by_confidence = [&](std::size_t a, std::size_t b) { return confidence[a] > confidence[b]; };
        std::stable_sort(preds[i].begin(), preds[i].end(), by_confidence);
        preds[i].resize(std::min(preds[i].size(), rules.per_image));
        look(truth, pred, truths[i], preds[i], rules, seen);
    }
    for (const std::size_t which : {0, 1})
        if (!(static_cast<double>(seen.large[which]) > rules.most_small * static_cast<double>(seen.numbers[which])))
            return false;
    const bool is_precise =
        seen.possible > 0 && static_cast<double>(seen.precise) >= rules.share * static_cast<double>(seen.possible);
    return is_precise && (seen.found < rules.fewest || 2 * seen.agreeing > seen.found);
}

}  // namespace verite
