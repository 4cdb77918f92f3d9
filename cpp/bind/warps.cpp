// Warped polygons and the triangle inequality for Python, as metric studies use them.
#include "regions/warps.hpp"

#include "bind/arrays.hpp"
#include "regions/triangles.hpp"

using namespace nanobind::literals;

namespace verite {
namespace {

using WarpArray = nb::ndarray<const double, nb::shape<-1, 2, 4>, nb::c_contig, nb::device::cpu>;
using SquareArray = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

ArraysOf<std::uint32_t, std::int64_t> draw_warps(const BoxArray& edges, const WarpArray& warps, std::int64_t height,
                                                 std::int64_t width) {
    const Size size{height, width};
    expect(height > 0 && width > 0 && size.pixels() <= UINT32_MAX,
           "an image with a height and a width above 0 and at most 4,294,967,295 pixels");
    std::vector<std::uint32_t> counts;
    std::vector<std::int64_t> objects{0};
    {
        nb::gil_scoped_release released;
        warp_runs(numbers_of(edges), {warps.data(), warps.size()}, size, counts, objects);
    }
    return nb::make_tuple(to_numpy(std::move(counts)), to_numpy(std::move(objects)));
}

std::int64_t count_failures(const SquareArray& values, std::int64_t reach, double slack) {
    nb::gil_scoped_release released;
    return triangle_failures({values.data(), values.size()}, reach, slack);
}

}  // namespace

void register_warps(nb::module_& module) {
    module.def("warp_runs", &draw_warps, "edges"_a, "warps"_a, "height"_a, "width"_a,
               "RLEMasks of the region that the edges enclose, moved by each warp; offsets of the masks.");
    module.def("triangle_failures", &count_failures, "values"_a, "reach"_a, "slack"_a,
               "How many couples of shifts up to `reach` violate the triangle inequality.");
}

}  // namespace verite
