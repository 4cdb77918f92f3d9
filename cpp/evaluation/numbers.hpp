// Precision and recall of everything, and the means that protocols print.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "columns/memory.hpp"
#include "columns/sums.hpp"
#include "evaluation/accumulate.hpp"

namespace verite {

// What a score averages: precision or recall, at one threshold or all, in an area range and up to a limit. The
// threshold -1 is one that nobody asked for: there is nothing to average.
struct Choice {
    bool is_precision;
    std::optional<std::int64_t> threshold;
    std::size_t range, limit;
};

class PrecisionRecall {
  public:
    // All absent.
    PrecisionRecall(const Rules& rules, std::size_t labels, std::span<const double> positives);

    bool has(const Choice& choice) const;

    // The mean over everything that is present, to the last bit as numpy sums it up; not a number where nothing is.
    // Of some classes, where flags say which.
    double mean(const Choice& choice, std::span<const std::uint8_t> classes = {}) const;
    std::vector<double> class_means(const Choice& choice) const;

    // Other numbers of truths, and these classes absent until they are written again.
    void change(std::span<const double> positives, std::span<const std::int32_t> labels);

    // Where the thresholds from `first` on are written.
    Curves curves(std::size_t first);

    std::size_t labels() const { return labels_; }
    std::size_t ranges() const { return ranges_; }
    std::size_t thresholds() const { return thresholds_; }
    std::size_t levels() const { return levels_; }
    std::size_t limits() const { return limits_; }
    std::span<const double> positives() const { return positives_; }
    std::span<const double> precision() const { return precision_; }
    std::span<const double> recall() const { return recall_; }

  private:
    std::span<const double> values(const Choice& choice) const;

    std::size_t labels_, ranges_, thresholds_, levels_, limits_;
    Array<double> precision_;  // [range][threshold][recall][label]
    Array<double> recall_;     // [limit][range][threshold][label]
    Array<double> positives_;  // [label][range]
};

// Arrays in the reference's shapes: precision and confidence [threshold][recall][label][range][limit], recall
// [threshold][label][range][limit].
struct ArraySpans {
    std::span<double> precision, confidence, recall;
};

// Which of all thresholds, sixteen at a time, and which of all classes are walked.
struct ArrayPlace {
    std::size_t block, first_label, labels;
};

void clear_arrays(const ArraySpans& out, double absent);
void fill_arrays(const Walked& walk, const Rules& rules, const ArrayPlace& place, unsigned threads,
                 const ArraySpans& out);

}  // namespace verite
