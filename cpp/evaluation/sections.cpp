#include "evaluation/sections.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <iterator>
#include <numeric>
#include <stdexcept>

#include "columns/cells.hpp"
#include "evaluation/matching.hpp"
#include "evaluation/rules.hpp"

namespace verite {
namespace {

constexpr double decimals = 1e4;  // confidences of four digits are whole numbers of these parts

// How confidences are written: rising numbers, of which differences are kept.
enum class Spelling : std::uint8_t { digits, single, whole };

// A float's key, rising where it falls.
std::uint32_t single_key(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return bits >> 31 ? bits : ~bits & (UINT32_MAX >> 1);
}

float single_of(std::uint32_t key) { return std::bit_cast<float>(key >> 31 ? key : ~key & (UINT32_MAX >> 1)); }

constexpr std::int64_t most_digits = std::int64_t{1} << 53;

// A confidence of four digits as a number that rises where it falls; 0 where it has more.
std::uint64_t digits_of(double value) {
    if (!(value > -1e11 && value < 1e11)) return 0;
    const auto nearest = static_cast<std::int64_t>(value * decimals + (value < 0 ? -0.5 : 0.5));
    return static_cast<double>(nearest) / decimals == value ? static_cast<std::uint64_t>(most_digits - nearest) : 0;
}

// The confidences of all rows as rising numbers, in the shortest spelling that keeps every bit.
Spelling spell(std::span<const Row> rows, Array<std::uint64_t>& numbers) {
    numbers.resize(rows.size());
    const auto holds = [&](auto&& number) {
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const bool is_again = i > 0 && rows[i].key == rows[i - 1].key;
            numbers[i] = is_again ? numbers[i - 1] : number(confidence_of(rows[i].key));
            if (numbers[i] == 0) return false;
        }
        return true;
    };
    if (holds(digits_of)) return Spelling::digits;
    const auto single = [](double value) -> std::uint64_t {
        const auto narrow = static_cast<float>(value);
        return static_cast<double>(narrow) == value ? std::uint64_t{single_key(narrow)} + 1 : 0;
    };
    if (holds(single)) return Spelling::single;
    std::ranges::transform(rows, numbers.begin(), &Row::key);
    return Spelling::whole;
}

std::uint64_t key_of(std::uint64_t number, Spelling spelling) {
    switch (spelling) {
        case Spelling::digits:
            if (number > 2 * static_cast<std::uint64_t>(most_digits)) Reader::refuse();
            return falling_key(static_cast<double>(most_digits - static_cast<std::int64_t>(number)) / decimals);
        case Spelling::single:
            if (number == 0 || number > std::uint64_t{1} << 32) Reader::refuse();
            return falling_key(static_cast<double>(single_of(static_cast<std::uint32_t>(number - 1))));
        default:
            return number;
    }
}

std::size_t width_of(std::size_t images) {
    std::size_t width = 1;
    while (width < 8 && images > std::size_t{1} << 8 * width) ++width;
    return width;
}

// Tuples by how often they are used, then by what they are: their places in this order, and the order.
struct Codes {
    std::vector<std::uint32_t> code, order;
};

template <class Rows, class Place>
Codes rank_tuples(const Tuples& tuples, const Rows& rows, Place&& place) {
    std::vector<std::uint64_t> used(tuples.size(), 0);
    for (const auto& row : rows) ++used[place(row)];
    Codes found{std::vector<std::uint32_t>(tuples.size()), {}};
    for (std::uint32_t i = 0; i < tuples.size(); ++i)
        if (used[i] > 0) found.order.push_back(i);
    std::ranges::sort(found.order, [&](std::uint32_t a, std::uint32_t b) {
        return used[a] != used[b] ? used[a] > used[b] : std::ranges::lexicographical_compare(tuples[a], tuples[b]);
    });
    for (std::uint32_t i = 0; i < found.order.size(); ++i) found.code[found.order[i]] = i;
    return found;
}

constexpr std::uint32_t exchange(std::uint32_t word) { return word << 16 | word >> 16; }

// Most ranges repeat the first one, exchange true positive and ignored, or have nothing.
enum Tag : std::uint8_t { nothing, same, exchanged, other };

void put_outcome(Writer& out, std::span<const std::uint32_t> words, std::size_t ranges) {
    constexpr std::uint32_t outside = (std::uint32_t{1} << most_ranges) - 1;
    out.put(words[0] & outside);
    out.put(words[0] >> most_ranges);
    for (std::size_t first = 1; first < words.size(); first += ranges) {
        out.put(words[first] & 0xFFFF);
        out.put(words[first] >> 16);
        for (const std::uint32_t word : words.subspan(first + 1, ranges - 1)) {
            const Tag tag = word == 0                        ? nothing
                            : word == words[first]           ? same
                            : word == exchange(words[first]) ? exchanged
                                                             : other;
            out.put(tag);
            if (tag != other) continue;
            out.put(word & 0xFFFF);
            out.put(word >> 16);
        }
    }
}

std::uint32_t take_word(Reader& in) {
    const auto tp = static_cast<std::uint32_t>(in.take_below(1 << 16));
    return tp | static_cast<std::uint32_t>(in.take_below(1 << 16)) << 16;
}

void take_outcome(Reader& in, std::span<std::uint32_t> words, const SectionShape& shape) {
    const std::size_t ranges = shape.ranges;
    words[0] = static_cast<std::uint32_t>(in.take_below(std::uint64_t{1} << most_ranges));
    words[0] |= static_cast<std::uint32_t>(in.take_below(shape.max_dets + 1)) << most_ranges;
    for (std::size_t first = 1; first < words.size(); first += ranges) {
        words[first] = take_word(in);
        for (std::uint32_t& word : words.subspan(first + 1, ranges - 1)) {
            const auto tag = in.take_below(other + 1);
            word = tag == nothing ? 0 : tag == same ? words[first] : tag == exchanged ? exchange(words[first]) : 0;
            if (tag == other) word = take_word(in);
        }
    }
}

std::uint64_t hash_words(std::span<const std::uint32_t> words) {
    std::uint64_t hash = 0x9E3779B97F4A7C15;
    for (const std::uint32_t word : words) hash = (hash ^ word) * 0xFF51AFD7ED558CCD, hash ^= hash >> 32;
    return hash;
}

}  // namespace

