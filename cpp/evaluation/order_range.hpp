// Which true and false positives COCO's matching can find when predictions have no confidences, over all their orders:
// the counts behind the lowest and the highest AP.
//
// In an order, each prediction takes the free object of highest IoU >= threshold (a serial dictatorship); a prediction
// all of whose objects are taken is a false positive. AP depends on the number of false positives before the j-th true
// positive alone, and falls as any of these numbers grows. Images, classes and connected components of the candidates
// are independent of each other, so that each component is described by how many false positives it can have behind
// its first m true positives.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "evaluation/evaluation.hpp"

namespace verite {

// Of one class at one IoU threshold. Sums over images, so that those of several sets of images can be added.
struct OrderCounts {
    std::int64_t background = 0;  // false positives in every order, which no object holds back
    std::int64_t most = 0;        // true positives of the best order: a largest matching
    std::int64_t least = 0;       // true positives of the worst order, or fewer where `is_exact` is false
    // How many further false positives each further true positive makes possible, and how often; without zeros.
    std::map<std::int64_t, std::int64_t> released;
    // Components whose false positives do not come the sooner the more: by true positives and false positives of their
    // worst order, how often.
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> late;
    bool is_exact = true;  // whether every component has an order with the fewest true and the most false positives
};

struct OrderRange {
    std::size_t thresholds = 0;
    std::vector<OrderCounts> counts;                // [class][threshold]
    std::vector<std::uint8_t> has_worst, has_best;  // by class: one order is the worst, the best, at every threshold
};

// Of the first area range; the evaluation must match by optimal assignment. Components of more than sixteen predictions
// or objects, or of too many states, are bounded from outside (is_exact false).
OrderRange find_order_range(const Evaluation& evaluation);

}  // namespace verite
