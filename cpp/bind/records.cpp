// Lists of dictionaries, as code written for pycocotools has them, as columns.
#include <nanobind/stl/optional.h>

#include <string>
#include <vector>

#include "bind/arrays.hpp"
#include "regions/masks.hpp"

namespace verite {
namespace {

using namespace nb::literals;
using Dictionaries = nb::typed<nb::list, nb::any>;
using Places = nb::typed<nb::dict, nb::any, int>;

// Rows, images, classes, boxes, areas, ids, crowd flags, confidences.
template <class T>
using Numpy = nb::ndarray<nb::numpy, T>;
using RecordColumns = nb::typed<nb::tuple, Numpy<std::int64_t>, Numpy<std::int32_t>, Numpy<std::int32_t>, Numpy<double>,
                                Numpy<double>, Numpy<std::int64_t>, Numpy<std::uint8_t>, std::optional<Numpy<double>>>;
using OutlineColumns = nb::typed<nb::tuple, ArraysOf<double, std::int64_t, std::int64_t>,
                                 ArraysOf<std::uint32_t, std::int64_t, std::int32_t>>;

[[noreturn]] void complain(std::size_t row, const std::string& expected, PyObject* found) {
    PyErr_Clear();
    std::string shown = found ? nb::repr(nb::handle(found)).c_str() : "none";
    if (shown.size() > 60) shown = shown.substr(0, 57) + "...";
    throw std::invalid_argument("[" + std::to_string(row) + "]: expected " + expected + ", found " + shown);
}

// The records of a list, and what they say under a key.
class Records {
  public:
    explicit Records(const Dictionaries& records) : list_(records.ptr()), count_(records.size()) {}

    std::size_t size() const { return count_; }

    // What the record says, without a reference of its own; nullptr where it says nothing.
    PyObject* look(std::size_t row, const nb::str& key) const {
        PyObject* record = PyList_GetItem(list_, static_cast<Py_ssize_t>(row));
        if (!record || !PyDict_Check(record)) complain(row, "a dictionary", record);
        return PyDict_GetItemWithError(record, key.ptr());
    }

    double number(std::size_t row, PyObject* value, const char* expected) const {
        if (!value) complain(row, expected, value);
        const double number = PyFloat_AsDouble(value);
        if (number == -1.0 && PyErr_Occurred()) complain(row, expected, value);
        return number;
    }

    std::int64_t whole(std::size_t row, PyObject* value, const char* expected) const {
        if (!value) complain(row, expected, value);
        if (PyFloat_Check(value)) return static_cast<std::int64_t>(number(row, value, expected));
        const nb::object index = nb::steal(PyNumber_Index(value));
        const long long found = index ? PyLong_AsLongLong(index.ptr()) : -1;
        if (found == -1 && PyErr_Occurred()) complain(row, expected, value);
        return found;
    }

    // Items of a list, a tuple, an array or a tensor, each handed to `take`.
    template <class Take>
    void each(std::size_t row, PyObject* values, const char* expected, Take take) const {
        if (!values) complain(row, expected, values);
        if (PyList_Check(values)) {
            for (Py_ssize_t i = 0; i < PyList_Size(values); ++i) take(PyList_GetItem(values, i));
            return;
        }
        const nb::object items = nb::steal(PySequence_List(values));
        if (!items) complain(row, expected, values);
        for (Py_ssize_t i = 0; i < PyList_Size(items.ptr()); ++i) take(PyList_GetItem(items.ptr(), i));
    }

