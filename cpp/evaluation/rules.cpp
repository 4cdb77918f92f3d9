#include "evaluation/rules.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace verite {

void check(const Rules& rules) {
    const auto expect = [](bool holds, const char* what) {
        if (!holds) throw std::invalid_argument(std::string("rules: expected ") + what);
    };
    expect(!rules.thresholds.empty(), "a threshold");
    expect(!rules.ranges.empty() && rules.ranges.size() % 2 == 0 && rules.range_count() <= most_ranges,
           "1 to 24 area ranges");
    expect(!rules.limits.empty() && rules.limits.size() <= most_limits && std::ranges::is_sorted(rules.limits) &&
               rules.limits.front() > 0 && rules.most() <= INT32_MAX,
           "rising numbers of predictions");
    expect(std::ranges::is_sorted(rules.recalls), "recalls that rise");
}

}  // namespace verite
