// Optimal one-to-one assignment (Hungarian method, Kuhn and Munkres) by a whole-number gain with a tie-breaker.
#pragma once

#include <vector>

#include "columns/views.hpp"

namespace verite {

// Possible pairs: row rows[i] with column columns[i] gains first[i]; of assignments with the same sum, the one with the
// larger sum of second is better. Gains are whole numbers, so that sums are exact and do not depend on the order.
struct WeightedPairs {
    std::span<const std::int64_t> rows, columns;
    std::span<const std::int64_t> first, second;

    std::size_t size() const { return rows.size(); }
};

// Sets chosen[i] to 1 for the pairs of the best assignment, solved within each connected component. Rows and columns
// are numbered from 0 to below `row_count` and `column_count`; no pair occurs twice. `chosen` must be zero before.
void assign(const WeightedPairs& pairs, std::int64_t row_count, std::int64_t column_count,
            std::span<std::uint8_t> chosen);

}  // namespace verite