  private:
    PyObject* list_;
    std::size_t count_;
};

// The place of an id among those wanted, -1 where it is none of them.
std::int32_t place_of(const Places& places, PyObject* id) {
    PyObject* place = id ? PyDict_GetItemWithError(places.ptr(), id) : nullptr;
    if (!place) {
        PyErr_Clear();  // an id that cannot be looked up is not among them
        return -1;
    }
    return static_cast<std::int32_t>(PyLong_AsLong(place));
}

struct Keys {
    nb::str image{"image_id"}, label{"category_id"}, box{"bbox"}, area{"area"}, id{"id"}, crowd{"iscrowd"};
    nb::str score{"score"}, outline{"segmentation"}, counts{"counts"}, size{"size"};
};

// Records of these images and classes: their rows, images, classes, boxes (left, top, width, height), areas, ids, crowd
// flags and, of predictions, confidences. An area that is not stated is that of the box.
RecordColumns read_records(const Dictionaries& list, const Places& images, const Places& labels, bool is_pred) {
    const Records records(list);
    const Keys keys;
    Array<std::int64_t> rows, ids;
    Array<std::int32_t> image, label;
    Array<double> boxes, areas, scores;
    std::vector<std::uint8_t> crowd;
    for (std::size_t row = 0; row < records.size(); ++row) {
        const std::int32_t at = place_of(images, records.look(row, keys.image));
        const std::int32_t of = at < 0 ? -1 : place_of(labels, records.look(row, keys.label));
        if (of < 0) continue;
        rows.push_back(static_cast<std::int64_t>(row));
        image.push_back(at);
        label.push_back(of);
        constexpr const char* four = "four numbers as bbox";
        PyObject* box = records.look(row, keys.box);
        const std::size_t first = boxes.size();
        if (box) records.each(row, box, four, [&](PyObject* v) { boxes.push_back(records.number(row, v, four)); });
        if (!box) boxes.resize(first + 4, 0.0);
        if (boxes.size() != first + 4) complain(row, four, box);
        PyObject* area = records.look(row, keys.area);
        areas.push_back(area ? records.number(row, area, "a number as area") : boxes[first + 2] * boxes[first + 3]);
        ids.push_back(records.whole(row, records.look(row, keys.id), "a whole number as id"));
        PyObject* flag = records.look(row, keys.crowd);
        crowd.push_back(flag && PyObject_IsTrue(flag) == 1);
        if (is_pred) scores.push_back(records.number(row, records.look(row, keys.score), "a number as score"));
    }
    const std::size_t count = rows.size();
    return nb::make_tuple(to_numpy(std::move(rows)), to_numpy(std::move(image)), to_numpy(std::move(label)),
                          to_numpy(std::move(boxes), {count, std::size_t{4}}), to_numpy(std::move(areas)),
                          to_numpy(std::move(ids)), to_numpy(std::move(crowd)),
                          is_pred ? nb::cast(to_numpy(std::move(scores))) : nb::none());
}

// Runs as a dictionary has them, compressed or not; where they end early, background follows.
void read_runs(const Records& records, std::size_t row, PyObject* mask, const Keys& keys,
               std::vector<std::uint32_t>& counts, Array<std::int32_t>& sizes) {
    constexpr const char* runs = "a mask of size and counts as segmentation";
    PyObject* size = PyDict_GetItemWithError(mask, keys.size.ptr());
    PyObject* given = PyDict_GetItemWithError(mask, keys.counts.ptr());
    if (!size || !given) complain(row, runs, mask);
    const std::size_t first_side = sizes.size();
    records.each(row, size, runs, [&](PyObject* value) {
        const std::int64_t side = records.whole(row, value, runs);
        if (side < 0 || side > INT32_MAX) complain(row, runs, mask);
        sizes.push_back(static_cast<std::int32_t>(side));
    });
    if (sizes.size() != first_side + 2) complain(row, runs, mask);
    const std::uint64_t pixels = std::uint64_t(sizes[first_side]) * std::uint64_t(sizes[first_side + 1]);
    if (pixels > UINT32_MAX) complain(row, "fewer than 2**32 pixels", mask);
    const std::size_t first = counts.size();
    std::uint64_t sum = 0;
    if (PyList_Check(given)) {
        records.each(row, given, runs, [&](PyObject* value) {
            const std::int64_t run = records.whole(row, value, runs);
            if (run < 0 || (sum += static_cast<std::uint64_t>(run)) > pixels) complain(row, runs, mask);
            counts.push_back(static_cast<std::uint32_t>(run));
        });
    } else {
        const nb::object text = PyBytes_Check(given) ? nb::borrow(given) : nb::steal(PyUnicode_AsUTF8String(given));
        if (!text) complain(row, runs, mask);
        try {
            decode_runs({PyBytes_AsString(text.ptr()), static_cast<std::size_t>(PyBytes_Size(text.ptr()))}, pixels,
                        counts, Ending::early);
        } catch (const std::invalid_argument& error) {
            throw std::invalid_argument("[" + std::to_string(row) + "]: expected " + runs + ", found " + error.what());
        }
        for (std::size_t i = first; i < counts.size(); ++i) sum += counts[i];
    }
    complete_runs(pixels - sum, first, counts);
}

// Outlines of these rows of a list: polygons (points, offsets of rings and of objects) and runs (counts, offsets of
// objects, heights and widths). An object has one or the other.
OutlineColumns read_outlines(const Dictionaries& list, const Column1<std::int64_t>& rows) {
    const Records records(list);
    const Keys keys;
    Array<double> points;
    Array<std::int64_t> rings{0}, objects{0}, masks{0};
    std::vector<std::uint32_t> counts;
    Array<std::int32_t> sizes;
    for (const std::int64_t at : span_of(rows)) {
        const auto row = static_cast<std::size_t>(at);
        constexpr const char* expected = "polygons of three points and more, or a mask, as segmentation";
        PyObject* outline = records.look(row, keys.outline);
        if (!outline) complain(row, expected, outline);
        if (PyDict_Check(outline)) {
            read_runs(records, row, outline, keys, counts, sizes);
        } else {
            const std::size_t first = rings.size();
            records.each(row, outline, expected, [&](PyObject* ring) {
                const std::size_t start = points.size();
                records.each(row, ring, expected,
                             [&](PyObject* value) { points.push_back(records.number(row, value, expected)); });
                if (rings.size() == first && points.size() - start < 5) complain(row, expected, outline);
                points.resize(start + (points.size() - start) / 2 * 2);  // an odd one out is lost, as in pycocotools
                rings.push_back(static_cast<std::int64_t>(points.size() / 2));
            });
            if (rings.size() == first) complain(row, expected, outline);
            sizes.resize(sizes.size() + 2, 0);
        }
        objects.push_back(static_cast<std::int64_t>(rings.size() - 1));
        masks.push_back(static_cast<std::int64_t>(counts.size()));
    }
    const std::size_t count = rows.size(), pairs = points.size() / 2;
    return nb::make_tuple(nb::make_tuple(to_numpy(std::move(points), {pairs, std::size_t{2}}),
                                         to_numpy(std::move(rings)), to_numpy(std::move(objects))),
                          nb::make_tuple(to_numpy(std::move(counts)), to_numpy(std::move(masks)),
                                         to_numpy(std::move(sizes), {count, std::size_t{2}})));
}

}  // namespace

void register_records(nb::module_& module) {
    module.def("read_records", &read_records, "records"_a, "images"_a, "labels"_a, "is_pred"_a,
               "Columns of the dictionaries whose image and class have a place: rows, images, classes, boxes, areas, "
               "ids, crowd flags, confidences.");
    module.def("read_outlines", &read_outlines, "records"_a, "rows"_a,
               "Polygons and runs of the dictionaries in these rows.");
}

}  // namespace verite
