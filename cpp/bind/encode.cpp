// What Python holds as JSON text: dictionaries, lists, texts and numbers by itself, anything else as it is told to.
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
            if (!PyUnicode_Check(key)) continue;  // nobody asks for it
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

    // The shortest digits that mean the same number, with a point where Python has one.
    void write_float(double number) {
        if (std::isnan(number)) {
            text_ += "NaN";
        } else if (std::isinf(number)) {
            text_ += number < 0 ? "-Infinity" : "Infinity";
        } else {
            char digits[32];
            const char* end = std::to_chars(digits, digits + sizeof digits, number).ptr;
            const std::string_view written(digits, end);
            text_ += written;
            if (written.find_first_of(".e") == std::string_view::npos) text_ += ".0";
        }
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
        const nb::object encoded = nb::steal(PyUnicode_AsUTF8String(value));
        char* letters = nullptr;
        if (!encoded || PyBytes_AsStringAndSize(encoded.ptr(), &letters, &length) != 0) throw nb::python_error();
        text_ += '"';
        for (const char letter : std::string_view(letters, static_cast<std::size_t>(length))) {
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
        text_ += '"';
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
