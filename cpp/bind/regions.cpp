// Regions for Python: made of arrays, looked at as arrays, pickled as bytes.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <optional>

#include "bind/pickles.hpp"

namespace verite {
namespace {

using namespace nb::literals;

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
    expect(regions.boxes && regions.boxes.size() % 4 == 0, "four numbers per box");
    regions.layout = layout_from(layout);
    Shapes shapes = shapes_from(polygons, runs, regions.count());
    regions.kinds = kinds_of(shapes, regions.count());
    if (regions.kinds) regions.shapes = std::make_shared<const LazyShapes>(std::move(shapes));
    auto has_box = column<std::uint8_t>(boxed, regions.count(), "boxed");
    if (std::ranges::find(has_box.values, 0) != has_box.end()) regions.boxed = std::move(has_box);
    regions.keypoints = keypoints_from(keypoints, regions.count());
    return regions;
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

}  // namespace

const Shapes& shapes_of(const Regions& regions) {
    static const Shapes none;
    const nb::gil_scoped_release released;
    return regions.shapes ? regions.shapes->get() : none;
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
             [](const Regions& regions) { return pack_state([&](nb::dict& state) { get_state(regions, state); }); })
        .def("__setstate__",
             [](Regions& self, const State& state) { new (&self) Regions(regions_of_state(unpack_state(state))); });
    bind_copies(bound);
}

}  // namespace verite
