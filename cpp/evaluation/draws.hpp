// Means of many draws: the same evaluation with other weights and other truths, as lean as it can be.
#pragma once

#include <span>
#include <vector>

#include "evaluation/evaluation.hpp"

namespace verite {

struct Drawn {
    std::span<const double> weights;  // of images, by rank; empty: each is there once
    const TruthChanges* changes;      // null: none; draws with the same ones side by side match them once
};

struct DrawnChoice {
    Choice choice;
    std::vector<std::uint8_t> classes;  // which of them; empty: all
};

// For each draw the mean of each choice, [draw][choice]. Precision is that of the last limit, read at the recalls of
// the rules, or summed wherever recall changes where they have none. Equal to the means of Evaluation::weight and
// Evaluation::change but for the order in which numbers are added: a few units in the last place. The same for any
// number of threads. Weights are whole numbers up to 255; others are weighed one draw at a time, slowly, and only where
// the rules have recalls.
std::vector<double> bootstrap_means(const Evaluation& evaluation, const Truths& addable, std::span<const Drawn> draws,
                                    std::span<const DrawnChoice> choices, unsigned threads);

}  // namespace verite
