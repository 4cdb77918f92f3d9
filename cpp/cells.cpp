#include "cells.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "parallel.hpp"

namespace verite {
namespace {

// The rows of objects image by image, and offsets of images and classes. Objects out of range are refused here.
struct ByImage {
    Array<std::int32_t> rows;
    Array<std::int64_t> images, labels;
};

ByImage by_image(const Places& places) {
    if (places.label.size() != places.size())
        throw std::invalid_argument("places: expected as many labels as images, found " +
                                    std::to_string(places.label.size()) + " and " + std::to_string(places.size()));
    if (places.images < 0 || places.labels < 0) throw std::invalid_argument("places: a negative number of images");
    if (places.size() > INT32_MAX) throw std::invalid_argument("places: expected at most 2,147,483,647 objects");
    ByImage found{{},
                  Array<std::int64_t>(static_cast<std::size_t>(places.images) + 1, 0),
                  Array<std::int64_t>(static_cast<std::size_t>(places.labels) + 1, 0)};
    for (std::size_t row = 0; row < places.size(); ++row) {
        const std::int32_t image = places.image[row], label = places.label[row];
        if ((image | label) < 0) continue;
        if (image >= places.images || label >= places.labels)
            throw std::invalid_argument("places: object " + std::to_string(row) + " is out of range");
        ++found.images[static_cast<std::size_t>(image) + 1];
        ++found.labels[static_cast<std::size_t>(label) + 1];
    }
    std::partial_sum(found.images.begin(), found.images.end(), found.images.begin());
    std::partial_sum(found.labels.begin(), found.labels.end(), found.labels.begin());
    found.rows.resize(static_cast<std::size_t>(found.images.back()));
    Array<std::int64_t> next(found.images.begin(), found.images.end() - 1);
    for (std::size_t row = 0; row < places.size(); ++row)
        if ((places.image[row] | places.label[row]) >= 0)
            found.rows[next[places.image[row]]++] = static_cast<std::int32_t>(row);
    return found;
}

// Puts the objects of one image after the other into the order of their classes, equal ones as they come. What it
// counts by is made once: few of the classes occur in an image.
class LabelSorter {
  public:
    explicit LabelSorter(std::size_t labels) : counts_(labels, 0) {}

    // Reads the rows of an image and writes them to `sorted`; afterwards `cells` are the classes that occur.
    void sort(std::span<const std::int32_t> rows, std::span<const std::int32_t> label, std::int32_t* sorted) {
        cells.clear();
        for (const std::int32_t row : rows)
            if (counts_[label[row]]++ == 0) cells.push_back({label[row], 0});
        std::sort(cells.begin(), cells.end(), [](const Cell& a, const Cell& b) { return a.label < b.label; });
        std::int32_t start = 0;
        for (Cell& cell : cells) {
            cell.count = counts_[cell.label];
            counts_[cell.label] = start;
            start += cell.count;
        }
        for (const std::int32_t row : rows) sorted[counts_[label[row]]++] = row;
        for (const Cell& cell : cells) counts_[cell.label] = 0;
    }

    struct Cell {
        std::int32_t label, count;
    };
    std::vector<Cell> cells;

