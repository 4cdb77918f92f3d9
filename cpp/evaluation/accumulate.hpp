// From flags to precision and recall, class by class.
#pragma once

#include <cstdint>
#include <span>

#include "evaluation/flags.hpp"

namespace verite {

// What is walked: the flags of predictions class by class, by falling confidence.
struct Walked {
    std::span<const std::int32_t> order;    // slots, class by class
    std::span<const std::int64_t> offsets;  // class k has order[offsets[k]] .. order[offsets[k + 1]]
    std::span<const Brief> briefs;          // by slot
    std::span<const Outcome> outcomes;      // [took][range]
    std::span<const double> confidence;     // by slot; empty where nobody asks for confidences
    std::span<const double> positives;      // [label][range] truths to be found
    std::size_t thresholds = 0, ranges = 0;

    std::size_t labels() const { return offsets.size() - 1; }
};

// How often each image counts, as if it were there so many times, copies one after the other.
struct Weighting {
    std::span<const double> weights;      // by image; whole numbers, or not where `is_whole` is false
    std::span<const std::int32_t> image;  // of each place in the order of the walk
    std::span<const std::uint32_t> runs;  // predictions from this place on of the same image and confidence
    bool is_whole = true;
};

struct Asked {
    std::span<const double> recalls;  // rising: where precision is read
    std::size_t limits = 1;           // how many there are
    std::size_t most = 0;             // which of them holds for precision
    std::size_t ranges = 0;           // the first so many are walked
};

// How far apart neighbours are in an array of curves.
struct Strides {
    std::size_t range, threshold, recall, label, limit;
};

// Written only for classes and ranges with something to find; the rest stays as it is.
struct Curves {
    std::span<double> precision;   // the best at this recall or a higher one
    std::span<double> confidence;  // the same shape: where that recall is reached; may be empty
    Strides strides;
    std::span<double> recall;  // of all predictions within each limit; may be empty
    Strides recall_strides;
};

struct Question {
    Asked asked;
    Curves out;
};

// COCO's accumulation, bit for bit: precision is tp / (tp + fp + 2^-52), read where recall first reaches a level. With
// whole weights, bit for bit that of the images repeated. Of all classes, or of those in a list. Questions that differ
// in their limits and in where answers go may be asked together: what lies side by side is written at one time.
void accumulate(const Walked& given, std::span<const Question> questions, unsigned threads);
void accumulate(const Walked& given, const Asked& asked, const Weighting* weighting, unsigned threads,
                const Curves& out);
void accumulate_classes(const Walked& given, const Asked& asked, const Weighting* weighting,
                        std::span<const std::int32_t> labels, unsigned threads, const Curves& out);

// How many truths must be found until recall reaches a level: the least whole n with n / positives >= level, as
// floating point divides.
double find_needed(double level, double positives);

}  // namespace verite
