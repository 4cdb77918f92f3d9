// Masks as pixels, column by column, and as runs: from one to the other, and two into one.
#pragma once

#include <vector>

#include "columns/views.hpp"

namespace verite {

// The runs of one mask of bytes, appended to `counts`. Like pycocotools, a run goes on while bytes are equal: masks are
// made of zeros and ones.
void encode_pixels(std::span<const std::uint8_t> pixels, std::vector<std::uint32_t>& counts);

// Zeros and ones from runs, which must add up to the number of pixels.
void decode_pixels(std::span<const std::uint32_t> counts, std::span<std::uint8_t> pixels);

// The same row by row; the pixels are 0 before.
void decode_rows(std::span<const std::uint32_t> counts, std::size_t height, std::size_t width,
                 std::span<std::uint8_t> pixels);

// The union or the intersection of two masks, appended to `out`, spelled as pycocotools spells it.
void merge_runs(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b, bool is_intersection,
                std::vector<std::uint32_t>& out);

}  // namespace verite