  private:
    Array<std::int32_t> counts_;
};

// A number that rises where the confidence falls; equal confidences have equal keys.
std::uint64_t falling_key(double confidence) {
    if (std::isnan(confidence)) return UINT64_MAX;
    const auto bits = std::bit_cast<std::uint64_t>(confidence + 0.0);  // -0 becomes 0
    return bits >> 63 ? bits : ~bits & (UINT64_MAX >> 1);
}

// Something to be sorted by confidence: a row or a slot.
struct Entry {
    std::uint64_t key;
    std::int32_t what;
};

bool is_before(const Entry& a, const Entry& b) { return a.key < b.key; }

constexpr int digit_bits = 11;
constexpr std::size_t bins = std::size_t{1} << digit_bits;

// Entries that agree in the bits sorted so far, put in order by the rest of their keys.
void sort_rest(std::span<Entry> entries, int sorted_from) {
    for (std::size_t first = 0; first < entries.size();) {
        std::size_t last = first + 1;
        bool is_sorted = true;
        while (last < entries.size() && !((entries[last].key ^ entries[first].key) >> sorted_from)) {
            is_sorted &= entries[last - 1].key <= entries[last].key;
            ++last;
        }
        if (!is_sorted) std::stable_sort(entries.begin() + first, entries.begin() + last, is_before);
        first = last;
    }
}

// Stable. Two radix passes over the highest bits in which keys differ tell most confidences apart.
void sort_by_key(std::span<Entry> entries, Array<Entry>& spare) {
    if (entries.size() < 256) return std::stable_sort(entries.begin(), entries.end(), is_before);
    if (spare.size() < entries.size()) spare.resize(entries.size());
    std::uint64_t differing = 0;
    for (const Entry& entry : entries) differing |= entry.key ^ entries[0].key;
    const int high = std::max(0, 64 - std::countl_zero(differing) - digit_bits), low = std::max(0, high - digit_bits);
    const auto digit = [](std::uint64_t key, int from) { return key >> from & (bins - 1); };
    std::array<std::uint32_t, bins> lows{}, highs{};
    for (const Entry& entry : entries) {
        ++lows[digit(entry.key, low)];
        ++highs[digit(entry.key, high)];
    }
    std::exclusive_scan(lows.begin(), lows.end(), lows.begin(), 0u);
    std::exclusive_scan(highs.begin(), highs.end(), highs.begin(), 0u);
    for (const Entry& entry : entries) spare[lows[digit(entry.key, low)]++] = entry;
    for (const Entry& entry : std::span(spare).first(entries.size())) entries[highs[digit(entry.key, high)]++] = entry;
    if (low > 0) sort_rest(entries, low);
}

// The predictions of one cell: few, and often in order already.
void sort_cell(std::span<Entry> entries) {
    if (entries.size() > 48) {
        if (!std::is_sorted(entries.begin(), entries.end(), is_before))
            std::stable_sort(entries.begin(), entries.end(), is_before);
        return;
    }
    for (std::size_t i = 1; i < entries.size(); ++i) {
        const Entry entry = entries[i];
        std::size_t place = i;
        for (; place > 0 && entry.key < entries[place - 1].key; --place) entries[place] = entries[place - 1];
        entries[place] = entry;
    }
}

}  // namespace

Grouped group_objects(const Places& places) {
    ByImage found = by_image(places);
    Grouped grouped;
    grouped.rows.resize(found.rows.size());
    grouped.labels.resize(found.rows.size());
    LabelSorter sorter(static_cast<std::size_t>(places.labels));
    for (std::int32_t image = 0; image < places.images; ++image) {
        const auto first = static_cast<std::size_t>(found.images[image]);
        const auto count = static_cast<std::size_t>(found.images[image + 1]) - first;
        sorter.sort(std::span(found.rows).subspan(first, count), places.label, &grouped.rows[first]);
        std::size_t slot = first;
        for (const auto& cell : sorter.cells)
            for (std::int32_t i = 0; i < cell.count; ++i) grouped.labels[slot++] = cell.label;
    }
    grouped.images = std::move(found.images);
    return grouped;
}

Ordered order_predictions(const Places& places, std::span<const double> confidence, std::int32_t most,
                          unsigned threads) {
    if (confidence.size() != places.size())
        throw std::invalid_argument("predictions: expected a confidence each, found " +
                                    std::to_string(confidence.size()) + " for " + std::to_string(places.size()));
    ByImage found = by_image(places);
    Ordered ordered;
    auto& cells = ordered.cells;
    cells.rows.resize(found.rows.size());
    cells.labels.resize(found.rows.size());
    ordered.ranks.resize(found.rows.size());
    // Image by image, so that each class meets its predictions in the order of images: a stable sort by confidence then
    // leaves equal ones in that order.
    Array<Entry> entries(found.rows.size());
    Array<std::int64_t> next(found.labels.begin(), found.labels.end() - 1);
    LabelSorter sorter(static_cast<std::size_t>(places.labels));
    std::vector<std::int32_t> rows;
    std::vector<Entry> cell_entries;
    std::size_t slot = 0;
    for (std::int32_t image = 0; image < places.images; ++image) {
        const auto first = static_cast<std::size_t>(found.images[image]);
        const auto count = static_cast<std::size_t>(found.images[image + 1]) - first;
        found.images[image] = static_cast<std::int64_t>(slot);
        rows.resize(count);
        sorter.sort(std::span(found.rows).subspan(first, count), places.label, rows.data());
        const std::int32_t* at = rows.data();
        for (const auto& [label, size] : sorter.cells) {
            cell_entries.clear();
            for (const std::int32_t row : std::span(at, static_cast<std::size_t>(size)))
                cell_entries.push_back({falling_key(confidence[row]), row});
            sort_cell(cell_entries);
            for (std::int32_t rank = 0; rank < std::min(size, most); ++rank, ++slot) {
                cells.rows[slot] = cell_entries[rank].what;
                cells.labels[slot] = label;
                ordered.ranks[slot] = rank;
                entries[next[label]++] = {cell_entries[rank].key, static_cast<std::int32_t>(slot)};
            }
            at += size;
        }
    }
    found.images[places.images] = static_cast<std::int64_t>(slot);
    cells.images = std::move(found.images);
    cells.rows.resize(slot);
    cells.labels.resize(slot);
    ordered.ranks.resize(slot);

    // Each class has its entries from its old offset on; those beyond the limit left room behind them.
    ordered.label_offsets.resize(found.labels.size());
    ordered.label_offsets[0] = 0;
    for (std::int32_t label = 0; label < places.labels; ++label)
        ordered.label_offsets[label + 1] = ordered.label_offsets[label] + next[label] - found.labels[label];
    ordered.by_label.resize(slot);
    // A thread takes a stretch of classes, so that the memory it sorts in is used again.
    const auto labels = static_cast<std::size_t>(places.labels);
    const std::size_t pieces = threads > 1 ? std::min<std::size_t>(labels, std::size_t{8} * threads) : 1;
    in_parallel(pieces, threads, [&](std::size_t piece) {
        Array<Entry> spare;
        for (std::size_t label = labels * piece / pieces; label < labels * (piece + 1) / pieces; ++label) {
            const auto count = static_cast<std::size_t>(next[label] - found.labels[label]);
            const auto mine = std::span(entries).subspan(static_cast<std::size_t>(found.labels[label]), count);
            sort_by_key(mine, spare);
            std::int32_t* out = ordered.by_label.data() + ordered.label_offsets[label];
            for (const Entry& entry : mine) *out++ = entry.what;
        }
    });
    return ordered;
}

}  // namespace verite
