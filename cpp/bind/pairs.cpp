// Python's view of regions and pairs of them: arrays are checked, the interpreter is let go, memory is handed over.
#include "pairs/pairs.hpp"

#include <stdexcept>
#include <string>

#include "bind/arrays.hpp"
#include "columns/pause.hpp"
#include "regions/boundaries.hpp"
#include "regions/fills.hpp"
#include "regions/masks.hpp"
#include "regions/polygons.hpp"
#include "regions/transforms.hpp"

namespace verite {
namespace {

using namespace nb::literals;
using OffsetArray = Column1<std::int64_t>;
using RunArray = Column1<std::uint32_t>;
using NumberArray = Column1<double>;
using MaskArray = nb::ndarray<const std::uint8_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

// Offsets must start at 0, never fall and end at the number of rows: the kernels trust them.
std::span<const std::int64_t> offsets(const OffsetArray& array, std::size_t rows, const char* name) {
    const std::span<const std::int64_t> values{array.data(), array.size()};
    bool sound = !values.empty() && values.front() == 0 && values.back() == static_cast<std::int64_t>(rows);
    for (std::size_t i = 1; sound && i < values.size(); ++i) sound = values[i - 1] <= values[i];
    if (!sound)
        throw std::invalid_argument(std::string(name) + ": expected rising offsets from 0 to " + std::to_string(rows));
    return values;
}

// Run-length masks as Python hands them over: runs, offsets, heights and widths. Every bound is checked here.
RLEMasks runs(const RunArray& counts, const OffsetArray& objects, const SizeArray& sizes) {
    const RLEMasks found{{{counts.data(), counts.size()}, offsets(objects, counts.size(), "runs")},
                         {sizes.data(), sizes.size()}};
    if (sizes.shape(0) != found.size())
        throw std::invalid_argument("sizes: expected " + std::to_string(found.size()) + " rows, one a mask, found " +
                                    std::to_string(sizes.shape(0)));
    const std::size_t unsound = first_unsound(found);
    if (unsound < found.size())
        throw std::invalid_argument("mask " + std::to_string(unsound) + ": runs do not add up to its image of " +
                                    std::to_string(found.size_of(unsound).width) + " × " +
                                    std::to_string(found.size_of(unsound).height) + " pixels");
    return found;
}

using SideTuple = nb::typed<nb::tuple, RunArray, OffsetArray, SizeArray, OffsetArray, std::optional<RunArray>,
                            std::optional<OffsetArray>>;

// One side of the pairs: (runs, offsets, sizes) of masks, the same of given outlines or None, and rows.
struct SideArrays {
    explicit SideArrays(const SideTuple& side)
        : counts(nb::cast<RunArray>(side[0])),
          objects(nb::cast<OffsetArray>(side[1])),
          sizes(nb::cast<SizeArray>(side[2])),
          rows(nb::cast<OffsetArray>(side[3])) {
        view.masks = runs(counts, objects, sizes);
        view.rows = {rows.data(), rows.size()};
        for (const std::int64_t row : view.rows)
            if (row < 0 || row >= static_cast<std::int64_t>(view.masks.size()))
                throw std::invalid_argument("rows: expected positions from 0 to " +
                                            std::to_string(static_cast<std::int64_t>(view.masks.size()) - 1));
        if (side[4].is_none()) return;
        outline_counts = nb::cast<RunArray>(side[4]);
        outline_objects = nb::cast<OffsetArray>(side[5]);
        view.outlines = {{{outline_counts.data(), outline_counts.size()},
                          offsets(outline_objects, outline_counts.size(), "outlines")},
                         {sizes.data(), sizes.size()}};
        if (view.outlines.size() != view.masks.size())
            throw std::invalid_argument("outlines: expected as many as masks");
        for (std::size_t i = 0; i < view.outlines.size(); ++i) {
            std::uint64_t sum = 0;
            for (const std::uint32_t count : view.outlines.counts[i]) sum += count;
            if (sum && sum != view.outlines.size_of(i).pixels())
                throw std::invalid_argument("outline " + std::to_string(i) + ": runs do not add up to its image");
        }
    }

