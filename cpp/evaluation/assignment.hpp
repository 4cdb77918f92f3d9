// Who goes with whom, one to one, so that everybody together gains most?
#pragma once

#include <vector>

#include "columns/views.hpp"

namespace verite {

// Possible couples: row rows[i] with column columns[i] gains first[i], and of assignments that gain the same, the one
// with more of second is better. Gains are whole numbers, so that sums are exact and the order of the couples does not
// matter to the gain.
struct Couples {
    std::span<const std::int64_t> rows, columns;
    std::span<const std::int64_t> first, second;

    std::size_t size() const { return rows.size(); }
};

// Sets chosen[i] to 1 for the couples of the best assignment, by the Hungarian method within each connected group.
// Rows and columns are numbered from 0 to below `row_count` and `column_count`; no couple comes twice.
void assign(const Couples& couples, std::int64_t row_count, std::int64_t column_count, std::span<std::uint8_t> chosen);

}  // namespace verite
