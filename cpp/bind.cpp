// The only file that knows Python: checks the arrays, lets go of the interpreter, hands memory over.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <stdexcept>
#include <string>

#include "boxes.hpp"
#include "masks.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using BoxArray = nb::ndarray<const double, nb::shape<-1, 4>, nb::c_contig, nb::device::cpu>;
using OffsetArray = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

using RunArray = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

verite::Boxes boxes(const BoxArray& array) { return {{array.data(), array.size()}}; }

// Offsets must start at 0, never fall and end at the number of rows: the kernels trust them.
std::span<const std::int64_t> offsets(const OffsetArray& array, std::size_t rows, const char* name) {
    const std::span<const std::int64_t> values{array.data(), array.size()};
    bool sound = !values.empty() && values.front() == 0 && values.back() == static_cast<std::int64_t>(rows);
    for (std::size_t i = 1; sound && i < values.size(); ++i) sound = values[i - 1] <= values[i];
    if (!sound)
        throw std::invalid_argument(std::string(name) + ": expected rising offsets from 0 to " + std::to_string(rows));
    return values;
}

template <class T>
nb::ndarray<nb::numpy, T> to_numpy(std::vector<T>&& values, std::initializer_list<std::size_t> shape) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return {kept->data(), shape, owner};
}

nb::ndarray<nb::numpy, double> box_iou(const BoxArray& truth, const BoxArray& pred, double pixel) {
    const std::size_t rows = truth.shape(0), columns = pred.shape(0);
    std::vector<double> out(rows * columns);
    {
        nb::gil_scoped_release released;
        verite::box_iou(boxes(truth), boxes(pred), pixel, out);
    }
    return to_numpy(std::move(out), {rows, columns});
}

nb::tuple box_candidates(const BoxArray& truth, const OffsetArray& truth_cells, const BoxArray& pred,
                         const OffsetArray& pred_cells, double pixel, double floor) {
    if (truth_cells.size() != pred_cells.size())
        throw std::invalid_argument("truth_cells and pred_cells: expected the same length, found " +
                                    std::to_string(truth_cells.size()) + " and " + std::to_string(pred_cells.size()));
    const auto truth_offsets = offsets(truth_cells, truth.shape(0), "truth_cells");
    const auto pred_offsets = offsets(pred_cells, pred.shape(0), "pred_cells");
    verite::Candidates found;
    {
        nb::gil_scoped_release released;
        found = verite::box_candidates(boxes(truth), truth_offsets, boxes(pred), pred_offsets, pixel, floor);
    }
    const std::size_t rows = found.offsets.size(), pairs = found.truth.size();
    return nb::make_tuple(to_numpy(std::move(found.offsets), {rows}), to_numpy(std::move(found.truth), {pairs}),
                          to_numpy(std::move(found.overlap), {pairs}));
}

nb::ndarray<nb::numpy, std::uint32_t> decode_runs(const nb::bytes& text, std::int64_t height, std::int64_t width) {
    if (height < 0 || width < 0) throw std::invalid_argument("a negative size");
    std::vector<std::uint32_t> counts;
    verite::decode_runs({text.c_str(), text.size()}, static_cast<std::uint64_t>(height) * width, counts);
    const std::size_t runs = counts.size();
    return to_numpy(std::move(counts), {runs});
}

nb::bytes encode_runs(const RunArray& counts) {
    std::string text;
    verite::encode_runs({counts.data(), counts.size()}, text);
    return nb::bytes(text.data(), text.size());
}

}  // namespace

NB_MODULE(_core, module) {
    module.doc() = "The native core of verite: loops over plain arrays.";
    module.def("box_iou", &box_iou, "truth"_a, "pred"_a, "pixel"_a = 0.0,
               "Intersection over union of every truth (rows) with every prediction (columns); boxes are corners.");
    module.def("box_candidates", &box_candidates, "truth"_a, "truth_cells"_a, "pred"_a, "pred_cells"_a,
               "pixel"_a = 0.0, "floor"_a = 0.0,
               "Overlapping pairs within cells: offsets per prediction, truth of each pair, its overlap.");
    module.def("decode_runs", &decode_runs, "text"_a, "height"_a, "width"_a,
               "Runs of a mask from COCO's compressed text, every bound checked.");
    module.def("encode_runs", &encode_runs, "counts"_a, "COCO's compressed text of a mask's runs.");
}
