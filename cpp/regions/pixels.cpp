#include "regions/pixels.hpp"

#include <algorithm>
#include <stdexcept>

namespace verite {

void encode_pixels(std::span<const std::uint8_t> pixels, std::vector<std::uint32_t>& counts) {
    if (pixels.size() > UINT32_MAX) throw std::invalid_argument("a mask: expected at most 4,294,967,295 pixels");
    std::uint8_t value = 0;
    std::size_t start = 0;
    for (std::size_t i = 0; i < pixels.size(); ++i) {
        if (pixels[i] == value) continue;
        counts.push_back(static_cast<std::uint32_t>(i - start));
        start = i;
        value = pixels[i];
    }
    counts.push_back(static_cast<std::uint32_t>(pixels.size() - start));
}

void decode_pixels(std::span<const std::uint32_t> counts, std::span<std::uint8_t> pixels) {
    std::size_t at = 0;
    std::uint8_t value = 0;
    for (const std::uint32_t count : counts) {
        if (count > pixels.size() - at)
            throw std::invalid_argument("runs that add up to more than the mask has pixels");
        std::fill_n(pixels.begin() + at, count, value);
        at += count;
        value = !value;
    }
    if (at != pixels.size()) throw std::invalid_argument("runs that add up to less than the mask has pixels");
}

void decode_rows(std::span<const std::uint32_t> counts, std::size_t height, std::size_t width,
                 std::span<std::uint8_t> pixels) {
    const std::size_t total = height * width;
    std::size_t at = 0;
    bool inside = false;
    for (const std::uint32_t count : counts) {
        if (count > total - at) throw std::invalid_argument("runs that add up to more than the mask has pixels");
        const std::size_t end = at + count;
        while (inside && at < end) {  // column by column
            const std::size_t column = at / height, row = at % height;
            const std::size_t length = std::min(end - at, height - row);
            std::uint8_t* pixel = pixels.data() + row * width + column;
            for (std::size_t i = 0; i < length; ++i, pixel += width) *pixel = 1;
            at += length;
        }
        at = end;
        inside = !inside;
    }
    if (at != total) throw std::invalid_argument("runs that add up to less than the mask has pixels");
}

void merge_runs(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b, bool is_intersection,
                std::vector<std::uint32_t>& out) {
    if (a.empty() || b.empty()) throw std::invalid_argument("a mask without runs");
    std::uint32_t left_a = a[0], left_b = b[0], run = 0;
    std::size_t i = 1, j = 1;
    bool in_a = false, in_b = false, inside = false;
    for (bool more = true; more;) {
        const std::uint32_t step = std::min(left_a, left_b);
        if (step == 0 && ((i == a.size() && left_a == 0) || (j == b.size() && left_b == 0)) && left_a != left_b)
            throw std::invalid_argument("two masks: expected the same number of pixels");
        run += step;
        left_a -= step;
        left_b -= step;
        if (!left_a && i < a.size()) left_a = a[i++], in_a = !in_a;
        if (!left_b && j < b.size()) left_b = b[j++], in_b = !in_b;
        more = left_a || left_b;
        const bool was_inside = inside;
        inside = is_intersection ? in_a && in_b : in_a || in_b;
        if (inside != was_inside || !more) {
            out.push_back(run);
            run = 0;
        }
    }
}

}  // namespace verite
