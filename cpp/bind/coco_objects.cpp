// The images, classes and objects of a COCO file as the model has them, without numpy.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string>

#include "bind/coco_file.hpp"
#include "bind/views.hpp"

namespace verite {
namespace {

using namespace nb::literals;
using json::Document;

nb::str text(std::span<const char> letters) { return nb::str(letters.data(), letters.size()); }

nb::typed<nb::list, nb::str> texts(const RaggedColumn<char>& column) {
    nb::list found;
    for (std::size_t i = 0; i < column.rows(); ++i) found.append(text(column[i]));
    return found;
}

// The names of classes, None for one that has none.
nb::typed<nb::list, std::optional<std::string>> class_names(const CocoFile& file) {
    const json::Categories& categories = file.document().categories;
    nb::list names;
    for (std::size_t i = 0; i < categories.count; ++i) {
        const bool has_name = categories.presence.fields[i] & json::field_bit(json::Categories::name);
        names.append(has_name ? nb::object(text(categories.labels[i])) : nb::none());
    }
    return names;
}

std::vector<std::int64_t> class_ids(const CocoFile& file) {
    const auto ids = file.document().categories.ids.values();
    return {ids.begin(), ids.end()};
}

// What is said of the keypoints of each class, as the file writes it: names, skeleton, sigmas; empty for nothing.
std::vector<std::tuple<std::string, std::string, std::string>> class_poses(const CocoFile& file) {
    const json::Categories& categories = file.document().categories;
    const auto written = [](const RaggedColumn<char>& column, std::size_t i) {
        const auto letters = column[i];
        return std::string(letters.begin(), letters.end());
    };
    std::vector<std::tuple<std::string, std::string, std::string>> poses;
    for (std::size_t i = 0; i < categories.count; ++i)
        poses.emplace_back(written(categories.keypoint_names, i), written(categories.bones, i),
                           written(categories.spreads, i));
    return poses;
}

// The ids of images where they are texts.
nb::typed<nb::object, std::optional<std::vector<std::string>>> image_id_texts(const CocoFile& file) {
    const json::Ids& ids = file.document().images.ids;
    return ids.kind == json::Ids::Kind::text ? nb::object(texts(ids.text)) : nb::none();
}

// Names of images as the file has them, ids in the place of those that are missing; none where all are.
RaggedView<char> names_of(const CocoFile& file) {
    const json::Images& images = file.document().images;
    const auto starts = images.file_names.starts().values();
    if (images.count > 0 && !(images.presence.some & json::field_bit(json::Images::file_name))) return {};
    if (std::ranges::adjacent_find(starts, std::greater_equal()) == starts.end()) return file.view(images.file_names);
    std::vector<char> letters;
    std::vector<std::int64_t> ends{0};
    for (std::size_t i = 0; i < images.count; ++i) {
        const auto name = images.file_names[i];
        const std::string id = name.empty() ? std::to_string(file.image_ids()[i]) : "";
        letters.insert(letters.end(), name.begin(), name.end());
        letters.insert(letters.end(), id.begin(), id.end());
        ends.push_back(static_cast<std::int64_t>(letters.size()));
    }
    return {keep(std::move(letters)), keep(std::move(ends))};
}

// Sides as numbers of 32 bits, 0 where the file does not say.
View<std::int32_t> sides(const json::Images& images, std::int64_t (json::Images::*side_of)(std::size_t) const) {
    Array<std::int32_t> narrow(images.count);
    for (std::size_t i = 0; i < images.count; ++i) narrow[i] = static_cast<std::int32_t>((images.*side_of)(i));
    return keep(std::move(narrow));
}

View<std::int64_t> shift(const View<std::int64_t>& ids, std::int64_t offset) {
    if (offset == 0 || !ids) return ids;
    Array<std::int64_t> shifted(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i)
        shifted[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(ids[i]) + static_cast<std::uint64_t>(offset));
    return keep(std::move(shifted));
}

// The images of a file whose ids are numbers; of another, with these names.
Images image_table(const CocoFile& file, std::int64_t offset, const Texts& names) {
    const json::Images& images = file.document().images;
    const auto widths = sides(images, &json::Images::width_of), heights = sides(images, &json::Images::height_of);
    if (!names.is_none()) return {{}, texts_from(names), widths, heights};
    auto ids = shift(file.image_ids(), offset);
    if (!ids) ids = keep(std::vector<std::int64_t>());
    return {ids, names_of(file), widths, heights};
}

std::vector<json::RecordFault> table_faults(const CocoFile& file, Limits limits, std::size_t most) {
    const nb::gil_scoped_release released;
    const Document& document = file.document();
    const json::RegionLimits used = region_limits(limits);
    return json::faults_of(document.images, file.image_ids().values, document.categories, {used.side_px, used.pixels},
                           most);
}

using Resolved = nb::typed<nb::tuple, std::optional<Columns>, std::vector<json::RecordFault>>;

Resolved resolve(const CocoFile& file, const std::string& layout, const json::IdTables& tables, Limits limits,
                 unsigned threads, std::size_t most) {
    const BoxLayout kept = layout_from(layout);
    json::ResolvedObjects found;
    {
        const nb::gil_scoped_release released;
        found = json::resolve(file.document(), file.shared(), tables, file.shapes(limits), kept, threads, most);
    }
    if (!found.faults.empty()) return nb::make_tuple(nb::none(), nb::cast(found.faults));
    return nb::make_tuple(std::move(found.columns), nb::list());
}

// The objects of a file in its own tables.
Resolved objects(const CocoFile& file, const std::string& layout, Limits limits, unsigned threads, std::size_t most) {
    const Document& document = file.document();
    json::IdTables tables{file.image_ids().values, {}, document.categories.ids.values()};
    if (document.images.ids.kind == json::Ids::Kind::text) tables.image_names = file.view(document.images.ids.text);
    return resolve(file, layout, tables, limits, threads, most);
}

// The same in the tables of a truth: by ids that differ by an offset, or by names where the ids in the file are texts.
Resolved objects_in(const CocoFile& file, const Images& images, const std::vector<std::int64_t>& label_ids,
                    std::int64_t image_offset, std::int64_t label_offset, const std::string& layout, Limits limits,
                    unsigned threads, std::size_t most) {
    const bool has_texts = file.document().annotations.image_ids.kind == json::Ids::Kind::text;
    const auto image_ids = shift(images.ids, -image_offset);
    const auto labels = shift(keep(std::vector<std::int64_t>(label_ids)), -label_offset);
    json::IdTables tables{image_ids.values, {}, labels.values};
    if (has_texts) tables.image_names = images.names;
    return resolve(file, layout, tables, limits, threads, most);
}

// Ids of images and classes that occur: numbers, or texts where those of images are.
nb::typed<nb::tuple, nb::any, std::vector<std::int64_t>> ids_used(const CocoFile& file) {
    const json::Annotations& annotations = file.document().annotations;
    const auto classes = json::distinct(annotations.category_ids.values());
    if (annotations.image_ids.kind == json::Ids::Kind::text)
        return nb::make_tuple(json::distinct(annotations.image_ids.text), classes);
    return nb::make_tuple(json::distinct(annotations.image_ids.numbers.values()), classes);
}

// How many records say where they come from by an id that is no number, or by none.
std::size_t missing_ids(const CocoFile& file) {
    const json::Annotations& annotations = file.document().annotations;
    if (annotations.count == 0 || !(annotations.presence.some & json::field_bit(json::Annotations::id))) return 0;
    if (annotations.ids.kind == json::Ids::Kind::text) return annotations.count;
    std::size_t missing = 0;
    for (const json::FieldSet fields : annotations.presence.fields.values())
        missing += !(fields & json::field_bit(json::Annotations::id));
    return missing;
}

// An id as the file has it: a number or a text.
nb::typed<nb::object, std::variant<std::int64_t, std::string>> id_of(const CocoFile& file, const std::string& section,
                                                                     const std::string& field, std::size_t record) {
    const Document& document = file.document();
    const auto shown = [&](const json::Ids& ids, std::span<const std::int64_t> numbers) -> nb::object {
        if (ids.kind == json::Ids::Kind::text && record < ids.text.rows()) return text(ids.text[record]);
        if (record >= numbers.size()) throw nb::index_error();
        return nb::int_(numbers[record]);
    };
    if (section == "images") return shown(document.images.ids, file.image_ids().values);
    if (section == "categories") return shown({}, document.categories.ids.values());
    if (field == "category_id") return shown({}, document.annotations.category_ids.values());
    return shown(document.annotations.image_ids, document.annotations.image_ids.numbers.values());
}

std::pair<std::int64_t, std::int64_t> image_size(const CocoFile& file, std::size_t image) {
    const json::Images& images = file.document().images;
    if (image >= images.count) throw nb::index_error();
    return {images.width_of(image), images.height_of(image)};
}

}  // namespace

void register_faults(nb::module_& module) {
    nb::class_<json::RegionLimits>(module, "RegionLimits", "The largest images and segmentations that are read.")
        .def(
            "__init__",
            [](json::RegionLimits* self, std::int64_t side_px, std::int64_t pixels, std::int64_t points,
               double coordinate_px) { new (self) json::RegionLimits{side_px, pixels, points, coordinate_px, true}; },
            nb::kw_only(), "side_px"_a, "pixels"_a, "points"_a, "coordinate_px"_a,
            "Side and number of pixels of an image, points of an object, and coordinate in pixels.")
        .def_ro("side_px", &json::RegionLimits::side_px)
        .def_ro("pixels", &json::RegionLimits::pixels)
        .def_ro("points", &json::RegionLimits::points)
        .def_ro("coordinate_px", &json::RegionLimits::coordinate_px);
    nb::class_<json::RecordFault>(module, "RecordFault", "A record with impossible content.")
        .def_prop_ro(
            "code", [](const json::RecordFault& fault) { return std::string(fault.code); },
            "repeated_id, size, unknown_id, mixed_ids or no_region.")
        .def_prop_ro("section", [](const json::RecordFault& fault) { return std::string(fault.section); })
        .def_ro("record", &json::RecordFault::record, "Counted from 0.")
        .def_prop_ro("field", [](const json::RecordFault& fault) { return std::string(fault.field); })
        .def_ro("other", &json::RecordFault::other, "Another record that is involved, or -1.");
}

void bind_objects(nb::class_<CocoFile>& file) {
    constexpr std::size_t most_faults = 100;
    file.def_prop_ro("is_results", [](const CocoFile& file) { return file.document().is_results; })
        .def_prop_ro("keys",
                     [](const CocoFile& file) {
                         const auto& keys = file.document().keys;
                         return std::vector<std::string>(keys.begin(), keys.end());
                     })
        .def_prop_ro(
            "other_keys",
            [](const CocoFile& file) {
                const auto& keys = file.document().other_keys;
                return std::vector<std::string>(keys.begin(), keys.end());
            },
            "Keys of images, classes and objects that are not read, at most a thousand of at most 64 letters.")
        .def_prop_ro("object_count", [](const CocoFile& file) { return file.document().annotations.count; })
        .def_prop_ro("image_count", [](const CocoFile& file) { return file.document().images.count; })
        .def_prop_ro("class_count", [](const CocoFile& file) { return file.document().categories.count; })
        .def("missing_ids", missing_ids, "Objects whose id is a text or missing, where some have one.")
        .def("class_ids", class_ids)
        .def("class_names", class_names, "None for a class that has none.")
        .def_prop_ro("has_angles", [](const CocoFile& file) { return static_cast<bool>(file.shared().angles); })
        .def_prop_ro(
            "angles", [](const CocoFile& file) { return to_array_or_none(file.shared().angles); },
            "The fifth number of each box; NaN where it has four.")
        .def_prop_ro("has_obb",
                     [](const CocoFile& file) {
                         const json::Annotations& table = file.document().annotations;
                         return table.count > 0 && (table.presence.some & json::field_bit(json::Annotations::obb)) != 0;
                     })
        .def("class_poses", class_poses, "JSON of keypoints, skeleton and sigmas of each class; empty for nothing.")
        .def("image_id_texts", image_id_texts, "The ids of images where they are texts, else None.")
        .def("file_names", [](const CocoFile& file) { return texts(file.document().images.file_names); })
        .def("id_of", id_of, "section"_a, "field"_a, "record"_a, "An id as the file has it.")
        .def("image_size", image_size, "image"_a, "Width and height as the file has them.")
        .def("image_table", image_table, "offset"_a = 0, "names"_a.none() = nb::none(),
             "The images; with these names and no ids, where names are given.")
        .def("table_faults", table_faults, "limits"_a.none() = nb::none(), "most"_a = most_faults,
             "Records of images and classes with impossible content.")
        .def("objects", objects, "layout"_a = "xywh", "limits"_a.none() = nb::none(), "threads"_a = 1,
             "most"_a = most_faults, "The objects and no faults, or None and faults.")
        .def("objects_in", objects_in, "images"_a, "label_ids"_a, "image_offset"_a = 0, "label_offset"_a = 0,
             "layout"_a = "xywh", "limits"_a.none() = nb::none(), "threads"_a = 1, "most"_a = most_faults,
             "The same in the tables of images and classes of the ground truth.")
        .def("ids_used", ids_used, "Ids of images and of classes that objects have, rising, each once.");
}

}  // namespace verite
