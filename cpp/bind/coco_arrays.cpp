// The columns of a COCO file for Python, each converted to an array on access.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <type_traits>

#include "bind/coco_file.hpp"
#include "bind/views.hpp"

namespace verite {
namespace {

using namespace nb::literals;

// The numpy type of ours: text and enumerations are bytes.
template <class T>
using Shown = std::conditional_t<std::is_same_v<T, char> || std::is_enum_v<T>, std::uint8_t, T>;

template <class T>
nb::object to_arrays(const RaggedView<T>& column) {
    return nb::make_tuple(to_array_or_none<T, Shown<T>>(column.values), to_array_or_none(column.starts));
}

nb::object ids_array(const CocoFile& file, const json::Ids& ids, const View<std::int64_t>& numbers) {
    return ids.kind == json::Ids::Kind::text ? to_arrays(file.view(ids.text)) : to_array_or_none(numbers);
}

// For each field: True if every record has it, False if none has, else an array of bool.
template <class Table>
nb::dict presence_of(const Table& table) {
    nb::dict present;
    for (unsigned field = 0; field < Table::names.size(); ++field) {
        const json::FieldSet bit = json::field_bit(field);
        nb::object answer;
        if (table.count > 0 && (table.presence.every & bit)) {
            answer = nb::bool_(true);
        } else if (!(table.presence.some & bit)) {
            answer = nb::bool_(false);
        } else {
            Array<std::uint8_t> has_it;
            for (const json::FieldSet fields : table.presence.fields.values()) has_it.push_back((fields & bit) != 0);
            answer = to_flags(keep(std::move(has_it)));
        }
        present[nb::cast(std::string(Table::names[field]))] = answer;
    }
    return present;
}

DictOfAny image_columns(const CocoFile& file) {
    const json::Images& images = file.document().images;
    nb::dict columns;
    columns["count"] = images.count;
    columns["present"] = presence_of(images);
    columns["id"] = ids_array(file, images.ids, file.image_ids());
    columns["file_name"] = to_arrays(file.view(images.file_names));
    columns["width"] = to_array_or_none(file.view(images.widths));
    columns["height"] = to_array_or_none(file.view(images.heights));
    columns["neg_category_ids"] = to_arrays(file.view(images.negatives));
    columns["not_exhaustive_category_ids"] = to_arrays(file.view(images.not_exhaustives));
    return columns;
}

DictOfAny category_columns(const CocoFile& file) {
    const json::Categories& categories = file.document().categories;
    nb::dict columns;
    columns["count"] = categories.count;
    columns["present"] = presence_of(categories);
    columns["id"] = to_array_or_none(file.view(categories.ids));
    columns["name"] = to_arrays(file.view(categories.labels));
    columns["supercategory"] = to_arrays(file.view(categories.supercategories));
    columns["frequency"] = to_array_or_none<char, std::uint8_t>(file.view(categories.frequencies));
    return columns;
}

DictOfAny annotation_columns(const CocoFile& file) {
    const json::Annotations& annotations = file.document().annotations;
    const json::SharedColumns& shared = file.shared();
    nb::dict columns;
    columns["count"] = annotations.count;
    columns["present"] = presence_of(annotations);
    columns["image_id"] = ids_array(file, annotations.image_ids, file.view(annotations.image_ids.numbers));
    columns["id"] = ids_array(file, annotations.ids, shared.ids);
    columns["category_id"] = to_array_or_none(file.view(annotations.category_ids));
    columns["bbox"] = to_array_or_none(shared.boxes, 4);
    columns["score"] = to_array_or_none(shared.scores);
    columns["area"] = to_array_or_none(shared.areas);
    columns["iscrowd"] = to_array_or_none(shared.crowds);
    columns["ignore"] = to_array_or_none(shared.ignores);
    columns["keypoints"] = to_arrays(shared.keypoints);
    columns["num_keypoints"] = to_array_or_none(shared.labelled);
    return columns;
}

template <class T>
ArrayOrNone<Shown<T>> located_array(const CocoFile& file, Column<T> json::Annotations::* column) {
    return to_array_or_none<T, Shown<T>>(file.located(column));
}

ArraysOf<double, std::int64_t, std::int64_t> polygon_arrays(const CocoFile& file, const Records& records,
                                                            bool is_strict, Limits limits) {
    auto found = file.read(json::read_polygons, records, is_strict, limits);
    return nb::make_tuple(to_array_or_none(keep(std::move(found.points)), 2),
                          to_array_or_none(keep(std::move(found.ring_starts))),
                          to_array_or_none(keep(std::move(found.object_starts))));
}

ArraysOf<std::uint32_t, std::int64_t, std::int32_t> run_arrays(const CocoFile& file, const Records& records,
                                                               bool is_strict, Limits limits) {
    auto found = file.read(json::read_runs, records, is_strict, limits);
    return nb::make_tuple(to_array_or_none(keep(std::move(found.lengths))),
                          to_array_or_none(keep(std::move(found.starts))),
                          to_array_or_none(keep(std::move(found.sizes)), 2));
}

}  // namespace

void bind_columns_as_read(nb::class_<CocoFile>& file) {
    file.def_prop_ro("images", image_columns)
        .def_prop_ro("categories", category_columns)
        .def_prop_ro("annotations", annotation_columns)
        .def_prop_ro("region_kinds",
                     [](const CocoFile& file) { return located_array(file, &json::Annotations::region_kinds); })
        .def_prop_ro("region_bytes",
                     [](const CocoFile& file) { return located_array(file, &json::Annotations::region_bytes); })
        .def_prop_ro("region_lengths",
                     [](const CocoFile& file) { return located_array(file, &json::Annotations::region_lengths); })
        .def("polygons", polygon_arrays, "records"_a, "strict"_a = true, "limits"_a.none() = nb::none())
        .def("runs", run_arrays, "records"_a, "strict"_a = true, "limits"_a.none() = nb::none());
}

}  // namespace verite
