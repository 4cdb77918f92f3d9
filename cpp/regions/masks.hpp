// Run-length masks as COCO writes them: column by column, the first run counts background.
#pragma once

#include <string>
#include <vector>

#include "columns/views.hpp"
#include "regions/pixels.hpp"

namespace verite {

// The runs of one mask from COCO's text: six bits a character, differences to the run before the last
// from the fourth run on. Appended to `counts`. Throws std::invalid_argument where the text is broken, a run is
// negative or longer than the mask, or the runs do not add up to `pixels`, unless they may end early. Returns their
// sum.
enum class Ending { whole, early };
std::uint64_t decode_runs(std::span<const char> text, std::uint64_t pixels, std::vector<std::uint32_t>& counts,
                          Ending ending = Ending::whole);

// Lets background follow the runs from `first` on, so that they cover `rest` pixels more.
void complete_runs(std::uint64_t rest, std::size_t first, std::vector<std::uint32_t>& counts);

// The same text from runs, appended to `text`.
void encode_runs(std::span<const std::uint32_t> counts, std::string& text);

// RLEMasks from stretches told column by column, downwards; stretches that touch become one.
class RunWriter {
  public:
    RunWriter(Size size, std::vector<std::uint32_t>& counts) : size_(size), counts_(counts), start_(counts.size()) {}

    void tell(std::int64_t x, std::int64_t y1, std::int64_t y2) {
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

// A ring may cross many columns many times; this is where it stops being a drawing.
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

// How many pixels a mask has, and how many two masks share.
std::uint64_t run_area(std::span<const std::uint32_t> counts);
std::uint64_t run_overlap(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b);

// Do the runs of every object add up to the pixels of its image? The first that do not, or size().
std::size_t first_unsound(const RLEMasks& runs);

}  // namespace verite
