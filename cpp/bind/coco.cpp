// COCO's numbers for Python, from files whose columns never left the core.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "bind/arrays.hpp"
#include "bind/coco_file.hpp"
#include "evaluation/coco_numbers.hpp"
#include "evaluation/matching.hpp"

namespace verite {
namespace {

using namespace nb::literals;
using json::Annotations;
using FactTuple = std::tuple<std::string, std::size_t, std::uint64_t>;

// What work() with masks returns; nothing where a segmentation is wrong, cannot be drawn, or the file was changed
// since: the stages in Python will say so.
template <class Work>
std::invoke_result_t<Work> if_usual(Work&& work) {
    try {
        return work();
    } catch (const std::invalid_argument&) {
        return std::nullopt;
    } catch (const std::runtime_error&) {
        return std::nullopt;
    }
}

// The ranks at these positions, in `found` where they are not the positions themselves.
std::span<const std::int32_t> as_ranks(const Array<std::int32_t>& positions, const Array<std::int32_t>& ranks,
                                       Array<std::int32_t>& found) {
    if (ranks.empty()) return positions;
    found.resize(positions.size());
    std::ranges::transform(positions, found.begin(),
                           [&](std::int32_t position) { return ranks[static_cast<std::size_t>(position)]; });
    return found;
}

// Height and width of the image of each object.
Array<std::int32_t> image_sizes(const json::Images& images, const Positions& positions) {
    Array<std::int32_t> sizes(2 * positions.image.size());
    for (std::size_t i = 0; i < positions.image.size(); ++i) {
        const auto image = static_cast<std::size_t>(positions.image[i]);
        sizes[2 * i] = static_cast<std::int32_t>(images.height_of(image));
        sizes[2 * i + 1] = static_cast<std::int32_t>(images.width_of(image));
    }
    return sizes;
}

// One side of an evaluation and what it owns.
struct Side {
    Side(CocoFile& file, const CocoFile& truth) {
        const Annotations& table = file.document().annotations;
        objects = {as_ranks(file.positions().image, truth.ranks().image, image),
                   as_ranks(file.positions().label, truth.ranks().label, label),
                   table.boxes.values(),
                   table.areas.values(),
                   table.scores.values(),
                   table.crowds.values(),
                   table.ignores.values(),
                   {}};
    }
    Side(const Side&) = delete;

    // False where an object can be drawn in no image.
    bool add_shapes(CocoFile& file, const CocoFile& truth, const Limits& limits) {
        sizes = image_sizes(truth.document().images, file.positions());
        const Shapes& shapes = file.shapes(limits);
        objects.outlines = outlines_of(shapes, objects.boxes, sizes);
        for (std::size_t i = 0; i < objects.image.size(); ++i) {
            const bool is_drawn = !shapes.has_runs() || shapes.run_objects[i] == shapes.run_objects[i + 1];
            if (is_drawn && sizes[2 * i] <= 0) return false;
        }
        return true;
    }

