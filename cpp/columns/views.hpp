// Boxes, polygons and run-length encoded masks in the caller's memory: structs of spans that own nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace verite {

// Corners x1, y1, x2, y2, four numbers per box.
struct Boxes {
    std::span<const double> corners;

    std::size_t size() const { return corners.size() / 4; }
    const double* operator[](std::size_t i) const { return corners.data() + 4 * i; }
};

// Rows of different lengths in one flat array: row i is values[offsets[i] .. offsets[i + 1]].
template <class T>
struct Ragged {
    std::span<const T> values;
    std::span<const std::int64_t> offsets;

    std::size_t size() const { return offsets.empty() ? 0 : offsets.size() - 1; }
    std::span<const T> operator[](std::size_t i) const {
        return values.subspan(offsets[i], offsets[i + 1] - offsets[i]);
    }
};

// Polygon rings: x1, y1, x2, y2, … of each. Ring i has the points starts[i] .. starts[i + 1].
struct Rings {
    std::span<const double> numbers;  // two per point
    std::span<const std::int64_t> starts;

    std::span<const double> operator[](std::size_t i) const {
        return numbers.subspan(2 * starts[i], 2 * (starts[i + 1] - starts[i]));
    }
};

struct Size {
    std::int64_t height, width;

    bool operator==(const Size&) const = default;
    std::uint64_t pixels() const { return static_cast<std::uint64_t>(height) * static_cast<std::uint64_t>(width); }
};

// Run-length encoded masks (RLE), one per object: column by column, the first run counts background.
struct RLEMasks {
    Ragged<std::uint32_t> counts;
    std::span<const std::int32_t> sizes;  // height and width of each object's image

    std::size_t size() const { return counts.size(); }
    Size size_of(std::size_t i) const { return {sizes[2 * i], sizes[2 * i + 1]}; }
};

}  // namespace verite
