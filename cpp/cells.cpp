#include "cells.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

#include "parallel.hpp"

namespace verite {
namespace {

bool is_left_out(const Places& places, std::size_t row) { return (places.image[row] | places.label[row]) < 0; }

// How many objects each image and each class has, as offsets. Objects out of range are refused here.
struct Counts {
    Array<std::int64_t> images, labels;
};

Counts count(const Places& places) {
    if (places.label.size() != places.size())
        throw std::invalid_argument("places: expected as many labels as images, found " +
                                    std::to_string(places.label.size()) + " and " + std::to_string(places.size()));
    if (places.images < 0 || places.labels < 0) throw std::invalid_argument("places: a negative number of images");
    if (places.size() > INT32_MAX) throw std::invalid_argument("places: expected at most 2,147,483,647 objects");
    Counts counts{Array<std::int64_t>(static_cast<std::size_t>(places.images) + 1, 0),
                  Array<std::int64_t>(static_cast<std::size_t>(places.labels) + 1, 0)};
    for (std::size_t row = 0; row < places.size(); ++row) {
        const std::int32_t image = places.image[row], label = places.label[row];
        if ((image | label) < 0) continue;
        if (image >= places.images || label >= places.labels)
            throw std::invalid_argument("places: object " + std::to_string(row) + " is out of range");
        ++counts.images[static_cast<std::size_t>(image) + 1];
        ++counts.labels[static_cast<std::size_t>(label) + 1];
    }
    std::partial_sum(counts.images.begin(), counts.images.end(), counts.images.begin());
    std::partial_sum(counts.labels.begin(), counts.labels.end(), counts.labels.begin());
    return counts;
}

// A number that rises where the confidence falls; equal confidences have equal keys.
std::uint64_t falling_key(double confidence) {
    if (std::isnan(confidence)) return UINT64_MAX;
    const auto bits = std::bit_cast<std::uint64_t>(confidence + 0.0);  // -0 becomes 0
    return bits >> 63 ? bits : ~bits & (UINT64_MAX >> 1);
}

struct Entry {
    std::uint64_t key;
    std::int32_t row, image;
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
void sort_by_key(std::span<Entry> entries, std::span<Entry> spare) {
    if (entries.size() < 256) return std::stable_sort(entries.begin(), entries.end(), is_before);
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
    for (const Entry& entry : spare) entries[highs[digit(entry.key, high)]++] = entry;
    if (low > 0) sort_rest(entries, low);
}

// All entries, class by class; within a class by rank of the image, then as given.
Array<Entry> entries_by_label(const Places& places, std::span<const double> confidence,
                              std::span<const std::int64_t> image_offsets,
                              std::span<const std::int64_t> label_offsets) {
    Array<std::int64_t> next(image_offsets.begin(), image_offsets.end() - 1);
    Array<std::int32_t> by_image(static_cast<std::size_t>(image_offsets.back()));
    for (std::size_t row = 0; row < places.size(); ++row)
        if (!is_left_out(places, row)) by_image[next[places.image[row]]++] = static_cast<std::int32_t>(row);
    next.assign(label_offsets.begin(), label_offsets.end() - 1);
    Array<Entry> entries(by_image.size());
    for (const std::int32_t row : by_image)
        entries[next[places.label[row]]++] = {falling_key(confidence[row]), row, places.image[row]};
    return entries;
}

// The number of predictions each image keeps, as offsets, where at most `most` of a cell are kept.
Array<std::int64_t> count_kept(const Places& places, std::span<const Entry> entries,
                               std::span<const std::int64_t> label_offsets, std::int32_t most,
                               std::span<std::uint8_t> is_kept) {
    struct Cursor {
        std::int32_t label, rank;
    };
    Array<Cursor> cursors(places.images, Cursor{-1, 0});
    Array<std::int64_t> images(static_cast<std::size_t>(places.images) + 1, 0);
    for (std::int32_t label = 0; label < places.labels; ++label) {
        for (std::int64_t i = label_offsets[label]; i < label_offsets[label + 1]; ++i) {
            Cursor& cursor = cursors[entries[i].image];
            cursor.rank = cursor.label == label ? cursor.rank + 1 : 0;
            cursor.label = label;
            is_kept[i] = cursor.rank < most;
            images[static_cast<std::size_t>(entries[i].image) + 1] += is_kept[i];
        }
    }
    std::partial_sum(images.begin(), images.end(), images.begin());
    return images;
}

// Slots for entries in the order of their class and confidence. Walking class by class, each cell meets its predictions
// by falling confidence, so the next free slot of the image is theirs. `is_kept` is empty where all are.
void lay_out(std::span<const Entry> entries, std::span<const std::uint8_t> is_kept, Ordered& ordered) {
    auto& cells = ordered.cells;
    const auto slots = static_cast<std::size_t>(cells.images.back());
    cells.rows.resize(slots);
    ordered.by_label.resize(slots);
    Array<std::int64_t> next(cells.images.begin(), cells.images.end() - 1);
    std::size_t at = 0, i = 0;
    for (auto& offset : ordered.label_offsets) {
        const auto last = static_cast<std::size_t>(offset);
        for (; i < last; ++i) {
            if (!is_kept.empty() && !is_kept[i]) continue;
            const std::int64_t slot = next[entries[i].image]++;
            cells.rows[slot] = entries[i].row;
            ordered.by_label[at++] = static_cast<std::int32_t>(slot);
        }
        offset = static_cast<std::int64_t>(at);
    }
}

void rank_slots(const Places& places, Ordered& ordered) {
    auto& cells = ordered.cells;
    cells.labels.resize(cells.rows.size());
    ordered.ranks.resize(cells.rows.size());
    for (std::int32_t image = 0; image < places.images; ++image) {
        std::int32_t label = -1, rank = 0;
        for (std::int64_t slot = cells.images[image]; slot < cells.images[image + 1]; ++slot) {
            const std::int32_t mine = places.label[cells.rows[slot]];
            rank = mine == label ? rank + 1 : 0;
            cells.labels[slot] = label = mine;
            ordered.ranks[slot] = rank;
        }
    }
}

}  // namespace

Grouped group_objects(const Places& places) {
    auto [images, labels] = count(places);
    Array<std::int32_t> by_label(static_cast<std::size_t>(labels.back()));
    for (std::size_t row = 0; row < places.size(); ++row)
        if (!is_left_out(places, row)) by_label[labels[places.label[row]]++] = static_cast<std::int32_t>(row);
    Grouped grouped;
    grouped.rows.resize(by_label.size());
    grouped.labels.resize(by_label.size());
    Array<std::int64_t> next(images.begin(), images.end() - 1);
    for (const std::int32_t row : by_label) {
        const std::int64_t slot = next[places.image[row]]++;
        grouped.rows[slot] = row;
        grouped.labels[slot] = places.label[row];
    }
    grouped.images = std::move(images);
    return grouped;
}

Ordered order_predictions(const Places& places, std::span<const double> confidence, std::int32_t most,
                          unsigned threads) {
    if (confidence.size() != places.size())
        throw std::invalid_argument("predictions: expected a confidence each, found " +
                                    std::to_string(confidence.size()) + " for " + std::to_string(places.size()));
    auto [images, labels] = count(places);
    Array<Entry> entries = entries_by_label(places, confidence, images, labels);
    {
        Array<Entry> spare(entries.size());
        in_parallel(static_cast<std::size_t>(places.labels), threads, [&](std::size_t label) {
            const std::size_t first = labels[label], size = labels[label + 1] - first;
            sort_by_key(std::span(entries).subspan(first, size), std::span(spare).subspan(first, size));
        });
    }
    std::int64_t fullest = 0;
    for (std::int32_t image = 0; image < places.images; ++image)
        fullest = std::max(fullest, images[image + 1] - images[image]);
    Ordered ordered;
    Array<std::uint8_t> is_kept(fullest > most ? entries.size() : 0);
    if (fullest > most) images = count_kept(places, entries, labels, most, is_kept);
    ordered.cells.images = std::move(images);
    ordered.label_offsets = std::move(labels);
    lay_out(entries, is_kept, ordered);
    rank_slots(places, ordered);
    return ordered;
}

}  // namespace verite
