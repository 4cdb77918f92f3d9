// Annotations in lists of dictionaries, as code written for pycocotools holds them, converted to columns.
#include "bind/records.hpp"

#include <nanobind/stl/optional.h>

#include <bit>

#include "columns/memory.hpp"

namespace verite {
namespace {

using namespace nb::literals;
using Index = nb::typed<nb::dict, nb::any, nb::any>;
using PlaceById = nb::typed<nb::dict, nb::any, int>;

// Records, rows, images, classes, boxes, areas, ids, crowd flags, confidences.
template <class T>
using Numpy = nb::ndarray<nb::numpy, T>;
using RecordColumns =
    nb::typed<nb::tuple, Dictionaries, Numpy<std::int64_t>, Numpy<std::int32_t>, Numpy<std::int32_t>, Numpy<double>,
              Numpy<double>, Numpy<std::int64_t>, Numpy<std::uint8_t>, std::optional<Numpy<double>>>;

enum Field : std::size_t { image_id, category_id, id, bbox, area, iscrowd, score, fields };
using RecordReader = Reader<fields, PyObject*>;

// The places of the ids that are wanted. Whole numbers among whole numbers are found without asking Python.
class Places {
  public:
    explicit Places(const PlaceById& by_id)
        : by_id_(by_id), numbers_(std::bit_ceil(2 * by_id.size() + 1)), last_(numbers_.size() - 1) {
        for (const auto [id, place] : by_id) {
            const auto number = number_of(id.ptr());
            is_whole_ = is_whole_ && number;
            if (number) numbers_[seek(*number)] = {*number, static_cast<std::int32_t>(PyLong_AsLong(place.ptr()))};
        }
    }

    // -1 for an id that is none of them.
    std::int32_t find(PyObject* id) const {
        if (!id) return -1;
        const auto number = is_whole_ ? number_of(id) : std::nullopt;
        if (number) return numbers_[seek(*number)].place;
        PyObject* place = PyDict_GetItemWithError(by_id_.ptr(), id);
        if (place) return static_cast<std::int32_t>(PyLong_AsLong(place));
        PyErr_Clear();  // an id that cannot be looked up is not among them
        return -1;
    }

  private:
    struct Entry {
        std::int64_t number = 0;
        std::int32_t place = -1;
    };

    static std::optional<std::int64_t> number_of(PyObject* id) {
        int is_beyond = 0;
        const std::int64_t number = PyLong_CheckExact(id) ? PyLong_AsLongLongAndOverflow(id, &is_beyond) : 0;
        return PyLong_CheckExact(id) && !is_beyond ? std::optional(number) : std::nullopt;
    }

    // Where a number is, or could be.
    std::size_t seek(std::int64_t number) const {
        std::size_t at = static_cast<std::size_t>(static_cast<std::uint64_t>(number) * 0x9E3779B97F4A7C15 >> 32);
        while (numbers_[at & last_].place >= 0 && numbers_[at & last_].number != number) ++at;
        return at & last_;
    }

