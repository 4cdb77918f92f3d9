#include "boxes.hpp"

#include <algorithm>

namespace verite {
namespace {

double area(const double* box, double pixel) { return (box[2] - box[0] + pixel) * (box[3] - box[1] + pixel); }

// Overlap only where both sides of the intersection are positive, as in VOCevaldet.m.
double iou(const double* a, const double* b, double pixel) {
    const double width = std::min(a[2], b[2]) - std::max(a[0], b[0]) + pixel;
    if (!(width > 0)) return 0;
    const double height = std::min(a[3], b[3]) - std::max(a[1], b[1]) + pixel;
    if (!(height > 0)) return 0;
    const double shared = width * height;
    return shared / (area(a, pixel) + area(b, pixel) - shared);
}

}  // namespace

void box_iou(Boxes truth, Boxes pred, double pixel, std::span<double> out) {
    double* cell = out.data();
    for (std::size_t t = 0; t < truth.size(); ++t)
        for (std::size_t p = 0; p < pred.size(); ++p) *cell++ = iou(truth[t], pred[p], pixel);
}

Candidates box_candidates(Boxes truth, std::span<const std::int64_t> truth_cells, Boxes pred,
                          std::span<const std::int64_t> pred_cells, double pixel, double floor) {
    Candidates found;
    found.offsets.reserve(pred.size() + 1);
    found.offsets.push_back(0);
    for (std::size_t p = 0; p < pred.size(); ++p) {
        const auto [first, last] = std::equal_range(truth_cells.begin(), truth_cells.end(), pred_cells[p]);
        for (auto t = first - truth_cells.begin(); t < last - truth_cells.begin(); ++t) {
            const double overlap = iou(truth[t], pred[p], pixel);
            if (overlap > 0 && overlap >= floor) {
                found.truth.push_back(static_cast<std::int32_t>(t));
                found.overlap.push_back(overlap);
            }
        }
        found.offsets.push_back(static_cast<std::int64_t>(found.truth.size()));
    }
    return found;
}

}  // namespace verite
