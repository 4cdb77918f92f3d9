// Bounding box of a run-length encoded mask.
#pragma once

#include <cstdint>
#include <span>

namespace verite {

// Half-open ranges of columns and rows in pixels; empty where the mask has no pixel.
struct Bounds {
    std::int64_t left = 0, top = 0, right = 0, bottom = 0;
};

// `counts` are runs of background and object in turn, column by column of an image of this height.
Bounds bound_runs(std::span<const std::uint32_t> counts, std::int64_t height);

}  // namespace verite
