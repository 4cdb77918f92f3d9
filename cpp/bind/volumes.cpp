// Surface distances between volumes for Python.
#include "regions/volumes.hpp"

#include <nanobind/stl/tuple.h>

#include <stdexcept>

#include "bind/arrays.hpp"

namespace verite {
namespace {

using namespace nb::literals;
using VolumeArray = nb::ndarray<const std::uint8_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

ArraysOf<std::int64_t, std::int64_t, double, double> volume_surfaces(const VolumeArray& truth, const VolumeArray& pred,
                                                                     std::tuple<double, double, double> spacing,
                                                                     unsigned threads) {
    std::array<std::int64_t, 3> shape{};
    for (int axis = 0; axis < 3; ++axis) {
        if (truth.shape(axis) != pred.shape(axis)) throw std::invalid_argument("volumes: expected one shape");
        if (truth.shape(axis) > 65'535) throw std::invalid_argument("volumes: expected at most 65535 voxels a side");
        shape[axis] = static_cast<std::int64_t>(truth.shape(axis));
    }
    const auto [planes, rows, columns] = spacing;
    for (const double apart : {planes, rows, columns})
        if (!(apart > 0) || !(apart < 1e9)) throw std::invalid_argument("spacing: expected three numbers above 0");
    Surfaces found;
    {
        nb::gil_scoped_release released;
        found = compare_volumes(truth.data(), pred.data(), shape, {planes, rows, columns}, threads);
    }
    const std::size_t there = found.to_truth.size(), back = found.to_pred.size();
    return nb::make_tuple(to_numpy(std::vector<std::int64_t>(found.voxels.begin(), found.voxels.end()), {3}),
                          to_numpy(std::vector<std::int64_t>(found.surfaces.begin(), found.surfaces.end()), {3}),
                          to_numpy(std::move(found.to_truth), {there}), to_numpy(std::move(found.to_pred), {back}));
}

}  // namespace

void register_volumes(nb::module_& module) {
    module.def("volume_surfaces", &volume_surfaces, "truth"_a, "pred"_a, "spacing"_a, "threads"_a,
               "Numbers of voxels of ground truth, prediction and both, the same of their surfaces, and squared "
               "distances of the "
               "prediction's surface to the ground truth's and back.");
}

}  // namespace verite
