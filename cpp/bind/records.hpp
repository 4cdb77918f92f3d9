// What Python's dictionaries say, as code written for pycocotools has them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"

namespace verite {

using Dictionaries = nb::typed<nb::list, nb::any>;

// Every record of an index has an id.
[[noreturn]] inline void complain(PyObject* record, const std::string& expected, PyObject* found) {
    PyErr_Clear();
    const auto show = [](PyObject* value) {
        std::string shown = value ? nb::repr(nb::handle(value)).c_str() : "none";
        return shown.size() > 60 ? shown.substr(0, 57) + "..." : shown;
    };
    const bool is_record = record && PyDict_Check(record);
    PyObject* id = is_record ? PyDict_GetItemString(record, "id") : nullptr;
    throw std::invalid_argument((id ? "(id " + show(id) : std::string("(no id")) + "): expected " + expected +
                                ", found " + show(found));
}

inline double number_of(PyObject* record, PyObject* value, const char* expected) {
    if (!value) complain(record, expected, value);
    const double number = PyFloat_AsDouble(value);
    if (number == -1.0 && PyErr_Occurred()) complain(record, expected, value);
    return number;
}

inline std::int64_t whole_of(PyObject* record, PyObject* value, const char* expected) {
    if (!value) complain(record, expected, value);
    if (PyFloat_Check(value)) return static_cast<std::int64_t>(number_of(record, value, expected));
    const nb::object index = PyLong_Check(value) ? nb::borrow(value) : nb::steal(PyNumber_Index(value));
    const long long found = index ? PyLong_AsLongLong(index.ptr()) : -1;
    if (found == -1 && PyErr_Occurred()) complain(record, expected, value);
    return found;
}

// Items of a list, a tuple, an array or a tensor, each handed to `take`.
template <class Take>
void each_of(PyObject* record, PyObject* values, const char* expected, Take take) {
    if (!values) complain(record, expected, values);
    const nb::object items = PyList_Check(values) ? nb::borrow(values) : nb::steal(PySequence_List(values));
    if (!items) complain(record, expected, values);
    for (Py_ssize_t i = 0, count = PyList_Size(items.ptr()); i < count; ++i) {
        PyObject* item = PyList_GetItem(items.ptr(), i);
        if (!item) complain(record, expected, values);
        take(item);
    }
}

// What dictionaries say under the keys that are asked for. Those made by the same code have the same keys in the same
// order, so that a key is known by its place.
template <std::size_t count>
class Reader {
  public:
    using Values = std::array<PyObject*, count>;  // without references of their own; nullptr for nothing

    explicit Reader(const std::array<const char*, count>& keys) : keys_(keys) {}

    Values read(PyObject* record) {
        if (!record || !PyDict_Check(record)) complain(record, "a dictionary", record);
        Values values{};
        Py_ssize_t at = 0;
        PyObject *key, *value;
        for (std::size_t place = 0; PyDict_Next(record, &at, &key, &value); ++place) {
            const std::size_t field =
                place < places_.size() && places_[place].key.is(key) ? places_[place].field : learn(place, key);
            if (field < count) values[field] = value;
        }
        return values;
    }

  private:
    struct Place {
        nb::object key;  // held, so that no other key comes to stand where it was
        std::size_t field = count;
    };

    std::size_t learn(std::size_t place, PyObject* key) {
        constexpr std::size_t most_places = 32;
        std::size_t field = PyUnicode_Check(key) ? 0 : count;
        while (field < count && PyUnicode_CompareWithASCIIString(key, keys_[field]) != 0) ++field;
        if (place < most_places) {
            places_.resize(std::max(places_.size(), place + 1));
            places_[place] = {nb::borrow(key), field};
        }
        return field;
    }

    std::array<const char*, count> keys_;
    std::vector<Place> places_;
};

// Objects that were made one after another lie one behind the other, and are read much faster that way: places from 0
// to `count`, in the order of the addresses that address_of(place) says.
template <class AddressOf>
std::vector<std::uint32_t> order_by_address(std::size_t count, AddressOf address_of) {
    std::vector<std::pair<std::uintptr_t, std::uint32_t>> pairs(count);
    for (std::size_t i = 0; i < count; ++i)
        pairs[i] = {reinterpret_cast<std::uintptr_t>(address_of(i)), static_cast<std::uint32_t>(i)};
    std::sort(pairs.begin(), pairs.end());
    std::vector<std::uint32_t> order(count);
    std::ranges::transform(pairs, order.begin(), [](const auto& pair) { return pair.second; });
    return order;
}

// Calls read(places) with places by address. What is wrong with one of them is told of the first in their own order.
template <class Read>
void read_by_address(std::vector<std::uint32_t> by_address, Read read) {
    try {
        read(by_address);
    } catch (const std::invalid_argument&) {
        std::ranges::sort(by_address);
        read(by_address);
        throw;
    }
}

void register_outlines(nb::module_& module);

}  // namespace verite
