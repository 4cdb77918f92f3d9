// What encloses the pixels of a mask?
#pragma once

#include <cstdint>
#include <span>

namespace verite {

// Half-open ranges of columns and rows; empty where there is no pixel.
struct Bounds {
    std::int64_t left = 0, top = 0, right = 0, bottom = 0;
};

// Of runs of background and pixels in turn, column by column of an image of this height.
Bounds bound_runs(std::span<const std::uint32_t> counts, std::int64_t height);

}  // namespace verite
