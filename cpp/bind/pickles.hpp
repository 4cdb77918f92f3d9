// Pickling and copying of column types.
#pragma once

#include <algorithm>
#include <string>

#include "bind/arrays.hpp"
#include "bind/views.hpp"
#include "columns/objects.hpp"

namespace verite {

inline constexpr int pickle_version = 1;  // of what is pickled

inline void check_length(std::size_t found, std::size_t expected, const char* name) {
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

const Shapes& shapes_of(const Regions& regions);

// Puts columns that are there into a dictionary of bytes.
inline auto into(nb::dict& state) {
    return [&state](const char* name, const auto& view) {
        if (view) state[name] = to_bytes(view);
    };
}

// The inverse.
inline auto out_of(const nb::dict& state) {
    return [&state](const char* name, auto& view) {
        using T = std::remove_cvref_t<decltype(view.values[0])>;
        if (state.contains(name)) view = to_view<T>(state[name], name, true);
    };
}

inline nb::dict unpack_state(const State& state) {
    expect(nb::cast<int>(state[0]) == pickle_version, "a pickle of this version of verite");
    return nb::cast<nb::dict>(state[1]);
}

// The state of columns, by a visitor of theirs.
template <class Visit>
State pack_state(Visit&& visit) {
    nb::dict state;
    visit(state);
    return State(nb::make_tuple(pickle_version, state));
}

void get_state(const Regions& regions, nb::dict& state);
Regions regions_of_state(const nb::dict& state);

// What is immutable is its own copy.
template <class T>
void bind_copies(nb::class_<T>& bound) {
    bound.def("__copy__", [](nb::handle_t<T> self) { return nb::typed<nb::object, T>(nb::borrow(self)); })
        .def(
            "__deepcopy__", [](nb::handle_t<T> self, nb::handle) { return nb::typed<nb::object, T>(nb::borrow(self)); },
            nb::arg("memo"));
}

}  // namespace verite