    const PlaceById& by_id_;
    std::vector<Entry> numbers_;
    std::size_t last_;
    bool is_whole_ = true;
};

// What a record says, if it was found; no label where it is not wanted.
struct Row {
    nb::object record;
    bool is_found = false;
    std::uint8_t crowd = 0;
    std::int32_t image = -1, label = -1;
    std::int64_t id = 0;
    double box[4] = {}, area = 0, score = 0;
};

void read_box(PyObject* record, PyObject* box, double* to) {
    constexpr const char* four = "four numbers as bbox";
    int found = 0;
    each_of(record, box, four, [&](PyObject* value) {
        if (found == 4) complain(record, four, box);
        to[found++] = number_of(record, value, four);
    });
    if (found != 4) complain(record, four, box);
}

// An area that is not stated is that of the box.
void read_row(Row& row, const RecordReader::Values& said, const Places& images, const Places& labels, bool is_pred) {
    PyObject* record = row.record.ptr();
    row.is_found = true;
    row.image = images.find(said[image_id]);
    row.label = row.image < 0 ? -1 : labels.find(said[category_id]);
    if (row.label < 0) return;
    if (said[bbox]) read_box(record, said[bbox], row.box);
    row.area = said[area] ? number_of(record, said[area], "a number as area") : row.box[2] * row.box[3];
    row.id = whole_of(record, said[id], "a whole number as id");
    row.crowd = said[iscrowd] && truth_of(record, said[iscrowd], "0 or 1 as iscrowd");
    if (is_pred) row.score = number_of(record, said[score], "a number as score");
}

// The records that were found, and the columns of those that are wanted.
RecordColumns take_columns(std::vector<Row>& all, bool is_pred) {
    const auto found = std::ranges::count_if(all, &Row::is_found);
    const auto records = nb::steal<Dictionaries>(PyList_New(found));
    Py_ssize_t at = 0;
    Array<std::int64_t> rows, ids;
    Array<std::int32_t> image, label;
    Array<double> boxes, areas, scores;
    std::vector<std::uint8_t> crowd;
    for (Row& row : all) {
        if (!row.is_found) continue;
        if (row.label >= 0) {
            rows.push_back(at);
            ids.push_back(row.id);
            image.push_back(row.image);
            label.push_back(row.label);
            boxes.insert(boxes.end(), row.box, row.box + 4);
            areas.push_back(row.area);
            crowd.push_back(row.crowd);
            if (is_pred) scores.push_back(row.score);
        }
        PyList_SetItem(records.ptr(), at++, row.record.release().ptr());
    }
    const std::size_t count = rows.size();
    return nb::make_tuple(records, to_numpy(std::move(rows)), to_numpy(std::move(image)), to_numpy(std::move(label)),
                          to_numpy(std::move(boxes), {count, std::size_t{4}}), to_numpy(std::move(areas)),
                          to_numpy(std::move(ids)), to_numpy(std::move(crowd)),
                          is_pred ? nb::cast(to_numpy(std::move(scores))) : nb::none());
}

// The records of these images, image by image; their lists hold them.
std::vector<PyObject*> list_candidates(const Index& by_image, const PlaceById& images) {
    std::vector<PyObject*> found;
    for (const auto [image, place] : images) {
        PyObject* group = PyDict_GetItemWithError(by_image.ptr(), image.ptr());
        if (group && !PyList_Check(group)) throw std::invalid_argument("of an image: expected a list in imgToAnns");
        for (Py_ssize_t i = 0, count = group ? PyList_Size(group) : 0; i < count; ++i)
            found.push_back(PyList_GetItem(group, i));
    }
    return found;
}

// As getAnnIds and loadAnns of pycocotools find them: image by image, those of wanted classes, each by its id, so that
// the last of those that share one stands for all.
RecordColumns read_records(const Index& by_image, const Index& by_id, const PlaceById& image_places,
                           const PlaceById& label_places, bool keeps_classes, bool is_pred) {
    const auto candidates = list_candidates(by_image, image_places);
    const Places images(image_places), labels(label_places);
    auto by_address = order_by_address(candidates.size(), [&](std::size_t i) { return candidates[i]; });
    std::vector<Row> rows(candidates.size());
    for (const std::uint32_t place : by_address) rows[place].record = nb::borrow(candidates[place]);
    const auto read = [&](const std::vector<std::uint32_t>& places) {
        RecordReader reader({"image_id", "category_id", "id", "bbox", "area", "iscrowd", "score"});
        const auto record_at = [&](std::uint32_t place) { return rows[place].record.ptr(); };
        reader.read_all(places, record_at, [&](std::uint32_t place, const RecordReader::Values& said) {
            Row& row = rows[place];
            if (keeps_classes && labels.find(said[category_id]) < 0) return;
            PyObject* record = said[id] ? PyDict_GetItemWithError(by_id.ptr(), said[id]) : nullptr;
            if (!record) complain(row.record.ptr(), "a record that the index has by its id", row.record.ptr());
            if (row.record.is(record)) return read_row(row, said, images, labels, is_pred);
            row.record = nb::borrow(record);
            const auto others = reader.read(record);
            const auto held = RecordReader::hold(others);
            read_row(row, others, images, labels, is_pred);
        });
    };
    read_by_address(std::move(by_address), read);
    return take_columns(rows, is_pred);
}

}  // namespace

void register_records(nb::module_& module) {
    module.def("read_records", &read_records, "by_image"_a, "by_id"_a, "images"_a, "labels"_a, "keeps_classes"_a,
               "is_pred"_a,
               "The dictionaries of these images (of these classes alone, if asked) and columns of those whose image "
               "and class have a place: rows, images, classes, boxes, areas, ids, crowd flags, confidences.");
    register_outlines(module);
}

}  // namespace verite
