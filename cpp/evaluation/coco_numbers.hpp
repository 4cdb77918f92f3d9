// COCO's numbers straight from two sides to means: the kernels one after the other, nothing of Python in between.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "columns/memory.hpp"
#include "similarity/coco_masks.hpp"

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

struct CocoRules {
    bool is_on_masks = false;
    std::size_t images = 0, labels = 0;
    std::vector<double> thresholds, recalls;
    std::vector<double> ranges;        // of areas: lowest, highest, lowest, …
    std::vector<std::int64_t> limits;  // numbers of predictions, rising
    bool honours_ignore = false;
    unsigned threads = 1;

    std::size_t range_count() const { return ranges.size() / 2; }
};

class CocoNumbers {
  public:
    CocoNumbers(const CocoObjects& truth, const CocoObjects& pred, const CocoRules& rules);

    // What a score averages: precision or recall, at one threshold or all, in an area range and up to a limit. The
    // threshold -1 is one that nobody asked for: there is nothing to average.
    struct Part {
        bool is_precision;
        std::optional<std::int64_t> threshold;
        std::size_t range, limit;
    };

    bool has(const Part& part) const;

    // The mean over everything that is present, to the last bit as numpy sums it up; not a number where nothing is.
    double mean(const Part& part) const;
    std::vector<double> class_means(const Part& part) const;

    // For each class, truths to be found and predictions that count.
    std::vector<std::int64_t> truth_counts() const, pred_counts() const;

  private:
    std::span<const double> values(const Part& part) const;

    std::size_t labels_, ranges_, thresholds_, levels_, limits_;
    Array<double> precision_;            // [range][threshold][recall][label]
    Array<double> recall_;               // [limit][range][threshold][label]
    Array<std::int64_t> positives_;      // [label][range]
    Array<std::int64_t> label_offsets_;  // of predictions, class by class
};

// In numpy's order: eight sums side by side up to 128 numbers, halves of more.
double sum_pairwise(std::span<const double> values);

}  // namespace verite
