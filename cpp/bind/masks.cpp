// COCO masks and polygons for Python: RLE, areas, bounding boxes, IoU, as in pycocotools.mask.
#include "regions/masks.hpp"

#include <algorithm>
#include <numeric>

#include "bind/arrays.hpp"
#include "columns/parallel.hpp"
#include "regions/boundaries.hpp"
#include "regions/pixels.hpp"
#include "similarity/similarity.hpp"

namespace verite {
namespace {

using namespace nb::literals;
using PixelArray = nb::ndarray<const std::uint8_t, nb::ndim<3>, nb::f_contig, nb::device::cpu>;

// RLE masks from Python: (counts, objects, sizes), as in model.regions.RLEMasks.
using RunArrays = std::tuple<Column1<std::uint32_t>, Column1<std::int64_t>, SizeArray>;

RLEMasks runs_of(const RunArrays& arrays) {
    const auto& [counts, objects, sizes] = arrays;
    check_offsets(span_of(objects), counts.size(), "runs whose offsets rise to their number");
    expect(objects.size() == sizes.shape(0) + 1, "a size for each mask");
    return {{span_of(counts), span_of(objects)}, {sizes.data(), sizes.size()}};
}

// The same of outlines: masks, points, offsets of rings and of objects, boxes, heights and widths of images.
using OutlineArrays =
    std::tuple<RunArrays, PointArray, Column1<std::int64_t>, Column1<std::int64_t>, BoxArray, SizeArray>;

Outlines read_outlines(const OutlineArrays& arrays) {
    const auto& [runs, points, rings, objects, boxes, images] = arrays;
    const std::size_t count = boxes.shape(0);
    const RLEMasks given = runs_of(runs);
    expect(images.shape(0) == count && (given.size() == 0 || given.size() == count), "one entry per object");
    check_offsets(span_of(rings), points.shape(0), "rings whose offsets rise to the number of points");
    expect(objects.size() == 0 || objects.size() == count + 1, "offsets of rings for each object");
    if (objects.size()) check_offsets(span_of(objects), rings.size() - 1, "objects whose offsets rise to their rings");
    return {given,
            {{points.data(), points.size()}, span_of(rings)},
            span_of(objects),
            numbers_of(boxes),
            {images.data(), images.size()}};
}

ArraysOf<std::uint32_t, std::int64_t, std::int32_t> draw_masks_(const RunArrays& runs, const PointArray& points,
                                                                const Column1<std::int64_t>& rings,
                                                                const Column1<std::int64_t>& objects,
                                                                const BoxArray& boxes, const SizeArray& images,
                                                                unsigned threads) {
    const OutlineArrays arrays{runs, points, rings, objects, boxes, images};
    Masks masks;
    {
        nb::gil_scoped_release released;
        masks = draw_masks(read_outlines(arrays), threads);
    }
    const std::size_t count = boxes.shape(0);
    return nb::make_tuple(to_numpy(std::move(masks.counts)), to_numpy(std::move(masks.offsets)),
                          to_numpy(std::move(masks.sizes), {count, std::size_t{2}}));
}

auto mask_areas_(const RunArrays& arrays) {
    const RLEMasks runs = runs_of(arrays);
    Array<double> out(runs.size());
    mask_areas(runs, out);
    return to_numpy(std::move(out));
}

auto mask_bounds_(const RunArrays& arrays) {
    const RLEMasks runs = runs_of(arrays);
    Array<double> out(4 * runs.size());
    mask_bounds(runs, out);
    const std::size_t count = runs.size();
    return to_numpy(std::move(out), {count, std::size_t{4}});
}

auto mask_iou_(const RunArrays& preds, const RunArrays& truths, const Column1<bool>& crowd) {
    const RLEMasks mine = runs_of(preds), others = runs_of(truths);
    expect(crowd.size() == others.size(), "a crowd flag for each ground-truth mask");
    Array<double> out(mine.size() * others.size());
    for (std::size_t p = 0; p < mine.size(); ++p)
        for (std::size_t t = 0; t < others.size(); ++t)
            out[p * others.size() + t] =
                mask_iou(mine.counts[p], mine.size_of(p), others.counts[t], others.size_of(t), crowd.data()[t]);
    return to_numpy(std::move(out), {mine.size(), others.size()});
}

// [row, column, mask] in column order, as pycocotools wants them.
ArraysOf<std::uint32_t, std::int64_t> encode_masks(const PixelArray& pixels) {
    const std::size_t count = pixels.shape(2), size = pixels.shape(0) * pixels.shape(1);
    std::vector<std::uint32_t> counts;
    std::vector<std::int64_t> offsets{0};
    for (std::size_t i = 0; i < count; ++i) {
        encode_pixels({pixels.data() + i * size, size}, counts);
        offsets.push_back(static_cast<std::int64_t>(counts.size()));
    }
    return nb::make_tuple(to_numpy(std::move(counts)), to_numpy(std::move(offsets)));
}

// All masks must be of one size: [mask, column, row].
auto decode_masks(const RunArrays& arrays) {
    const RLEMasks runs = runs_of(arrays);
    const Size size = runs.size() ? runs.size_of(0) : Size{0, 0};
    const std::size_t pixels = size.pixels(), count = runs.size();
    for (std::size_t i = 0; i < count; ++i) expect(runs.size_of(i) == size, "masks of one size");
    Array<std::uint8_t> out(count * pixels);
    for (std::size_t i = 0; i < count; ++i) decode_pixels(runs.counts[i], std::span(out).subspan(i * pixels, pixels));
    return to_numpy(std::move(out),
                    {count, static_cast<std::size_t>(size.width), static_cast<std::size_t>(size.height)});
}

auto mask_pixels(const RunArrays& arrays, std::size_t i) {
    const RLEMasks runs = runs_of(arrays);
    expect(i < runs.size(), "the place of a mask");
    const Size size = runs.size_of(i);
    const std::size_t height = size.height, width = size.width;
    Array<std::uint8_t> out(height * width);
    std::fill(out.begin(), out.end(), std::uint8_t{0});
    decode_rows(runs.counts[i], height, width, out);
    return to_numpy(std::move(out), {height, width});
}

auto merge_masks(const RunArrays& arrays, bool is_intersection) {
    const RLEMasks runs = runs_of(arrays);
    expect(runs.size() > 0, "at least one mask");
    std::vector<std::uint32_t> merged(runs.counts[0].begin(), runs.counts[0].end()), next;
    for (std::size_t i = 1; i < runs.size(); ++i) {
        expect(runs.size_of(i) == runs.size_of(0), "masks of one size");
        next.clear();
        merge_runs(merged, runs.counts[i], is_intersection, next);
        merged.swap(next);
    }
    return to_numpy(std::move(merged));
}

ArraysOf<std::uint32_t, std::int64_t> boundary_masks_(const RunArrays& arrays, const Column1<std::int64_t>& widths) {
    const RLEMasks runs = runs_of(arrays);
    expect(widths.size() == runs.size(), "a width for each mask");
    expect(std::ranges::all_of(span_of(widths), [](std::int64_t width) { return width >= 1; }), "widths of 1 or more");
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const std::span<const std::uint32_t> own = runs.counts[i];
        const std::uint64_t pixels = std::accumulate(own.begin(), own.end(), std::uint64_t{0});
        expect(own.empty() || pixels == runs.size_of(i).pixels(), "runs that add up to the size of their mask");
    }
    std::vector<std::uint32_t> counts;
    std::vector<std::int64_t> offsets;
    {
        nb::gil_scoped_release released;
        boundary_masks(runs, span_of(widths), counts, offsets);
    }
    return nb::make_tuple(to_numpy(std::move(counts)), to_numpy(std::move(offsets)));
}

}  // namespace

