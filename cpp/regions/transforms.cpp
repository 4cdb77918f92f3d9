#include "regions/transforms.hpp"

#include <algorithm>
#include <cmath>

#include "columns/pause.hpp"

namespace verite {
namespace {

// Squared distances to a set of pixels, for every pixel of a frame, a column at a time (Felzenszwalb & Huttenlocher
// 2012: distances along rows first, then in each column the lower envelope of one parabola a row).
class Transform {
  public:
    void build(std::span<const Pixel> set, const Frame& frame) {
        height_ = frame.height();
        const std::int32_t width = frame.width();
        reach_.assign(static_cast<std::size_t>(width) * height_, far);
        for (const Pixel& pixel : set)
            reach_[static_cast<std::size_t>(pixel.x - frame.x1) * height_ + (pixel.y - frame.y1)] = 0;
        for (std::int32_t x = 1; x < width; ++x) pull(x, x - 1);
        for (std::int32_t x = width - 1; x-- > 0;) pull(x, x + 1);
        lowest_.resize(height_);
        starts_.resize(static_cast<std::size_t>(height_) + 1);
        squared_.resize(height_);
    }

    std::span<const double> column(std::int32_t x) {
        const std::int32_t* reach = reach_.data() + static_cast<std::size_t>(x) * height_;
        std::int32_t top = -1;
        for (std::int32_t y = 0; y < height_; ++y) {
            if (reach[y] >= far) continue;
            const double mine = lifted(reach, y);
            std::int32_t start = 0;
            while (top >= 0) {
                // The first row at which y is nearer than the lowest so far. Whole numbers below 2^53: the quotient
                // may be rounded, but never across a whole number.
                const std::int32_t v = lowest_[top];
                const double at = std::floor((mine - lifted(reach, v)) / (2. * (y - v))) + 1;
                start = static_cast<std::int32_t>(std::clamp(at, 0., static_cast<double>(height_)));
                if (start > starts_[top]) break;
                --top;
                start = 0;
            }
            if (start >= height_) continue;
            lowest_[++top] = y;
            starts_[top] = start;
        }
        starts_[top + 1] = height_;
        for (std::int32_t i = 0; i <= top; ++i) {
            const double row = lowest_[i], base = static_cast<double>(reach[lowest_[i]]) * reach[lowest_[i]];
            for (std::int32_t y = starts_[i]; y < starts_[i + 1]; ++y) squared_[y] = base + (y - row) * (y - row);
        }
        return squared_;
    }

  private:
    static constexpr std::int32_t far = 1 << 29;

    static double lifted(const std::int32_t* reach, std::int32_t y) {
        return static_cast<double>(reach[y]) * reach[y] + static_cast<double>(y) * y;
    }

    void pull(std::int32_t to, std::int32_t from) {
        std::int32_t* here = reach_.data() + static_cast<std::size_t>(to) * height_;
        const std::int32_t* there = reach_.data() + static_cast<std::size_t>(from) * height_;
        for (std::int32_t y = 0; y < height_; ++y) here[y] = std::min(here[y], there[y] + 1);
    }

    std::int32_t height_ = 0;
    std::vector<std::int32_t> reach_, lowest_, starts_;
    std::vector<double> squared_;
};

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
Frame reachable(const Frame& both, Size size, double cutoff) {
    const auto width = static_cast<std::int32_t>(size.width), height = static_cast<std::int32_t>(size.height);
    if (!(cutoff < static_cast<double>(size.width) + static_cast<double>(size.height))) return {0, 0, width, height};
    const auto margin = static_cast<std::int32_t>(std::ceil(cutoff));
    return {std::max(both.x1 - margin, 0), std::max(both.y1 - margin, 0), std::min(both.x2 + margin, width),
            std::min(both.y2 + margin, height)};
}

}  // namespace

void distance_differences(const Side& truths, const Side& preds, std::span<const double> powers, double cutoff,
                          std::span<double> out) {
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
        const Frame frame = reachable(around(truth.contour().frame(), pred.contour().frame()), size, cutoff);
        to_truth.build(truth.pixels(), frame);
        to_pred.build(pred.pixels(), frame);
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
