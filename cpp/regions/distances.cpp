#include "regions/distances.hpp"

#include <algorithm>
#include <cmath>

namespace verite {
namespace {

// How "nothing of the set in this row" is written, and how far a frame may extend for that to be farther than anything
// in it, also after it was counted on from column to column (a byte stays at its end).
template <class T>
constexpr T unreached = sizeof(T) == 1   ? 255
                        : sizeof(T) == 2 ? 38'200
                                         : 1 << 29;
template <class T>
constexpr std::int32_t widest = sizeof(T) == 1 ? 180 : 27'000;

template <class T>
T one_more(T reach) {
    return static_cast<T>(sizeof(T) == 1 ? reach + (reach != unreached<T>) : reach + 1);
}

// Questions within one column, with rising y: the nearest row never moves up then.
template <class T>
class ReachColumn {
  public:
    using Square = std::conditional_t<sizeof(T) == 1, std::int32_t, std::int64_t>;

    ReachColumn(const std::vector<T>& reach, const std::vector<std::int32_t>& least, const Frame& frame)
        : all_(reach.data()), least_(least.data()), frame_(frame), height_(frame.height()) {}

    void move(std::int32_t x) {
        reach_ = all_ + static_cast<std::size_t>(x - frame_.x1) * height_;
        floor_ = static_cast<Square>(least_[x - frame_.x1]) * least_[x - frame_.x1];
        row_ = 0;
    }

    std::int64_t nearest(std::int32_t y) {
        y -= frame_.y1;
        const std::int32_t lowest = row_, start = std::clamp(y, lowest, height_ - 1);
        Square best = at(start, y);
        row_ = start;
        for (std::int32_t row = start + 1; row < height_ && squared(row - y) + floor_ < best; ++row) {
            const Square found = at(row, y);
            if (found < best) best = found, row_ = row;
        }
        for (std::int32_t row = start - 1; row >= lowest && squared(row - y) + floor_ < best; --row) {
            const Square found = at(row, y);
            if (found < best) best = found, row_ = row;
        }
        return best;
    }

  private:
    static Square squared(Square value) { return value * value; }
    Square at(std::int32_t row, std::int32_t y) const { return squared(reach_[row]) + squared(row - y); }

    const T* all_;
    const T* reach_ = nullptr;
    const std::int32_t* least_;
    const Frame frame_;
    const std::int32_t height_;
    Square floor_ = 0;      // no place of the column reaches the set in fewer steps
    std::int32_t row_ = 0;  // the nearest found last
};

}  // namespace

void Field::build(const Raster& set, std::span<const Pixel> pixels, const Frame& asked) {
    const Frame whole = around(set.frame(), asked);
    frame_ = {whole.x1, set.frame().y1, whole.x2, set.frame().y2};
    const std::int32_t extent = std::max(whole.width(), whole.height());
    bytes_ = extent <= widest<std::uint8_t> ? 1 : extent <= widest<std::uint16_t> ? 2 : 4;
    if (bytes_ == 1)
        fill(small_, pixels);
    else if (bytes_ == 2)
        fill(medium_, pixels);
    else
        fill(large_, pixels);
}

template <class T>
void Field::fill(std::vector<T>& reach, std::span<const Pixel> pixels) {
    const std::size_t height = frame_.height(), width = frame_.width();
    reach.assign(width * height, unreached<T>);
    for (const Pixel& pixel : pixels)
        reach[static_cast<std::size_t>(pixel.x - frame_.x1) * height + (pixel.y - frame_.y1)] = 0;
    for (std::size_t x = 1; x < width; ++x) {
        const T* before = reach.data() + (x - 1) * height;
        T* here = reach.data() + x * height;
        for (std::size_t y = 0; y < height; ++y) here[y] = std::min(here[y], one_more(before[y]));
    }
    least_.assign(width, 0);
    for (std::size_t x = width; x-- > 0;) {
        T* here = reach.data() + x * height;
        const T* after = x + 1 < width ? here + height : here;
        T least = unreached<T>;
        for (std::size_t y = 0; y < height; ++y) {
            here[y] = std::min(here[y], one_more(after[y]));
            least = std::min(least, here[y]);
        }
        least_[x] = least;
    }
}

void Field::distances(std::span<const Pixel> from, std::vector<std::int64_t>& squared) const {
    squared.resize(from.size());
    with_reach([&](const auto& reach) {
        ReachColumn column(reach, least_, frame_);
        for (std::size_t i = 0; i < from.size(); ++i) {
            if (i == 0 || from[i].x != from[i - 1].x) column.move(from[i].x);
            squared[i] = column.nearest(from[i].y);
        }
    });
}

std::int64_t Field::sum_outside(const Raster& from, const Raster& other) const {
    return with_reach([&](const auto& reach) {
        ReachColumn column(reach, least_, frame_);
        std::int64_t sum = 0;
        std::int32_t x_now = from.frame().x1 - 1;
        Raster::common(from, other, true, [&](std::int32_t x, std::int32_t y, std::uint64_t bits) {
            if (x != x_now) column.move(x), x_now = x;
            for (; bits; bits &= bits - 1) sum += column.nearest(y + std::countr_zero(bits));
        });
        return sum;
    });
}

Directed summary(std::span<const std::int64_t> squared) {
    Directed all;
    std::int64_t sum = 0, largest = 0;
    for (const std::int64_t value : squared) {
        const double square = static_cast<double>(value), distance = std::sqrt(square);
        sum += value;
        largest = std::max(largest, value);
        all.sum += distance;
        all.sum_cubed += square * distance;
        all.merit += 1 / (1 + square / 9);
    }
    all.sum_squared = static_cast<double>(sum);
    all.largest_squared = static_cast<double>(largest);
    return all;
}

}  // namespace verite