void Reader::refuse() { throw std::invalid_argument("expected a part that is whole, found damaged bytes"); }

double confidence_of(std::uint64_t key) { return std::bit_cast<double>(key >> 63 ? key : ~key & (UINT64_MAX >> 1)); }

std::uint32_t Tuples::add(std::span<const std::uint32_t> words) {
    if ((size() + 1) * 2 > slots_.size()) {
        slots_.assign(slots_.size() * 2, empty);
        for (std::uint32_t place = 0; place < size(); ++place) {
            std::size_t slot = hash_words((*this)[place]) & (slots_.size() - 1);
            while (slots_[slot] != empty) slot = (slot + 1) & (slots_.size() - 1);
            slots_[slot] = place;
        }
    }
    std::size_t slot = hash_words(words) & (slots_.size() - 1);
    for (; slots_[slot] != empty; slot = (slot + 1) & (slots_.size() - 1))
        if (std::ranges::equal((*this)[slots_[slot]], words)) return slots_[slot];
    slots_[slot] = static_cast<std::uint32_t>(size());
    words_.insert(words_.end(), words.begin(), words.end());
    return slots_[slot];
}

Bytes pack(const Section& section, const SectionShape& shape) {
    const std::size_t ranges = shape.ranges, width = width_of(shape.images);
    const Codes outcomes = rank_tuples(section.outcomes, section.rows, [](const Row& row) { return row.outcome; });
    const Codes counts = rank_tuples(section.counts, section.cells, [](const Cell& cell) { return cell.counts; });
    Array<std::uint64_t> numbers;
    const Spelling spelling = spell(section.rows, numbers);
    Writer out;
    out.put(section.rows.size());
    out.put(section.cells.size());
    out.put(static_cast<std::uint64_t>(spelling));
    out.put(outcomes.order.size());
    for (const std::uint32_t outcome : outcomes.order) put_outcome(out, section.outcomes[outcome], ranges);
    out.put(counts.order.size());
    for (const std::uint32_t own : counts.order)
        for (const std::uint32_t count : section.counts[own]) out.put(count);
    out.put_rows(section.rows.size(), most_number + width + most_number, [&](std::size_t i, std::uint8_t*& at) {
        write_number(at, numbers[i] - (i > 0 ? numbers[i - 1] : 0));
        std::uint32_t image = section.rows[i].image;
        for (std::size_t byte = 0; byte < width; ++byte, image >>= 8) *at++ = static_cast<std::uint8_t>(image);
        write_number(at, outcomes.code[section.rows[i].outcome]);
    });
    std::uint32_t last = 0;
    out.put_rows(section.cells.size(), 2 * most_number, [&](std::size_t i, std::uint8_t*& at) {
        write_number(at, section.cells[i].image - last);
        last = section.cells[i].image;
        write_number(at, counts.code[section.cells[i].counts]);
    });
    out.bytes.shrink_to_fit();
    return std::move(out.bytes);
}

