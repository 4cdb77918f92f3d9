// Columns between Python and the core without copies: numpy arrays over our memory, views over Python's buffers.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "bind/arrays.hpp"
#include "columns/memory.hpp"
#include "columns/objects.hpp"
#include "columns/view.hpp"

namespace verite {

namespace nb = nanobind;

// A read-only array of rows of `width` values over a column; None for an absent one. `As` is the type for numpy.
template <class T, class As = T>
ArrayOrNone<As> to_array_or_none(const View<T>& view, std::size_t width = 1) {
    static_assert(sizeof(As) == sizeof(T));
    if (!view) return nb::none();
    nb::module_::import_("numpy");  // may be interrupted, and then nothing has happened
    const nb::capsule owner(new std::shared_ptr<const void>(view.owner),
                            [](void* kept) noexcept { delete static_cast<std::shared_ptr<const void>*>(kept); });
    const std::size_t shape[2] = {view.size() / width, width};
    return nb::cast(
        nb::ndarray<nb::numpy, const As>(reinterpret_cast<const As*>(view.data()), width == 1 ? 1 : 2, shape, owner));
}

// The same of a column that is never absent.
template <class T, class As = T>
ArrayOf<As> to_array(const View<T>& view, std::size_t width = 1) {
    return nb::object(to_array_or_none<T, As>(view, width));
}

inline ArrayOrNone<bool> to_flags(const View<std::uint8_t>& view) { return to_array_or_none<std::uint8_t, bool>(view); }

// A Python buffer, held as long as a view refers to it.
class HeldBuffer {
  public:
    explicit HeldBuffer(nb::handle thing) {
        if (PyObject_GetBuffer(thing.ptr(), &buffer_, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0) throw nb::python_error();
    }
    HeldBuffer(const HeldBuffer&) = delete;
    ~HeldBuffer() {
        if (!nb::is_alive()) return;  // the interpreter is gone, and its memory with it
        const nb::gil_scoped_acquire acquired;
        PyBuffer_Release(&buffer_);
    }

    const Py_buffer& operator*() const { return buffer_; }
    const Py_buffer* operator->() const { return &buffer_; }

  private:
    Py_buffer buffer_;
};

// Does the buffer hold values of this type? Bytes hold any.
template <class T>
bool holds(const Py_buffer& buffer) {
    const char* format = buffer.format ? buffer.format : "B";
    if (*format == '<' || *format == '=' || *format == '@') ++format;
    if (std::strlen(format) != 1 || buffer.itemsize != sizeof(T)) return false;
    if constexpr (std::is_floating_point_v<T>) return *format == 'd' || *format == 'f';
    const bool is_signed = std::strchr("bhilqn", *format) != nullptr;
    return sizeof(T) == 1 ? std::strchr("Bbc?", *format) != nullptr
                          : is_signed == std::is_signed_v<T> && std::strchr("hilqnHILQN", *format) != nullptr;
}

// The values of anything with a buffer: shared where it is read-only, else copied. Throws nb::type_error for another
// type of values.
template <class T>
View<T> to_view(nb::handle thing, const char* name, bool is_raw = false) {
    if (thing.is_none()) return {};
    auto held = std::make_shared<HeldBuffer>(thing);
    const Py_buffer& buffer = **held;
    const auto bytes = static_cast<std::size_t>(buffer.len);
    if (is_raw ? bytes % sizeof(T) != 0 : !holds<T>(buffer))
        throw nb::type_error((std::string(name) + ": expected an array of another type, found format " +
                              (buffer.format ? buffer.format : "B"))
                                 .c_str());
    const auto* values = static_cast<const T*>(buffer.buf);
    if (buffer.readonly && reinterpret_cast<std::uintptr_t>(values) % alignof(T) == 0)
        return {{values, bytes / sizeof(T)}, held};
    Array<T> copy(bytes / sizeof(T));
    if (bytes > 0) std::memcpy(copy.data(), values, bytes);
    return keep(std::move(copy));
}

// The bytes of a column for a pickle.
template <class T>
nb::bytes to_bytes(const View<T>& view) {
    return nb::bytes(reinterpret_cast<const char*>(view.data()), view.size() * sizeof(T));
}

inline BoxLayout layout_from(const std::string& name) {
    for (const BoxLayout layout : {BoxLayout::corners, BoxLayout::sizes})
        if (name == name_of(layout)) return layout;
    throw nb::value_error(("boxes: expected xyxy or xywh, found " + name).c_str());
}

// Texts one after the other, with their starts.
inline RaggedView<char> texts_from(nb::handle texts) {
    if (texts.is_none()) return {};
    std::vector<char> letters;
    std::vector<std::int64_t> starts{0};
    for (const nb::handle text : texts) {
        const auto encoded =
            nb::steal<nb::bytes>(PyUnicode_AsEncodedString(nb::str(text).ptr(), "utf-8", "surrogatepass"));
        if (!encoded.is_valid()) throw nb::python_error();
        letters.insert(letters.end(), encoded.c_str(), encoded.c_str() + encoded.size());
        starts.push_back(static_cast<std::int64_t>(letters.size()));
    }
    return {keep(std::move(letters)), keep(std::move(starts))};
}

inline nb::str text_at(const RaggedView<char>& texts, std::size_t row) {
    const auto text = texts[row];
    auto found =
        nb::steal<nb::str>(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogatepass"));
    if (!found.is_valid()) throw nb::python_error();
    return found;
}

}  // namespace verite
