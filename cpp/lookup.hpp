// Where in a table does each id stand?
#pragma once

#include <cstdint>
#include <span>

namespace verite {

// The position of each id in the table, which has every id once; -1 for those it does not have. The number of those is
// returned. Neighbours in a file often speak of the same image, which is found at once.
std::size_t find_positions(std::span<const std::int64_t> ids, std::span<const std::int64_t> table,
                           std::span<std::int32_t> positions);

}  // namespace verite
