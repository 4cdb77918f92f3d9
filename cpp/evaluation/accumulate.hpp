// From matches to precision and recall, class by class.
#pragma once

#include <cstdint>
#include <span>

#include "evaluation/matching.hpp"

namespace verite {

// Everything that is known once predictions are matched.
template <class Bits>
struct Matched {
    // Predictions
    std::span<const std::int32_t> by_label;       // slots, class by class, by falling confidence
    std::span<const std::int64_t> label_offsets;  // class k has by_label[label_offsets[k]] .. [label_offsets[k + 1]]
    std::span<const std::int32_t> ranks;          // of each slot within its cell
    std::span<const double> confidence;           // of each slot; empty where nobody asks for confidences
    std::span<const Ranges> outside;              // the ranges in which an unmatched prediction counts for nothing
    // Pairs
    CandidateView candidates;
    std::span<const Bits> matched;  // [candidate][range]
    // Truths
    std::span<const Ranges> ignored;          // the ranges in which a truth neither rewards nor punishes
    std::span<const std::uint8_t> is_void;    // truths that count as no match though they were taken; may be empty
    std::span<const std::int64_t> positives;  // [label][range] truths to be found

    std::size_t thresholds = 0, ranges = 0;

    std::size_t labels() const { return label_offsets.size() - 1; }
};

struct Asked {
    std::span<const double> recalls;       // rising: where precision is sampled
    std::int64_t most = 0;                 // predictions of a cell that count for precision
    std::span<const std::int64_t> limits;  // the same for recall, several at once
};

// Written only for classes and ranges with something to find; the rest stays as it is.
struct Curves {
    std::span<double> precision;   // [range][threshold][recall][label]: the best at this recall or a higher one
    std::span<double> confidence;  // the same shape: where that recall is reached; may be empty
    std::span<double> recall;      // [limit][range][threshold][label]: of all predictions within the limit
};

// How many truths each class has to be found in each range: out[label][range].
void count_positives(std::span<const std::int32_t> labels, std::span<const Ranges> ignored, std::size_t ranges,
                     std::span<std::int64_t> out);

// COCO's accumulation, bit for bit: precision is tp / (tp + fp + 2^-52), sampled where recall first reaches a level.
template <class Bits>
void accumulate(const Matched<Bits>& given, const Asked& asked, unsigned threads, const Curves& out);

}  // namespace verite
