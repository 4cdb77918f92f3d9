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

// The work space of a run over many pairs: memory is taken once.
struct Bench {
    Shape truth, pred;
    Field to_truth, to_pred;
    std::vector<std::int64_t> squared;

    // Reads pair i; true where both have a contour, and then both fields are built.
    bool open(const Side& truths, const Side& preds, std::size_t i) {
        check_grids(truths, preds, i);
        truth.read(truths, truths.rows[i]);
        pred.read(preds, preds.rows[i]);
        if (truth.pixels().empty() || pred.pixels().empty()) return false;
        const Frame both = around(truth.frame(), pred.frame());
        to_truth.build(truth.contour(), truth.pixels(), both);
        to_pred.build(pred.contour(), pred.pixels(), both);
        return true;
    }
};

double* write(double* out, const Directed& list) {
    for (const double value : {list.sum, list.sum_squared, list.sum_cubed, list.merit, list.largest_squared})
        *out++ = value;
    return out;
}

}  // namespace

void overlaps(const Side& truths, const Side& preds, std::span<double> out) {
    Pause pause;
    for (std::size_t i = 0; i < truths.rows.size(); ++i) {
        pause();
        check_grids(truths, preds, i);
        const auto a = truths.masks.counts[truths.rows[i]], b = preds.masks.counts[preds.rows[i]];
        out[3 * i] = static_cast<double>(run_area(a));
        out[3 * i + 1] = static_cast<double>(run_area(b));
        out[3 * i + 2] = static_cast<double>(run_overlap(a, b));
    }
}

void measure(const Side& truths, const Side& preds, std::span<double> out) {
    Bench bench;
    double* cell = out.data();
    Pause pause;
    for (std::size_t i = 0; i < truths.rows.size(); ++i) {
        pause();
        const bool both = bench.open(truths, preds, i);
        const Shape &truth = bench.truth, &pred = bench.pred;
        const auto tell = [&](auto value) { *cell++ = static_cast<double>(value); };
        tell(truth.area());
        tell(pred.area());
        tell(count_common(truth.region(), pred.region()));
        tell(truth.pixels().size());
        tell(pred.pixels().size());
        tell(count_common(truth.contour(), pred.contour()));
        for (const bool forward : {true, false}) {
            Directed list;
            if (both) {
                (forward ? bench.to_truth : bench.to_pred).distances((forward ? pred : truth).pixels(), bench.squared);
                list = summary(bench.squared);
            }
            cell = write(cell, list);
        }
    }
}

void sum_outside(const Side& truths, const Side& preds, std::span<double> out) {
    Shape truth;
    Raster pred;
    Field field;
    Pause pause;
    for (std::size_t i = 0; i < truths.rows.size(); ++i) {
        pause();
        check_grids(truths, preds, i);
        const std::int64_t row = preds.rows[i];
        truth.read(truths, truths.rows[i]);
        pred.read(preds.masks.counts[row], preds.masks.size_of(row));
        out[i] = 0;
        if (truth.pixels().empty() || pred.frame().empty()) continue;
        // Seen from outside, the nearest pixel of a region always lies on its contour.
        field.build(truth.contour(), truth.pixels(), around(truth.frame(), pred.frame()));
        out[i] = static_cast<double>(field.sum_outside(pred, truth.region()));
    }
}

void list_distances(const Side& truths, const Side& preds, Lists& to_truth, Lists& to_pred) {
    Bench bench;
    for (Lists* lists : {&to_truth, &to_pred}) lists->offsets.push_back(0);
    Pause pause;
    for (std::size_t i = 0; i < truths.rows.size(); ++i) {
        pause();
        const bool both = bench.open(truths, preds, i);
        for (Lists* lists : {&to_truth, &to_pred}) {
            const bool forward = lists == &to_truth;
            if (both) {
                (forward ? bench.to_truth : bench.to_pred)
                    .distances((forward ? bench.pred : bench.truth).pixels(), bench.squared);
                lists->squared.insert(lists->squared.end(), bench.squared.begin(), bench.squared.end());
            }
            lists->offsets.push_back(static_cast<std::int64_t>(lists->squared.size()));
        }
    }
}

void list_distances(const Side& truths, const Side& preds, Spacing spacing, SpacedLists& to_truth,
                    SpacedLists& to_pred) {
    Shape truth, pred;
    Transform transform;
    for (SpacedLists* lists : {&to_truth, &to_pred}) lists->offsets.push_back(0);
    Pause pause;
    for (std::size_t i = 0; i < truths.rows.size(); ++i) {
        pause();
        check_grids(truths, preds, i);
        truth.read(truths, truths.rows[i]);
        pred.read(preds, preds.rows[i]);
        const bool both = !truth.pixels().empty() && !pred.pixels().empty();
        const Frame frame = around(truth.contour().frame(), pred.contour().frame());
        for (SpacedLists* lists : {&to_truth, &to_pred}) {
            const bool forward = lists == &to_truth;
            if (both) {
                transform.build((forward ? truth : pred).pixels(), frame, spacing);
                std::span<const double> column;
                std::int32_t x_now = frame.x1 - 1;
                for (const Pixel& pixel : (forward ? pred : truth).pixels()) {
                    if (pixel.x != x_now) column = transform.column((x_now = pixel.x) - frame.x1);
                    lists->squared.push_back(column[pixel.y - frame.y1]);
                }
            }
            lists->offsets.push_back(static_cast<std::int64_t>(lists->squared.size()));
        }
    }
}

void sum_outside(const Side& truths, const Side& preds, Spacing spacing, std::span<double> out) {
    Shape truth;
    Raster pred;
    Transform transform;
    Pause pause;
    for (std::size_t i = 0; i < truths.rows.size(); ++i) {
        pause();
        check_grids(truths, preds, i);
        const std::int64_t row = preds.rows[i];
        truth.read(truths, truths.rows[i]);
        pred.read(preds.masks.counts[row], preds.masks.size_of(row));
        out[i] = 0;
        if (truth.pixels().empty() || pred.frame().empty()) continue;
        const Frame frame = around(truth.frame(), pred.frame());
        transform.build(truth.pixels(), frame, spacing);
        std::span<const double> column;
        std::int32_t x_now = frame.x1 - 1;
        Raster::common(pred, truth.region(), true, [&](std::int32_t x, std::int32_t y, std::uint64_t bits) {
            if (x != x_now) column = transform.column((x_now = x) - frame.x1);
            for (; bits; bits &= bits - 1) out[i] += column[y + std::countr_zero(bits) - frame.y1];
        });
    }
}

}  // namespace verite
