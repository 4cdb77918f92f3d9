// Lookup of ids in tables of images and classes: positions of ids, rows in use, objects of some rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace verite {

// Writes the position of each id in the table, which has every id once; -1 for unknown ids. Returns how many are
// unknown.
std::size_t find_positions(std::span<const std::int64_t> ids, std::span<const std::int64_t> table,
                           std::span<std::int32_t> positions, unsigned threads = 1);

// The rows of a table by ascending id, equal ids in the order of rows.
std::vector<std::int32_t> rows_by_id(std::span<const std::int64_t> ids);

// Sets the flag of every row of a table that a position points at; `used` has one flag per row.
void mark_used(std::span<const std::int32_t> positions, std::span<bool> used);

// The objects whose position is wanted, in order; `wanted` has one flag per row of the table.
std::vector<std::int64_t> rows_at(std::span<const std::int32_t> positions, std::span<const std::uint8_t> wanted);

}  // namespace verite
