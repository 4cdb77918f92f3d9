// The COCO reader for Python: paths in, columns out, errors with fields.
#include <nanobind/stl/string.h>

#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "bind/coco_file.hpp"
#include "json/coco.hpp"
#include "json/words.hpp"

namespace verite {
namespace {

using namespace nb::literals;
using json::Content;
using json::Document;

// What came through a pipe and what is small stay in memory: a small file may well be gone when its shapes are wanted.
std::shared_ptr<const Content> content_to_keep(const std::shared_ptr<Content>& content) {
    constexpr std::size_t small = std::size_t{1} << 20;
    if (!content->stamp()) return content;
    if (content->size() > small) return nullptr;
    Array<char> room;
    auto kept = std::make_shared<const Content>(content->read(0, content->size(), room).bytes);
    content->check_unchanged();
    return kept;
}

CocoFile* read(const std::shared_ptr<Content>& content, unsigned threads, int deepest, std::size_t piece_bytes) {
    return report_with_line(*content, [&] {
        Document document = json::read_coco(*content, {threads, deepest, piece_bytes});
        const bool has_shapes = document.annotations.region_kinds.rows() > 0;
        Source source{content->path(), content->stamp(), has_shapes ? content_to_keep(content) : nullptr};
        return new CocoFile(std::move(document), std::move(source), threads);
    });
}

void check_options(unsigned threads, int deepest, std::size_t piece_bytes) {
    if (threads == 0 || piece_bytes == 0) throw std::invalid_argument("threads and piece_bytes must be at least 1");
    // Every level is a call within a call.
    if (deepest < 1 || deepest > 10'000) throw std::invalid_argument("deepest: expected 1 to 10,000");
}

std::string path_from(const Path& path) {
    PyObject* bytes = nullptr;
    if (!PyUnicode_FSConverter(path.ptr(), &bytes)) throw nb::python_error();
    const nb::bytes owned = nb::steal<nb::bytes>(bytes);
    return {owned.c_str(), owned.size()};
}

nb::str path_text(const std::string& path) {
    return nb::steal<nb::str>(PyUnicode_DecodeFSDefaultAndSize(path.data(), static_cast<Py_ssize_t>(path.size())));
}

void raise_parse_error(const json::ParseError& error, nb::handle type) {
    nb::object instance = type(nb::str(error.sentence().c_str()));
    instance.attr("code") = std::string(json::name_of(error.defect.fault));
    instance.attr("place") = json::path_of(error.where);
    instance.attr("expected") = error.defect.expected;
    instance.attr("found") = error.defect.found;
    instance.attr("byte") = error.defect.byte;
    instance.attr("line") = error.line;
    instance.attr("section") = error.where.section;
    instance.attr("record") = error.where.record < 0 ? nb::none() : nb::object(nb::int_(error.where.record));
    instance.attr("path") = path_text(error.path);
    PyErr_SetObject(type.ptr(), instance.ptr());
}

PyObject* parse_error = nullptr;   // _core.ParseError
PyObject* changed_file = nullptr;  // _core.ChangedFileError

void translate_errors(const std::exception_ptr& error, void*) {
    try {
        std::rethrow_exception(error);
    } catch (const json::ParseError& found) {
        raise_parse_error(found, parse_error);
    } catch (const json::ChangedFile& found) {
        nb::object instance = nb::handle(changed_file)(nb::str(found.what()));
        instance.attr("path") = path_text(found.path());
        PyErr_SetObject(changed_file, instance.ptr());
    } catch (const std::system_error& found) {
        const std::string path = found.what();  // and what is wrong behind it
        PyErr_SetObject(PyExc_OSError, nb::make_tuple(found.code().value(), nb::str(found.code().message().c_str()),
                                                      path_text(path.substr(0, path.rfind(": "))))
                                           .ptr());
    }
}

std::string_view utf8_of(nb::handle text) {
    Py_ssize_t size = 0;
    const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (!bytes) throw nb::python_error();
    return {bytes, static_cast<std::size_t>(size)};
}

nb::typed<nb::list, nb::str> find_words(const nb::str& text, const nb::typed<nb::sequence, nb::str>& words) {
    std::vector<std::string_view> wanted;
    for (const nb::handle word : words) wanted.push_back(utf8_of(word));
    const std::vector<bool> is_found = json::find_words(utf8_of(text), wanted);
    nb::typed<nb::list, nb::str> found;
    std::size_t i = 0;
    for (const nb::handle word : words)
        if (is_found[i++]) found.append(word);
    return found;
}

}  // namespace

void register_json(nb::module_& module) {
    register_faults(module);
    nb::dict defaults;  // of both; the reader says more about what it parses
    defaults["path"] = "";
    parse_error = PyErr_NewException("verite._core.ParseError", PyExc_ValueError, defaults.ptr());
    changed_file = PyErr_NewException("verite._core.ChangedFileError", PyExc_RuntimeError, defaults.ptr());
    module.attr("ParseError") = nb::borrow(parse_error);
    module.attr("ChangedFileError") = nb::borrow(changed_file);
    nb::register_exception_translator(translate_errors, nullptr);

    nb::class_<CocoFile> file(module, "CocoFile", "A COCO file as columns; nothing of it stays open.");
    bind_objects(file);
    bind_columns_as_read(file);

    module.def("find_words", &find_words, "text"_a, "words"_a,
               "Those words, of four bytes at least, that are somewhere in the text.");
    const auto def = [&](const char* name, const char* source, auto read) {
        module.def(name, read, nb::arg(source), "threads"_a = 1, "deepest"_a = 64,
                   "piece_bytes"_a = std::size_t{1} << 20, nb::rv_policy::take_ownership);
    };
    def("read_coco", "path", [](const Path& path, unsigned threads, int deepest, std::size_t piece_bytes) {
        check_options(threads, deepest, piece_bytes);
        const std::string name = path_from(path);
        const nb::gil_scoped_release released;
        return read(std::make_shared<Content>(name), threads, deepest, piece_bytes);
    });
    def("read_coco_bytes", "content",
        [](const nb::bytes& content, unsigned threads, int deepest, std::size_t piece_bytes) {
            check_options(threads, deepest, piece_bytes);
            auto copy = std::make_shared<Content>(std::span(content.c_str(), content.size()));
            const nb::gil_scoped_release released;
            return read(copy, threads, deepest, piece_bytes);
        });
}

}  // namespace verite
