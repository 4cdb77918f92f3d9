#include "regions/boundaries.hpp"

#include <algorithm>

#include "columns/pause.hpp"

namespace verite {
namespace {

// Bits that stay set when each column's stretches lose `width` pixels at either end. In place: what is read has not
// been written yet.
void shorten(std::uint64_t* column, std::int64_t words, std::int64_t width) {
    // Anding with itself moved by 1, 2, 4 … steps asks for ever longer stretches; `length` ends at 2 width + 1.
    const auto and_moved = [&](std::int64_t steps) {  // towards the first row
        const std::int64_t skip = steps >> 6, bits = steps & 63;
        for (std::int64_t w = 0; w < words; ++w) {
            const std::int64_t from = w + skip;
            const std::uint64_t low = from < words ? column[from] : 0, high = from + 1 < words ? column[from + 1] : 0;
            column[w] &= bits ? low >> bits | high << (64 - bits) : low;
        }
    };
    std::int64_t length = 1;
    const std::int64_t wanted = 2 * width + 1;
    for (; 2 * length <= wanted; length *= 2) and_moved(length);
    if (length < wanted) and_moved(wanted - length);
    // A bit now stands at the first pixel of its window: move it to the middle.
    const std::int64_t skip = width >> 6, bits = width & 63;
    for (std::int64_t w = words; w-- > 0;) {
        const std::int64_t from = w - skip;
        const std::uint64_t high = from >= 0 ? column[from] : 0, low = from >= 1 ? column[from - 1] : 0;
        column[w] = bits ? high << bits | low >> (64 - bits) : high;
    }
}

}  // namespace

void Rim::Core::read(const Raster& region, std::int64_t width) {
    words_ = region.words();
    columns_ = region.frame().width();
    bits_.assign(region.column(region.frame().x1), region.column(region.frame().x1) + columns_ * words_);
    width = std::min<std::int64_t>(width, INT32_MAX / 4);
    for (std::int64_t x = 0; x < columns_; ++x) shorten(bits_.data() + x * words_, words_, width);
    // The same across columns: column x keeps what all of x .. x + 2 width have, and is then moved by width.
    std::int64_t length = 1;
    const std::int64_t wanted = 2 * width + 1;
    for (; 2 * length <= wanted; length *= 2) and_columns(length);
    if (length < wanted) and_columns(wanted - length);
    shift_ = width;
}

void Rim::Core::and_columns(std::int64_t steps) {
    // Columns lie one after the other; those beyond the last are empty.
    const std::size_t all = bits_.size(),
                      kept = static_cast<std::size_t>(std::max(columns_ - steps, std::int64_t{0}) * words_);
    std::uint64_t* bits = bits_.data();
    for (std::size_t i = 0; i < kept; ++i) bits[i] &= bits[i + (all - kept)];
    std::fill(bits_.begin() + static_cast<std::ptrdiff_t>(kept), bits_.end(), 0);
}

void Rim::read(std::span<const std::uint32_t> counts, Size size, std::int64_t width) {
    region_.read(counts, size);
    if (!region_.frame().empty()) core_.read(region_, width);
}

std::uint64_t Rim::word(std::int32_t x, std::int32_t word_of_image) const {
    const Frame& frame = region_.frame();
    const std::int32_t w = word_of_image - region_.first_word();
    if (x < frame.x1 || x >= frame.x2 || w < 0 || w >= region_.words()) return 0;
    return region_.column(x)[w] & ~core_.word(x - frame.x1, w);
}

Rim::Sizes Rim::compare(const Rim& other) const {
    Sizes sizes;
    const Frame frame = around(region_.frame(), other.region_.frame());
    for (std::int32_t x = frame.x1; x < frame.x2; ++x)
        for (std::int32_t w = frame.y1 >> 6; w <= (frame.y2 - 1) >> 6; ++w) {
            const std::uint64_t a = word(x, w), b = other.word(x, w);
            sizes.mine += std::popcount(a);
            sizes.other += std::popcount(b);
            sizes.both += std::popcount(a & b);
        }
    return sizes;
}

void rim_overlaps(const Side& truths, const Side& preds, std::span<const std::int64_t> widths, std::span<double> out) {
    Rim truth, pred;
    Pause pause;
    for (std::size_t i = 0; i < truths.rows.size(); ++i) {
        pause();
        const std::int64_t t = truths.rows[i], p = preds.rows[i];
        truth.read(truths.masks.counts[t], truths.masks.size_of(t), widths[i]);
        pred.read(preds.masks.counts[p], preds.masks.size_of(p), widths[i]);
        const auto [mine, theirs, both] = truth.compare(pred);
        out[3 * i] = static_cast<double>(mine);
        out[3 * i + 1] = static_cast<double>(theirs);
        out[3 * i + 2] = static_cast<double>(both);
    }
}

}  // namespace verite
