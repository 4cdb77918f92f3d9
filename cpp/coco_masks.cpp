#include "coco_masks.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "boxes.hpp"
#include "masks.hpp"
#include "parallel.hpp"
#include "polygons.hpp"

namespace verite {
namespace {

// Pieces of about this many objects are handed to threads.
constexpr std::size_t piece_size = 512;

// Half-open ranges of columns and rows; empty where there is no pixel.
struct Bounds {
    std::int64_t left = 0, top = 0, right = 0, bottom = 0;
};

Bounds bounds_of(std::span<const std::uint32_t> counts, std::int64_t height) {
    if (height <= 0) return {};
    Bounds bounds{INT64_MAX, INT64_MAX, 0, 0};
    std::int64_t at = 0;
    // The column of a pixel is found by going on from the last one: runs are short, and dividing is slow.
    std::int64_t column = 0, column_end = height;
    bool is_any = false;
    for (std::size_t i = 0; i + 1 < counts.size(); i += 2) {
        const std::int64_t first = at + counts[i], last = first + counts[i + 1];
        at = last;
        if (first == last) continue;
        is_any = true;
        if (first >= column_end + 4 * height) column = first / height, column_end = (column + 1) * height;
        while (first >= column_end) ++column, column_end += height;
        bounds.left = std::min(bounds.left, column);
        if (last <= column_end) {
            bounds.top = std::min(bounds.top, first - (column_end - height));
            bounds.bottom = std::max(bounds.bottom, last - (column_end - height));
        } else {  // a run over the end of a column touches the last row and the first
            bounds.top = 0;
            bounds.bottom = height;
            column = (last - 1) / height;
            column_end = (column + 1) * height;
        }
        bounds.right = std::max(bounds.right, column + 1);
    }
    return is_any ? bounds : Bounds{};
}

// Bounds as pycocotools tells them. A mask of foreground runs that are all empty has odd ones there.
void write_bounds(std::span<const std::uint32_t> counts, Size size, double* out) {
    const Bounds bounds = bounds_of(counts, size.height);
    if (bounds.right > bounds.left) {
        out[0] = static_cast<double>(bounds.left);
        out[1] = static_cast<double>(bounds.top);
        out[2] = static_cast<double>(bounds.right - bounds.left);
        out[3] = static_cast<double>(bounds.bottom - bounds.top);
    } else if (counts.size() < 2) {
        std::fill_n(out, 4, 0.0);
    } else {
        // Unsigned 0 - width + 1 there, a number near 2^32 for all but the smallest images.
        out[0] = static_cast<double>(size.width);
        out[1] = static_cast<double>(size.height);
        out[2] = static_cast<double>(static_cast<std::uint32_t>(1 - size.width));
        out[3] = static_cast<double>(static_cast<std::uint32_t>(1 - size.height));
    }
}

// The reference's own loop over two masks: shared pixels and all pixels. It stops where both have a run of no pixels at
// the same place.
struct Shared {
    std::uint32_t both = 0, either = 0;
};

Shared compare_run_by_run(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
    Shared found;
    if (a.empty() || b.empty()) return found;
    std::uint32_t left_a = a[0], left_b = b[0];
    std::size_t i = 1, j = 1;
    bool in_a = false, in_b = false;
    for (bool more = true; more;) {
        const std::uint32_t step = std::min(left_a, left_b);
        if (in_a || in_b) found.either += step;
        if (in_a && in_b) found.both += step;
        left_a -= step;
        left_b -= step;
        if (!left_a && i < a.size()) left_a = a[i++], in_a = !in_a;
        if (!left_b && j < b.size()) left_b = b[j++], in_b = !in_b;
        more = left_a || left_b;
    }
    return found;
}

void draw(const Outlines& outlines, std::size_t i, RingDrawer& drawer, std::vector<std::uint32_t>& counts) {
    const Size size = outlines.image_of(i);
    if (size.height < 0 || size.width < 0) throw std::invalid_argument("an image: a negative size");
    const std::int64_t first = outlines.objects.empty() ? 0 : outlines.objects[i];
    const std::int64_t last = outlines.objects.empty() ? 0 : outlines.objects[i + 1];
    if (first == last) {
        const double* box = &outlines.boxes[4 * i];
        const double right = box[0] + box[2], bottom = box[1] + box[3];
        const double corners[] = {box[0], box[1], box[0], bottom, right, bottom, right, box[1]};
        return drawer.draw(corners, size, counts);
    }
    if (last - first == 1) return drawer.draw(outlines.rings[first], size, counts);
    unite_each(first, last, size, counts, [&](std::size_t ring, std::vector<std::uint32_t>& drawn) {
        drawer.draw(outlines.rings[ring], size, drawn);
    });
}

// The pixels of one mask, as given or drawn into memory that is used again.
class Mask {
  public:
    std::span<const std::uint32_t> counts;
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