void check(const Section& section, const SectionShape& shape, bool are_kinds) {
    for (const Row& row : section.rows)
        if (!std::isfinite(confidence_of(row.key))) Reader::refuse();
    if (std::ranges::adjacent_find(section.cells, std::greater_equal(), &Cell::image) != section.cells.end())
        Reader::refuse();
    const std::size_t columns = shape.blocks * shape.ranges;
    const auto has_hits = [&](const Row& row) {
        return std::ranges::any_of(section.outcomes[row.outcome].subspan(1),
                                   [](std::uint32_t word) { return (word & 0xFFFF) != 0; });
    };
    Array<Row> right;
    std::ranges::copy_if(section.rows, std::back_inserter(right), has_hits);
    std::ranges::stable_sort(right, {}, &Row::image);
    std::vector<std::uint64_t> tp(columns * most_thresholds);
    auto cell = section.cells.begin();
    for (auto row = right.begin(); row != right.end();) {
        const std::uint32_t image = row->image;
        std::ranges::fill(tp, 0);
        for (; row != right.end() && row->image == image; ++row)
            for (std::size_t at = 0; at < tp.size(); ++at)
                tp[at] += section.outcomes[row->outcome][1 + at / most_thresholds] >> at % most_thresholds & 1;
        while (cell != section.cells.end() && cell->image < image) ++cell;
        if (cell == section.cells.end() || cell->image != image) Reader::refuse();
        const auto counts = section.counts[cell->counts];
        for (std::size_t at = 0; at < tp.size(); ++at) {
            const std::size_t range = at / most_thresholds % shape.ranges;
            std::uint64_t objects = counts[range];
            if (are_kinds && range == 0) objects = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
            if (tp[at] > objects) Reader::refuse();
        }
    }
}

std::uint64_t count_rows(std::span<const std::uint8_t> bytes) { return Reader(bytes).take(); }

Section unpack(std::span<const std::uint8_t> bytes, const SectionShape& shape) {
    Section section(shape);
    Reader in(bytes);
    const std::size_t ranges = shape.ranges, images = shape.images, width = width_of(images),
                      rows = in.take_count(2 + width), cells = in.take_count(2);
    const auto spelling = static_cast<Spelling>(in.take_below(3));
    std::vector<std::uint32_t> words(section.outcomes.width());
    const std::size_t outcomes = in.take_count(words.size());
    for (std::size_t i = 0; i < outcomes; ++i) {
        take_outcome(in, words, shape);
        if (section.outcomes.add(words) != i) Reader::refuse();
    }
    words.resize(ranges);
    const std::size_t counts = in.take_count(ranges);
    for (std::size_t i = 0; i < counts; ++i) {
        for (std::uint32_t& count : words) count = static_cast<std::uint32_t>(in.take_below(UINT32_MAX));
        if (section.counts.add(words) != i) Reader::refuse();
    }
    section.rows.resize(rows);
    std::uint64_t number = 0;
    for (Row& row : section.rows) {
        const std::uint64_t step = in.take();
        if (step > UINT64_MAX - number) Reader::refuse();
        number += step;
        row.key = step == 0 && &row != section.rows.data() ? (&row)[-1].key : key_of(number, spelling);
        row.image = static_cast<std::uint32_t>(in.take_bytes(width));
        row.outcome = static_cast<std::uint32_t>(in.take_below(outcomes));
        if (row.image >= images) Reader::refuse();
    }
    if (!std::is_sorted(section.rows.begin(), section.rows.end())) Reader::refuse();
    section.cells.resize(cells);
    std::uint64_t image = 0;
    for (Cell& cell : section.cells) {
        image += in.take_below(images);
        if (image >= images) Reader::refuse();
        cell = {static_cast<std::uint32_t>(image), static_cast<std::uint32_t>(in.take_below(counts))};
    }
    if (in.left() > 0) Reader::refuse();
    return section;
}

}  // namespace verite
