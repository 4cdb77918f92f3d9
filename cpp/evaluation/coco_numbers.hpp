// COCO's numbers of files whose columns never left the core.
#pragma once

#include "evaluation/evaluation.hpp"

namespace verite {

// One side of an evaluation.
struct CocoObjects {
    std::span<const std::int32_t> image, label;   // ranks, by id
    std::span<const double> boxes;                // left, top, width, height
    std::span<const double> areas;                // as stated; not a number where they are not; may be empty
    std::span<const double> confidence;           // of predictions; empty: all the same
    std::span<const std::uint8_t> crowd, ignore;  // may be empty
    Outlines outlines;                            // where masks are compared
};

class CocoNumbers {
  public:
    CocoNumbers(const CocoObjects& truth, const CocoObjects& pred, std::size_t images, std::size_t labels,
                const Rules& rules, const Similarity& similarity, bool honours_ignore, unsigned threads);

    Numbers numbers;
    std::vector<std::int64_t> truth_counts, pred_counts;

  private:
    explicit CocoNumbers(const Evaluation& evaluation);
};

}  // namespace verite
