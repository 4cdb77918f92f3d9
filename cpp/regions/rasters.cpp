#include "regions/rasters.hpp"

#include <algorithm>
#include <cstring>

#include "regions/masks.hpp"

namespace verite {
namespace {

constexpr std::uint64_t all = ~std::uint64_t{0};

// Calls visit(x, y1, y2) for every stretch of object pixels within one column.
template <class Visit>
void each_stretch(std::span<const std::uint32_t> counts, std::int64_t height, Visit visit) {
    if (height <= 0) return;
    std::int64_t x = 0, y = 0;  // where the next run starts
    const auto skip = [&](std::int64_t pixels) {
        y += pixels;
        if (y >= height) x += y / height, y %= height;
    };
    for (std::size_t i = 0; i + 1 < counts.size();) {
        skip(counts[i]);
        std::int64_t left = counts[i + 1];
        for (i += 2; i + 1 < counts.size() && counts[i] == 0; i += 2) left += counts[i + 1];  // runs without a gap
        while (left > 0) {
            const std::int64_t step = std::min(left, height - y);
            visit(static_cast<std::int32_t>(x), static_cast<std::int32_t>(y), static_cast<std::int32_t>(y + step));
            skip(step);
            left -= step;
        }
    }
}

// Row i, bit j to row j, bit i (Hacker's Delight 7-3).
void transpose(std::uint64_t* block) {
    std::uint64_t mask = all >> 32;
    for (int j = 32; j; j >>= 1, mask ^= mask << j)
        for (int k = 0; k < 64; k = (k + j + 1) & ~j) {
            const std::uint64_t swapped = ((block[k] >> j) ^ block[k + j]) & mask;
            block[k] ^= swapped << j;
            block[k + j] ^= swapped;
        }
}

// Eight bytes, each 0 or not, to eight bits, the first byte lowest.
std::uint64_t pack(const std::uint8_t* bytes) {
    std::uint64_t word = 0;
    if constexpr (std::endian::native == std::endian::little)
        std::memcpy(&word, bytes, 8);
    else
        for (int i = 0; i < 8; ++i) word |= std::uint64_t{bytes[i]} << 8 * i;
    constexpr std::uint64_t low = 0x7f7f7f7f7f7f7f7f;
    const std::uint64_t set = (((word & low) + low) | word) >> 7 & 0x0101010101010101;
    return set * 0x0102040810204080 >> 56;
}

// Up to 64 bytes of one row to a word.
std::uint64_t pack_row(const std::uint8_t* bytes, std::int64_t count) {
    std::uint64_t word = 0;
    std::int64_t i = 0;
    for (; i + 8 <= count; i += 8) word |= pack(bytes + i) << i;
    for (; i < count; ++i) word |= std::uint64_t{bytes[i] != 0} << i;
    return word;
}

bool any(const std::uint8_t* bytes, std::int64_t count) {
    std::int64_t i = 0;
    for (; i + 64 <= count; i += 64) {
        std::uint64_t words[8], sum = 0;
        std::memcpy(words, bytes + i, 64);
        for (const std::uint64_t word : words) sum |= word;
        if (sum) return true;
    }
    for (; i < count; ++i)
        if (bytes[i]) return true;
    return false;
}

}  // namespace

Frame around(const Frame& a, const Frame& b) {
    if (a.empty()) return b;
    if (b.empty()) return a;
    return {std::min(a.x1, b.x1), std::min(a.y1, b.y1), std::max(a.x2, b.x2), std::max(a.y2, b.y2)};
}

void Raster::reframe(const Frame& frame) {
    frame_ = frame.empty() ? Frame{} : frame;
    words_ = frame_.empty() ? 0 : ((frame_.y2 - 1) >> 6) - (frame_.y1 >> 6) + 1;
    bits_.assign(static_cast<std::size_t>(frame_.width()) * words_, 0);
}

Frame frame_of(std::span<const std::uint32_t> counts, Size size) {
    Frame frame{INT32_MAX, INT32_MAX, 0, 0};
    each_stretch(counts, size.height, [&](std::int32_t x, std::int32_t y1, std::int32_t y2) {
        frame = {std::min(frame.x1, x), std::min(frame.y1, y1), x + 1, std::max(frame.y2, y2)};
    });
    return frame.empty() ? Frame{} : frame;
}

void Raster::read(std::span<const std::uint32_t> counts, Size size) {
    reframe(frame_of(counts, size));
    draw(counts, size, 0, bits_);
}

void Raster::draw(std::span<const std::uint32_t> counts, Size size, std::int32_t width,
                  std::vector<std::uint64_t>& bits) const {
    const std::int32_t top = first_word() << 6;
    each_stretch(counts, size.height, [&](std::int32_t x, std::int32_t from, std::int32_t to) {
        const std::int32_t y1 = from + width - top, y2 = to - width - top;
        if (y1 >= y2) return;
        std::uint64_t* column = bits.data() + static_cast<std::size_t>(x - frame_.x1) * words_;
        const std::int32_t first = y1 >> 6, last = (y2 - 1) >> 6;
        for (std::int32_t w = first; w <= last; ++w) {
            std::uint64_t word = all;
            if (w == first) word &= all << (y1 & 63);
            if (w == last) word &= all >> (63 - ((y2 - 1) & 63));
            column[w] |= word;
        }
    });
}

void Raster::rim(std::span<const std::uint32_t> counts, Size size, std::int64_t width) {
    read(counts, size);
    const std::int64_t columns = frame_.width();
    width = std::min<std::int64_t>(width, INT32_MAX / 4);
    if (std::min<std::int64_t>(columns, frame_.height()) <= 2 * width) return;  // too thin for anything but a rim
    // Upwards and downwards while drawing; across by anding columns with those 1, 2, 4 … steps to the right, until
    // column x has what all of x .. x + 2 width have and belongs `width` steps further.
    scratch_.assign(bits_.size(), 0);
    draw(counts, size, static_cast<std::int32_t>(width), scratch_);
    const auto words = static_cast<std::size_t>(words_);
    std::uint64_t* const core = scratch_.data();
    const auto and_columns = [&](std::int64_t steps, std::int64_t kept) {
        const std::size_t ahead = static_cast<std::size_t>(steps) * words;
        for (std::size_t i = 0; i < static_cast<std::size_t>(kept) * words; ++i) core[i] &= core[i + ahead];
    };
    std::int64_t length = 1;
    for (; 2 * length <= 2 * width + 1; length *= 2) and_columns(length, columns - 2 * length + 1);
    const std::int64_t kept = columns - 2 * width;
    if (length < 2 * width + 1) and_columns(2 * width + 1 - length, kept);
    std::uint64_t* const middle = bits_.data() + static_cast<std::size_t>(width) * words;
    for (std::size_t i = 0; i < static_cast<std::size_t>(kept) * words; ++i) middle[i] &= ~core[i];
}

void Raster::read(const std::uint8_t* rows, Size size) {
    const std::int64_t height = size.height, width = size.width;
    std::int64_t y1 = 0, y2 = height;
    while (y1 < y2 && !any(rows + y1 * width, width)) ++y1;
    while (y2 > y1 && !any(rows + (y2 - 1) * width, width)) --y2;
    // Every row of the object as bits, and the columns that any of them has.
    const std::int64_t blocks = (width + 63) / 64;
    scratch_.resize(static_cast<std::size_t>((y2 - y1 + 1) * blocks));
    std::uint64_t* const used = scratch_.data() + (y2 - y1) * blocks;
    std::fill_n(used, blocks, 0);
    for (std::int64_t y = y1; y < y2; ++y)
        for (std::int64_t b = 0; b < blocks; ++b) {
            const std::uint64_t word = pack_row(rows + y * width + 64 * b, std::min<std::int64_t>(64, width - 64 * b));
            scratch_[(y - y1) * blocks + b] = word;
            used[b] |= word;
        }
    std::int64_t x1 = width, x2 = 0;
    for (std::int64_t b = 0; b < blocks; ++b) {
        if (!used[b]) continue;
        x1 = std::min(x1, 64 * b + std::countr_zero(used[b]));
        x2 = 64 * b + 64 - std::countl_zero(used[b]);
    }
    reframe({static_cast<std::int32_t>(x1), static_cast<std::int32_t>(y1), static_cast<std::int32_t>(x2),
             static_cast<std::int32_t>(y2)});
    std::uint64_t block[64];
    for (std::int32_t w = 0; w < words_; ++w)
        for (std::int64_t b = x1 / 64; 64 * b < x2; ++b) {
            const std::int64_t top = std::int64_t{first_word() + w} << 6;
            for (std::int64_t i = 0; i < 64; ++i)
                block[i] = top + i >= y1 && top + i < y2 ? scratch_[(top + i - y1) * blocks + b] : 0;
            transpose(block);
            const std::int64_t first = std::max(x1, 64 * b), last = std::min(x2, 64 * b + 64);
            for (std::int64_t x = first; x < last; ++x) bits_[(x - x1) * words_ + w] = block[x - 64 * b];
        }
}

void Raster::outline(const Raster& region, bool with_corners) {
    reframe(region.frame_);
    const auto column_inside = [&](const std::uint64_t* bits, std::int32_t w) {
        const std::uint64_t above = bits[w] << 1 | (w > 0 ? bits[w - 1] >> 63 : 0);
        const std::uint64_t below = bits[w] >> 1 | (w + 1 < words_ ? bits[w + 1] << 63 : 0);
        return above & below;
    };
    for (std::int32_t i = 0; i < frame_.width(); ++i) {
        const std::uint64_t* here = region.bits_.data() + static_cast<std::size_t>(i) * words_;
        const std::uint64_t* left = i > 0 ? here - words_ : nullptr;
        const std::uint64_t* right = i + 1 < frame_.width() ? here + words_ : nullptr;
        std::uint64_t* out = bits_.data() + static_cast<std::size_t>(i) * words_;
        for (std::int32_t w = 0; w < words_; ++w) {
            std::uint64_t inside = 0;
            if (left && right) {
                inside = column_inside(here, w) & left[w] & right[w];
                if (with_corners) inside &= column_inside(left, w) & column_inside(right, w);
            }
            out[w] = here[w] & ~inside;
        }
    }
}

std::uint64_t Raster::count() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t word : bits_) sum += count_bits(word);
    return sum;
}

