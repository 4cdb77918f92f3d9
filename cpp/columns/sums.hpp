// Sums to the last bit as numpy has them.
#pragma once

#include <span>

namespace verite {

// In numpy's order: eight sums side by side up to 128 numbers, halves of more.
double sum_pairwise(std::span<const double> values);

}  // namespace verite
