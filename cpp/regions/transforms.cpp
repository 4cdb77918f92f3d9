#include "regions/transforms.hpp"

#include <algorithm>
#include <cmath>

#include "columns/pause.hpp"

namespace verite {
namespace {

constexpr std::int32_t far = 1 << 29;

// Sums of values raised to a power.
double sum_raised(std::span<const double> values, double power) {
    double sum = 0;
    if (power == 1)
        for (const double value : values) sum += value;
    else if (power == 2)
        for (const double value : values) sum += value * value;
    else if (power == 3)
        for (const double value : values) sum += value * value * value;
    else
        for (const double value : values) sum += std::pow(value, power);
    return sum;
}

// Beyond the cut-off of both contours nothing differs: only so much of the image is looked at.
Frame reachable(const Frame& both, Size size, double cutoff, Spacing spacing) {
    cutoff /= std::min(spacing.down, spacing.across);
    const auto width = static_cast<std::int32_t>(size.width), height = static_cast<std::int32_t>(size.height);
    if (!(cutoff < static_cast<double>(size.width) + static_cast<double>(size.height))) return {0, 0, width, height};
    const auto margin = static_cast<std::int32_t>(std::ceil(cutoff));
    return {std::max(both.x1 - margin, 0), std::max(both.y1 - margin, 0), std::min(both.x2 + margin, width),
            std::min(both.y2 + margin, height)};
}

}  // namespace

void Envelope::lower(std::span<const double> heights, double step, std::span<double> least) {
    const auto count = static_cast<std::int32_t>(heights.size());
    lowest_.resize(count);
    const double square = step * step;
    // Parabolas of one width cross once, at half the slope between their points (place, lifted): those that are lowest
    // somewhere are the corners of the lower convex hull of these points. Whole numbers stay below 2^53: no rounding.
    std::size_t size = 0;
    for (std::int32_t y = 0; y < count; ++y) {
        if (heights[y] >= nothing) continue;
        const Corner mine{static_cast<double>(y), heights[y] + square * (static_cast<double>(y) * y), heights[y]};
        for (; size >= 2; --size) {
            const Corner &one = lowest_[size - 2], &two = lowest_[size - 1];
            if ((two.lifted - one.lifted) * (mine.place - two.place) <
                (mine.lifted - two.lifted) * (two.place - one.place))
                break;
        }
        lowest_[size++] = mine;
    }
    const auto value = [&](std::size_t i, double y) {
        return lowest_[i].height + square * ((y - lowest_[i].place) * (y - lowest_[i].place));
    };
    std::size_t i = 0;
    for (std::int32_t y = 0; y < count; ++y) {
        double found = value(i, y);
        for (double next; i + 1 < size && (next = value(i + 1, y)) <= found; ++i) found = next;
        least[y] = found;
    }
}

void Transform::build(std::span<const Pixel> set, const Frame& frame, Spacing spacing) {
    height_ = frame.height();
    spacing_ = spacing;
    const std::int32_t width = frame.width();
    reach_.assign(static_cast<std::size_t>(width) * height_, far);
    for (const Pixel& pixel : set)
        reach_[static_cast<std::size_t>(pixel.x - frame.x1) * height_ + (pixel.y - frame.y1)] = 0;
    for (std::int32_t x = 1; x < width; ++x) pull(x, x - 1);
    for (std::int32_t x = width - 1; x-- > 0;) pull(x, x + 1);
    heights_.resize(height_);
    squared_.resize(height_);
}

std::span<const double> Transform::column(std::int32_t x) {
    const std::int32_t* reach = reach_.data() + static_cast<std::size_t>(x) * height_;
    const double square = spacing_.across * spacing_.across;
    for (std::int32_t y = 0; y < height_; ++y)
        heights_[y] = reach[y] >= far ? Envelope::nothing : square * (static_cast<double>(reach[y]) * reach[y]);
    envelope_.lower(heights_, spacing_.down, squared_);
    return squared_;
}

void Transform::pull(std::int32_t to, std::int32_t from) {
    std::int32_t* here = reach_.data() + static_cast<std::size_t>(to) * height_;
    const std::int32_t* there = reach_.data() + static_cast<std::size_t>(from) * height_;
    for (std::int32_t y = 0; y < height_; ++y) here[y] = std::min(here[y], there[y] + 1);
}

void distance_differences(const Side& truths, const Side& preds, std::span<const double> powers, double cutoff,
                          Spacing spacing, std::span<double> out) {
    Shape truth, pred;
    Transform to_truth, to_pred;
    std::vector<double> apart;
    const double furthest = cutoff * cutoff;
    std::fill(out.begin(), out.end(), 0.);
    Pause pause;
    for (std::size_t i = 0; i < truths.rows.size(); ++i) {
        pause();
        truth.read(truths, truths.rows[i]);
        pred.read(preds, preds.rows[i]);
        if (truth.pixels().empty() || pred.pixels().empty()) continue;
        const Size size = truths.masks.size_of(truths.rows[i]);
        const Frame frame = reachable(around(truth.contour().frame(), pred.contour().frame()), size, cutoff, spacing);
        to_truth.build(truth.pixels(), frame, spacing);
        to_pred.build(pred.pixels(), frame, spacing);
        apart.resize(frame.height());
        for (std::int32_t x = 0; x < frame.width(); ++x) {
            const auto mine = to_truth.column(x), theirs = to_pred.column(x);
            for (std::size_t y = 0; y < apart.size(); ++y)
                apart[y] = std::abs(std::sqrt(std::min(mine[y], furthest)) - std::sqrt(std::min(theirs[y], furthest)));
            for (std::size_t p = 0; p < powers.size(); ++p) out[i * powers.size() + p] += sum_raised(apart, powers[p]);
        }
    }
}

}  // namespace verite
