// Masks and pairs of masks for Python: run-length encoding, contours, areas and distances.
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

// Run-length encoded masks: run lengths, offsets, heights and widths. Every bound is checked here.
RLEMasks runs(const RunArray& counts, const OffsetArray& objects, const SizeArray& sizes) {
    const RLEMasks found{{{counts.data(), counts.size()}, offsets(objects, counts.size(), "runs")},
                         {sizes.data(), sizes.size()}};
    if (sizes.shape(0) != found.size())
        throw std::invalid_argument("sizes: expected " + std::to_string(found.size()) + " rows, one per mask, found " +
                                    std::to_string(sizes.shape(0)));
    const std::size_t unsound = first_unsound(found);
    if (unsound < found.size())
        throw std::invalid_argument("mask " + std::to_string(unsound) + ": runs do not add up to its image of " +
                                    std::to_string(found.size_of(unsound).width) + " × " +
                                    std::to_string(found.size_of(unsound).height) + " pixels");
    return found;
}

// One side of the pairs, as Python hands it over.
struct MaskSide {
    RunArray counts;      // run lengths of all masks
    OffsetArray objects;  // mask i has counts[objects[i]] .. counts[objects[i + 1]]
    SizeArray sizes;      // height and width of each mask
    OffsetArray rows;     // the mask of each pair
    // The same of contours, where they are given.
    std::optional<RunArray> outline_counts;
    std::optional<OffsetArray> outline_objects;
};

template <class T>
nb::ndarray<nb::numpy, const T> numpy_of(const auto& array) {
    return nb::ndarray<nb::numpy, const T>(array);
}

// The same, checked: kernels trust what they are given.
struct CheckedSide {
    explicit CheckedSide(const MaskSide& side) {
        view.masks = runs(side.counts, side.objects, side.sizes);
        view.rows = {side.rows.data(), side.rows.size()};
        for (const std::int64_t row : view.rows)
            if (row < 0 || row >= static_cast<std::int64_t>(view.masks.size()))
                throw std::invalid_argument("rows: expected positions from 0 to " +
                                            std::to_string(static_cast<std::int64_t>(view.masks.size()) - 1));
        if (!side.outline_counts || !side.outline_objects) return;
        view.outlines = {{{side.outline_counts->data(), side.outline_counts->size()},
                          offsets(*side.outline_objects, side.outline_counts->size(), "outlines")},
                         {side.sizes.data(), side.sizes.size()}};
        if (view.outlines.size() != view.masks.size())
            throw std::invalid_argument("outlines: expected as many as masks");
        for (std::size_t i = 0; i < view.outlines.size(); ++i) {
            std::uint64_t sum = 0;
            for (const std::uint32_t count : view.outlines.counts[i]) sum += count;
            if (sum && sum != view.outlines.size_of(i).pixels())
                throw std::invalid_argument("outline " + std::to_string(i) + ": runs do not add up to its image");
        }
    }

    Side view;
};

struct CheckedPairs {
    CheckedPairs(const MaskSide& truths, const MaskSide& preds) : truth(truths), pred(preds) {
        if (truth.view.rows.size() != pred.view.rows.size())
            throw std::invalid_argument("rows: expected as many ground-truth masks as predicted ones, found " +
                                        std::to_string(truth.view.rows.size()) + " and " +
                                        std::to_string(pred.view.rows.size()));
    }

    std::size_t size() const { return truth.view.rows.size(); }

    CheckedSide truth, pred;
};

using RunArrays = ArraysOf<std::uint32_t, std::int64_t>;

