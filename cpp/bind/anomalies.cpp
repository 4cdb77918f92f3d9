// Anomaly counts of a side and the sample fit of two sides for Python: plain numbers, no arrays.
#include "columns/anomalies.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>

#include "bind/arrays.hpp"
#include "columns/objects.hpp"
#include "columns/poses.hpp"
#include "columns/sample_fit.hpp"

namespace verite {
namespace {

using namespace nb::literals;

Surveyed survey(const Columns& side, std::span<const std::int32_t> sizes) {
    return {side.image.values,
            side.label.values,
            side.regions.boxes.values,
            side.regions.layout == BoxLayout::corners,
            side.confidence.values,
            side.area.values,
            side.flag(Flag::crowd).values,
            side.ids.values,
            sizes};
}

// Width and height of each image; 1 where coordinates are fractions of the image.
Array<std::int32_t> sizes_of(const Images& images, bool is_relative) {
    Array<std::int32_t> sizes(2 * images.count(), 1);
    for (std::size_t i = 0; !is_relative && i < images.count(); ++i) {
        sizes[2 * i] = images.widths[i];
        sizes[2 * i + 1] = images.heights[i];
    }
    return sizes;
}

// Counts predictions without a confidence, among others that have one, separately from those that are not finite.
void count_unscored(const Columns& side, AnomalyCounts& found) {
    const auto& unscored = side.flag(Flag::unscored);
    if (!unscored || !side.confidence) return;
    found.unscored = found.confidence_not_finite = {};
    for (std::size_t row = 0; row < side.count(); ++row) {
        if (unscored[row])
            found.unscored.add(row);
        else if (!std::isfinite(side.confidence[row]))
            found.confidence_not_finite.add(row);
    }
}

// File names that an earlier image has.
Tally repeated_names(const Images& images) {
    Tally found;
    std::unordered_set<std::string_view> seen(2 * images.count());
    for (std::size_t i = 0; i < images.names.size(); ++i) {
        const auto name = images.names[i];
        if (!name.empty() && !seen.emplace(name.data(), name.size()).second) found.add(i);
    }
    return found;
}

using Tallies = nb::typed<nb::dict, nb::str, std::tuple<int, std::vector<int>>>;

nb::tuple to_python(const Tally& tally) { return nb::make_tuple(tally.count, nb::cast(tally.rows)); }

nb::dict to_python(const AnomalyCounts& anomalies) {
    nb::dict found;
    AnomalyCounts::visit(
        [&](const char* name, Tally AnomalyCounts::* tally) { found[name] = to_python(anomalies.*tally); });
    found["sampled"] = nb::make_tuple(anomalies.sampled, nb::list());
    return found;
}

Tallies anomalies(const Columns& side, const Images& images, bool is_truth, bool is_relative, unsigned threads) {
    AnomalyCounts found;
    Tally names;
    {
        const nb::gil_scoped_release released;
        found = count_anomalies(survey(side, sizes_of(images, is_relative)), images.count(), is_truth, threads);
        count_unscored(side, found);
        if (is_truth) names = repeated_names(images);
    }
    nb::dict anomalies = to_python(found);
    anomalies["repeated_names"] = to_python(names);
    return anomalies;
}

SampleFit fit(const Columns& truth, const Columns& pred, std::size_t images) {
    const nb::gil_scoped_release released;
    return sample_fit(survey(truth, {}), survey(pred, {}), images);
}

}  // namespace

void register_anomalies(nb::module_& module) {
    module.def(
        "pose_faults",
        [](const Columns& columns, const Images& images, bool is_truth, bool is_relative, unsigned threads) {
            PoseFaults faults;
            {
                const nb::gil_scoped_release released;
                faults = find_pose_faults(columns, images, is_truth, is_relative, threads);
            }
            return std::make_tuple(faults.miscounted, faults.not_finite, faults.outside, faults.unlabelled);
        },
        "columns"_a, "images"_a, "is_truth"_a, "is_relative"_a, "threads"_a = 1,
        "Objects whose keypoints are miscounted, not finite, outside of their image, or all unlabelled.");
    module.def(
        "mirrored_poses",
        [](const Columns& truth, const Columns& pred, std::size_t images,
           const std::vector<std::vector<std::int64_t>>& others) {
            const MirroredPoses found = find_mirrored_poses(truth, pred, images, others);
            return std::make_tuple(found.compared, found.better);
        },
        "truth"_a, "pred"_a, "images"_a, "others"_a,
        "Poses of a sample that were compared, and those that fit twice as well with left and right exchanged.");

    module.def("count_anomalies", &anomalies, "side"_a, "images"_a, "is_truth"_a, "is_relative"_a = false,
               "threads"_a = 1, "For each kind of anomaly, the number of objects and the first few rows.");
    using Exchanges = std::vector<std::tuple<std::int32_t, std::int32_t, std::size_t, std::size_t>>;
    using Rows = std::tuple<std::size_t, std::vector<std::int64_t>>;
    nb::class_<SampleFit>(module, "SampleFit", "Matches of predictions and ground truth in a sample of images.")
        .def_ro("is_good", &SampleFit::is_good, "Boxes and classes cannot have been misread.")
        .def_prop_ro(
            "exchanges",
            [](const SampleFit& fit) {
                Exchanges found;
                for (const auto& [label, as, count, of] : fit.exchanges) found.emplace_back(label, as, count, of);
                return found;
            },
            "Cycles of classes, each matched as the next: class, other class, objects so matched, objects matched.")
        .def_ro("images_with_objects", &SampleFit::images_with_objects)
        .def_prop_ro(
            "unpredicted", [](const SampleFit& fit) { return Rows(fit.unpredicted.count, fit.unpredicted.rows); },
            "Images with objects that have no prediction: their number, and the first of them.")
        .def_ro("expected", &SampleFit::expected, "How many would have none by chance.")
        .def_ro("looked_at", &SampleFit::looked_at, "Predictions of the sample.")
        .def_ro("unsuppressed", &SampleFit::unsuppressed, "Those that suppression by a more confident one removes.")
        .def_ro("true_positives", &SampleFit::true_positives)
        .def_ro("false_positives", &SampleFit::false_positives)
        .def_ro("u_statistic", &SampleFit::u_statistic,
                "Pairs of a true and a false positive in which the true positive is more confident; ties count half.")
        .def_prop_ro(
            "gained",
            [](const SampleFit& fit) {
                std::map<std::string, std::size_t> found;
                for (std::size_t i = 0; i < fit.gained.size(); ++i) found[other_layouts[i]] = fit.gained[i];
                return found;
            },
            "Objects that are matched precisely only if boxes are read in another layout, by layout.")
        .def_ro("found", &SampleFit::found, "Objects that are matched.")
        .def_prop_ro(
            "reach", [](const SampleFit& fit) { return std::make_pair(fit.reach[0], fit.reach[1]); },
            "The farthest right and bottom edges of predictions.")
        .def_ro("at_reach", &SampleFit::at_reach, "Predictions that end exactly there.")
        .def_ro("beyond_reach", &SampleFit::beyond_reach, "Objects whose centre lies beyond.")
        .def_ro("objects", &SampleFit::objects)
        .def_ro("most_in_image", &SampleFit::most_in_image, "Predictions of the image that has most.")
        .def_ro("images_predicted", &SampleFit::images_predicted);
    module.def("sample_fit", &fit, "truth"_a, "pred"_a, "images"_a,
               "Whether predictions match the ground truth in a sample of images, and what is suspicious.");
}

}  // namespace verite
