// Conversion between pixel masks and runs, and union and intersection of masks, as pycocotools computes them.
#pragma once

#include <vector>

#include "columns/views.hpp"

namespace verite {

// Appends the runs of one mask of bytes in column order. As in pycocotools, a run goes on while bytes are equal.
void encode_pixels(std::span<const std::uint8_t> pixels, std::vector<std::uint32_t>& counts);

// Writes zeros and ones in column order; runs must add up to the number of pixels.
void decode_pixels(std::span<const std::uint32_t> counts, std::span<std::uint8_t> pixels);

// The same in row order; the pixels must be 0 before.
void decode_rows(std::span<const std::uint32_t> counts, std::size_t height, std::size_t width,
                 std::span<std::uint8_t> pixels);

// Appends the union or the intersection of two masks, with the same runs as pycocotools writes.
void merge_runs(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b, bool is_intersection,
                std::vector<std::uint32_t>& out);

}  // namespace verite
