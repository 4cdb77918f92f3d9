// Constants shared by the stages of an evaluation.
#pragma once

#include <limits>

namespace verite {

constexpr double epsilon = std::numeric_limits<double>::epsilon();
constexpr double never = std::numeric_limits<double>::infinity();    // a threshold that is never reached
constexpr double absent = std::numeric_limits<double>::quiet_NaN();  // no number, e.g. AP of a class without objects

}  // namespace verite
