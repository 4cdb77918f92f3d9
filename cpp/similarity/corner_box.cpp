// Box IoU by corners, which may be pixel indices: as Pascal VOC, ImageNet and Open Images compute it.
#include <algorithm>
#include <numeric>
#include <vector>

#include "similarity/box_similarity.hpp"
#include "similarity/boxes.hpp"
#include "similarity/registry.hpp"

namespace verite {
namespace {

double area(const double* box, double pixel) { return (box[2] - box[0] + pixel) * (box[3] - box[1] + pixel); }

// Positive only where both sides of the intersection are, as in VOCevaldet.m.
double iou(const double* a, const double* b, double pixel) {
    const double width = std::min(a[2], b[2]) - std::max(a[0], b[0]) + pixel;
    if (!(width > 0)) return 0;
    const double height = std::min(a[3], b[3]) - std::max(a[1], b[1]) + pixel;
    if (!(height > 0)) return 0;
    const double shared = width * height;
    return shared / (area(a, pixel) + area(b, pixel) - shared);
}

struct CornerFormula {
    explicit CornerFormula(const Comparison& comparison) : pixel(comparison.pixel) {}

    static bool needs_overlap(double) { return true; }

    BoxEdges read(const double* box) const {
        return {box[0], box[1], box[2] + pixel, box[3] + pixel, area(box, pixel)};
    }

    // Boxes apart, and those with NaN, are no candidates whatever the floor.
    double iou(const double* pred, const double* truth, bool) const {
        const double found = verite::iou(truth, pred, pixel);
        return found > 0 ? found : -1;
    }

    double pixel;
};

}  // namespace

void box_iou(Boxes truth, Boxes pred, double pixel, std::span<double> out) {
    double* cell = out.data();
    for (std::size_t t = 0; t < truth.size(); ++t)
        for (std::size_t p = 0; p < pred.size(); ++p) *cell++ = iou(truth[t], pred[p], pixel);
}

Candidates box_candidates(Boxes truth, std::span<const std::int64_t> truth_cells, Boxes pred,
                          std::span<const std::int64_t> pred_cells, double pixel, double floor) {
    std::vector<std::int32_t> truths(truth.size()), preds(pred.size());
    std::iota(truths.begin(), truths.end(), 0);
    std::iota(preds.begin(), preds.end(), 0);
    const auto cell_of = [&](std::int32_t row) { return pred_cells[static_cast<std::size_t>(row)]; };
    if (!std::ranges::is_sorted(pred_cells)) std::ranges::stable_sort(preds, {}, cell_of);
    Comparison comparison;
    comparison.truth.boxes = truth.corners;
    comparison.pred.boxes = pred.corners;
    comparison.floor = floor;
    comparison.pixel = pixel;
    ComparedGroups<BoxSimilarity<CornerFormula>> groups(comparison);
    // Cell by cell first, then in the order of predictions.
    Candidates sorted;
    sorted.offsets.push_back(0);
    std::size_t first_truth = 0;
    for (std::size_t first = 0; first < preds.size();) {
        const std::int64_t cell = cell_of(preds[first]);
        std::size_t last = first;
        while (last < preds.size() && cell_of(preds[last]) == cell) ++last;
        const auto [from, to] = std::ranges::equal_range(truth_cells.subspan(first_truth), cell);
        const auto start = static_cast<std::size_t>(from - truth_cells.begin());
        const auto before = sorted.truth.rows();
        groups.compare(std::span(truths).subspan(start, static_cast<std::size_t>(to - from)),
                       std::span(preds).subspan(first, last - first), sorted);
        for (std::size_t c = before; c < sorted.truth.rows(); ++c)
            sorted.truth.data()[c] += static_cast<std::int32_t>(start);
        first_truth = start;
        first = last;
    }
    Candidates found;
    found.offsets.assign(pred.size() + 1, 0);
    for (std::size_t i = 0; i < preds.size(); ++i)
        found.offsets[static_cast<std::size_t>(preds[i]) + 1] = sorted.offsets[i + 1] - sorted.offsets[i];
    std::partial_sum(found.offsets.begin(), found.offsets.end(), found.offsets.begin());
    std::int32_t* const to_truth = found.truth.extend(sorted.truth.rows());
    double* const to_iou = found.iou.extend(sorted.truth.rows());
    for (std::size_t i = 0; i < preds.size(); ++i) {
        const std::int64_t at = found.offsets[static_cast<std::size_t>(preds[i])];
        for (std::int64_t c = sorted.offsets[i]; c < sorted.offsets[i + 1]; ++c) {
            to_truth[at + c - sorted.offsets[i]] = sorted.truth[c];
            to_iou[at + c - sorted.offsets[i]] = sorted.iou[c];
        }
    }
    found.truth.keep_more(sorted.truth.rows());
    found.iou.keep_more(sorted.truth.rows());
    return found;
}

static_assert(Similarity<BoxSimilarity<CornerFormula>>);

constinit const SimilarityMeasure corner_box_similarity = make_similarity<BoxSimilarity<CornerFormula>>(
    "corner_box", "", {.corners = true}, [](const Objects& objects, unsigned, std::span<double> out) {
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = area(&objects.boxes[4 * i], 0);
    });

}  // namespace verite
