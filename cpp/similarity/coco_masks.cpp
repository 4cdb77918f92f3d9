#include "similarity/coco_masks.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "columns/parallel.hpp"
#include "columns/pause.hpp"
#include "regions/masks.hpp"
#include "regions/polygons.hpp"
#include "similarity/boxes.hpp"

namespace verite {
namespace {

// Pieces of about this many objects are handed to threads.
constexpr std::size_t piece_size = 512;

// Bounding box as pycocotools computes it, which is peculiar for a mask whose foreground runs are all empty.
void write_bounds(std::span<const std::uint32_t> counts, Size size, double* out) {
    const Bounds bounds = bound_runs(counts, size.height);
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

}  // namespace

Outlines list_outlines(const Shapes& shapes, std::span<const double> boxes, std::span<const std::int32_t> images) {
    Outlines found{{}, {}, {}, boxes, images};
    if (shapes.has_runs()) found.runs = {{shapes.counts.values, shapes.run_objects.values}, shapes.sizes.values};
    if (shapes.has_polygons()) {
        found.rings = {shapes.points.values, shapes.rings.values};
        found.objects = shapes.ring_objects.values;
    }
    return found;
}

std::span<const double> only_ring(const Outlines& outlines, std::size_t i, std::array<double, 8>& corners) {
    const std::int64_t first = outlines.objects.empty() ? 0 : outlines.objects[i];
    const std::int64_t last = outlines.objects.empty() ? 0 : outlines.objects[i + 1];
    if (last - first > 1) return {};
    if (last - first == 1) return outlines.rings[static_cast<std::size_t>(first)];
    const double* box = &outlines.boxes[4 * i];
    const double right = box[0] + box[2], bottom = box[1] + box[3];
    return corners = {box[0], box[1], box[0], bottom, right, bottom, right, box[1]};
}

Size drawing_size(const Outlines& outlines, std::size_t i) {
    const Size size = outlines.image_of(i);
    if (size.height < 0 || size.width < 0) throw std::invalid_argument("an image: a negative size");
    return size;
}

void draw_outline(const Outlines& outlines, std::size_t i, RingDrawer& drawer, std::vector<std::uint32_t>& counts) {
    const Size size = drawing_size(outlines, i);
    std::array<double, 8> corners;
    if (const auto ring = only_ring(outlines, i, corners); !ring.empty()) return drawer.draw(ring, size, counts);
    unite_each(
        outlines.objects[i], outlines.objects[i + 1], size, counts,
        [&](std::size_t ring, std::vector<std::uint32_t>& drawn) { drawer.draw(outlines.rings[ring], size, drawn); });
}

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
        Pause pause(64);
        for (std::size_t i = first_of(piece); i < first_of(piece + 1); ++i) {
            pause();
            const auto given = outlines.runs.size() ? outlines.runs.counts[i] : std::span<const std::uint32_t>{};
            if (given.empty()) {
                drawn.clear();
                draw_outline(outlines, i, drawer, drawn);
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

void draw_areas(const Outlines& outlines, unsigned threads, std::span<double> out) {
    in_stretches(outlines.size(), threads, [&](std::size_t first, std::size_t last) {
        RingDrawer drawer;
        std::vector<std::uint32_t> drawn;
        Pause pause(64);
        for (std::size_t i = first; i < last; ++i) {
            pause();
            auto counts = outlines.runs.size() ? outlines.runs.counts[i] : std::span<const std::uint32_t>{};
            if (counts.empty()) {
                drawn.clear();
                draw_outline(outlines, i, drawer, drawn);
                counts = drawn;
            }
            out[i] = static_cast<double>(run_area(counts));
        }
    });
}

void mask_areas(const RLEMasks& masks, std::span<double> out) {
    for (std::size_t i = 0; i < masks.size(); ++i) out[i] = static_cast<double>(run_area(masks.counts[i]));
}

void mask_bounds(const RLEMasks& masks, std::span<double> out) {
    for (std::size_t i = 0; i < masks.size(); ++i) write_bounds(masks.counts[i], masks.size_of(i), &out[4 * i]);
}

double mask_iou(std::span<const std::uint32_t> pred, Size pred_size, std::span<const std::uint32_t> truth,
                Size truth_size, bool is_crowd) {
    double mine[4], other[4];
    write_bounds(pred, pred_size, mine);
    write_bounds(truth, truth_size, other);
    if (!(coco_box_iou(mine, other, is_crowd) > 0)) return 0;
    if (pred_size != truth_size) return -1;
    const auto [both, either] = compare_run_by_run(pred, truth);
    if (both == 0) return 0;
    return static_cast<double>(both) /
           static_cast<double>(is_crowd ? static_cast<std::uint32_t>(run_area(pred)) : either);
}

}  // namespace verite