// Run lengths and offsets of one object after the other, written by draw(i, counts) without Python's lock.
template <class Draw>
RunArrays rasterise_all(std::size_t objects, Draw draw) {
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

// Heights and widths, none negative.
std::span<const std::int32_t> checked_sizes(const SizeArray& sizes, std::size_t objects) {
    if (sizes.shape(0) != objects)
        throw std::invalid_argument("sizes: expected " + std::to_string(objects) + " rows, one per object, found " +
                                    std::to_string(sizes.shape(0)));
    for (std::size_t i = 0; i < sizes.size(); ++i)
        if (sizes.data()[i] < 0) throw std::invalid_argument("sizes: expected no negative number");
    return {sizes.data(), sizes.size()};
}

RunArrays polygon_runs(const PointArray& points, const OffsetArray& rings, const OffsetArray& objects,
                       const SizeArray& sizes, bool coco) {
    const auto ends = offsets(rings, points.shape(0), "rings");
    const auto parts = offsets(objects, ends.size() - 1, "objects");
    const Rings rows{{points.data(), points.size()}, ends};
    const auto shape = checked_sizes(sizes, parts.size() - 1);
    return rasterise_all(parts.size() - 1, [&](std::size_t i, std::vector<std::uint32_t>& counts) {
        const Size size{shape[2 * i], shape[2 * i + 1]};
        (coco ? rasterise : fill_rings)(rows, parts[i], parts[i + 1], size, counts);
    });
}

RunArrays box_runs(const BoxArray& corners, const SizeArray& sizes) {
    const auto shape = checked_sizes(sizes, corners.shape(0));
    return rasterise_all(corners.shape(0), [&](std::size_t i, std::vector<std::uint32_t>& counts) {
        fill_box(corners.data() + 4 * i, {shape[2 * i], shape[2 * i + 1]}, counts);
    });
}

RunArrays mask_runs(const MaskArray& masks) {
    const Size size{static_cast<std::int64_t>(masks.shape(1)), static_cast<std::int64_t>(masks.shape(2))};
    if (size.pixels() > UINT32_MAX) throw std::invalid_argument("masks: expected at most 4,294,967,295 pixels each");
    Raster raster;
    return rasterise_all(masks.shape(0), [&](std::size_t i, std::vector<std::uint32_t>& counts) {
        raster.read(masks.data() + i * size.pixels(), size);
        raster.runs(size, counts);
    });
}

RunArrays outline_runs(const RunArray& counts, const OffsetArray& objects, const SizeArray& sizes, bool with_corners) {
    const RLEMasks masks = runs(counts, objects, sizes);
    Raster region, contour;
    return rasterise_all(masks.size(), [&](std::size_t i, std::vector<std::uint32_t>& out) {
        region.read(masks.counts[i], masks.size_of(i));
        contour.outline(region, with_corners);
        contour.runs(masks.size_of(i), out);
    });
}

RunArrays filled_runs(const RunArray& counts, const OffsetArray& objects, const SizeArray& sizes) {
    const RLEMasks masks = runs(counts, objects, sizes);
    return rasterise_all(masks.size(), [&](std::size_t i, std::vector<std::uint32_t>& out) {
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

nb::ndarray<nb::numpy, double> pair_areas(const MaskSide& truths, const MaskSide& preds) {
    const CheckedPairs pairs(truths, preds);
    std::vector<double> out(3 * pairs.size());
    {
        nb::gil_scoped_release released;
        areas_of_pairs(pairs.truth.view, pairs.pred.view, out);
    }
    return to_numpy(std::move(out), {pairs.size(), 3});
}

nb::ndarray<nb::numpy, double> pair_statistics(const MaskSide& truths, const MaskSide& preds) {
    const CheckedPairs pairs(truths, preds);
    std::vector<double> out(statistic_count * pairs.size());
    {
        nb::gil_scoped_release released;
        measure(pairs.truth.view, pairs.pred.view, out);
    }
    return to_numpy(std::move(out), {pairs.size(), statistic_count});
}

nb::ndarray<nb::numpy, double> pair_outside(const MaskSide& truths, const MaskSide& preds) {
    const CheckedPairs pairs(truths, preds);
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
    const MaskSide& truths, const MaskSide& preds) {
    const CheckedPairs pairs(truths, preds);
    PixelLists to_truth, to_pred;
    {
        nb::gil_scoped_release released;
        list_distances(pairs.truth.view, pairs.pred.view, to_truth, to_pred);
    }
    return nb::make_tuple(hand_over(to_truth), hand_over(to_pred));
}

// Distances between neighbouring pixels, down and across.
Spacing spacing_of(const std::tuple<double, double>& given) {
    const auto [down, across] = given;
    for (const double apart : {down, across})
        if (!(apart > 0) || !(apart < 1e9)) throw std::invalid_argument("spacing: expected two numbers above 0");
    return {down, across};
}

nb::ndarray<nb::numpy, double> spaced_outside(const MaskSide& truths, const MaskSide& preds,
                                              const std::tuple<double, double>& spacing) {
    const CheckedPairs pairs(truths, preds);
    const Spacing apart = spacing_of(spacing);
    std::vector<double> out(pairs.size());
    {
        nb::gil_scoped_release released;
        sum_outside(pairs.truth.view, pairs.pred.view, apart, out);
    }
    return to_numpy(std::move(out), {pairs.size()});
}

nb::typed<nb::tuple, ArraysOf<double, std::int64_t>, ArraysOf<double, std::int64_t>> spaced_distances(
    const MaskSide& truths, const MaskSide& preds, const std::tuple<double, double>& spacing) {
    const CheckedPairs pairs(truths, preds);
    const Spacing apart = spacing_of(spacing);
    SpacedLists to_truth, to_pred;
    {
        nb::gil_scoped_release released;
        list_distances(pairs.truth.view, pairs.pred.view, apart, to_truth, to_pred);
    }
    return nb::make_tuple(hand_over(to_truth), hand_over(to_pred));
}

nb::ndarray<nb::numpy, double> boundary_areas_(const MaskSide& truths, const MaskSide& preds,
                                               const OffsetArray& widths) {
    const CheckedPairs pairs(truths, preds);
    if (widths.size() != pairs.size()) throw std::invalid_argument("widths: expected one per pair");
    for (std::size_t i = 0; i < widths.size(); ++i)
        if (widths.data()[i] < 1) throw std::invalid_argument("widths: expected 1 or more");
    std::vector<double> out(3 * pairs.size());
    {
        nb::gil_scoped_release released;
        boundary_areas(pairs.truth.view, pairs.pred.view, {widths.data(), widths.size()}, out);
    }
    return to_numpy(std::move(out), {pairs.size(), 3});
}

nb::ndarray<nb::numpy, double> pair_distance_differences(const MaskSide& truths, const MaskSide& preds,
                                                         const NumberArray& powers, double cutoff,
                                                         const std::tuple<double, double>& spacing) {
    const CheckedPairs pairs(truths, preds);
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
    nb::class_<MaskSide>(module, "MaskSide", "One side of pairs of masks, run-length encoded as in COCO.")
        .def(
            "__init__",
            [](MaskSide* self, RunArray counts, OffsetArray objects, SizeArray sizes, OffsetArray rows,
               std::optional<RunArray> outline_counts, std::optional<OffsetArray> outline_objects) {
                new (self) MaskSide{std::move(counts), std::move(objects),        std::move(sizes),
                                    std::move(rows),   std::move(outline_counts), std::move(outline_objects)};
            },
            nb::kw_only(), "counts"_a, "objects"_a, "sizes"_a, "rows"_a, "outline_counts"_a.none() = nb::none(),
            "outline_objects"_a.none() = nb::none(),
            "Run lengths and offsets of masks, their heights and widths, the mask of each pair; contours if given.")
        .def(
            "with_rows",
            [](MaskSide side, OffsetArray rows) {
                side.rows = std::move(rows);
                return side;
            },
            "rows"_a, "The same masks in other pairs.")
        .def_prop_ro("counts", [](const MaskSide& side) { return numpy_of<std::uint32_t>(side.counts); })
        .def_prop_ro("objects", [](const MaskSide& side) { return numpy_of<std::int64_t>(side.objects); })
        .def_prop_ro("sizes", [](const MaskSide& side) { return numpy_of<std::int32_t>(side.sizes); })
        .def_prop_ro("rows", [](const MaskSide& side) { return numpy_of<std::int64_t>(side.rows); })
        .def_prop_ro("outline_counts",
                     [](const MaskSide& side) {
                         return side.outline_counts ? std::optional(numpy_of<std::uint32_t>(*side.outline_counts))
                                                    : std::nullopt;
                     })
        .def_prop_ro("outline_objects", [](const MaskSide& side) {
            return side.outline_objects ? std::optional(numpy_of<std::int64_t>(*side.outline_objects)) : std::nullopt;
        });
    module.def("polygon_runs", &polygon_runs, "points"_a, "rings"_a, "objects"_a, "sizes"_a, "coco"_a = true,
               "Run lengths and offsets of the pixels inside polygons, by COCO's rule or by the middles of pixels.");
    module.def("box_runs", &box_runs, "boxes"_a, "sizes"_a,
               "Run lengths and offsets of the pixels whose middle lies in a box, left and upper edge included.");
    module.def("mask_runs", &mask_runs, "masks"_a, "Run lengths and offsets of masks of bytes, [object, row, column].");
    module.def("outline_runs", &outline_runs, "counts"_a, "objects"_a, "sizes"_a, "with_corners"_a = false,
               "Run lengths and offsets of the pixels of masks that have a 4-neighbour (8-neighbour) outside.");
    module.def("filled_runs", &filled_runs, "counts"_a, "objects"_a, "sizes"_a,
               "Run lengths and offsets of curves of pixels with what they enclose.");
    module.def("run_frames", &run_frames, "counts"_a, "objects"_a, "sizes"_a,
               "Corners of the smallest box around each mask, all 0 where it is empty.");
    module.def("pair_areas", &pair_areas, "truth"_a, "pred"_a,
               "Area of the ground-truth mask, of the predicted one and of their intersection, one row per pair.");
    module.def("pair_statistics", &pair_statistics, "truth"_a, "pred"_a,
               "The shared statistics of pairs, one row each (see cpp/pairs/pairs.hpp).");
    module.def("pair_outside", &pair_outside, "truth"_a, "pred"_a,
               "Squared distances of predicted pixels outside the ground truth to the ground truth, summed.");
    module.def("pair_distances", &pair_distances, "truth"_a, "pred"_a,
               "Squared distances of contour pixels with offsets: prediction to ground truth, then the reverse.");
    module.def("spaced_outside", &spaced_outside, "truth"_a, "pred"_a, "spacing"_a,
               "The same sums with this distance between pixels, down and across.");
    module.def("spaced_distances", &spaced_distances, "truth"_a, "pred"_a, "spacing"_a,
               "The same squared distances with this distance between pixels, down and across.");
    module.def("boundary_areas", &boundary_areas_, "truth"_a, "pred"_a, "widths"_a,
               "Area of the ground truth's boundary, of the prediction's and of their intersection, one row per pair.");
    module.def("distance_differences", &pair_distance_differences, "truth"_a, "pred"_a, "powers"_a, "cutoff"_a,
               "spacing"_a = std::tuple(1., 1.),
               "Sums over the image of |distance to ground truth - distance to prediction| ^ power, one row per pair.");
}

}  // namespace verite