    Array<std::int32_t> image, label, sizes;
    CocoObjects objects;
};

// Nothing where something is unusual and the stages in Python should say what, or do better.
std::optional<CocoNumbers> coco_numbers(CocoFile& truth, CocoFile& pred, const Rules& rules, bool is_on_masks,
                                        bool honours_ignore, const Limits& limits, unsigned threads) {
    const json::Document& document = truth.document();
    const Annotations& truths = document.annotations;
    const auto is_missing = [](double value) { return std::isnan(value); };
    if (std::ranges::any_of(pred.document().annotations.scores.values(), is_missing)) return std::nullopt;
    Side truth_side(truth, truth), pred_side(pred, truth);
    if (is_on_masks) {
        const auto areas = truths.areas.values();
        if (areas.empty() || std::ranges::any_of(areas, is_missing) || !json::all_have_shapes(truths))
            return std::nullopt;
        if (!truth_side.add_shapes(truth, truth, limits) || !pred_side.add_shapes(pred, truth, limits))
            return std::nullopt;
    }
    return CocoNumbers(truth_side.objects, pred_side.objects, document.images.count, document.categories.count, rules,
                       find_similarity(is_on_masks ? "mask" : "box"), honours_ignore, threads);
}

std::optional<CocoNumbers> coco_numbers_(CocoFile& truth, CocoFile& pred, bool on_masks, std::vector<double> thresholds,
                                         std::vector<double> ranges, std::vector<double> recalls,
                                         std::vector<std::int64_t> limits, bool honours_ignore,
                                         const Limits& region_limits, unsigned threads) {
    Rules rules{std::move(thresholds), std::move(ranges), std::move(limits), std::move(recalls)};
    check(rules);
    const auto evaluate = [&] {
        return coco_numbers(truth, pred, rules, on_masks, honours_ignore, region_limits, threads);
    };
    return CocoFile::between(truth, pred, [&] { return on_masks ? if_usual(evaluate) : evaluate(); })
        .value_or(std::nullopt);
}

// Of the images, of the objects and, if asked for, of their polygons and masks.
using Facts = std::tuple<std::vector<FactTuple>, std::vector<FactTuple>, std::vector<FactTuple>>;

std::vector<FactTuple> tuples(const std::vector<Fact>& facts) {
    std::vector<FactTuple> found;
    for (const auto& [name, bytes, digest] : facts) found.emplace_back(name, bytes, digest);
    return found;
}

std::optional<Facts> facts(CocoFile& truth, CocoFile& side, bool with_shapes, const Limits& limits) {
    const auto look = [&] {
        return std::optional(Facts{tuples(facts_of(truth.document().images)),
                                   tuples(facts_of(side.document().annotations, side.positions())),
                                   tuples(with_shapes ? facts_of(side.shapes(limits)) : std::vector<Fact>())});
    };
    return CocoFile::between(truth, side, [&] { return if_usual(look); }).value_or(std::nullopt);
}

}  // namespace

json::RegionLimits region_limits(const Limits& given, bool is_strict) {
    json::RegionLimits limits;
    limits.is_strict = is_strict;
    std::tie(limits.side_px, limits.pixels, limits.points, limits.coordinate_px) = given;
    return limits;
}

void CocoFile::check_unchanged() const {
    if (file_->has_changed()) throw std::runtime_error("the file was changed after it was read; read it again");
}

bool CocoFile::settle(const Limits& limits) {
    const nb::gil_scoped_release released;
    const std::unique_lock lock(taking_);
    if (is_taken_ || positions_) return false;
    auto ranks = ranks_of(document_, {std::get<0>(limits), std::get<1>(limits)});
    if (ranks) positions_ = positions_of(document_, document_, threads_);
    if (!positions_) return false;
    ranks_ = std::move(ranks);
    truth_ = this;
    return true;
}

bool CocoFile::settle_in(CocoFile& truth) {
    if (&truth == this) return false;
    {
        const nb::gil_scoped_release released;
        const std::shared_lock first(truth.taking_);
        const std::unique_lock second(taking_);
        if (is_taken_ || positions_ || !is_results() || truth.is_taken_ || !truth.ranks_) return false;
        positions_ = positions_of(document_, truth.document_, threads_);
        if (!positions_) return false;
        truth_ = &truth;
    }
    truth_owner_ = nb::find(&truth);
    return true;
}

nb::list CocoFile::class_names() const {
    expect(!is_taken_, "a file whose columns are still here");
    nb::list names;
    for (std::size_t i = 0; i < document_.categories.count; ++i) {
        const auto name = document_.categories.labels[i];
        names.append(nb::str(name.data(), name.size()));
    }
    return names;
}

std::vector<std::int64_t> CocoFile::class_ids() const {
    expect(!is_taken_, "a file whose columns are still here");
    const auto ids = document_.categories.ids.values();
    return {ids.begin(), ids.end()};
}

const Shapes& CocoFile::shapes(const Limits& limits) {
    const std::lock_guard lock(shaping_);
    if (!shapes_) {
        check_unchanged();
        shapes_ = json::read_shapes(file_->bytes(), document_, region_limits(limits, true), threads_);
    }
    return *shapes_;
}

void register_evaluation(nb::module_& module, nb::class_<CocoFile>& file) {
    file.def("settle", &CocoFile::settle, "limits"_a = usual_limits,
             "Finds the place of everything in a truth; false where something is unusual.")
        .def("settle_in", &CocoFile::settle_in, "truth"_a, "The same of results, in the tables of a settled truth.")
        .def("class_names", &CocoFile::class_names, "While the columns are here, as class_ids.")
        .def("class_ids", &CocoFile::class_ids)
        .def_prop_ro("object_count", [](const CocoFile& file) { return file.document().annotations.count; })
        .def_prop_ro("image_count", [](const CocoFile& file) { return file.document().images.count; });

    const auto def = [&](nb::class_<CocoNumbers>& numbers, const char* name, auto average) {
        numbers.def(
            name,
            [average](const CocoNumbers& all, bool is_precision, std::optional<std::int64_t> threshold,
                      std::size_t range, std::size_t limit) {
                const Choice choice{is_precision, threshold, range, limit};
                expect(all.numbers.has(choice),
                       "one of the thresholds or none for all, one of the area ranges and of the limits");
                return average(all.numbers, choice);
            },
            "is_precision"_a, "threshold"_a.none(), "range"_a, "limit"_a);
    };
    nb::class_<CocoNumbers> numbers(module, "CocoNumbers");
    def(numbers, "mean", [](const Numbers& all, const Choice& choice) { return all.mean(choice); });
    def(numbers, "class_means", [](const Numbers& all, const Choice& choice) { return all.class_means(choice); });
    numbers.def_ro("truth_counts", &CocoNumbers::truth_counts).def_ro("pred_counts", &CocoNumbers::pred_counts);

    module.def("coco_numbers", &coco_numbers_, "truth"_a, "pred"_a, "on_masks"_a, "thresholds"_a, "ranges"_a,
               "recalls"_a, "limits"_a, "honours_ignore"_a, "region_limits"_a = usual_limits, "threads"_a = 1,
               "COCO's numbers of files that are settled and whole; none where something is unusual.");
    module.def("coco_facts", &facts, "truth"_a, "side"_a, "with_shapes"_a, "limits"_a = usual_limits,
               "Name, size and digest of every column of the images, of the objects, and of polygons and masks.");
}

}  // namespace verite
