// What is read off the precision-recall curve of a class: the area below it, and the best compromise on it.
#pragma once

#include <cstdint>
#include <vector>

#include "evaluation/evaluation.hpp"

namespace verite {

struct Reading {
    double every, eleven;  // precision summed wherever recall changes; at the recalls 0, 0.1, … 1. NaN without truths
    std::int64_t truths, right, wrong;
    double f1, f1_confidence;  // the largest harmonic mean of precision and recall, and from which confidence on
};

// Of every class at one threshold, in the first area range; what is ignored is in no curve. What is walked needs
// confidences; the threshold is one of the walk's sixteen.
std::vector<Reading> read_curves(const Walked& walk, std::size_t threshold, unsigned threads);
std::vector<Reading> read_curves(const Evaluation& evaluation, std::size_t threshold, unsigned threads);

}  // namespace verite