    // At most so many pixels of `other`, which is read, can be shared with this one, which need not be.
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
        counts = outlines.runs.size() ? outlines.runs.counts[i] : std::span<const std::uint32_t>{};
        if (counts.empty()) {
            size = outlines.image_of(i);
            drawn_.clear();
            draw(outlines, i, drawer, drawn_);
            counts = drawn_;
        } else {
            size = outlines.runs.size_of(i);
        }
        measure();
    }

    std::uint32_t shared_with(const Mask& other) const {
        std::uint32_t shared = 0;
        const std::uint32_t *at = ends_.data(), *with = other.ends_.data();
        const std::uint32_t *end = at + ends_.size() - 2, *with_end = with + other.ends_.size() - 2;
        while (at < end && with < with_end) {
            const std::uint32_t first = std::max(at[0], with[0]), last = std::min(at[1], with[1]);
            shared += last > first ? last - first : 0;
            const bool is_first = at[1] <= with[1];
            at += is_first ? 2 : 0;
            with += is_first ? 0 : 2;
        }
        return shared;
    }

  private:
    // One pass over the runs: where they end, how many pixels they have, what bounds them.
    void measure() {
        const std::size_t paired = counts.size() & ~std::size_t{1};
        // Behind the last run an endless one, so that walks need not ask where a mask ends.
        ends_.resize(paired + 2);
        ends_[paired] = ends_[paired + 1] = UINT32_MAX;
        area = 0;
        is_odd = counts.size() > 1 && paired < counts.size() && counts.back() == 0;
        bounds = {};
        const auto height = static_cast<std::uint64_t>(std::max<std::int64_t>(size.height, 0));
        if (height == 0) return void(is_odd = paired > 0);
        const std::uint32_t* const run = counts.data();
        std::uint32_t* const end = ends_.data();
        std::uint32_t at = 0;
        std::uint64_t pixels = 0, column = 0, top = height, bottom = 0;  // `column` is the first pixel of one
        bool has_empty = false;
        for (std::size_t i = 0; i < paired; i += 2) {
            const std::uint32_t first = at + run[i], last = first + run[i + 1];
            has_empty |= (run[i + 1] == 0) | ((run[i] == 0) & (i > 0));
            end[i] = first;
            end[i + 1] = at = last;
            pixels += run[i + 1];
            // The column of a pixel is found by going on from the last one: runs are short, and dividing is slow.
            if (first >= column + 4 * height) column = first / height * height;
            while (first >= column + height) column += height;
            if (last <= column + height) {
                top = std::min(top, first - column);
                bottom = std::max(bottom, last - column);
            } else {  // a run over the end of a column touches the last row and the first
                top = 0;
                bottom = height;
                column = (last - 1) / height * height;
            }
        }
        area = pixels;
        is_odd |= has_empty;
        if (paired == 0 || is_odd) return;
        bounds = {static_cast<std::int64_t>(ends_[0] / height), static_cast<std::int64_t>(top),
                  static_cast<std::int64_t>((at - 1) / height + 1), static_cast<std::int64_t>(bottom)};
    }

    std::vector<std::uint32_t> drawn_;
    std::vector<std::uint32_t> ends_;  // foreground i lies between ends_[2 i] and ends_[2 i + 1]
};

double overlap_by_reference(std::span<const std::uint32_t> pred, Size pred_size, std::span<const std::uint32_t> truth,
                            Size truth_size, bool is_crowd) {
    double mine[4], other[4];
    write_bounds(pred, pred_size, mine);
    write_bounds(truth, truth_size, other);
    if (!(coco_overlap(mine, other, is_crowd) > 0)) return 0;
    if (pred_size != truth_size) return -1;
    const auto [both, either] = compare_run_by_run(pred, truth);
    if (both == 0) return 0;
    return static_cast<double>(both) /
           static_cast<double>(is_crowd ? static_cast<std::uint32_t>(run_area(pred)) : either);
}

// Overlaps of a cell's masks. Each is drawn and looked at once, when it is first needed; most pairs are settled by
// areas and bounds.
class MaskMeasure {
  public:
    MaskMeasure(const Outlines& truths, std::span<const std::uint8_t> crowd, const Outlines& preds, double floor)
        : truths_(truths), crowd_(crowd), preds_(preds), floor_(floor) {}

