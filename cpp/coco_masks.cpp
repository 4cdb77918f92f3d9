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

// Runs of no pixels between others. pycocotools stops comparing where both masks have one at the same place.
bool has_empty_runs(std::span<const std::uint32_t> counts) {
    return std::find(counts.begin() + !counts.empty(), counts.end(), 0u) != counts.end();
}

// The reference's own loop over two masks: shared pixels and all pixels.
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

// Where runs end, counted from the first pixel: foreground i lies between ends[2 i] and ends[2 i + 1].
using Ends = std::vector<std::uint32_t>;

void read_ends(std::span<const std::uint32_t> counts, Ends& ends) {
    // Behind the last run an endless one, so that walks need not ask where a mask ends.
    ends.resize((counts.size() & ~std::size_t{1}) + 2);
    std::uint32_t at = 0;
    for (std::size_t i = 0; i + 2 < ends.size(); ++i) ends[i] = at += counts[i];
    ends[ends.size() - 2] = ends[ends.size() - 1] = UINT32_MAX;
}

std::uint32_t shared_pixels(const Ends& a, const Ends& b) {
    std::uint32_t shared = 0;
    const std::uint32_t *at = a.data(), *with = b.data();
    const std::uint32_t *end_a = at + a.size() - 2, *end_b = with + b.size() - 2;
    while (at < end_a && with < end_b) {
        const std::uint32_t first = std::max(at[0], with[0]), last = std::min(at[1], with[1]);
        shared += last > first ? last - first : 0;
        const bool is_first = at[1] <= with[1];
        at += is_first ? 2 : 0;
        with += is_first ? 0 : 2;
    }
    return shared;
}

struct Facts {
    std::uint64_t area = 0;
    Bounds bounds;
    Size size{};
    bool is_odd = false;  // bounds or runs that only the reference's own loop gets right
};

Facts facts_of(const Runs& masks, std::size_t i) {
    Facts facts;
    const auto counts = masks.counts[i];
    facts.size = masks.size_of(i);
    facts.area = run_area(counts);
    facts.bounds = bounds_of(counts, facts.size.height);
    facts.is_odd = has_empty_runs(counts) || (facts.area == 0 && counts.size() > 1);
    return facts;
}

std::vector<Facts> facts_of(const Runs& masks, std::span<const std::int32_t> rows, unsigned threads) {
    std::vector<Facts> facts(masks.size());
    in_parallel((rows.size() + piece_size - 1) / piece_size, threads, [&](std::size_t piece) {
        for (const std::int32_t row :
             rows.subspan(piece * piece_size, std::min(piece_size, rows.size() - piece * piece_size)))
            facts[row] = facts_of(masks, row);
    });
    return facts;
}

// Overlaps of a cell's masks. Ends of runs are found when first needed: most pairs are settled by areas and bounds.
class MaskMeasure {
  public:
    MaskMeasure(const Runs& truths, std::span<const Facts> truth_facts, std::span<const std::uint8_t> crowd,
                const Runs& preds, std::span<const Facts> pred_facts, double floor)
        : truths_(truths),
          truth_facts_(truth_facts),
          crowd_(crowd),
          preds_(preds),
          pred_facts_(pred_facts),
          floor_(floor) {}

    void meet(std::span<const std::int32_t> truths) {
        rows_ = truths;
        if (truth_ends_.size() < truths.size()) truth_ends_.resize(truths.size());
        has_ends_.assign(truths.size(), 0);
    }

    void start(std::int32_t row) {
        pred_ = row;
        pred_has_ends_ = false;
    }

    template <class Visit>
    void each_possible(Visit&& visit) const {
        for (std::size_t t = 0; t < rows_.size(); ++t) visit(t);
    }

    double overlap(std::size_t t) {
        const std::int32_t row = rows_[t];
        const Facts &mine = pred_facts_[pred_], &other = truth_facts_[row];
        const bool is_crowd = crowd_[row];
        if (mine.is_odd || other.is_odd) return mask_overlap(preds_, pred_, truths_, row, is_crowd);
        const std::int64_t width =
            std::min(mine.bounds.right, other.bounds.right) - std::max(mine.bounds.left, other.bounds.left);
        const std::int64_t height =
            std::min(mine.bounds.bottom, other.bounds.bottom) - std::max(mine.bounds.top, other.bounds.top);
        if (width <= 0 || height <= 0) return 0;
        if (mine.size != other.size) return -1;
        const auto ratio = [&](std::uint64_t shared) {
            const std::uint64_t all = is_crowd ? mine.area : mine.area + other.area - shared;
            return static_cast<double>(shared) / static_cast<double>(shared ? all : 1);
        };
        // No more pixels can be shared than either mask has, or than their bounds have in common.
        const std::uint64_t most = std::min({mine.area, other.area, static_cast<std::uint64_t>(width * height)});
        if (const double bound = ratio(most); bound < floor_) return bound;
        if (!pred_has_ends_) read_ends(preds_.counts[pred_], pred_ends_);
        if (!has_ends_[t]) read_ends(truths_.counts[row], truth_ends_[t]);
        pred_has_ends_ = true;
        has_ends_[t] = 1;
        return ratio(shared_pixels(pred_ends_, truth_ends_[t]));
    }

