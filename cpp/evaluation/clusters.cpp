#include "evaluation/clusters.hpp"

#include <algorithm>
#include <stdexcept>

namespace verite {
namespace {

double intersection(const double* a, const double* b) {
    const double width = std::min(a[0] + a[2], b[0] + b[2]) - std::max(a[0], b[0]);
    const double height = std::min(a[1] + a[3], b[1] + b[3]) - std::max(a[1], b[1]);
    return width > 0 && height > 0 ? width * height : 0;
}

bool overlaps(const double* a, const double* b, double least) {
    const double both = intersection(a, b);
    return both >= least * (a[2] * a[3] + b[2] * b[3] - both) && both > 0;
}

void check(const KeyedBoxes& side, const char* message) {
    if (side.boxes.size() != 4 * side.keys.size() || !std::ranges::is_sorted(side.keys))
        throw std::invalid_argument(message);
}

}  // namespace

std::vector<std::int32_t> cluster_boxes(const KeyedBoxes& preds, const KeyedBoxes& truths,
                                        std::span<const std::uint8_t> crowd, double least) {
    check(preds, "predictions: expected rising keys and four numbers per box");
    check(truths, "truths: expected rising keys and four numbers per box");
    if (crowd.size() != truths.keys.size())
        throw std::invalid_argument("crowd: expected a flag for every ground-truth box");
    constexpr std::int32_t is_free = -2, is_explained = -1;
    std::vector<std::int32_t> cluster(preds.keys.size(), is_free);
    std::int32_t next = 0;
    std::size_t truth = 0;
    for (std::size_t first = 0, last = 0; first < preds.keys.size(); first = last) {
        const std::int64_t key = preds.keys[first];
        while (last < preds.keys.size() && preds.keys[last] == key) ++last;
        while (truth < truths.keys.size() && truths.keys[truth] < key) ++truth;
        for (std::size_t t = truth; t < truths.keys.size() && truths.keys[t] == key; ++t)
            for (std::size_t i = first; i < last; ++i) {
                const double *box = &preds.boxes[4 * i], *own = &truths.boxes[4 * t];
                if (crowd[t] ? intersection(box, own) >= least * box[2] * box[3] : overlaps(box, own, least))
                    cluster[i] = is_explained;
            }
        for (std::size_t i = first; i < last; ++i) {
            if (cluster[i] != is_free) continue;
            cluster[i] = next;
            for (std::size_t k = i + 1; k < last; ++k)
                if (cluster[k] == is_free && overlaps(&preds.boxes[4 * i], &preds.boxes[4 * k], least))
                    cluster[k] = next;
            ++next;
        }
    }
    return cluster;
}

}  // namespace verite