    void meet(std::span<const std::int32_t> rows) {
        rows_ = rows;
        if (others_.size() < rows.size()) others_.resize(rows.size());
        for (std::size_t t = 0; t < rows.size(); ++t) others_[t].announce(truths_, rows[t], drawer_);
    }

    void start(std::int32_t row) { mine_.read(preds_, row, drawer_); }

    template <class Visit>
    void each_possible(Visit&& visit) const {
        for (std::size_t t = 0; t < rows_.size(); ++t) visit(t);
    }

    double overlap(std::size_t t) {
        Mask& other = others_[t];
        if (!other.is_read) {
            // The union is no smaller than the prediction. What does not compare is drawn.
            const double most = other.most_shared_with(mine_) / static_cast<double>(mine_.area);
            if (!mine_.is_odd && most < floor_) return most;
            other.read(truths_, rows_[t], drawer_);
        }
        const bool is_crowd = crowd_[rows_[t]];
        if (mine_.is_odd || other.is_odd)
            return overlap_by_reference(mine_.counts, mine_.size, other.counts, other.size, is_crowd);
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

}  // namespace

Masks draw_masks(const Outlines& outlines, unsigned threads) {
    const std::size_t objects = outlines.size();
    const std::size_t pieces = threads > 1 ? objects / piece_size + 1 : 1;
    const auto first_of = [&](std::size_t piece) { return objects * piece / pieces; };
    Masks masks;
    masks.sizes.assign(outlines.images.begin(), outlines.images.end());
    masks.offsets.resize(objects + 1);
    masks.offsets[0] = 0;
    std::vector<Column<std::uint32_t>> parts(pieces);
    in_parallel(pieces, threads, [&](std::size_t piece) {
        RingDrawer drawer;
        std::vector<std::uint32_t> drawn;
        auto& counts = parts[piece];
        for (std::size_t i = first_of(piece); i < first_of(piece + 1); ++i) {
            const auto given = outlines.runs.size() ? outlines.runs.counts[i] : std::span<const std::uint32_t>{};
            if (given.empty()) {
                drawn.clear();
                draw(outlines, i, drawer, drawn);
                counts.append(drawn);
            } else {
                counts.append(given);
                const Size size = outlines.runs.size_of(i);
                masks.sizes[2 * i] = static_cast<std::int32_t>(size.height);
                masks.sizes[2 * i + 1] = static_cast<std::int32_t>(size.width);
            }
            masks.offsets[i + 1] = static_cast<std::int64_t>(counts.rows());
        }
    });
    masks.counts = std::move(parts[0]);
    for (std::size_t piece = 1; piece < pieces; ++piece) {
        const auto start = static_cast<std::int64_t>(masks.counts.rows());
        masks.counts.append(parts[piece].values());
        parts[piece] = {};
        for (std::size_t i = first_of(piece); i < first_of(piece + 1); ++i) masks.offsets[i + 1] += start;
    }
    masks.counts.shrink();
    return masks;
}

void mask_areas(const Runs& masks, std::span<double> out) {
    for (std::size_t i = 0; i < masks.size(); ++i) out[i] = static_cast<double>(run_area(masks.counts[i]));
}

void mask_bounds(const Runs& masks, std::span<double> out) {
    for (std::size_t i = 0; i < masks.size(); ++i) write_bounds(masks.counts[i], masks.size_of(i), &out[4 * i]);
}

double mask_overlap(const Runs& preds, std::size_t pred, const Runs& truths, std::size_t truth, bool is_crowd) {
    return overlap_by_reference(preds.counts[pred], preds.size_of(pred), truths.counts[truth], truths.size_of(truth),
                                is_crowd);
}

Candidates mask_candidates(const Cells& truth, const Outlines& truths, std::span<const std::uint8_t> crowd,
                           const Cells& pred, const Outlines& preds, double floor, unsigned threads) {
    return find_candidates(truth, pred, floor, threads, [&] { return MaskMeasure(truths, crowd, preds, floor); });
}

}  // namespace verite