    RunArray counts, outline_counts;
    OffsetArray objects, rows, outline_objects;
    SizeArray sizes;
    Side view;
};

struct PairArrays {
    PairArrays(const SideTuple& truths, const SideTuple& preds) : truth(truths), pred(preds) {
        if (truth.view.rows.size() != pred.view.rows.size())
            throw std::invalid_argument("rows: expected as many truths as preds, found " +
                                        std::to_string(truth.view.rows.size()) + " and " +
                                        std::to_string(pred.view.rows.size()));
    }

    std::size_t size() const { return truth.view.rows.size(); }

    SideArrays truth, pred;
};

using Drawn = ArraysOf<std::uint32_t, std::int64_t>;

// RLEMasks of one object after the other, drawn by draw(i, counts) without the interpreter.
template <class Draw>
Drawn draw_runs(std::size_t objects, Draw draw) {
    std::vector<std::uint32_t> counts;
    std::vector<std::int64_t> ends{0};
    {
        nb::gil_scoped_release released;
        Pause pause;
        for (std::size_t i = 0; i < objects; ++i) {
            pause();
            draw(i, counts);
            ends.push_back(static_cast<std::int64_t>(counts.size()));
        }
    }
    const std::size_t total = counts.size(), rows = ends.size();
    return nb::make_tuple(to_numpy(std::move(counts), {total}), to_numpy(std::move(ends), {rows}));
}

// Heights and widths that can be drawn on.
std::span<const std::int32_t> drawable(const SizeArray& sizes, std::size_t objects) {
    if (sizes.shape(0) != objects)
        throw std::invalid_argument("sizes: expected " + std::to_string(objects) + " rows, one an object, found " +
                                    std::to_string(sizes.shape(0)));
    for (std::size_t i = 0; i < sizes.size(); ++i)
        if (sizes.data()[i] < 0) throw std::invalid_argument("sizes: expected no negative number");
    return {sizes.data(), sizes.size()};
}

Drawn polygon_runs(const PointArray& points, const OffsetArray& rings, const OffsetArray& objects,
                   const SizeArray& sizes, bool coco) {
    const auto ends = offsets(rings, points.shape(0), "rings");
    const auto parts = offsets(objects, ends.size() - 1, "objects");
    const Rings rows{{points.data(), points.size()}, ends};
    const auto shape = drawable(sizes, parts.size() - 1);
    return draw_runs(parts.size() - 1, [&](std::size_t i, std::vector<std::uint32_t>& counts) {
        const Size size{shape[2 * i], shape[2 * i + 1]};
        (coco ? rasterise : fill_rings)(rows, parts[i], parts[i + 1], size, counts);
    });
}

Drawn box_runs(const BoxArray& corners, const SizeArray& sizes) {
    const auto shape = drawable(sizes, corners.shape(0));
    return draw_runs(corners.shape(0), [&](std::size_t i, std::vector<std::uint32_t>& counts) {
        fill_box(corners.data() + 4 * i, {shape[2 * i], shape[2 * i + 1]}, counts);
    });
}

Drawn mask_runs(const MaskArray& masks) {
    const Size size{static_cast<std::int64_t>(masks.shape(1)), static_cast<std::int64_t>(masks.shape(2))};
    if (size.pixels() > UINT32_MAX) throw std::invalid_argument("masks: expected at most 4,294,967,295 pixels each");
    Raster raster;
    return draw_runs(masks.shape(0), [&](std::size_t i, std::vector<std::uint32_t>& counts) {
        raster.read(masks.data() + i * size.pixels(), size);
        raster.runs(size, counts);
    });
}

Drawn outline_runs(const RunArray& counts, const OffsetArray& objects, const SizeArray& sizes) {
    const RLEMasks masks = runs(counts, objects, sizes);
    Raster region, contour;
    return draw_runs(masks.size(), [&](std::size_t i, std::vector<std::uint32_t>& out) {
        region.read(masks.counts[i], masks.size_of(i));
        contour.outline(region);
        contour.runs(masks.size_of(i), out);
    });
}

Drawn filled_runs(const RunArray& counts, const OffsetArray& objects, const SizeArray& sizes) {
    const RLEMasks masks = runs(counts, objects, sizes);
    return draw_runs(masks.size(), [&](std::size_t i, std::vector<std::uint32_t>& out) {
        fill_outline(masks.counts[i], masks.size_of(i), out);
    });
}

nb::ndarray<nb::numpy, double> run_frames(const RunArray& counts, const OffsetArray& objects, const SizeArray& sizes) {
    const RLEMasks masks = runs(counts, objects, sizes);
    std::vector<double> out;
    out.reserve(4 * masks.size());
    for (std::size_t i = 0; i < masks.size(); ++i) {
        const Frame frame = frame_of(masks.counts[i], masks.size_of(i));
        for (const std::int32_t edge : {frame.x1, frame.y1, frame.x2, frame.y2}) out.push_back(edge);
    }
    return to_numpy(std::move(out), {masks.size(), 4});
}

nb::ndarray<nb::numpy, double> pair_overlaps(const SideTuple& truths, const SideTuple& preds) {
    const PairArrays pairs(truths, preds);
    std::vector<double> out(3 * pairs.size());
    {
        nb::gil_scoped_release released;
        overlaps(pairs.truth.view, pairs.pred.view, out);
    }
    return to_numpy(std::move(out), {pairs.size(), 3});
}

nb::ndarray<nb::numpy, double> pair_statistics(const SideTuple& truths, const SideTuple& preds) {
    const PairArrays pairs(truths, preds);
    std::vector<double> out(statistic_count * pairs.size());
    {
        nb::gil_scoped_release released;
        measure(pairs.truth.view, pairs.pred.view, out);
    }
    return to_numpy(std::move(out), {pairs.size(), statistic_count});
}

nb::ndarray<nb::numpy, double> pair_outside(const SideTuple& truths, const SideTuple& preds) {
    const PairArrays pairs(truths, preds);
    std::vector<double> out(pairs.size());
    {
        nb::gil_scoped_release released;
        sum_outside(pairs.truth.view, pairs.pred.view, out);
    }
    return to_numpy(std::move(out), {pairs.size()});
}

template <class Number>
ArraysOf<Number, std::int64_t> hand_over(Lists<Number>& lists) {
    const std::size_t values = lists.squared.size(), rows = lists.offsets.size();
    return nb::make_tuple(to_numpy(std::move(lists.squared), {values}), to_numpy(std::move(lists.offsets), {rows}));
}

nb::typed<nb::tuple, ArraysOf<std::int64_t, std::int64_t>, ArraysOf<std::int64_t, std::int64_t>> pair_distances(
    const SideTuple& truths, const SideTuple& preds) {
    const PairArrays pairs(truths, preds);
    PixelLists to_truth, to_pred;
    {
        nb::gil_scoped_release released;
        list_distances(pairs.truth.view, pairs.pred.view, to_truth, to_pred);
    }
    return nb::make_tuple(hand_over(to_truth), hand_over(to_pred));
}

// Two numbers, down and across, above 0.
Spacing spacing_of(const std::tuple<double, double>& given) {
    const auto [down, across] = given;
    for (const double apart : {down, across})
        if (!(apart > 0) || !(apart < 1e9)) throw std::invalid_argument("spacing: expected two numbers above 0");
    return {down, across};
}

nb::ndarray<nb::numpy, double> spaced_outside(const SideTuple& truths, const SideTuple& preds,
                                              const std::tuple<double, double>& spacing) {
    const PairArrays pairs(truths, preds);
    const Spacing apart = spacing_of(spacing);
    std::vector<double> out(pairs.size());
    {
        nb::gil_scoped_release released;
        sum_outside(pairs.truth.view, pairs.pred.view, apart, out);
    }
    return to_numpy(std::move(out), {pairs.size()});
}

nb::typed<nb::tuple, ArraysOf<double, std::int64_t>, ArraysOf<double, std::int64_t>> spaced_distances(
    const SideTuple& truths, const SideTuple& preds, const std::tuple<double, double>& spacing) {
    const PairArrays pairs(truths, preds);
    const Spacing apart = spacing_of(spacing);
    SpacedLists to_truth, to_pred;
    {
        nb::gil_scoped_release released;
        list_distances(pairs.truth.view, pairs.pred.view, apart, to_truth, to_pred);
    }
    return nb::make_tuple(hand_over(to_truth), hand_over(to_pred));
}

nb::ndarray<nb::numpy, double> pair_rim_overlaps(const SideTuple& truths, const SideTuple& preds,
                                                 const OffsetArray& widths) {
    const PairArrays pairs(truths, preds);
    if (widths.size() != pairs.size()) throw std::invalid_argument("widths: expected one a pair");
    for (std::size_t i = 0; i < widths.size(); ++i)
        if (widths.data()[i] < 1) throw std::invalid_argument("widths: expected 1 or more");
    std::vector<double> out(3 * pairs.size());
    {
        nb::gil_scoped_release released;
        rim_overlaps(pairs.truth.view, pairs.pred.view, {widths.data(), widths.size()}, out);
    }
    return to_numpy(std::move(out), {pairs.size(), 3});
}

nb::ndarray<nb::numpy, double> pair_distance_differences(const SideTuple& truths, const SideTuple& preds,
                                                         const NumberArray& powers, double cutoff,
                                                         const std::tuple<double, double>& spacing) {
    const PairArrays pairs(truths, preds);
    const Spacing apart = spacing_of(spacing);
    std::vector<double> out(pairs.size() * powers.size());
    {
        nb::gil_scoped_release released;
        distance_differences(pairs.truth.view, pairs.pred.view, {powers.data(), powers.size()}, cutoff, apart, out);
    }
    return to_numpy(std::move(out), {pairs.size(), powers.size()});
}

}  // namespace

void register_pairs(nb::module_& module) {
    module.def("polygon_runs", &polygon_runs, "points"_a, "rings"_a, "objects"_a, "sizes"_a, "coco"_a = true,
               "RLEMasks and offsets of the pixels inside polygons, by COCO's rule or by the middles of pixels.");
    module.def("box_runs", &box_runs, "boxes"_a, "sizes"_a,
               "RLEMasks and offsets of the pixels whose middle lies in a box, left and upper edge included.");
    module.def("mask_runs", &mask_runs, "masks"_a, "RLEMasks and offsets of masks of bytes, [object, row, column].");
    module.def("outline_runs", &outline_runs, "counts"_a, "objects"_a, "sizes"_a,
               "RLEMasks and offsets of the pixels of masks that have a 4-neighbour outside.");
    module.def("filled_runs", &filled_runs, "counts"_a, "objects"_a, "sizes"_a,
               "RLEMasks and offsets of curves of pixels with what they enclose.");
    module.def("run_frames", &run_frames, "counts"_a, "objects"_a, "sizes"_a,
               "Corners of the smallest box around each mask, all 0 where it is empty.");
    module.def("pair_overlaps", &pair_overlaps, "truth"_a, "pred"_a,
               "Area of the truth, of the pred and of both, a row a pair. A side is (runs, offsets, sizes, rows, "
               "outline runs or None, outline offsets or None).");
    module.def("pair_statistics", &pair_statistics, "truth"_a, "pred"_a,
               "The shared statistics of pairs, a row each (see cpp/pairs.hpp).");
    module.def("pair_outside", &pair_outside, "truth"_a, "pred"_a,
               "Squared distances of the pred's pixels outside the truth to the truth, summed.");
    module.def("pair_distances", &pair_distances, "truth"_a, "pred"_a,
               "Squared distances of contour pixels with offsets: pred to truth, then truth to pred.");
    module.def("spaced_outside", &spaced_outside, "truth"_a, "pred"_a, "spacing"_a,
               "The same sums where pixels lie so far apart, down and across.");
    module.def("spaced_distances", &spaced_distances, "truth"_a, "pred"_a, "spacing"_a,
               "The same squared distances where pixels lie so far apart, down and across.");
    module.def("rim_overlaps", &pair_rim_overlaps, "truth"_a, "pred"_a, "widths"_a,
               "Size of the truth's rim, of the pred's and of what they share, a row a pair.");
    module.def("distance_differences", &pair_distance_differences, "truth"_a, "pred"_a, "powers"_a, "cutoff"_a,
               "spacing"_a = std::tuple(1., 1.),
               "Sums over the image of |distance to truth - distance to pred| ^ power, a row a pair.");
}

}  // namespace verite