void register_masks(nb::module_& module) {
    module.def("draw_masks", &draw_masks_, "runs"_a, "points"_a, "rings"_a, "objects"_a, "boxes"_a, "images"_a,
               "threads"_a = 1,
               "The mask of every object by COCO's rule: as given, else its polygons drawn, else its box.");
    module.def("mask_areas", &mask_areas_, "masks"_a, "The number of pixels of each mask.");
    module.def("mask_bounds", &mask_bounds_, "masks"_a, "Left, top, width and height of each mask.");
    module.def("mask_iou", &mask_iou_, "pred"_a, "truth"_a, "crowd"_a,
               "COCO's IoU of every predicted mask (rows) with every ground-truth mask (columns).");
    module.def("encode_masks", &encode_masks, "pixels"_a, "Run lengths and offsets of masks [row, column, mask].");
    module.def("decode_masks", &decode_masks, "masks"_a, "Pixels of masks of one size: [mask, column, row].");
    module.def("mask_pixels", &mask_pixels, "masks"_a, "i"_a, "Pixels of one of many masks: [row, column].");
    module.def("merge_masks", &merge_masks, "masks"_a, "is_intersection"_a = false,
               "RLEMasks of the union or intersection of masks.");
    module.def("boundary_masks", &boundary_masks_, "masks"_a, "widths"_a,
               "Run lengths and offsets of the boundaries of masks, each so many pixels wide.");
}

}  // namespace verite
