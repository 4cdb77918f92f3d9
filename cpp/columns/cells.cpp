#include "columns/cells.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "columns/parallel.hpp"

namespace verite {
namespace {

// The rows of objects image by image, and offsets of images and classes. Objects out of range are refused here.
struct ByImage {
    Array<std::int32_t> rows;
    Array<std::int64_t> images, labels;
};

ByImage by_image(const ObjectPlaces& places) {
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

// Something to be sorted by confidence: a row or an index.
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

// Stable. Two radix passes over the highest bits in which keys differ separate most confidences.
void sort_by_key(std::span<Entry> entries, Array<Entry>& scratch) {
    if (entries.size() < 256) return std::stable_sort(entries.begin(), entries.end(), is_before);
    if (scratch.size() < entries.size()) scratch.resize(entries.size());
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
    for (const Entry& entry : entries) scratch[lows[digit(entry.key, low)]++] = entry;
    for (const Entry& entry : std::span(scratch).first(entries.size()))
        entries[highs[digit(entry.key, high)]++] = entry;
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

// The objects that are chosen, as if there were no others: what is at places[i] is object rows[i].
struct Chosen {
    explicit Chosen(const ObjectPlaces& places) : places(places) {
        if (places.rows.empty()) return;
        image.resize(places.size());
        label.resize(places.size());
        for (std::size_t i = 0; i < places.size(); ++i) {
            const auto row = static_cast<std::size_t>(places.rows[i]);
            if (row >= places.image.size() || row >= places.label.size())
                throw std::invalid_argument("places: row " + std::to_string(row) + " is no object");
            image[i] = places.image[row];
            label[i] = places.label[row];
        }
        this->places.image = image;
        this->places.label = label;
        this->places.rows = {};
        rows = places.rows;
    }
    Chosen(const Chosen&) = delete;

    void restore(Array<std::int32_t>& chosen) const {
        if (!rows.empty())
            for (std::int32_t& row : chosen) row = rows[static_cast<std::size_t>(row)];
    }

    ObjectPlaces places;
    Array<std::int32_t> image, label;
    std::span<const std::int32_t> rows;
};

}  // namespace

std::uint64_t falling_key(double confidence) {
    if (std::isnan(confidence)) return UINT64_MAX;
    const auto bits = std::bit_cast<std::uint64_t>(confidence + 0.0);  // -0 becomes 0
    return bits >> 63 ? bits : ~bits & (UINT64_MAX >> 1);
}

std::vector<std::size_t> cut_images(std::span<const std::int64_t> images, std::size_t pieces) {
    std::vector<std::size_t> cuts{0};
    for (std::size_t i = 1; i < pieces; ++i) {
        const auto share = static_cast<std::int64_t>(static_cast<std::size_t>(images.back()) * i / pieces);
        const auto at = std::lower_bound(images.begin(), images.end(), share) - images.begin();
        cuts.push_back(std::max(cuts.back(), static_cast<std::size_t>(at)));
    }
    cuts.push_back(images.size() - 1);
    return cuts;
}

GroupedObjects group_objects(const ObjectPlaces& given) {
    const Chosen chosen(given);
    const ObjectPlaces& places = chosen.places;
    ByImage found = by_image(places);
    GroupedObjects grouped;
    grouped.rows.resize(found.rows.size());
    grouped.labels.resize(found.rows.size());
    LabelSorter sorter(static_cast<std::size_t>(places.labels));
    for (std::int32_t image = 0; image < places.images; ++image) {
        const auto first = static_cast<std::size_t>(found.images[image]);
        const auto count = static_cast<std::size_t>(found.images[image + 1]) - first;
        sorter.sort(std::span(found.rows).subspan(first, count), places.label, grouped.rows.data() + first);
        std::size_t index = first;
        for (const auto& cell : sorter.cells)
            for (std::int32_t i = 0; i < cell.count; ++i) grouped.labels[index++] = cell.label;
    }
    grouped.images = std::move(found.images);
    chosen.restore(grouped.rows);
    return grouped;
}

namespace {

// Images in pieces with about as many objects each: piece i has the images cuts[i] .. cuts[i + 1].
struct Pieces {
    std::vector<std::size_t> cuts;
    std::vector<std::size_t> ends;  // the index behind the last one of each piece
    std::vector<Array<std::int64_t>>
        of_labels;  // how many indices of each class a piece has; later, where its next goes

    Pieces(std::span<const std::int64_t> images, std::size_t labels, unsigned threads)
        : cuts(cut_images(images, threads > 1 ? std::size_t{4} * threads : 1)), ends(size()), of_labels(size()) {
        for (auto& counts : of_labels) counts.assign(labels, 0);
    }

    std::size_t size() const { return cuts.size() - 1; }
};

// Fills the indices of one piece, cell by cell by descending confidence. There is room for all of its predictions.
void order_piece(const ObjectPlaces& places, std::span<const double> confidence, std::int32_t most,
                 const ByImage& found, std::size_t piece, Pieces& pieces, OrderedPredictions& ordered) {
    auto& [rows, labels, images] = ordered.cells;
    LabelSorter sorter(static_cast<std::size_t>(places.labels));
    std::vector<std::int32_t> sorted;
    std::vector<Entry> entries;
    auto index = static_cast<std::size_t>(found.images[pieces.cuts[piece]]);
    for (std::size_t image = pieces.cuts[piece]; image < pieces.cuts[piece + 1]; ++image) {
        const auto first = static_cast<std::size_t>(found.images[image]);
        const auto count = static_cast<std::size_t>(found.images[image + 1]) - first;
        images[image] = static_cast<std::int64_t>(index);
        sorted.resize(count);
        sorter.sort(std::span(found.rows).subspan(first, count), places.label, sorted.data());
        const std::int32_t* at = sorted.data();
        for (const auto& [label, size] : sorter.cells) {
            entries.clear();
            for (const std::int32_t row : std::span(at, static_cast<std::size_t>(size)))
                entries.push_back({falling_key(confidence[row]), row});
            sort_cell(entries);
            const std::int32_t kept = std::min(size, most);
            for (std::int32_t rank = 0; rank < kept; ++rank, ++index) {
                rows[index] = entries[rank].what;
                labels[index] = label;
                ordered.ranks[index] = rank;
            }
            pieces.of_labels[piece][label] += kept;
            at += size;
        }
    }
    pieces.ends[piece] = index;
}

// Slots of equal keys in the order of their rows.
void sort_ties(std::span<Entry> entries, std::span<const std::int32_t> rows) {
    for (std::size_t first = 0, last; first < entries.size(); first = last) {
        for (last = first + 1; last < entries.size() && entries[last].key == entries[first].key;) ++last;
        if (last - first > 1)
            std::ranges::sort(entries.subspan(first, last - first), {},
                              [&](const Entry& entry) { return rows[static_cast<std::size_t>(entry.what)]; });
    }
}

// Predictions beyond the limit left room at the end of their piece: moves the pieces together.
void close_gaps(const ByImage& found, Pieces& pieces, OrderedPredictions& ordered) {
    auto& [rows, labels, images] = ordered.cells;
    std::size_t end = pieces.ends[0];
    for (std::size_t piece = 1; piece < pieces.size(); ++piece) {
        const auto first = static_cast<std::size_t>(found.images[pieces.cuts[piece]]);
        const std::size_t last = pieces.ends[piece], gap = first - end;
        end = pieces.ends[piece] = last - gap;
        if (gap == 0) continue;
        for (auto* column : {&rows, &labels, &ordered.ranks})
            std::copy(column->begin() + first, column->begin() + last, column->begin() + (first - gap));
        for (std::size_t image = pieces.cuts[piece]; image < pieces.cuts[piece + 1]; ++image)
            images[image] -= static_cast<std::int64_t>(gap);
    }
    for (auto* column : {&rows, &labels, &ordered.ranks}) column->resize(end);
    images.back() = static_cast<std::int64_t>(end);
}

}  // namespace

OrderedPredictions order_predictions(const ObjectPlaces& given, std::span<const double> confidences, std::int32_t most,
                                     TieOrder ties, unsigned threads) {
    if (confidences.size() != given.image.size())
        throw std::invalid_argument("predictions: expected a confidence each, found " +
                                    std::to_string(confidences.size()) + " for " + std::to_string(given.image.size()));
    const Chosen chosen(given);
    const ObjectPlaces& places = chosen.places;
    Array<double> own(given.rows.size());
    std::ranges::transform(given.rows, own.begin(),
                           [&](std::int32_t row) { return confidences[static_cast<std::size_t>(row)]; });
    const std::span<const double> confidence = own.empty() ? confidences : std::span<const double>(own);
    const ByImage found = by_image(places);
    const auto label_count = static_cast<std::size_t>(places.labels);
    OrderedPredictions ordered;
    for (auto* column : {&ordered.cells.rows, &ordered.cells.labels, &ordered.ranks}) column->resize(found.rows.size());
    ordered.cells.images.resize(found.images.size());
    Pieces pieces(found.images, label_count, threads);
    in_parallel(pieces.size(), threads,
                [&](std::size_t piece) { order_piece(places, confidence, most, found, piece, pieces, ordered); });
    close_gaps(found, pieces, ordered);

    ordered.label_offsets.resize(label_count + 1);
    std::int64_t next = 0;
    for (std::size_t label = 0; label < label_count; ++label) {
        ordered.label_offsets[label] = next;
        for (auto& counts : pieces.of_labels) next += std::exchange(counts[label], next);
    }
    ordered.label_offsets[label_count] = next;

    // Piece by piece, so that each class meets its predictions in the order of images: a stable sort by confidence then
    // leaves equal ones in that order.
    const auto& [rows, labels, images] = ordered.cells;
    Array<Entry> entries(rows.size());
    in_parallel(pieces.size(), threads, [&](std::size_t piece) {
        auto& places_of_labels = pieces.of_labels[piece];
        for (std::size_t index = piece > 0 ? pieces.ends[piece - 1] : 0; index < pieces.ends[piece]; ++index)
            entries[places_of_labels[labels[index]]++] = {falling_key(confidence[rows[index]]),
                                                          static_cast<std::int32_t>(index)};
    });
    ordered.by_label.resize(rows.size());
    // A thread takes a stretch of classes, so that the memory it sorts in is used again.
    const std::size_t stretches = threads > 1 ? std::min<std::size_t>(label_count, std::size_t{8} * threads) : 1;
    in_parallel(stretches, threads, [&](std::size_t stretch) {
        Array<Entry> scratch;
        for (std::size_t label = label_count * stretch / stretches; label < label_count * (stretch + 1) / stretches;
             ++label) {
            const auto first = static_cast<std::size_t>(ordered.label_offsets[label]);
            const auto mine =
                std::span(entries).subspan(first, static_cast<std::size_t>(ordered.label_offsets[label + 1]) - first);
            sort_by_key(mine, scratch);
            if (ties == TieOrder::row) sort_ties(mine, rows);
            std::int32_t* out = ordered.by_label.data() + first;
            for (const Entry& entry : mine) *out++ = entry.what;
        }
    });
    chosen.restore(ordered.cells.rows);
    return ordered;
}

}  // namespace verite
