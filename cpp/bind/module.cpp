// The module _core. Only the files of bind/ know Python: they check arrays, release Python's lock, call a kernel and
// hand its memory to numpy.
#include <algorithm>

#include "bind/arrays.hpp"
#include "columns/pause.hpp"
#include "regions/masks.hpp"
#include "similarity/boxes.hpp"

namespace nb = nanobind;
using namespace nb::literals;

#if !defined(NDEBUG) && defined(Py_LIMITED_API)
extern "C" int PyGILState_Check(void);  // exported by every CPython, though not part of its stable ABI
#endif

namespace {

using verite::BoxArray;
using verite::to_numpy;
using CellArray = verite::Column1<std::int64_t>;
using RunArray = verite::Column1<std::uint32_t>;

verite::Boxes boxes(const BoxArray& array) { return {{array.data(), array.size()}}; }

std::span<const std::int64_t> cells(const CellArray& array, const BoxArray& boxes, const char* name) {
    if (array.size() != boxes.shape(0))
        throw std::invalid_argument(std::string(name) + ": expected one cell per box, " +
                                    std::to_string(boxes.shape(0)) + ", found " + std::to_string(array.size()));
    return {array.data(), array.size()};
}

auto box_iou(const BoxArray& truth, const BoxArray& pred, double pixel) {
    const std::size_t rows = truth.shape(0), columns = pred.shape(0);
    std::vector<double> out(rows * columns);
    {
        nb::gil_scoped_release released;
        verite::box_iou(boxes(truth), boxes(pred), pixel, out);
    }
    return to_numpy(std::move(out), {rows, columns});
}

auto box_candidates(const BoxArray& truth, const CellArray& truth_cells, const BoxArray& pred,
                    const CellArray& pred_cells, double pixel, double floor) {
    const auto truth_keys = cells(truth_cells, truth, "truth_cells");
    const auto pred_keys = cells(pred_cells, pred, "pred_cells");
    if (!std::is_sorted(truth_keys.begin(), truth_keys.end()))
        throw std::invalid_argument("truth_cells: expected boxes sorted by cell");
    verite::Candidates found;
    {
        nb::gil_scoped_release released;
        found = verite::box_candidates(boxes(truth), truth_keys, boxes(pred), pred_keys, pixel, floor);
    }
    return verite::to_python(std::move(found));
}

auto decode_runs(const nb::bytes& text, std::int64_t height, std::int64_t width, bool may_end_early) {
    if (height < 0 || width < 0) throw std::invalid_argument("a negative size");
    std::vector<std::uint32_t> counts;
    verite::decode_runs({text.c_str(), text.size()}, static_cast<std::uint64_t>(height) * width, counts,
                        may_end_early ? verite::Ending::early : verite::Ending::whole);
    return to_numpy(std::move(counts));
}

nb::bytes encode_runs(const RunArray& counts) {
    std::string text;
    verite::encode_runs({counts.data(), counts.size()}, text);
    return nb::bytes(text.data(), text.size());
}

}  // namespace

NB_MODULE(_core, module) {
#ifdef NDEBUG
    nb::set_leak_warnings(false);  // users cannot do anything about them
#endif
#ifndef NDEBUG
    verite::holds_interpreter = [] { return PyGILState_Check() != 0; };
#endif
    // A signal such as Ctrl-C reaches the interpreter, which looks for it when it is asked.
    verite::on_pause = [] {
        const nb::gil_scoped_acquire acquired;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    };
    nb::class_<verite::Stop>(module, "Stop", "Ends the loops of threads inside its context soon after it is set.")
        .def(nb::init<>())
        .def("set", [](verite::Stop& stop) { stop.is_set = true; })
        .def("is_set", [](const verite::Stop& stop) { return stop.is_set.load(); })
        .def("__enter__", [](const verite::Stop& stop) { verite::stop_of_thread = &stop; })
        .def(
            "__exit__",
            [](const verite::Stop&, nb::handle, nb::handle, nb::handle) { verite::stop_of_thread = nullptr; },
            "kind"_a.none(), "error"_a.none(), "traceback"_a.none());
    module.doc() = "The native core of verite: loops over plain arrays.";
    module.def("box_iou", &box_iou, "truth"_a, "pred"_a, "pixel"_a = 0.0,
               "IoU of every ground-truth box (rows) with every predicted one (columns); boxes are corners.");
    module.def("box_candidates", &box_candidates, "truth"_a, "truth_cells"_a, "pred"_a, "pred_cells"_a, "pixel"_a = 0.0,
               "floor"_a = 0.0,
               "Overlapping pairs within cells: offsets per prediction, ground-truth box of each pair, its IoU.");
    module.def("decode_runs", &decode_runs, "text"_a, "height"_a, "width"_a, "may_end_early"_a = false,
               "Run lengths of a mask from COCO's compressed RLE text, every bound checked.");
    module.def("encode_runs", &encode_runs, "counts"_a, "COCO's compressed RLE text of a mask's run lengths.");
    verite::register_assignment(module);
    verite::register_regions(module);
    verite::register_columns(module);
    verite::register_anomalies(module);
    verite::register_detection(module);
    verite::register_simulation(module);
    verite::register_encoding(module);
    verite::register_error_costs(module);
    verite::register_evaluations(module);
    verite::register_json(module);
    verite::register_kitti(module);
    verite::register_masks(module);
    verite::register_pairs(module);
    verite::register_volumes(module);
    verite::register_states(module);
    verite::register_records(module);
    verite::register_tables(module);
    verite::register_tracking(module);
    verite::register_warps(module);
}