  private:
    const Runs& truths_;
    std::span<const Facts> truth_facts_;
    std::span<const std::uint8_t> crowd_;
    const Runs& preds_;
    std::span<const Facts> pred_facts_;
    double floor_;
    std::span<const std::int32_t> rows_;
    std::int32_t pred_ = 0;
    bool pred_has_ends_ = false;
    Ends pred_ends_;
    std::vector<Ends> truth_ends_;
    std::vector<std::uint8_t> has_ends_;
};

void draw(const Outlines& outlines, std::size_t i, RingDrawer& drawer, std::vector<std::uint32_t>& counts) {
    const Size size{outlines.images[2 * i], outlines.images[2 * i + 1]};
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

}  // namespace

Masks draw_masks(const Outlines& outlines, unsigned threads) {
    const std::size_t objects = outlines.size(), pieces = (objects + piece_size - 1) / piece_size;
    Masks masks;
    masks.sizes.assign(outlines.images.begin(), outlines.images.end());
    masks.offsets.resize(objects + 1);
    masks.offsets[0] = 0;
    std::vector<std::vector<std::uint32_t>> parts(pieces);
    in_parallel(pieces, threads, [&](std::size_t piece) {
        RingDrawer drawer;
        auto& counts = parts[piece];
        for (std::size_t i = piece * piece_size; i < std::min(objects, (piece + 1) * piece_size); ++i) {
            const auto given = outlines.runs.size() ? outlines.runs.counts[i] : std::span<const std::uint32_t>{};
            if (given.empty()) {
                draw(outlines, i, drawer, counts);
            } else {
                counts.insert(counts.end(), given.begin(), given.end());
                const Size size = outlines.runs.size_of(i);
                masks.sizes[2 * i] = static_cast<std::int32_t>(size.height);
                masks.sizes[2 * i + 1] = static_cast<std::int32_t>(size.width);
            }
            masks.offsets[i + 1] = static_cast<std::int64_t>(counts.size());
        }
    });
    std::vector<std::size_t> starts(pieces + 1);
    for (std::size_t i = 0; i < pieces; ++i) starts[i + 1] = starts[i] + parts[i].size();
    masks.counts.resize(starts.back());
    in_parallel(pieces, threads, [&](std::size_t piece) {
        std::copy(parts[piece].begin(), parts[piece].end(), masks.counts.begin() + starts[piece]);
        std::vector<std::uint32_t>().swap(parts[piece]);
        for (std::size_t i = piece * piece_size; i < std::min(objects, (piece + 1) * piece_size); ++i)
            masks.offsets[i + 1] += static_cast<std::int64_t>(starts[piece]);
    });
    return masks;
}

void mask_areas(const Runs& masks, std::span<double> out) {
    for (std::size_t i = 0; i < masks.size(); ++i) out[i] = static_cast<double>(run_area(masks.counts[i]));
}

void mask_bounds(const Runs& masks, std::span<double> out) {
    for (std::size_t i = 0; i < masks.size(); ++i) write_bounds(masks.counts[i], masks.size_of(i), &out[4 * i]);
}

double mask_overlap(const Runs& preds, std::size_t pred, const Runs& truths, std::size_t truth, bool is_crowd) {
    double mine[4], other[4];
    write_bounds(preds.counts[pred], preds.size_of(pred), mine);
    write_bounds(truths.counts[truth], truths.size_of(truth), other);
    if (!(coco_overlap(mine, other, is_crowd) > 0)) return 0;
    if (preds.size_of(pred) != truths.size_of(truth)) return -1;
    const auto [both, either] = compare_run_by_run(preds.counts[pred], truths.counts[truth]);
    if (both == 0) return 0;
    return static_cast<double>(both) /
           static_cast<double>(is_crowd ? static_cast<std::uint32_t>(run_area(preds.counts[pred])) : either);
}

Candidates mask_candidates(const Cells& truth, const Runs& truth_masks, std::span<const std::uint8_t> crowd,
                           const Cells& pred, const Runs& pred_masks, double floor, unsigned threads) {
    const auto truth_facts = facts_of(truth_masks, truth.rows, threads);
    const auto pred_facts = facts_of(pred_masks, pred.rows, threads);
    return find_candidates(truth, pred, floor, threads,
                           [&] { return MaskMeasure(truth_masks, truth_facts, crowd, pred_masks, pred_facts, floor); });
}

}  // namespace verite
