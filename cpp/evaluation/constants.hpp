// Numbers that several stages of an evaluation know by name.
#pragma once

#include <limits>

namespace verite {

constexpr double epsilon = std::numeric_limits<double>::epsilon();
constexpr double never = std::numeric_limits<double>::infinity();    // a threshold that nothing reaches
constexpr double absent = std::numeric_limits<double>::quiet_NaN();  // no number, e.g. of a class without objects

}  // namespace verite
