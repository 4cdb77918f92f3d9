// Mask IoU of one prediction with the masks of its group. Each mask is rasterised once, when it is first needed; most
// pairs are settled by areas and bounding boxes.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "regions/polygons.hpp"
#include "similarity/similarity.hpp"

namespace verite {

// The remainder of a division by a number that stays the same, without dividing (Lemire, Kaser and Kurz, Faster
// Remainder by Direct Computation, 2019).
class Remainder {
  public:
    explicit Remainder(std::uint32_t divisor) : divisor_(divisor), inverse_(UINT64_MAX / divisor + 1) {}

    std::uint32_t operator()(std::uint32_t number) const {
#if defined(__SIZEOF_INT128__)
        __extension__ using Whole = unsigned __int128;
        return static_cast<std::uint32_t>(static_cast<Whole>(inverse_ * number) * divisor_ >> 64);
#else
        return number % divisor_;
#endif
    }

  private:
    std::uint32_t divisor_;
    std::uint64_t inverse_;
};

// The pixels of one mask, as given or drawn into memory that is used again.
class Mask {
  public:
    Size size{};
    std::uint64_t area = 0;
    Bounds bounds;
    bool is_odd = false;  // bounds or runs that only the reference's own loop gets right

    // What is known of object i before it is drawn: where it must lie. A mask that is given is read at once.
    void announce(const Outlines& outlines, std::size_t i, RingDrawer& drawer) {
        const bool has_rings = !outlines.objects.empty() && outlines.objects[i] < outlines.objects[i + 1];
        if (!has_rings || (outlines.runs.size() && !outlines.runs.counts[i].empty())) return read(outlines, i, drawer);
        is_read = false;
        double low[2] = {1e18, 1e18}, high[2] = {-1e18, -1e18};
        for (std::int64_t ring = outlines.objects[i]; ring < outlines.objects[i + 1]; ++ring) {
            const auto xy = outlines.rings[static_cast<std::size_t>(ring)];
            for (std::size_t k = 0; k + 1 < xy.size(); k += 2)
                for (std::size_t axis = 0; axis < 2; ++axis) {
                    low[axis] = std::min(low[axis], xy[k + axis]);
                    high[axis] = std::max(high[axis], xy[k + axis]);
                }
        }
        // A corner is rounded by less than a pixel.
        for (std::size_t axis = 0; axis < 2; ++axis) outer[axis] = low[axis] - 1, outer[axis + 2] = high[axis] + 1;
    }

    // An upper bound of the intersection in pixels with `other`, which is decoded; this one need not be.
    double most_shared_with(const Mask& other) const {
        const double width = std::min(outer[2], static_cast<double>(other.bounds.right)) -
                             std::max(outer[0], static_cast<double>(other.bounds.left));
        const double height = std::min(outer[3], static_cast<double>(other.bounds.bottom)) -
                              std::max(outer[1], static_cast<double>(other.bounds.top));
        return std::max(width, 0.) * std::max(height, 0.);
    }

    bool is_read = false;
    double outer[4];  // left, top, right, bottom; until the mask is read

    void read(const Outlines& outlines, std::size_t i, RingDrawer& drawer) {
        is_read = true;
        is_odd = false;
        counts_ = outlines.runs.size() ? outlines.runs.counts[i] : std::span<const std::uint32_t>{};
        if (!counts_.empty()) {
            size = outlines.runs.size_of(i);
            return read_runs();
        }
        size = drawing_size(outlines, i);
        drawn_.clear();
        std::array<double, 8> corners;
        if (const auto ring = only_ring(outlines, i, corners); !ring.empty()) {
            drawer.find_ends(ring, size, ends_);
            if (ends_.size() % 2) ends_.push_back(static_cast<std::uint32_t>(size.pixels()));
            return measure();
        }
        draw_outline(outlines, i, drawer, drawn_);
        counts_ = drawn_;
        read_runs();
    }

    std::span<const std::uint32_t> counts() {
        if (counts_.empty()) {
            append_runs(ends_, size, drawn_);
            counts_ = drawn_;
        }
        return counts_;
    }

    // Its runs are walked in two halves, step by step in turn: a step waits for the one before it, not for its
    // neighbour. Both masks must have pixels.
    std::uint32_t shared_with(const Mask& other) const {
        const std::uint32_t *mine = ends_.data(), *mine_end = mine + ends_.size();
        const std::uint32_t *theirs = other.ends_.data(), *theirs_end = theirs + other.ends_.size();
        const std::uint32_t* const half = mine + ends_.size() / 4 * 2;
        // The first of the others that ends behind the start of the second half.
        std::size_t low = 0, high = other.ends_.size() / 2;
        while (low < high) {
            const std::size_t middle = (low + high) / 2;
            if (theirs[2 * middle + 1] <= *half)
                low = middle + 1;
            else
                high = middle;
        }
        Walk first{mine, half, theirs, theirs_end}, second{half, mine_end, theirs + 2 * low, theirs_end};
        while (first.goes_on() && second.goes_on()) first.step(), second.step();
        while (first.goes_on()) first.step();
        while (second.goes_on()) second.step();
        return first.shared + second.shared;
    }

  private:
    // Two lists of runs side by side.
    struct Walk {
        const std::uint32_t *at, *end, *with, *with_end;
        std::uint32_t shared = 0;

        bool goes_on() const { return at < end && with < with_end; }

