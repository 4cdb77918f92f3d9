#include "pairs/pairs.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "columns/pause.hpp"
#include "regions/masks.hpp"

namespace verite {
namespace {

// Pairs must speak of one image.
void check_grids(const Side& truths, const Side& preds, std::size_t i) {
    const Size a = truths.masks.size_of(truths.rows[i]), b = preds.masks.size_of(preds.rows[i]);
    if (a.height != b.height || a.width != b.width)
        throw std::invalid_argument("pair " + std::to_string(i) + ": expected regions of one image, found " +
                                    std::to_string(a.width) + " × " + std::to_string(a.height) + " and " +
                                    std::to_string(b.width) + " × " + std::to_string(b.height) + " pixels");
}

// One apart: whole numbers, looked up in a field of distances along rows.
class PixelMeter {
  public:
    // Distances to the pixels of `set`, which lie on its contour, from anywhere in the frame.
    void build(const Raster& set, std::span<const Pixel> pixels, const Frame& frame) {
        field_.build(set, pixels, frame);
    }

    void append(std::span<const Pixel> from, std::vector<std::int64_t>& squared) {
        field_.distances(from, found_);
        squared.insert(squared.end(), found_.begin(), found_.end());
    }

    double sum_outside(const Raster& from, const Raster& other) const {
        return static_cast<double>(field_.sum_outside(from, other));
    }

  private:
    Field field_;
    std::vector<std::int64_t> found_;
};

// Any distance apart, down and across.
class SpacedMeter {
  public:
    explicit SpacedMeter(Spacing spacing) : spacing_(spacing) {}

    void build(const Raster&, std::span<const Pixel> pixels, const Frame& frame) {
        frame_ = frame;
        transform_.build(pixels, frame, spacing_);
        x_ = frame.x1 - 1;
    }

    void append(std::span<const Pixel> from, std::vector<double>& squared) {
        for (const Pixel& pixel : from) squared.push_back(at(pixel.x, pixel.y));
    }

    double sum_outside(const Raster& from, const Raster& other) {
        double sum = 0;
        Raster::common(from, other, true, [&](std::int32_t x, std::int32_t y, std::uint64_t bits) {
            for (; bits; bits &= bits - 1) sum += at(x, y + std::countr_zero(bits));
        });
        return sum;
    }

  private:
    double at(std::int32_t x, std::int32_t y) {
        if (x != x_) column_ = transform_.column((x_ = x) - frame_.x1);
        return column_[y - frame_.y1];
    }

    Spacing spacing_;
    Transform transform_;
    Frame frame_;
    std::span<const double> column_;
    std::int32_t x_ = 0;  // of the column at hand
};

// Calls work(i) for every pair, each of one image.
template <class Work>
void each_pair(const Side& truths, const Side& preds, Work work) {
    Pause pause;
    for (std::size_t i = 0; i < truths.rows.size(); ++i) {
        pause();
        check_grids(truths, preds, i);
        work(i);
    }
}

// Calls work(truth, pred, both have a contour) for every pair.
template <class Work>
void each_couple(const Side& truths, const Side& preds, Work work) {
    Shape truth, pred;
    each_pair(truths, preds, [&](std::size_t i) {
        truth.read(truths, truths.rows[i]);
        pred.read(preds, preds.rows[i]);
        work(truth, pred, !truth.pixels().empty() && !pred.pixels().empty());
    });
}

template <class Meter, class Number>
void list_all(const Side& truths, const Side& preds, Meter meter, Lists<Number>& to_truth, Lists<Number>& to_pred) {
    for (auto* lists : {&to_truth, &to_pred}) lists->offsets.push_back(0);
    each_couple(truths, preds, [&](const Shape& truth, const Shape& pred, bool both) {
        const auto list = [&](const Shape& set, const Shape& from, Lists<Number>& lists) {
            if (both) {
                meter.build(set.contour(), set.pixels(), around(truth.frame(), pred.frame()));
                meter.append(from.pixels(), lists.squared);
            }
            lists.offsets.push_back(static_cast<std::int64_t>(lists.squared.size()));
        };
        list(truth, pred, to_truth);
        list(pred, truth, to_pred);
    });
}

template <class Meter>
void sum_all_outside(const Side& truths, const Side& preds, Meter meter, std::span<double> out) {
    Shape truth;
    Raster pred;
    each_pair(truths, preds, [&](std::size_t i) {
        const std::int64_t row = preds.rows[i];
        truth.read(truths, truths.rows[i]);
        pred.read(preds.masks.counts[row], preds.masks.size_of(row));
        out[i] = 0;
        if (truth.pixels().empty() || pred.frame().empty()) return;
        // Seen from outside, the nearest pixel of a region always lies on its contour.
        meter.build(truth.contour(), truth.pixels(), around(truth.frame(), pred.frame()));
        out[i] = meter.sum_outside(pred, truth.region());
    });
}

double* write(double* out, const Directed& list) {
    for (const double value : {list.sum, list.sum_squared, list.sum_cubed, list.merit, list.largest_squared})
        *out++ = value;
    return out;
}

}  // namespace

void areas_of_pairs(const Side& truths, const Side& preds, std::span<double> out) {
    each_pair(truths, preds, [&](std::size_t i) {
        const auto a = truths.masks.counts[truths.rows[i]], b = preds.masks.counts[preds.rows[i]];
        out[3 * i] = static_cast<double>(run_area(a));
        out[3 * i + 1] = static_cast<double>(run_area(b));
        out[3 * i + 2] = static_cast<double>(run_overlap(a, b));
    });
}

void measure(const Side& truths, const Side& preds, std::span<double> out) {
    PixelMeter meter;
    std::vector<std::int64_t> squared;
    double* cell = out.data();
    each_couple(truths, preds, [&](const Shape& truth, const Shape& pred, bool both) {
        const auto put = [&](auto value) { *cell++ = static_cast<double>(value); };
        put(truth.area());
        put(pred.area());
        put(count_common(truth.region(), pred.region()));
        put(truth.pixels().size());
        put(pred.pixels().size());
        put(count_common(truth.contour(), pred.contour()));
        for (const auto& [set, from] : {std::pair(&truth, &pred), std::pair(&pred, &truth)}) {
            squared.clear();
            if (both) {
                meter.build(set->contour(), set->pixels(), around(truth.frame(), pred.frame()));
                meter.append(from->pixels(), squared);
            }
            cell = write(cell, both ? summary(squared) : Directed{});
        }
    });
}

void sum_outside(const Side& truths, const Side& preds, std::span<double> out) {
    sum_all_outside(truths, preds, PixelMeter(), out);
}

void sum_outside(const Side& truths, const Side& preds, Spacing spacing, std::span<double> out) {
    sum_all_outside(truths, preds, SpacedMeter(spacing), out);
}

void list_distances(const Side& truths, const Side& preds, PixelLists& to_truth, PixelLists& to_pred) {
    list_all(truths, preds, PixelMeter(), to_truth, to_pred);
}

void list_distances(const Side& truths, const Side& preds, Spacing spacing, SpacedLists& to_truth,
                    SpacedLists& to_pred) {
    list_all(truths, preds, SpacedMeter(spacing), to_truth, to_pred);
}

}  // namespace verite
