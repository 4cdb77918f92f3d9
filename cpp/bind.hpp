// What the files that know Python share: array types, and the way out for memory that kernels made.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

namespace verite {

namespace nb = nanobind;

template <class T>
using Column1 = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using BoxArray = nb::ndarray<const double, nb::shape<-1, 4>, nb::c_contig, nb::device::cpu>;

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

void register_detection(nb::module_& module);

}  // namespace verite
