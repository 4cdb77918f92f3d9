// Run-length encoded masks (COCO RLE): compressed text, areas and intersections.
#pragma once

#include <string>
#include <vector>

#include "columns/views.hpp"
#include "regions/pixels.hpp"

namespace verite {

// Decodes COCO's compressed text: six bits per character, from the fourth run on differences to the run before the
// last. Appends to `counts`. Throws std::invalid_argument where the text is broken, a run is
// negative or longer than the mask, or the runs do not add up to `pixels`, unless they may end early. Returns their
// sum.
enum class Ending { whole, early };
std::uint64_t decode_runs(std::span<const char> text, std::uint64_t pixels, std::vector<std::uint32_t>& counts,
                          Ending ending = Ending::whole);

// Appends background to the runs from `first` on, so that they cover `rest` pixels more.
void complete_runs(std::uint64_t rest, std::size_t first, std::vector<std::uint32_t>& counts);

// Encodes runs to the same text, appended to `text`.
void encode_runs(std::span<const std::uint32_t> counts, std::string& text);

// Writes runs from segments of columns, column by column, downwards; segments that touch become one.
class RunWriter {
  public:
    RunWriter(Size size, std::vector<std::uint32_t>& counts) : size_(size), counts_(counts), start_(counts.size()) {}

    void add(std::int64_t x, std::int64_t y1, std::int64_t y2) {
        if (y1 >= y2) return;
        const std::int64_t from = x * size_.height + y1, to = x * size_.height + y2;
        if (from == at_ && counts_.size() > start_) {
            counts_.back() += static_cast<std::uint32_t>(to - from);
        } else {
            counts_.push_back(static_cast<std::uint32_t>(from - at_));
            counts_.push_back(static_cast<std::uint32_t>(to - from));
        }
        at_ = to;
    }

    void close() {
        const std::int64_t rest = static_cast<std::int64_t>(size_.pixels()) - at_;
        if (rest > 0 || counts_.size() == start_) counts_.push_back(static_cast<std::uint32_t>(rest));
    }

  private:
    Size size_;
    std::vector<std::uint32_t>& counts_;
    std::size_t start_;
    std::int64_t at_ = 0;
};

// The largest number of column crossings of one polygon ring.
constexpr std::size_t most_crossings = std::size_t{1} << 28;

// The union of the masks that draw(i, runs) appends for i = first .. last, appended to `counts`; all background
// where there is none.
template <class Draw>
void unite_each(std::size_t first, std::size_t last, Size size, std::vector<std::uint32_t>& counts, Draw draw) {
    std::vector<std::uint32_t> whole, part, sum;
    for (std::size_t i = first; i < last; ++i) {
        part.clear();
        draw(i, part);
        if (i == first) {
            whole.swap(part);
        } else {
            sum.clear();
            merge_runs(whole, part, false, sum);
            whole.swap(sum);
        }
    }
    if (first == last) whole.push_back(static_cast<std::uint32_t>(size.pixels()));
    counts.insert(counts.end(), whole.begin(), whole.end());
}

// The number of pixels of a mask, and of the intersection of two.
std::uint64_t run_area(std::span<const std::uint32_t> counts);
std::uint64_t run_overlap(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b);

// The first mask whose runs do not add up to the pixels of its image, or size().
std::size_t first_unsound(const RLEMasks& runs);

}  // namespace verite
