// Fast access to annotations in Python dictionaries, as code written for pycocotools holds them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "columns/memory.hpp"

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
    if (PyFloat_Check(value)) {
        const double number = number_of(record, value, expected);
        if (!(std::abs(number) < 0x1p63)) complain(record, expected, value);
        return static_cast<std::int64_t>(number);
    }
    const nb::object index = PyLong_Check(value) ? nb::borrow(value) : nb::steal(PyNumber_Index(value));
    const long long found = index ? PyLong_AsLongLong(index.ptr()) : -1;
    if (found == -1 && PyErr_Occurred()) complain(record, expected, value);
    return found;
}

// Whether Python takes a value for true; an array of several values, or of none, is neither. numpy before 2.2 takes the
// latter for false.
inline bool truth_of(PyObject* record, PyObject* value, const char* expected) {
    if (!PyLong_Check(value) && !PyFloat_Check(value)) {
        const nb::object size = nb::steal(PyObject_GetAttrString(value, "size"));
        if (!size)
            PyErr_Clear();
        else if (PyLong_Check(size.ptr()) && PyLong_AsLong(size.ptr()) == 0)
            complain(record, expected, value);
    }
    const int found = PyObject_IsTrue(value);
    if (found < 0) complain(record, expected, value);
    return found == 1;
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

// Reads the values of some keys of dictionaries. Those made by the same code have the same keys in the same order, so
// that a key is recognised by its position. Value is nb::object, or PyObject* for values without references of their
// own; nullptr for nothing.
template <std::size_t count, class Value>
class Reader {
  public:
    using Values = std::array<Value, count>;

    explicit Reader(const std::array<const char*, count>& keys) : keys_(keys) {}

    Values read(PyObject* record) {
        if (!record || !PyDict_Check(record)) complain(record, "a dictionary", record);
        Values values{};
        Py_ssize_t at = 0;
        PyObject *key, *value;
        for (std::size_t place = 0; PyDict_Next(record, &at, &key, &value); ++place) {
            const std::size_t field =
                place < places_.size() && places_[place].key.is(key) ? places_[place].field : learn(place, key);
            if (field < count) {
                if constexpr (holds)
                    values[field] = nb::borrow(value);
                else
                    values[field] = value;
            }
        }
        return values;
    }

    // Calls take(place, values) for the records at these places, in this order. Dictionaries are all over the memory,
    // and waiting for it is most of the work: what several of them say is on its way before the first is taken.
    template <class RecordAt, class Take>
    void read_all(std::span<const std::uint32_t> places, RecordAt record_at, Take take) {
        constexpr std::size_t batch = 32;
        std::array<Values, batch> said;
        for (std::size_t first = 0; first < places.size(); first += batch) {
            const auto now = places.subspan(first, std::min(batch, places.size() - first));
            const auto soon = places.subspan(first + now.size());
            for (const std::uint32_t place : soon.first(std::min(batch, soon.size()))) prefetch(record_at(place));
            bool is_stale =
                !std::ranges::all_of(now, [&](std::uint32_t place) { return is_dictionary(record_at(place)); });
            for (std::size_t i = 0; i < now.size() && !is_stale; ++i) {
                said[i] = read(record_at(now[i]));
                for (const Value& value : said[i]) prefetch(pointer(value));
            }
            for (std::size_t i = 0; i < now.size() && !is_stale; ++i)
                for (const Value& value : said[i]) prefetch_items(pointer(value));
            for (std::size_t i = 0; i < now.size(); ++i) {
                if (is_stale) said[i] = read(record_at(now[i]));
                // Python's code may run where a value is none of its plain ones, and change what others say.
                if (holds ||
                    std::ranges::all_of(said[i], [](const Value& value) { return is_plain(pointer(value)); })) {
                    take(now[i], said[i]);
                } else {
                    is_stale = true;
                    const auto held = hold(said[i]);
                    take(now[i], said[i]);
                }
            }
        }
    }

    // References to values that have none of their own, for as long as it is kept.
    static std::array<nb::object, count> hold(const Values& values) {
        std::array<nb::object, count> held;
        std::ranges::transform(values, held.begin(), [](const Value& value) { return nb::borrow(pointer(value)); });
        return held;
    }

  private:
    static constexpr bool holds = std::is_same_v<Value, nb::object>;

    static PyObject* pointer(const Value& value) {
        if constexpr (holds)
            return value.ptr();
        else
            return value;
    }

    static bool is_dictionary(PyObject* record) { return record && PyDict_Check(record); }

    // The first and the last: items were made one after another.
    static void prefetch_items(PyObject* value) {
        const Py_ssize_t size = value && PyList_Check(value) ? PyList_Size(value) : 0;
        if (size == 0) return;
        prefetch(PyList_GetItem(value, 0));
        prefetch(PyList_GetItem(value, size - 1));
    }

    static bool is_plain(PyObject* value) {
        if (!value || PyFloat_CheckExact(value) || PyLong_CheckExact(value)) return true;
        if (PyUnicode_CheckExact(value) || PyBool_Check(value) || value == Py_None) return true;
        if (!PyList_CheckExact(value)) return false;
        for (Py_ssize_t i = 0, size = PyList_Size(value); i < size; ++i) {
            PyObject* item = PyList_GetItem(value, i);
            if (!PyFloat_CheckExact(item) && !PyLong_CheckExact(item)) return false;
        }
        return true;
    }

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

// Calls read(places) with places by address. An error is reported for the first record in the original order.
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