void Raster::pixels(std::vector<Pixel>& found) const {
    found.clear();
    const std::int32_t top = first_word() << 6;
    std::size_t at = 0;
    for (std::int32_t x = frame_.x1; x < frame_.x2; ++x)
        for (std::int32_t w = 0; w < words_; ++w)
            for (std::uint64_t bits = bits_[at++]; bits; bits &= bits - 1)
                found.push_back({x, top + 64 * w + std::countr_zero(bits)});
}

void Raster::runs(Size size, std::vector<std::uint32_t>& counts) const {
    RunWriter writer(size, counts);
    const std::int64_t top = std::int64_t{first_word()} << 6;
    for (std::int32_t x = frame_.x1; x < frame_.x2; ++x) {
        const std::uint64_t* bits = column(x);
        for (std::int32_t w = 0; w < words_; ++w)
            for (std::uint64_t left = bits[w]; left;) {
                const int from = std::countr_zero(left), length = std::countr_one(left >> from);
                writer.add(x, top + 64 * w + from, top + 64 * w + from + length);
                left = from + length == 64 ? 0 : left & all << (from + length);
            }
    }
    writer.close();
}

std::uint64_t count_common(const Raster& a, const Raster& b) {
    std::uint64_t sum = 0;
    const std::int32_t top = std::max(a.first_word(), b.first_word());
    const std::int32_t words = std::min(a.first_word() + a.words(), b.first_word() + b.words()) - top;
    for (std::int32_t x = std::max(a.frame().x1, b.frame().x1); x < std::min(a.frame().x2, b.frame().x2); ++x) {
        const std::uint64_t *mine = a.column(x) + (top - a.first_word()),
                            *theirs = b.column(x) + (top - b.first_word());
        for (std::int32_t w = 0; w < words; ++w) sum += count_bits(mine[w] & theirs[w]);
    }
    return sum;
}

}  // namespace verite
