// What may be wrong with the objects of a side, and how two sides fit, for Python: plain numbers, no arrays.
#include "columns/census.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <string_view>
#include <unordered_set>

#include "bind/arrays.hpp"
#include "bind/coco_file.hpp"
#include "columns/quick_fit.hpp"

namespace verite {
namespace {

using namespace nb::literals;

template <class T>
using Optional1 = std::optional<Column1<T>>;

// Image, label and numbers of each object, whether the numbers are corners; confidence, area, crowd and id, if any;
// width and height of each image, if known.
using SurveyedArrays =
    std::tuple<Column1<std::int32_t>, Column1<std::int32_t>, BoxArray, bool, Optional1<double>, Optional1<double>,
               Optional1<bool>, Optional1<std::int64_t>, std::optional<SizeArray>>;

Surveyed surveyed(const SurveyedArrays& arrays) {
    const auto& [image, label, numbers, is_corners, confidence, area, crowd, ids, sizes] = arrays;
    Surveyed side{span_of(image), span_of(label), numbers_of(numbers), is_corners};
    if (confidence) side.confidence = span_of(*confidence);
    if (area) side.area = span_of(*area);
    if (crowd) side.crowd = flags_of(*crowd);
    if (ids) side.ids = span_of(*ids);
    if (sizes) side.sizes = {sizes->data(), sizes->size()};
    return side;
}

Array<std::int32_t> sizes_of(const json::Images& images) {
    Array<std::int32_t> sizes(2 * images.count);
    for (std::size_t i = 0; i < images.count; ++i) {
        sizes[2 * i] = static_cast<std::int32_t>(images.width_of(i));
        sizes[2 * i + 1] = static_cast<std::int32_t>(images.height_of(i));
    }
    return sizes;
}

Surveyed surveyed(const CocoFile& file, std::span<const std::int32_t> sizes) {
    const json::Annotations& table = file.document().annotations;
    Surveyed side{file.positions().image, file.positions().label, table.boxes.values(), false,
                  table.scores.values(),  table.areas.values(),   table.crowds.values()};
    if (table.ids.kind == json::Ids::Kind::numbers) side.ids = table.ids.numbers.values();
    side.sizes = sizes;
    return side;
}

// File names that an earlier image has, too.
Tally repeated_names(const json::Images& images) {
    Tally found;
    std::unordered_set<std::string_view> seen(2 * images.count);
    for (std::size_t i = 0; i < images.count; ++i) {
        const auto name = images.file_names[i];
        if (!name.empty() && !seen.emplace(name.data(), name.size()).second) found.add(i);
    }
    return found;
}

nb::tuple to_python(const Tally& tally) { return nb::make_tuple(tally.count, nb::cast(tally.rows)); }

nb::dict to_python(const Census& census) {
    nb::dict found;
    Census::visit([&](const char* name, Tally Census::* tally) { found[name] = to_python(census.*tally); });
    found["sampled"] = nb::make_tuple(census.sampled, nb::list());
    return found;
}

nb::dict to_python(const QuickFit& fit) {
    nb::dict found;
    nb::list exchanges;
    for (const auto& [label, as, count, of] : fit.exchanges) exchanges.append(nb::make_tuple(label, as, count, of));
    found["is_good"] = fit.is_good;
    found["exchanges"] = exchanges;
    found["asked"] = fit.asked;
    found["unpredicted"] = to_python(fit.unpredicted);
    found["expected"] = fit.expected;
    return found;
}

nb::dict census(const SurveyedArrays& arrays, std::size_t images, bool is_truth, unsigned threads) {
    const Surveyed side = surveyed(arrays);
    Census found;
    {
        const nb::gil_scoped_release released;
        found = take_census(side, images, is_truth, threads);
    }
    return to_python(found);
}

nb::dict fit(const SurveyedArrays& truth, const SurveyedArrays& pred, std::size_t images) {
    const Surveyed one = surveyed(truth), other = surveyed(pred);
    QuickFit found;
    {
        const nb::gil_scoped_release released;
        found = quick_fit(one, other, images);
    }
    return to_python(found);
}

std::optional<nb::dict> coco_census(CocoFile& truth, CocoFile& file, bool is_truth, unsigned threads) {
    const auto found = CocoFile::between(truth, file, [&] {
        const json::Images& images = truth.document().images;
        const auto sizes = sizes_of(images);
        return std::pair(take_census(surveyed(file, sizes), images.count, is_truth, threads),
                         is_truth ? repeated_names(images) : Tally());
    });
    if (!found) return std::nullopt;
    nb::dict census = to_python(found->first);
    census["repeated_names"] = to_python(found->second);
    return census;
}

std::optional<nb::dict> coco_fit(CocoFile& truth, CocoFile& pred) {
    const auto found = CocoFile::between(
        truth, pred, [&] { return quick_fit(surveyed(truth, {}), surveyed(pred, {}), truth.document().images.count); });
    if (!found) return std::nullopt;
    return to_python(*found);
}

}  // namespace

void register_census(nb::module_& module) {
    module.def("census", &census, "side"_a, "images"_a, "is_truth"_a, "threads"_a = 1,
               "How many objects have each kind of fault, and the first few of them.");
    module.def("quick_fit", &fit, "truth"_a, "pred"_a, "images"_a,
               "Whether predictions fit their truth in a sample of the images, and what is odd about it.");
    module.def("coco_census", &coco_census, "truth"_a, "side"_a, "is_truth"_a, "threads"_a = 1,
               "The same of a file whose columns are still here; none where they are not.");
    module.def("coco_fit", &coco_fit, "truth"_a, "pred"_a, "The same of two files whose columns are still here.");
}

}  // namespace verite
