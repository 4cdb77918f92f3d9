// Objects, regions and images for Python: made of arrays, looked at as arrays, pickled as bytes.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <optional>

#include "bind/arrays.hpp"
#include "bind/views.hpp"
#include "columns/facts.hpp"
#include "columns/objects.hpp"

namespace verite {
namespace {

using namespace nb::literals;

using FactTuple = std::tuple<std::string, std::size_t, std::uint64_t>;

std::vector<FactTuple> tuples(const std::vector<Fact>& facts) {
    std::vector<FactTuple> found;
    for (const auto& [name, bytes, digest] : facts) found.emplace_back(name, bytes, digest);
    return found;
}

constexpr int version = 1;  // of what is pickled

void check_length(std::size_t found, std::size_t expected, const char* name) {
    if (found != expected)
        throw nb::value_error((std::string(name) + ": expected " + std::to_string(expected) +
                               " values, one a region, found " + std::to_string(found))
                                  .c_str());
}

template <class T>
View<T> column(nb::handle values, std::size_t count, const char* name) {
    auto view = to_view<T>(values, name);
    if (view) check_length(view.size(), count, name);
    return view;
}

// Flags that somebody carries: to say no about everybody is to say nothing.
View<std::uint8_t> flags_from(nb::handle values, std::size_t count, const char* name) {
    auto flags = column<std::uint8_t>(values, count, name);
    return std::ranges::find(flags.values, 1) != flags.end() ? flags : View<std::uint8_t>();
}

Shapes shapes_from(nb::handle polygons, nb::handle runs, std::size_t count) {
    Shapes shapes;
    const auto check = [&](const View<std::int64_t>& objects, std::size_t parts, const char* name) {
        if (objects.size() != count + 1)
            throw nb::value_error((std::string(name) + ": expected " + std::to_string(count) +
                                   " objects as in boxes, found " +
                                   std::to_string(objects.size() == 0 ? 0 : objects.size() - 1))
                                      .c_str());
        check_offsets(objects.values, parts, "objects whose offsets rise to their parts");
    };
    if (!polygons.is_none()) {
        shapes.points = to_view<double>(polygons[0], "points");
        shapes.rings = to_view<std::int64_t>(polygons[1], "rings");
        shapes.ring_objects = to_view<std::int64_t>(polygons[2], "objects");
        check_offsets(shapes.rings.values, shapes.points.size() / 2, "rings whose offsets rise to the points");
        check(shapes.ring_objects, shapes.rings.size() - 1, "polygons");
    }
    if (!runs.is_none()) {
        shapes.counts = to_view<std::uint32_t>(runs[0], "counts");
        shapes.run_objects = to_view<std::int64_t>(runs[1], "objects");
        shapes.sizes = to_view<std::int32_t>(runs[2], "sizes");
        check(shapes.run_objects, shapes.counts.size(), "runs");
        expect(shapes.sizes.size() == 2 * count, "a height and a width for each mask");
    }
    if (!shapes.has_polygons()) shapes.points = {}, shapes.rings = {}, shapes.ring_objects = {};
    if (!shapes.has_runs()) shapes.counts = {}, shapes.run_objects = {}, shapes.sizes = {};
    return shapes;
}

RaggedView<double> keypoints_from(nb::handle keypoints, std::size_t count) {
    if (keypoints.is_none()) return {};
    RaggedView<double> found{to_view<double>(keypoints[0], "keypoints"),
                             to_view<std::int64_t>(keypoints[1], "keypoint objects")};
    if (found.size() != count)
        throw nb::value_error(("keypoints: expected " + std::to_string(count) + " objects as in boxes, found " +
                               std::to_string(found.size()))
                                  .c_str());
    check_offsets(found.starts.values, found.values.size(), "keypoints whose offsets rise to their numbers");
    for (std::size_t i = 0; i < count; ++i) expect(found[i].size() % 3 == 0, "x, y and visibility of each keypoint");
    return found.values.size() > 0 ? found : RaggedView<double>();
}

Regions regions_from(nb::handle boxes, const std::string& layout, nb::handle polygons, nb::handle runs,
                     nb::handle boxed, nb::handle keypoints) {
    Regions regions;
    regions.boxes = to_view<double>(boxes, "boxes");
    expect(regions.boxes && regions.boxes.size() % 4 == 0, "four numbers a box");
    regions.layout = layout_from(layout);
    Shapes shapes = shapes_from(polygons, runs, regions.count());
    regions.kinds = kinds_of(shapes, regions.count());
    if (regions.kinds) regions.shapes = std::make_shared<const LazyShapes>(std::move(shapes));
    auto has_box = column<std::uint8_t>(boxed, regions.count(), "boxed");
    if (std::ranges::find(has_box.values, 0) != has_box.end()) regions.boxed = std::move(has_box);
    regions.keypoints = keypoints_from(keypoints, regions.count());
    return regions;
}

const Shapes& shapes_of(const Regions& regions) {
    static const Shapes none;
    const nb::gil_scoped_release released;
    return regions.shapes ? regions.shapes->get() : none;
}

nb::typed<nb::tuple, std::optional<ArraysOf<double, std::int64_t, std::int64_t>>,
          std::optional<ArraysOf<std::uint32_t, std::int64_t, std::int32_t>>>
shape_arrays(const Regions& regions) {
    const Shapes& shapes = shapes_of(regions);
    nb::object polygons = nb::none(), runs = nb::none();
    if (shapes.has_polygons())
        polygons = nb::make_tuple(to_array(shapes.points, 2), to_array(shapes.rings), to_array(shapes.ring_objects));
    if (shapes.has_runs())
        runs = nb::make_tuple(to_array(shapes.counts), to_array(shapes.run_objects), to_array(shapes.sizes, 2));
    return nb::make_tuple(polygons, runs);
}

ArrayOf<std::uint8_t> kind_array(const Regions& regions) {
    if (regions.kinds) return to_array(regions.kinds);
    return to_array(keep(Array<std::uint8_t>(regions.count(), 0)));
}

// Calls visit(name, column) for every column, which may be absent.
template <class RegionsLike, class ShapesLike, class Visit>
void visit_regions(RegionsLike& regions, ShapesLike& shapes, Visit&& visit) {
    visit("boxes", regions.boxes);
    visit("kinds", regions.kinds);
    visit("boxed", regions.boxed);
    visit("keypoints", regions.keypoints.values);
    visit("keypoint_objects", regions.keypoints.starts);
    visit("points", shapes.points);
    visit("rings", shapes.rings);
    visit("ring_objects", shapes.ring_objects);
    visit("counts", shapes.counts);
    visit("run_objects", shapes.run_objects);
    visit("sizes", shapes.sizes);
}

template <class ColumnsLike, class Visit>
void visit_columns(ColumnsLike& columns, Visit&& visit) {
    visit("image", columns.image);
    visit("label", columns.label);
    visit("confidence", columns.confidence);
    visit("area", columns.area);
    visit("ids", columns.ids);
    visit("labelled", columns.labelled);
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

// Puts columns that are there into a dictionary of bytes.
auto into(nb::dict& state) {
    return [&state](const char* name, const auto& view) {
        if (view) state[name] = to_bytes(view);
    };
}

// The inverse.
auto out_of(const nb::dict& state) {
    return [&state](const char* name, auto& view) {
        using T = std::remove_cvref_t<decltype(view.values[0])>;
        if (state.contains(name)) view = to_view<T>(state[name], name, true);
    };
}

nb::dict opened(const State& state) {
    expect(nb::cast<int>(state[0]) == version, "a pickle of this version of verite");
    return nb::cast<nb::dict>(state[1]);
}

void get_state(const Regions& regions, nb::dict& state) {
    state["layout"] = name_of(regions.layout) == "xyxy" ? "xyxy" : "xywh";
    visit_regions(regions, shapes_of(regions), into(state));
}

Regions regions_of_state(const nb::dict& state) {
    Regions regions;
    Shapes shapes;
    regions.layout = layout_from(nb::cast<std::string>(state["layout"]));
    visit_regions(regions, shapes, out_of(state));
    if (shapes.has_polygons() || shapes.has_runs())
        regions.shapes = std::make_shared<const LazyShapes>(std::move(shapes));
    return regions;
}

Columns columns_from(const Regions& regions, nb::handle image, nb::handle label, nb::handle confidence, nb::handle area,
                     nb::handle ids, const nb::dict& flags, nb::handle labelled) {
    const std::size_t count = regions.count();
    Columns columns{regions,
                    column<std::int32_t>(image, count, "image"),
                    column<std::int32_t>(label, count, "label"),
                    column<double>(confidence, count, "confidence"),
                    column<double>(area, count, "area"),
                    column<std::int64_t>(ids, count, "ids"),
                    {},
                    column<std::int32_t>(labelled, count, "labelled")};
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
std::tuple<std::int32_t, std::array<double, 4>, std::optional<double>, std::optional<std::int64_t>> describe(
    const Columns& columns, std::size_t row) {
    if (row >= columns.count()) throw std::out_of_range("a row beyond the last");
    std::array<double, 4> box;
    std::copy_n(&columns.regions.boxes[4 * row], 4, box.begin());
    return {columns.image[row], box, columns.confidence ? std::optional(columns.confidence[row]) : std::nullopt,
            columns.ids ? std::optional(columns.ids[row]) : std::nullopt};
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

// What is immutable is its own copy.
template <class T>
void bind_copies(nb::class_<T>& bound) {
    bound.def("__copy__", [](nb::handle_t<T> self) { return nb::typed<nb::object, T>(nb::borrow(self)); })
        .def(
            "__deepcopy__", [](nb::handle_t<T> self, nb::handle) { return nb::typed<nb::object, T>(nb::borrow(self)); },
            "memo"_a);
}

void register_regions(nb::module_& module) {
    nb::class_<Regions> bound(module, "Regions",
                              "Boxes as they were given, and polygons and masks made when asked for.");
    bound
        .def(
            "__init__",
            [](Regions* self, const Buffer& boxes, const std::string& layout, const Buffers& polygons,
               const Buffers& runs, const Buffer& boxed,
               const nb::typed<nb::object, std::tuple<Buffer, Buffer>>& keypoints) {
                new (self) Regions(regions_from(boxes, layout, polygons, runs, boxed, keypoints));
            },
            "boxes"_a, "layout"_a, "polygons"_a.none() = nb::none(), "runs"_a.none() = nb::none(),
            "boxed"_a.none() = nb::none(), "keypoints"_a.none() = nb::none())
        .def("__len__", &Regions::count)
        .def_prop_ro("layout", [](const Regions& regions) { return std::string(name_of(regions.layout)); })
        .def_prop_ro("boxes", [](const Regions& regions) { return to_array(regions.boxes, 4); })
        .def(
            "boxes_as",
            [](const Regions& regions, const std::string& layout) {
                return to_array(boxes_as(regions, layout_from(layout)), 4);
            },
            "layout"_a)
        .def_prop_ro("has_only_boxes",
                     [](const Regions& regions) {
                         return std::ranges::all_of(regions.kinds.values, [](std::uint8_t kind) { return kind == 0; });
                     })
        .def_prop_ro("has_all_boxes", [](const Regions& regions) { return !regions.boxed; })
        .def_prop_ro("kinds", kind_array)
        .def_prop_ro("has_keypoints", [](const Regions& regions) { return static_cast<bool>(regions.keypoints); })
        .def_prop_ro(
            "keypoints",
            [](const Regions& regions) -> nb::typed<nb::object, std::optional<ArraysOf<double, std::int64_t>>> {
                if (!regions.keypoints) return nb::none();
                return nb::make_tuple(to_array(regions.keypoints.values), to_array(regions.keypoints.starts));
            },
            "x, y and visibility of each point, and where the points of each object start; None where there are none.")
        .def_prop_ro("boxed", [](const Regions& regions) { return to_flags(regions.boxed); })
        .def("shapes", shape_arrays, "Points, rings and objects of polygons; runs, objects and sizes of masks.")
        .def(
            "take",
            [](const Regions& regions, const Buffer& rows) {
                return take(regions, to_view<std::int64_t>(rows, "rows"));
            },
            "rows"_a)
        .def(
            "scale",
            [](const Regions& regions, const Buffer& factors) {
                return scale(regions, to_view<double>(factors, "factors"));
            },
            "factors"_a)
        .def(
            "bound",
            [](const Regions& regions, unsigned threads) {
                const nb::gil_scoped_release released;
                return verite::bound(regions, threads);
            },
            "threads"_a = 1, "With boxes around the polygon or mask of those that came without one.")
        .def(
            "with_boxes",
            [](const Regions& regions, const Buffer& boxes, const std::string& layout) {
                Regions changed = regions;
                changed.boxes = to_view<double>(boxes, "boxes");
                changed.layout = layout_from(layout);
                check_length(changed.count(), regions.count(), "boxes");
                return changed;
            },
            "boxes"_a, "layout"_a, "The same shapes with other boxes.")
        .def(
            "load", [](const Regions& regions) { shapes_of(regions); },
            "Makes polygons and masks now, which are otherwise made when they are needed.")
        .def("__getstate__",
             [](const Regions& regions) {
                 nb::dict state;
                 get_state(regions, state);
                 return State(nb::make_tuple(version, state));
             })
        .def("__setstate__",
             [](Regions& self, const State& state) { new (&self) Regions(regions_of_state(opened(state))); });
    bind_copies(bound);
}

void register_objects(nb::module_& module) {
    nb::class_<Columns> bound(module, "Columns",
                              "The objects of one side: a column for every fact, shared and never written to.");
    bound
        .def(
            "__init__",
            [](Columns* self, const Regions& regions, const Buffer& image, const Buffer& label,
               const Buffer& confidence, const Buffer& area, const Buffer& ids,
               const nb::typed<nb::dict, nb::str, Buffer>& flags, const Buffer& labelled) {
                new (self) Columns(columns_from(regions, image, label, confidence, area, ids, flags, labelled));
            },
            "regions"_a, "image"_a, "label"_a, "confidence"_a.none() = nb::none(), "area"_a.none() = nb::none(),
            "ids"_a.none() = nb::none(), "flags"_a = nb::dict(), "labelled"_a.none() = nb::none())
        .def("__len__", &Columns::count)
        .def_prop_ro("regions", [](const Columns& columns) { return columns.regions; })
        .def_prop_ro("image", [](const Columns& columns) { return to_array(columns.image); })
        .def_prop_ro("label", [](const Columns& columns) { return to_array(columns.label); })
        .def_prop_ro("has_confidence", [](const Columns& columns) { return static_cast<bool>(columns.confidence); })
        .def_prop_ro("confidence", [](const Columns& columns) { return to_array_or_none(columns.confidence); })
        .def_prop_ro("area", [](const Columns& columns) { return to_array_or_none(columns.area); })
        .def_prop_ro("ids", [](const Columns& columns) { return to_array_or_none(columns.ids); })
        .def_prop_ro("labelled", [](const Columns& columns) { return to_array_or_none(columns.labelled); })
        .def("count_keypoints", count_keypoints, "labels"_a, "The most keypoints that an object of each label has.")
        .def_prop_ro("flags", flag_arrays)
        .def_prop_ro("flag_names",
                     [](const Columns& columns) {
                         std::vector<std::string> names;
                         for (std::size_t i = 0; i < flag_names.size(); ++i)
                             if (columns.flags[i]) names.emplace_back(flag_names[i]);
                         return names;
                     })
        .def("describe", describe, "row"_a,
             "Image, box as kept, confidence and id of one object, None for what it lacks.")
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
                 nb::dict state;
                 get_state(columns.regions, state);
                 visit_columns(columns, into(state));
                 return State(nb::make_tuple(version, state));
             })
        .def("__setstate__", [](Columns& self, const State& given) {
            const nb::dict state = opened(given);
            auto* made = new (&self) Columns{regions_of_state(state), {}, {}, {}, {}, {}, {}, {}};
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
                 nb::dict state;
                 visit_images(images, into(state));
                 return State(nb::make_tuple(version, state));
             })
        .def("__setstate__", [](Images& self, const State& state) {
            auto* made = new (&self) Images{};
            visit_images(*made, out_of(opened(state)));
        });
    bind_copies(bound);
}

}  // namespace

void register_columns(nb::module_& module) {
    register_regions(module);
    register_objects(module);
    register_images(module);
}

}  // namespace verite
