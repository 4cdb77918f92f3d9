// Shared by the bindings: array types, checks of arrays, and handing memory over to numpy.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "similarity/candidates.hpp"

namespace verite {

namespace nb = nanobind;

// Types as the stub of the module shows them (see `make stubs`).
template <class T>
using ArrayOf = nb::typed<nb::object, nb::ndarray<nb::numpy, T>>;
template <class T>
using ArrayOrNone = nb::typed<nb::object, std::optional<nb::ndarray<nb::numpy, T>>>;
template <class... Types>
using ArraysOf = nb::typed<nb::tuple, nb::ndarray<nb::numpy, Types>...>;
using DictOfAny = nb::typed<nb::dict, nb::str, nb::any>;
struct Buffer : nb::object {  // anything whose memory can be looked at; None where an argument may be
    NB_OBJECT_DEFAULT(Buffer, nb::object, "typing.Any", [](PyObject*) { return true; })
};
using Buffers = nb::typed<nb::object, std::tuple<Buffer, Buffer, Buffer>>;
struct Path : nb::object {
    NB_OBJECT_DEFAULT(Path, nb::object, "str | os.PathLike[str]", [](PyObject*) { return true; })
};
using State = nb::typed<nb::tuple, nb::any, nb::ellipsis>;  // of a pickle
using Texts = nb::typed<nb::object, std::vector<std::string>>;

template <class T>
using Column1 = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using BoxArray = nb::ndarray<const double, nb::shape<-1, 4>, nb::c_contig, nb::device::cpu>;
using PointArray = nb::ndarray<const double, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;
using SizeArray = nb::ndarray<const std::int32_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;  // height, width

template <class T>
std::span<const T> span_of(const Column1<T>& array) {
    return {array.data(), array.size()};
}

inline std::span<const std::uint8_t> flags_of(const Column1<bool>& array) {
    return {reinterpret_cast<const std::uint8_t*>(array.data()), array.size()};
}

inline std::span<const double> numbers_of(const BoxArray& array) { return {array.data(), array.size()}; }

// Hands the memory of a container over to an array.
template <class Container>
auto to_numpy(Container&& values, std::initializer_list<std::size_t> shape) {
    using Owned = std::remove_cvref_t<Container>;
    auto* kept = new Owned(std::forward<Container>(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Owned*>(p); });
    return nb::ndarray<nb::numpy, typename Owned::value_type>(kept->data(), shape, owner);
}

template <class Container>
auto to_numpy(Container&& values) {
    const std::size_t count = values.size();
    return to_numpy(std::forward<Container>(values), {count});
}

template <class T>
auto to_numpy(Column<T>&& values) {
    auto* kept = new Column<T>(std::move(values));
    kept->shrink();
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Column<T>*>(p); });
    return nb::ndarray<nb::numpy, T>(kept->data(), {kept->rows()}, owner);
}

// Candidate pairs from Python: offsets, ground-truth objects, IoUs.
using CandidateArrays = std::tuple<Column1<std::int64_t>, Column1<std::int32_t>, Column1<double>>;

inline void expect(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(std::string("expected ") + what);
}

// Are all values from 0 to count - 1? Negative ones are large when taken as unsigned.
inline void check_below(std::span<const std::int32_t> values, std::size_t count, const char* what) {
    std::uint32_t largest = 0;
    for (const std::int32_t value : values) largest = std::max(largest, static_cast<std::uint32_t>(value));
    expect(values.empty() || largest < count, what);
}

inline void check_offsets(std::span<const std::int64_t> offsets, std::size_t count, const char* what) {
    expect(!offsets.empty() && offsets.front() == 0 && offsets.back() == static_cast<std::int64_t>(count) &&
               std::is_sorted(offsets.begin(), offsets.end()),
           what);
}

inline CandidateView candidates_of(const CandidateArrays& arrays, std::size_t preds, std::size_t truths) {
    const auto& [offsets, truth, iou] = arrays;
    const CandidateView view{span_of(offsets), span_of(truth), span_of(iou)};
    expect(view.offsets.size() == preds + 1 && view.truth.size() == view.iou.size(),
           "candidates for each prediction, with an IoU each");
    check_offsets(view.offsets, view.truth.size(), "candidates whose offsets rise to their number");
    check_below(view.truth, truths, "candidates that are ground-truth objects");
    return view;
}

inline ArraysOf<std::int64_t, std::int32_t, double> to_python(Candidates&& found) {
    return nb::make_tuple(to_numpy(std::move(found.offsets)), to_numpy(std::move(found.truth)),
                          to_numpy(std::move(found.iou)));
}

void register_assignment(nb::module_& module);
void register_columns(nb::module_& module);
void register_regions(nb::module_& module);
void register_anomalies(nb::module_& module);
void register_volumes(nb::module_& module);
void register_detection(nb::module_& module);
void register_simulation(nb::module_& module);
void register_encoding(nb::module_& module);
void register_error_costs(nb::module_& module);
void register_evaluations(nb::module_& module);
void register_json(nb::module_& module);
void register_masks(nb::module_& module);
void register_pairs(nb::module_& module);
void register_states(nb::module_& module);
void register_records(nb::module_& module);
void register_tables(nb::module_& module);
void register_kitti(nb::module_& module);
void register_tracking(nb::module_& module);
void register_warps(nb::module_& module);

}  // namespace verite
