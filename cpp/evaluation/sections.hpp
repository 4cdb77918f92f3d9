// The predictions of one class of a partial result, packed into few bytes: confidence, image and outcome of each. There
// are few distinct outcomes, so that a row refers to its own by a small number.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "columns/memory.hpp"

namespace verite {

using Bytes = Array<std::uint8_t>;

// A set of tuples of words of one width, each with a position.
class Tuples {
  public:
    explicit Tuples(std::size_t width) : width_(width), slots_(16, empty) {}

    // The position of a tuple, which is added at the end where it is new.
    std::uint32_t add(std::span<const std::uint32_t> words);

    std::size_t size() const { return words_.size() / width_; }
    std::size_t width() const { return width_; }
    std::span<const std::uint32_t> operator[](std::size_t place) const {
        return std::span(words_).subspan(place * width_, width_);
    }

  private:
    static constexpr std::uint32_t empty = UINT32_MAX;

    std::size_t width_;
    std::vector<std::uint32_t> words_;
    std::vector<std::uint32_t> slots_;  // positions by hash; a power of two of them
};

// A prediction. Rows of a class are sorted by key, then by image, those of one image as they were matched.
struct Row {
    std::uint64_t key;  // falling_key of the confidence
    std::uint32_t image, outcome;

    bool operator<(const Row& other) const { return key != other.key ? key < other.key : image < other.image; }
};

// The numbers of ground-truth objects of an image that are not ignored, one per area range.
struct Cell {
    std::uint32_t image, counts;
};

// What the sections of one state have in common: blocks of sixteen thresholds, area ranges, values of maxDets, images.
struct SectionShape {
    std::size_t blocks = 1, ranges = 1, max_dets = 1, images = 0;
};

struct Section {
    Section() : Section(SectionShape()) {}
    explicit Section(const SectionShape& shape) : outcomes(1 + shape.blocks * shape.ranges), counts(shape.ranges) {}

    Tuples outcomes;  // PredictionFlags::flags, then true positive and ignored, sixteen bits each, [block][range]
    Array<Row> rows;
    Tuples counts;      // [range]
    Array<Cell> cells;  // by image
};

// Equal sections are packed to equal bytes, in whatever order their outcomes were added.
Bytes pack(const Section& section, const SectionShape& shape);

// The inverse of pack. Throws std::invalid_argument for other bytes.
Section unpack(std::span<const std::uint8_t> bytes, const SectionShape& shape);

// Throws std::invalid_argument where a section contradicts itself: confidences that are not finite, an image with two
// counts, more true positives in an image than objects. `are_kinds`: ranges are kinds of objects, and the first has all
// true positives.
void check(const Section& section, const SectionShape& shape, bool are_kinds);

// The number of rows, without unpacking them.
std::uint64_t count_rows(std::span<const std::uint8_t> bytes);

// The inverse of falling_key.
double confidence_of(std::uint64_t key);

constexpr std::size_t most_number = 10;  // bytes of the largest number

// Writes a number with seven bits per byte (LEB128), small ones in few bytes.
inline void write_number(std::uint8_t*& at, std::uint64_t number) {
    for (; number >= 128; number >>= 7) *at++ = static_cast<std::uint8_t>(number | 128);
    *at++ = static_cast<std::uint8_t>(number);
}

// Writes numbers one after the other.
class Writer {
  public:
    void put(std::uint64_t number) {
        std::uint8_t room[most_number], *at = room;
        write_number(at, number);
        bytes.insert(bytes.end(), room, at);
    }
    // Rows of at most `most` bytes each; write(i, at) advances `at`.
    template <class Write>
    void put_rows(std::size_t count, std::size_t most, Write&& write) {
        const std::size_t first = bytes.size();
        bytes.resize(first + count * most);
        std::uint8_t* at = bytes.data() + first;
        for (std::size_t i = 0; i < count; ++i) write(i, at);
        bytes.resize(static_cast<std::size_t>(at - bytes.data()));
    }
    void put_bytes(std::uint64_t number, std::size_t width) {
        for (std::size_t i = 0; i < width; ++i, number >>= 8) bytes.push_back(static_cast<std::uint8_t>(number));
    }
    void put_span(std::span<const std::uint8_t> given) { bytes.insert(bytes.end(), given.begin(), given.end()); }

    Bytes bytes;
};

// Reads what Writer wrote. Throws std::invalid_argument instead of reading beyond the end.
class Reader {
  public:
    explicit Reader(std::span<const std::uint8_t> bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}

    std::uint64_t take() {
        std::uint64_t number = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            if (at_ == end_) refuse();
            const std::uint8_t byte = *at_++;
            number |= static_cast<std::uint64_t>(byte & 127) << shift;
            if (byte < 128) return number;
        }
        refuse();
    }
    std::uint64_t take_below(std::uint64_t bound) {
        const std::uint64_t number = take();
        if (number >= bound) refuse();
        return number;
    }
    std::uint64_t take_bytes(std::size_t width) {
        if (left() < width) refuse();
        std::uint64_t number = 0;
        for (std::size_t i = 0; i < width; ++i) number |= static_cast<std::uint64_t>(*at_++) << 8 * i;
        return number;
    }
    std::span<const std::uint8_t> take_span(std::uint64_t count) {
        if (left() < count) refuse();
        at_ += count;
        return {at_ - count, static_cast<std::size_t>(count)};
    }
    // A count of items of at least `least` bytes each, for which enough bytes must follow.
    std::size_t take_count(std::size_t least = 1) {
        const std::uint64_t count = take();
        if (count > left() / least) refuse();
        return static_cast<std::size_t>(count);
    }

    std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

    [[noreturn]] static void refuse();

  private:
    const std::uint8_t *at_, *end_;
};

}  // namespace verite
