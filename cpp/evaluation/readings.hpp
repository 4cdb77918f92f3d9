// What is read off the precision-recall curve of a class: the area below it, and the best compromise on it.
#pragma once

#include <cstdint>
#include <vector>

#include "evaluation/evaluation.hpp"

namespace verite {

// The area below a curve, NaN without truths. Precision is the best at this recall or a higher one, but for `raw`.
struct Areas {
    double every;      // summed wherever recall changes
    double eleven;     // the mean at the recalls 0, 0.1, … 1
    double hundred;    // the mean at the recalls 0, 0.01, … 1, as COCO has it
    double raw;        // every right prediction with its own precision
    double trapezoid;  // straight lines between the recalls 0, 0.01, … 1; just beyond a recall that is reached
    double sloped;     // the same, and beyond the last recall a line down to 0 at recall 1
};

struct Reading {
    Areas areas;
    std::int64_t truths, right, wrong;
    double f1, f1_confidence;  // the largest harmonic mean of precision and recall, and from which confidence on
};

// Of every class at one threshold, in the first area range; what is ignored is in no curve. What is walked needs
// confidences; the threshold is one of the walk's sixteen.
std::vector<Reading> read_curves(const Walked& walk, std::size_t threshold, unsigned threads);
std::vector<Reading> read_curves(const Evaluation& evaluation, std::size_t threshold, unsigned threads);

}  // namespace verite
