// Python's view of the COCO reader: paths in, numpy arrays over our columns out.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

#include "bind/arrays.hpp"
#include "bind/coco_file.hpp"
#include "bind/views.hpp"

namespace verite {

namespace {

using json::Annotations;
using json::Categories;
using json::Document;
using json::Images;

// What numpy calls our types: text and enumerations are bytes to it.
template <class T>
using Shown = std::conditional_t<std::is_same_v<T, char> || std::is_enum_v<T>, std::uint8_t, T>;

// Hands a column to numpy, which owns it from then on.
template <class T, std::size_t width>
nb::object to_array(Column<T, width>&& column) {
    auto owned = std::make_unique<Column<T, width>>(std::move(column));
    const std::size_t shape[2] = {owned->rows(), width};
    T* data = owned->data();
    const nb::capsule owner(owned.release(),
                            [](void* pointer) noexcept { delete static_cast<Column<T, width>*>(pointer); });
    return nb::cast(nb::ndarray<nb::numpy, Shown<T>>(data, width == 1 ? 1 : 2, shape, owner));
}

// Like to_array, but None for a column that no record has.
template <class T, std::size_t width>
nb::object to_array_if_used(Column<T, width>&& column) {
    return column.rows() == 0 ? nb::none() : to_array(std::move(column));
}

// All values, and where each row starts.
template <class T>
nb::object to_arrays(RaggedColumn<T>&& column) {
    return nb::make_tuple(to_array(std::move(column.values)), to_array(std::move(column.starts())));
}

nb::object to_arrays(json::Ids&& ids) {
    switch (ids.kind) {
        case json::Ids::Kind::none:
            return nb::none();
        case json::Ids::Kind::numbers:
            return to_array(std::move(ids.numbers));
        case json::Ids::Kind::text:
            return to_arrays(std::move(ids.text));
    }
    return nb::none();
}

// For each field: True if every record has it, False if none has, else an array of bool.
template <class Table>
nb::dict presence_of(const Table& table) {
    nb::dict present;
    for (unsigned field = 0; field < Table::names.size(); ++field) {
        const json::FieldSet bit = json::field_bit(field);
        nb::object answer;
        if (table.count > 0 && (table.presence.every & bit)) {
            answer = nb::bool_(true);
        } else if (!(table.presence.some & bit)) {
            answer = nb::bool_(false);
        } else {
            Column<bool> has_it;
            for (const json::FieldSet fields : table.presence.fields.values()) has_it.push((fields & bit) != 0);
            answer = to_array(std::move(has_it));
        }
        present[nb::cast(std::string(Table::names[field]))] = answer;
    }
    return present;
}

nb::dict to_dict(Images&& images) {
    nb::dict columns;
    columns["count"] = images.count;
    columns["present"] = presence_of(images);
    columns["id"] = to_arrays(std::move(images.ids));
    columns["file_name"] = to_arrays(std::move(images.file_names));
    columns["width"] = to_array_if_used(std::move(images.widths));
    columns["height"] = to_array_if_used(std::move(images.heights));
    columns["neg_category_ids"] = to_arrays(std::move(images.negatives));
    columns["not_exhaustive_category_ids"] = to_arrays(std::move(images.not_exhaustives));
    return columns;
}

nb::dict to_dict(Categories&& categories) {
    nb::dict columns;
    columns["count"] = categories.count;
    columns["present"] = presence_of(categories);
    columns["id"] = to_array_if_used(std::move(categories.ids));
    columns["name"] = to_arrays(std::move(categories.labels));
    columns["supercategory"] = to_arrays(std::move(categories.supercategories));
    columns["frequency"] = to_array_if_used(std::move(categories.frequencies));
    return columns;
}

// Takes all but the regions, which later conversions need.
nb::dict to_dict(Annotations& annotations) {
    nb::dict columns;
    columns["count"] = annotations.count;
    columns["present"] = presence_of(annotations);
    columns["image_id"] = to_arrays(std::move(annotations.image_ids));
    columns["id"] = to_arrays(std::move(annotations.ids));
    columns["category_id"] = to_array_if_used(std::move(annotations.category_ids));
    columns["bbox"] = to_array_if_used(std::move(annotations.boxes));
    columns["score"] = to_array_if_used(std::move(annotations.scores));
    columns["area"] = to_array_if_used(std::move(annotations.areas));
    columns["iscrowd"] = to_array_if_used(std::move(annotations.crowds));
    columns["ignore"] = to_array_if_used(std::move(annotations.ignores));
    return columns;
}

// How the content of a file is to be read.
json::ReadOptions options_for(const MappedFile& file, unsigned threads, int deepest, std::size_t piece_bytes) {
    if (threads == 0 || piece_bytes == 0) throw std::invalid_argument("threads and piece_bytes must be at least 1");
    // Every level is a call within a call.
    if (deepest < 1 || deepest > 10'000) throw std::invalid_argument("deepest: expected 1 to 10,000");
    json::ReadOptions options;
    options.threads = threads;
    options.deepest = deepest;
    options.piece_bytes = piece_bytes;
    options.on_read = [&file](std::size_t first, std::size_t last) { file.release(first, last); };
    return options;
}

// Lets somebody at the keyboard interrupt a long reading. Rarely asked, because another Python thread may hold the
// interpreter for a while.
std::function<void()> heed_signals() {
    using Clock = std::chrono::steady_clock;
    return [last = Clock::now()]() mutable {
        if (Clock::now() - last < std::chrono::milliseconds(100)) return;
        last = Clock::now();
        const nb::gil_scoped_acquire acquired;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    };
}

template <class Source>
Reading read_source(Source&& source, unsigned threads, int deepest, std::size_t piece_bytes) {
    auto file = std::make_unique<MappedFile>(std::forward<Source>(source));
    auto options = options_for(*file, threads, deepest, piece_bytes);
    options.on_pause = heed_signals();
    const nb::gil_scoped_release released;
    Document document = json::read_coco(file->bytes(), options);
    return {std::move(file), threads, std::move(document)};
}

std::string path_from(nb::handle path) {
    PyObject* bytes = nullptr;
    if (!PyUnicode_FSConverter(path.ptr(), &bytes)) throw nb::python_error();
    const nb::bytes owned = nb::steal<nb::bytes>(bytes);
    return {owned.c_str(), owned.size()};
}

void raise_parse_error(const json::ParseError& error, nb::handle type) {
    nb::object instance = type(nb::str(error.what()));
    instance.attr("code") = std::string(json::name_of(error.fault()));
    instance.attr("byte") = error.byte();
    instance.attr("line") = error.line();
    instance.attr("section") = error.section();
    instance.attr("record") = error.record() < 0 ? nb::none() : nb::object(nb::int_(error.record()));
    PyErr_SetObject(type.ptr(), instance.ptr());
}

void translate_errors(const std::exception_ptr& error, void* parse_error_type) {
    try {
        std::rethrow_exception(error);
    } catch (const json::ParseError& found) {
        raise_parse_error(found, static_cast<PyObject*>(parse_error_type));
    } catch (const std::system_error& found) {
        PyErr_SetObject(PyExc_OSError, nb::make_tuple(found.code().value(), nb::str(found.what())).ptr());
    }
}

// A view of a column that stays in the core.
template <class T>
nb::object view(const Column<T>& values, const CocoFile* owner) {
    if (values.rows() == 0) return nb::none();
    return nb::cast(
        nb::ndarray<nb::numpy, const Shown<T>, nb::ndim<1>>(values.data(), {values.rows()}, nb::find(owner)));
}

}  // namespace

const CocoFile::Columns& CocoFile::columns() {
    std::unique_lock lock(taking_, std::defer_lock);
    {
        const nb::gil_scoped_release released;
        lock.lock();
    }
    if (columns_) return *columns_;
    if (is_taken_) throw std::runtime_error("the file could not be opened before; read it again");
    nb::module_::import_("numpy");  // may be interrupted, and then nothing has happened
    is_taken_ = true;
    ranks_.reset();
    positions_.reset();
    columns_ = {to_dict(std::move(document_.images)), to_dict(std::move(document_.categories)),
                to_dict(document_.annotations)};
    return *columns_;
}

nb::object CocoFile::take_shapes() {
    std::unique_lock lock(taking_, std::defer_lock);
    {
        const nb::gil_scoped_release released;
        lock.lock();
    }
    if (!shapes_) return nb::none();
    Shapes taken = std::move(*shapes_);
    shapes_.reset();
    nb::object polygons = nb::none(), runs = nb::none();
    if (taken.has_polygons())
        polygons = nb::make_tuple(to_array(taken.points, 2), to_array(taken.rings), to_array(taken.ring_objects));
    if (taken.has_runs())
        runs = nb::make_tuple(to_array(taken.counts), to_array(taken.run_objects), to_array(taken.sizes, 2));
    return nb::make_tuple(polygons, runs);
}

nb::object CocoFile::polygons(const Records& records, bool is_strict, const Limits& limits) {
    auto found = converted<json::Polygons>(json::read_polygons, records, is_strict, limits);
    return nb::make_tuple(to_array(std::move(found.points)), to_array(std::move(found.ring_starts)),
                          to_array(std::move(found.object_starts)));
}

nb::object CocoFile::runs(const Records& records, bool is_strict, const Limits& limits) {
    auto found = converted<json::Runs>(json::read_runs, records, is_strict, limits);
    return nb::make_tuple(to_array(std::move(found.lengths)), to_array(std::move(found.starts)),
                          to_array(std::move(found.sizes)));
}

nb::object CocoFile::region_kinds() const { return view(document_.annotations.region_kinds, this); }
nb::object CocoFile::region_bytes() const { return view(document_.annotations.region_bytes, this); }
nb::object CocoFile::region_lengths() const { return view(document_.annotations.region_lengths, this); }

template <class Regions>
Regions CocoFile::converted(ReadRegions<Regions> read, const Records& records, bool is_strict,
                            const Limits& limits) const {
    check_unchanged();
    const nb::gil_scoped_release released;
    return read(file_->bytes(), document_, {records.data(), records.size()}, region_limits(limits, is_strict),
                threads_);
}

void register_json(nb::module_& module) {
    const nb::object parse_error = nb::steal(PyErr_NewException("verite._core.ParseError", PyExc_ValueError, nullptr));
    module.attr("ParseError") = parse_error;
    nb::register_exception_translator(translate_errors, parse_error.ptr());

    nb::class_<CocoFile> file(module, "CocoFile");
    file.def_prop_ro("images", [](CocoFile& file) { return file.columns().images; })
        .def_prop_ro("categories", [](CocoFile& file) { return file.columns().categories; })
        .def_prop_ro("annotations", [](CocoFile& file) { return file.columns().annotations; })
        .def_prop_ro("is_results", &CocoFile::is_results)
        .def_prop_ro("keys", &CocoFile::keys)
        .def_prop_ro("region_kinds", &CocoFile::region_kinds)
        .def_prop_ro("region_bytes", &CocoFile::region_bytes)
        .def_prop_ro("region_lengths", &CocoFile::region_lengths)
        .def("take_shapes", &CocoFile::take_shapes)
        .def("polygons", &CocoFile::polygons, nb::arg("records"), nb::arg("strict") = true,
             nb::arg("limits") = usual_limits)
        .def("runs", &CocoFile::runs, nb::arg("records"), nb::arg("strict") = true, nb::arg("limits") = usual_limits);
    register_evaluation(module, file);

    const auto def = [&](const char* name, const char* source, auto read) {
        module.def(name, read, nb::arg(source), nb::arg("threads") = 1, nb::arg("deepest") = 64,
                   nb::arg("piece_bytes") = std::size_t{1} << 20, nb::rv_policy::take_ownership);
    };
    def("read_coco", "path", [](nb::handle path, unsigned threads, int deepest, std::size_t piece_bytes) {
        return new CocoFile(read_source(path_from(path), threads, deepest, piece_bytes));
    });
    def("read_coco_bytes", "content",
        [](const nb::bytes& content, unsigned threads, int deepest, std::size_t piece_bytes) {
            return new CocoFile(read_source(std::vector<char>(content.c_str(), content.c_str() + content.size()),
                                            threads, deepest, piece_bytes));
        });
}

}  // namespace verite