        // No branch: which run ends first is unpredictable.
        void step() {
            const std::uint32_t from = at[0], to = at[1], with_from = with[0], with_to = with[1];
            const std::uint32_t start = std::max(from, with_from);
            shared += std::max(start, std::min(to, with_to)) - start;
            const std::ptrdiff_t is_first = to <= with_to;
            at += 2 * is_first;
            with += 2 - 2 * is_first;
        }
    };

    // Where runs of pixels start and end. Runs without a pixel, other than a first one of background, are irregular.
    void read_runs() {
        const std::size_t paired = counts_.size() & ~std::size_t{1};
        ends_.resize(paired);
        const std::uint32_t* const run = counts_.data();
        std::uint32_t* const end = ends_.data();
        // Less 1, an empty run has its highest bit set. So has one of 2^31 pixels: it is treated as irregular, which
        // only takes longer.
        std::uint32_t at = 0, less = 0;
        for (std::size_t i = 0; i < paired; i += 2) {
            const std::uint32_t gap = run[i] + (i == 0), length = run[i + 1];
            less |= (gap - 1) | (length - 1);
            end[i] = at += gap - (i == 0);
            end[i + 1] = at += length;
        }
        measure();
        is_odd = less >> 31 || (counts_.size() > paired && paired > 0 && counts_.back() == 0) ||
                 (size.height <= 0 && paired > 0);
        if (is_odd) bounds = {};
    }

    // One pass over what `ends_` holds: how many pixels there are, and what bounds them.
    void measure() {
        area = 0;
        bounds = {};
        if (ends_.empty() || size.height <= 0) return;
        const auto height = static_cast<std::uint32_t>(size.height);
        const Remainder row_of(height);
        std::uint32_t top = height;
        std::uint64_t bottom = 0;
        const std::uint32_t *at = ends_.data(), *const end = at + ends_.size();
        for (; at < end; at += 2) {
            const std::uint32_t row = row_of(at[0]);
            const std::uint64_t length = at[1] - at[0];
            area += length;
            top = std::min(top, row);
            bottom = std::max(bottom, row + length);
        }
        if (bottom > height)
            top = 0, bottom = height;  // a run over the end of a column is on its last row and the first
        bounds = {ends_.front() / height, top, (ends_.back() - 1) / height + 1, static_cast<std::int64_t>(bottom)};
    }

    std::span<const std::uint32_t> counts_;  // as given or rasterised; empty until needed where only the ends are known
    std::vector<std::uint32_t> drawn_;
    Array<std::uint32_t> ends_;  // run i lies between ends_[2 i] and ends_[2 i + 1]
};

class MaskSimilarity {
  public:
    explicit MaskSimilarity(const Comparison& comparison)
        : truths_(comparison.truth.outlines),
          crowd_(comparison.truth.crowd),
          preds_(comparison.pred.outlines),
          floor_(comparison.floor) {}

    void set_truths(std::span<const std::int32_t> rows) {
        rows_ = rows;
        if (others_.size() < rows.size()) others_.resize(rows.size());
        for (std::size_t t = 0; t < rows.size(); ++t) others_[t].announce(truths_, rows[t], drawer_);
    }

    void set_pred(std::int32_t row) { mine_.read(preds_, row, drawer_); }

    template <class Visit>
    void each_candidate(Visit&& visit) const {
        for (std::size_t t = 0; t < rows_.size(); ++t) visit(t);
    }

    double value(std::size_t t) {
        Mask& other = others_[t];
        if (!other.is_read) {
            // The union is no smaller than the prediction. What does not compare is drawn.
            const double most = other.most_shared_with(mine_) / static_cast<double>(mine_.area);
            if (!mine_.is_odd && most < floor_) return most;
            other.read(truths_, rows_[t], drawer_);
        }
        const bool is_crowd = this->is_crowd(t);
        if (mine_.is_odd || other.is_odd)
            return mask_iou(mine_.counts(), mine_.size, other.counts(), other.size, is_crowd);
        const std::int64_t width =
            std::min(mine_.bounds.right, other.bounds.right) - std::max(mine_.bounds.left, other.bounds.left);
        const std::int64_t height =
            std::min(mine_.bounds.bottom, other.bounds.bottom) - std::max(mine_.bounds.top, other.bounds.top);
        if (width <= 0 || height <= 0) return 0;
        if (mine_.size != other.size) return -1;
        const auto ratio = [&](std::uint64_t shared) {
            const std::uint64_t all = is_crowd ? mine_.area : mine_.area + other.area - shared;
            return static_cast<double>(shared) / static_cast<double>(shared ? all : 1);
        };
        // No more pixels can be shared than either mask has, or than their bounds have in common.
        const std::uint64_t most = std::min({mine_.area, other.area, static_cast<std::uint64_t>(width * height)});
        if (const double bound = ratio(most); bound < floor_) return bound;
        return ratio(mine_.shared_with(other));
    }

    bool is_crowd(std::size_t t) const { return !crowd_.empty() && crowd_[static_cast<std::size_t>(rows_[t])]; }

    // The masks of the pair that was compared last.
    Mask& mine() { return mine_; }
    Mask& other(std::size_t t) { return others_[t]; }

  private:
    const Outlines& truths_;
    std::span<const std::uint8_t> crowd_;
    const Outlines& preds_;
    double floor_;
    std::span<const std::int32_t> rows_;
    RingDrawer drawer_;
    Mask mine_;
    std::vector<Mask> others_;
};

inline void outline_areas(const Objects& objects, unsigned threads, std::span<double> out) {
    draw_areas(objects.outlines, threads, out);
}

}  // namespace verite
