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
    expect(!rules.area_ranges.empty() && rules.range_count() <= most_ranges, "1 to 24 area ranges");
    expect(!rules.max_dets.empty() && rules.max_dets.size() <= most_max_dets &&
               std::ranges::is_sorted(rules.max_dets) && rules.max_dets.front() > 0 &&
               rules.largest_max_dets() <= INT32_MAX,
           "rising numbers of predictions");
    expect(std::ranges::is_sorted(rules.recalls), "recalls that rise");
}

}  // namespace verite
