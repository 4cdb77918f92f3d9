// Bootstrap of images and simulation of annotation errors: the means of many replicates of one evaluation.
#pragma once

#include <span>
#include <vector>

#include "evaluation/rematch.hpp"

namespace verite {

// One replicate: the images drawn and the ground truth as it might have been.
struct Replicate {
    std::span<const double> weights;        // how often each image is drawn, by rank; empty: once each
    const TruthChanges* changes;            // null: none; neighbours with the same changes are matched once
    const ChangedTruth* changed = nullptr;  // the changes as they were applied before; null: they were not
};

// For each replicate the mean of each query, [replicate][query].
//
// Precision is that of the largest maxDets, read at the recall levels of the rules, or summed wherever recall changes
// where they have none. Equal to the means of Evaluation::weight and Evaluation::change but for the order of summation
// (a few units in the last place); the same bits for any number of threads. Weights are whole numbers up to 255; others
// are evaluated one replicate at a time, slowly, and only where the rules have recall levels. Throws
// std::invalid_argument for queries that the evaluation cannot answer.
std::vector<double> bootstrap_means(const Evaluation& evaluation, const Truths& addable,
                                    std::span<const Replicate> replicates, std::span<const MeanQuery> queries,
                                    unsigned threads);

}  // namespace verite
