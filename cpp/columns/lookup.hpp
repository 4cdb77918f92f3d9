// Objects and the tables they point into: where does each id stand, what is used, who uses it?
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace verite {

// The position of each id in the table, which has every id once; -1 for those it does not have. The number of those is
// returned.
std::size_t find_positions(std::span<const std::int64_t> ids, std::span<const std::int64_t> table,
                           std::span<std::int32_t> positions, unsigned threads = 1);

// Which rows of a table positions point at; `used` has a flag for each row.
void mark_used(std::span<const std::int32_t> positions, std::span<bool> used);

// The objects whose position is wanted, in their order; `wanted` has a flag for each row of the table.
std::vector<std::int64_t> rows_at(std::span<const std::int32_t> positions, std::span<const std::uint8_t> wanted);

}  // namespace verite
