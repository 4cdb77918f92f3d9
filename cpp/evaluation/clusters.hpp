// Which boxes mean the same thing that no truth explains?
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace verite {

// Boxes are left, top, width, height; groups are those of one key, side by side.
struct KeyedBoxes {
    std::span<const std::int64_t> keys;  // rising
    std::span<const double> boxes;       // four numbers each
};

// Within each group in the given order: a box that overlaps no truth of its group by `least` (of a crowd: no more than
// that of the box lies in it) and is in no cluster yet begins one, which takes all such boxes that overlap it by
// `least`. For each box the number of its cluster, or -1.
std::vector<std::int32_t> cluster_boxes(const KeyedBoxes& preds, const KeyedBoxes& truths,
                                        std::span<const std::uint8_t> crowd, double least);

}  // namespace verite
