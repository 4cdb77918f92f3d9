// Objects and images for Python: made of arrays, read as arrays, pickled as bytes.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <optional>

#include "bind/pickles.hpp"
#include "columns/facts.hpp"

namespace verite {
namespace {

using namespace nb::literals;

using FactTuple = std::tuple<std::string, std::size_t, std::uint64_t>;

std::vector<FactTuple> tuples(const std::vector<Fact>& facts) {
    std::vector<FactTuple> found;
    for (const auto& [name, bytes, digest] : facts) found.emplace_back(name, bytes, digest);
    return found;
}

// A flag column, absent where no object carries the flag.
View<std::uint8_t> flags_from(nb::handle values, std::size_t count, const char* name) {
    auto flags = column<std::uint8_t>(values, count, name);
    return std::ranges::find(flags.values, 1) != flags.end() ? flags : View<std::uint8_t>();
}

template <class ColumnsLike, class Visit>
void visit_columns(ColumnsLike& columns, Visit&& visit) {
    visit("image", columns.image);
    visit("label", columns.label);
    visit("confidence", columns.confidence);
    visit("area", columns.area);
    visit("ids", columns.ids);
    visit("labelled", columns.labelled);
    visit("track", columns.track);
    for (std::size_t i = 0; i < flag_names.size(); ++i) visit(flag_names[i].data(), columns.flags[i]);
}

template <class ImagesLike, class Visit>
void visit_images(ImagesLike& images, Visit&& visit) {
    visit("ids", images.ids);
    visit("letters", images.names.values);
    visit("starts", images.names.starts);
    visit("widths", images.widths);
    visit("heights", images.heights);
}

Columns columns_from(const Regions& regions, nb::handle image, nb::handle label, nb::handle confidence, nb::handle area,
                     nb::handle ids, const nb::dict& flags, nb::handle labelled, nb::handle track) {
    const std::size_t count = regions.count();
    Columns columns{regions,
                    column<std::int32_t>(image, count, "image"),
                    column<std::int32_t>(label, count, "label"),
                    column<double>(confidence, count, "confidence"),
                    column<double>(area, count, "area"),
                    column<std::int64_t>(ids, count, "ids"),
                    {},
                    column<std::int32_t>(labelled, count, "labelled"),
                    column<std::int64_t>(track, count, "track")};
    expect(columns.image && columns.label, "an image and a label for each object");
    for (const auto& [name, values] : flags) {
        const auto at = std::ranges::find(flag_names, nb::cast<std::string>(name));
        expect(at != flag_names.end(), "flags of known names");
        columns.flags[static_cast<std::size_t>(at - flag_names.begin())] = flags_from(values, count, at->data());
    }
    return columns;
}

nb::typed<nb::dict, nb::str, nb::ndarray<nb::numpy, bool>> flag_arrays(const Columns& columns) {
    nb::dict flags;
    for (std::size_t i = 0; i < flag_names.size(); ++i)
        if (columns.flags[i]) flags[flag_names[i].data()] = to_flags(columns.flags[i]);
    return flags;
}

// Of one object, without numpy.
using Described = std::tuple<std::int32_t, std::array<double, 4>, std::optional<double>, std::optional<std::int64_t>,
                             std::optional<double>>;
Described describe(const Columns& columns, std::size_t row) {
    if (row >= columns.count()) throw std::out_of_range("a row beyond the last");
    std::array<double, 4> box;
    std::copy_n(&columns.regions.boxes[4 * row], 4, box.begin());
    return {columns.image[row], box, columns.confidence ? std::optional(columns.confidence[row]) : std::nullopt,
            columns.ids ? std::optional(columns.ids[row]) : std::nullopt,
            columns.area ? std::optional(columns.area[row]) : std::nullopt};
}

// The first column with a position outside of its table.
std::optional<std::string> outside(const Columns& columns, std::size_t images, std::size_t labels) {
    const auto is_outside = [](const View<std::int32_t>& positions, std::size_t count) {
        std::uint32_t largest = 0;  // negative positions are large when taken as unsigned
        for (const std::int32_t position : positions) largest = std::max(largest, static_cast<std::uint32_t>(position));
        return positions.size() > 0 && largest >= count;
    };
    if (is_outside(columns.image, images)) return "image";
    if (is_outside(columns.label, labels)) return "label";
    return std::nullopt;
}

Images images_from(nb::handle names, nb::handle ids, nb::handle widths, nb::handle heights) {
    Images images{to_view<std::int64_t>(ids, "ids"), texts_from(names), to_view<std::int32_t>(widths, "widths"),
                  to_view<std::int32_t>(heights, "heights")};
    const std::size_t count = images.names ? images.names.size() : images.ids.size();
    const auto check = [&](auto& column, const char* name) {
        if (column && column.size() != count)
            throw nb::value_error(
                ("images: expected " + std::to_string(count) + " " + name + ", found " + std::to_string(column.size()))
                    .c_str());
    };
    expect(images.names || images.ids, "names or ids of images");
    check(images.ids, "ids");
    check(images.widths, "widths");
    check(images.heights, "heights");
    for (auto* side : {&images.widths, &images.heights})
        if (!*side) *side = keep(Array<std::int32_t>(count, 0));
    return images;
}

nb::str image_name(const Images& images, std::size_t i) {
    if (i >= images.count()) throw nb::index_error();
    return images.names ? text_at(images.names, i) : nb::str(nb::int_(images.ids[i]));
}

nb::typed<nb::list, nb::str> image_names(const Images& images) {
    nb::list names;
    for (std::size_t i = 0; i < images.count(); ++i) names.append(image_name(images, i));
    return names;
}

void register_objects(nb::module_& module) {
    nb::class_<Columns> bound(module, "Columns",
                              "The objects of one side: a column for every fact, shared and never written to.");
    bound
        .def(
            "__init__",
            [](Columns* self, const Regions& regions, const Buffer& image, const Buffer& label,
               const Buffer& confidence, const Buffer& area, const Buffer& ids,
               const nb::typed<nb::dict, nb::str, Buffer>& flags, const Buffer& labelled, const Buffer& track) {
                new (self) Columns(columns_from(regions, image, label, confidence, area, ids, flags, labelled, track));
            },
            "regions"_a, "image"_a, "label"_a, "confidence"_a.none() = nb::none(), "area"_a.none() = nb::none(),
            "ids"_a.none() = nb::none(), "flags"_a = nb::dict(), "labelled"_a.none() = nb::none(),
            "track"_a.none() = nb::none())
        .def("__len__", &Columns::count)
        .def_prop_ro("regions", [](const Columns& columns) { return columns.regions; })
        .def_prop_ro("image", [](const Columns& columns) { return to_array(columns.image); })
        .def_prop_ro("label", [](const Columns& columns) { return to_array(columns.label); })
        .def_prop_ro("has_confidence", [](const Columns& columns) { return static_cast<bool>(columns.confidence); })
        .def_prop_ro("confidence", [](const Columns& columns) { return to_array_or_none(columns.confidence); })
        .def_prop_ro("area", [](const Columns& columns) { return to_array_or_none(columns.area); })
        .def_prop_ro("ids", [](const Columns& columns) { return to_array_or_none(columns.ids); })
        .def_prop_ro("labelled", [](const Columns& columns) { return to_array_or_none(columns.labelled); })
        .def_prop_ro("track", [](const Columns& columns) { return to_array_or_none(columns.track); })
        .def("count_keypoints", count_keypoints, "labels"_a,
             "The largest number of keypoints of an object of each class.")
        .def_prop_ro("flags", flag_arrays)
        .def_prop_ro("flag_names",
                     [](const Columns& columns) {
                         std::vector<std::string> names;
                         for (std::size_t i = 0; i < flag_names.size(); ++i)
                             if (columns.flags[i]) names.emplace_back(flag_names[i]);
                         return names;
                     })
        .def("describe", describe, "row"_a,
             "Image, box as kept, confidence, id and area of one object, None for what it lacks.")
        .def("outside", outside, "images"_a, "labels"_a,
             "The first column with a position that its table, of so many rows, does not have.")
        .def(
            "take",
            [](const Columns& columns, const Buffer& rows) {
                return take(columns, to_view<std::int64_t>(rows, "rows"));
            },
            "rows"_a)
        .def(
            "only",
            [](const Columns& columns, const Buffer& labels) {
                return only(columns, to_view<std::int32_t>(labels, "labels"));
            },
            "labels"_a, "The objects whose label has a new one, with it; -1 means none.")
        .def(
            "move",
            [](const Columns& columns, const Buffer& images, const Buffer& labels) {
                return move(columns, to_view<std::int32_t>(images, "images"), to_view<std::int32_t>(labels, "labels"));
            },
            "images"_a.none() = nb::none(), "labels"_a.none() = nb::none(),
            "With other positions of images and labels: those that stand at the present ones.")
        .def(
            "with_regions",
            [](const Columns& columns, const Regions& regions) {
                check_length(regions.count(), columns.count(), "regions");
                Columns changed = columns;
                changed.regions = regions;
                return changed;
            },
            "regions"_a)
        .def(
            "facts",
            [](const Columns& columns, bool with_shapes) {
                auto facts = tuples(facts_of(columns));
                if (with_shapes)
                    std::ranges::move(tuples(facts_of(shapes_of(columns.regions))), std::back_inserter(facts));
                return facts;
            },
            "with_shapes"_a, "Name, size in bytes and digest of every column.")
        .def("__getstate__",
             [](const Columns& columns) {
                 return pack_state([&](nb::dict& state) {
                     get_state(columns.regions, state);
                     visit_columns(columns, into(state));
                 });
             })
        .def("__setstate__", [](Columns& self, const State& given) {
            const nb::dict state = unpack_state(given);
            auto* made = new (&self) Columns{regions_of_state(state), {}, {}, {}, {}, {}, {}, {}, {}};
            visit_columns(*made, out_of(state));
        });
    bind_copies(bound);
}

void register_images(nb::module_& module) {
    nb::class_<Images> bound(module, "Images", "Names, ids and sizes of images.");
    bound
        .def(
            "__init__",
            [](Images* self, const Texts& names, const Buffer& ids, const Buffer& widths, const Buffer& heights) {
                new (self) Images(images_from(names, ids, widths, heights));
            },
            "names"_a.none() = nb::none(), "ids"_a.none() = nb::none(), "widths"_a.none() = nb::none(),
            "heights"_a.none() = nb::none())
        .def("__len__", &Images::count)
        .def_prop_ro("has_names", [](const Images& images) { return static_cast<bool>(images.names); })
        .def_prop_ro("has_ids", [](const Images& images) { return static_cast<bool>(images.ids); })
        .def_prop_ro("sized", [](const Images& images) { return is_sized(images); })
        .def(
            "facts", [](const Images& images) { return tuples(facts_of(images)); },
            "Name, size in bytes and digest of every column.")
        .def("name", image_name, "i"_a, "The name of an image, or its id where it has none.")
        .def("names", image_names)
        .def_prop_ro("ids", [](const Images& images) { return to_array_or_none(images.ids); })
        .def_prop_ro("widths", [](const Images& images) { return to_array(images.widths); })
        .def_prop_ro("heights", [](const Images& images) { return to_array(images.heights); })
        .def("__getstate__",
             [](const Images& images) {
                 return pack_state([&](nb::dict& state) { visit_images(images, into(state)); });
             })
        .def("__setstate__", [](Images& self, const State& state) {
            auto* made = new (&self) Images{};
            visit_images(*made, out_of(unpack_state(state)));
        });
    bind_copies(bound);
}

}  // namespace

void register_columns(nb::module_& module) {
    register_objects(module);
    register_images(module);
}

}  // namespace verite
