// Violations of the triangle inequality by a metric of shifted regions.
#pragma once

#include <span>
#include <vector>

#include "columns/views.hpp"

namespace verite {

// Values of one metric for a region shifted by -2r .. 2r down and right, (4r + 1)² of them, row by row. A pair is two
// shifts 1 and 2 of -r .. r each; what lies between them is the value of the shift that leads from 1 to 2.
// How many of the (2r + 1)^4 pairs have value(2) > (value(1) + value(2 - 1)) (1 + slack)?
// Throws std::invalid_argument where the values are not (4r + 1)².
std::int64_t triangle_failures(std::span<const double> values, std::int64_t reach, double slack);

}  // namespace verite
