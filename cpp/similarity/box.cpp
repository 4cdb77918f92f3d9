// Box IoU as COCO computes it, of boxes given as left, top, width, height.
#include <cmath>

#include "columns/parallel.hpp"
#include "similarity/box_similarity.hpp"
#include "similarity/boxes.hpp"
#include "similarity/registry.hpp"

namespace verite {

double coco_box_iou(const double* pred, const double* truth, bool is_crowd) {
    const double width = std::fmin(pred[2] + pred[0], truth[2] + truth[0]) - std::fmax(pred[0], truth[0]);
    if (width <= 0) return 0;
    const double height = std::fmin(pred[3] + pred[1], truth[3] + truth[1]) - std::fmax(pred[1], truth[1]);
    if (height <= 0) return 0;
    const double shared = width * height, pred_area = pred[2] * pred[3];
    return shared / (is_crowd ? pred_area : pred_area + truth[2] * truth[3] - shared);
}

void box_areas(std::span<const double> sizes, unsigned threads, std::span<double> out) {
    in_stretches(out.size(), threads, [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) out[i] = sizes[4 * i + 2] * sizes[4 * i + 3];
    });
}

namespace {

struct CocoFormula {
    explicit CocoFormula(const Comparison&) {}

    // Boxes apart have the IoU 0, which reaches a floor of 0.
    static bool needs_overlap(double floor) { return floor > 0; }

    static BoxEdges read(const double* box) {
        return {box[0], box[1], box[2] + box[0], box[3] + box[1], box[2] * box[3]};
    }

    static double iou(const double* pred, const double* truth, bool is_crowd) {
        return coco_box_iou(pred, truth, is_crowd);
    }
};

}  // namespace

static_assert(Similarity<BoxSimilarity<CocoFormula>>);

constinit const SimilarityMeasure box_similarity = make_similarity<BoxSimilarity<CocoFormula>>(
    "box", "boxes", {},
    [](const Objects& objects, unsigned threads, std::span<double> out) { box_areas(objects.boxes, threads, out); });

}  // namespace verite
