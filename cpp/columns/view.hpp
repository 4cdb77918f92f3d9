// Shared, immutable columns: a span together with an owner that keeps its memory alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace verite {

// An absent column has no owner; a column without rows has one.
template <class T>
struct View {
    std::span<const T> values;
    std::shared_ptr<const void> owner;

    explicit operator bool() const { return owner != nullptr; }
    std::size_t size() const { return values.size(); }
    const T* data() const { return values.data(); }
    const T& operator[](std::size_t i) const { return values[i]; }
    auto begin() const { return values.begin(); }
    auto end() const { return values.end(); }
};

// A view of a container, which lives as long as any copy of the view.
template <class Container>
auto keep(Container&& container) {
    using Kept = std::remove_cvref_t<Container>;
    auto kept = std::make_shared<const Kept>(std::forward<Container>(container));
    if constexpr (requires { kept->values(); }) {  // a Column
        const auto values = kept->values();
        return View<typename decltype(values)::value_type>{values, kept};
    } else {
        return View<typename Kept::value_type>{std::span(kept->data(), kept->size()), kept};
    }
}

// Rows of different lengths: row i is values[starts[i] .. starts[i + 1]].
template <class T>
struct RaggedView {
    View<T> values;
    View<std::int64_t> starts;

    explicit operator bool() const { return static_cast<bool>(starts); }
    std::size_t size() const { return starts.size() == 0 ? 0 : starts.size() - 1; }
    std::span<const T> operator[](std::size_t row) const {
        return values.values.subspan(static_cast<std::size_t>(starts[row]),
                                     static_cast<std::size_t>(starts[row + 1] - starts[row]));
    }
};

}  // namespace verite
