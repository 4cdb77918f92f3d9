// Pairwise summation in numpy's order, bit for bit.
#pragma once

#include <span>

namespace verite {

// Eight partial sums up to 128 numbers, recursive halves of more.
double sum_pairwise(std::span<const double> values);

}  // namespace verite
