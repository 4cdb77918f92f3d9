// JSON encoder for Python objects: dictionaries, lists, strings and numbers; anything else by a callback.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>

#include "bind/arrays.hpp"

namespace verite {
namespace {

using namespace nb::literals;
using Plain = nb::typed<nb::callable, nb::object(nb::object)>;

class Encoder {
  public:
    explicit Encoder(nb::handle to_plain) : to_plain_(to_plain) {}

    void write(PyObject* value) {
        if (PyFloat_Check(value)) {
            write_float(PyFloat_AsDouble(value));
        } else if (PyBool_Check(value)) {
            text_ += value == Py_True ? "true" : "false";
        } else if (PyLong_Check(value)) {
            write_integer(value);
        } else if (PyUnicode_Check(value)) {
            write_text(value);
        } else if (value == Py_None) {
            text_ += "null";
        } else {
            write_inner(value);
        }
    }

    nb::bytes take() const { return nb::bytes(text_.data(), text_.size()); }

  private:
    void write_inner(PyObject* value) {
        constexpr int deepest = 1000;  // deeper than any reader goes: a list that holds itself
        if (++depth_ > deepest) throw std::invalid_argument("something nested too deeply, or in itself");
        if (PyDict_Check(value)) {
            write_dictionary(value);
        } else if (PyList_Check(value) || PyTuple_Check(value)) {
            write_list(value);
        } else {
            write(to_plain_(nb::handle(value)).ptr());
        }
        --depth_;
    }

    void write_dictionary(PyObject* value) {
        text_ += '{';
        Py_ssize_t at = 0;
        PyObject *key, *item;
        const char* before = "";
        while (PyDict_Next(value, &at, &key, &item)) {
            if (!PyUnicode_Check(key)) continue;  // JSON keys are strings
            text_ += before;
            write_text(key);
            text_ += ':';
            const nb::object held = nb::borrow(item);
            write(item);
            before = ",";
        }
        text_ += '}';
    }

    void write_list(PyObject* value) {
        text_ += '[';
        const bool is_list = PyList_Check(value);
        for (Py_ssize_t i = 0; i < (is_list ? PyList_Size(value) : PyTuple_Size(value)); ++i) {
            if (i > 0) text_ += ',';
            const nb::object held = nb::borrow(is_list ? PyList_GetItem(value, i) : PyTuple_GetItem(value, i));
            write(held.ptr());
        }
        text_ += ']';
    }

    // Digits that mean the same number, with a point where Python has one.
    void write_float(double number) {
        char digits[32];
        if (char* end = write_cents(digits, number)) {
            text_.append(digits, end);
        } else if (std::isnan(number)) {
            text_ += "NaN";
        } else if (std::isinf(number)) {
            text_ += number < 0 ? "-Infinity" : "Infinity";
        } else {
            const char* end = std::to_chars(digits, digits + sizeof digits, number).ptr;
            const std::string_view written(digits, end);
            text_ += written;
            if (written.find_first_of(".e") == std::string_view::npos) text_ += ".0";
        }
    }

    // Coordinates have two places behind the point, mostly: a tenth of the time of the shortest digits of any number.
    // Division is exact to the last bit, and so is reading: both find the same number. Null for any other.
    static char* write_cents(char* digits, double number) {
        if (!(std::abs(number) < 1e9) || (number == 0 && std::signbit(number))) return nullptr;
        const std::int64_t cents = std::llround(number * 100);
        if (static_cast<double>(cents) / 100 != number) return nullptr;
        if (cents < 0) *digits++ = '-';
        const std::uint32_t whole = static_cast<std::uint32_t>(std::abs(cents) / 100), rest = std::abs(cents) % 100;
        digits = std::to_chars(digits, digits + 12, whole).ptr;
        *digits++ = '.';
        *digits++ = static_cast<char>('0' + rest / 10);
        if (rest % 10) *digits++ = static_cast<char>('0' + rest % 10);
        return digits;
    }

    void write_integer(PyObject* value) {
        int overflow = 0;
        const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
        if (overflow) {
            text_ += nb::str(nb::handle(value)).c_str();
            return;
        }
        char digits[24];
        text_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
    }

    void write_text(PyObject* value) {
        Py_ssize_t length = 0;
        const char* letters = PyUnicode_AsUTF8AndSize(value, &length);
        if (!letters) throw nb::python_error();
        const std::string_view text(letters, static_cast<std::size_t>(length));
        text_ += '"';
        if (std::ranges::none_of(text, needs_escape))
            text_ += text;
        else
            escape(text);
        text_ += '"';
    }

    static bool needs_escape(char letter) {
        return letter == '"' || letter == '\\' || static_cast<unsigned char>(letter) < 0x20;
    }

    void escape(std::string_view text) {
        for (const char letter : text) {
            if (letter == '"' || letter == '\\') text_ += '\\';
            if (static_cast<unsigned char>(letter) >= 0x20) {
                text_ += letter;
            } else {
                constexpr const char* hexadecimal = "0123456789abcdef";
                text_ += "\\u00";
                text_ += hexadecimal[letter >> 4];
                text_ += hexadecimal[letter & 15];
            }
        }
    }

    nb::handle to_plain_;
    std::string text_;
    int depth_ = 0;
};

nb::bytes encode_json(const nb::object& given, const Plain& to_plain) {
    Encoder encoder(to_plain);
    encoder.write(given.ptr());
    return encoder.take();
}

}  // namespace

void register_encoding(nb::module_& module) {
    module.def("encode_json", &encode_json, "given"_a, "to_plain"_a,
               "JSON text of dictionaries, lists, texts and numbers; of anything else, of what to_plain makes of it.");
}

}  // namespace verite
