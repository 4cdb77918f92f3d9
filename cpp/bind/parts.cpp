// Parts of evaluations for Python: merged, averaged, kept as bytes.
#include "evaluation/parts.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind/arrays.hpp"
#include "bind/readings.hpp"
#include "bind/views.hpp"

namespace verite {
namespace {

using namespace nb::literals;

nb::bytes write_bytes(const Part& part) {
    Bytes bytes;
    {
        const nb::gil_scoped_release released;
        bytes = to_bytes(part);
    }
    return nb::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Part read_bytes(const Buffer& given) {
    const auto bytes = to_view<std::uint8_t>(given, "part");
    const nb::gil_scoped_release released;
    return part_from(bytes.values);
}

// Other ids for the same images: all of them higher by so many.
Part shift(const Part& part, std::int64_t by) {
    expect(!part.images.are_names(), "images with ids");
    Part moved = part;
    for (std::int64_t& id : moved.images.ids) id += by;
    return moved;
}

bool is_before(const Part& part, const Part& other) {
    const ImageKeys &one = part.images, &two = other.images;
    if (one.size() == 0 || two.size() == 0) return true;
    if (one.are_names() != two.are_names()) return false;
    return one.are_names() ? one.names.back() < two.names.front() : one.ids.back() < two.ids.front();
}

// Parts looked at as one, alive as long as somebody looks.
struct KeptMerger {
    KeptMerger(std::vector<nb::object> parts, const std::vector<std::int64_t>& labels, bool takes_first)
        : owners(std::move(parts)), merger(parts_of(owners), labels, takes_first) {}

    static std::vector<const Part*> parts_of(const std::vector<nb::object>& owners) {
        std::vector<const Part*> parts;
        for (const nb::object& owner : owners) parts.push_back(&nb::cast<const Part&>(owner));
        return parts;
    }

    std::vector<nb::object> owners;
    Merger merger;
};

std::vector<std::string> strings_of(const RaggedView<char>& texts) {
    std::vector<std::string> strings;
    for (std::size_t i = 0; i < texts.size(); ++i) strings.emplace_back(texts[i].begin(), texts[i].end());
    return strings;
}

// Images are ids or else names; rows are (label, image, confidence, words), cells (label, image, counts).
Part make(const std::string& about, const Buffer& ids, const nb::object& names, const Buffer& labels,
          std::size_t thresholds, std::size_t ranges, const std::tuple<Buffer, Buffer, Buffer, Buffer>& rows,
          const std::tuple<Buffer, Buffer, Buffer>& cells) {
    ImageKeys images;
    const auto numbers = to_view<std::int64_t>(ids, "ids");
    images.ids.assign(numbers.begin(), numbers.end());
    if (!names.is_none()) images.names = strings_of(texts_from(names));
    Rules rules;
    rules.thresholds.assign(thresholds, 0.5);
    for (std::size_t i = 0; i < ranges; ++i) rules.ranges.insert(rules.ranges.end(), {0.0, 0.0});
    rules.limits = {1};
    const auto& [label, image, confidence, words] = rows;
    const auto& [cell_label, cell_image, counts] = cells;
    const auto one = to_view<std::int32_t>(label, "label"), two = to_view<std::int32_t>(image, "image");
    const auto three = to_view<double>(confidence, "confidence");
    const auto four = to_view<std::uint32_t>(words, "words"), seven = to_view<std::uint32_t>(counts, "counts");
    const auto five = to_view<std::int32_t>(cell_label, "label"), six = to_view<std::int32_t>(cell_image, "image");
    const auto classes = to_view<std::int64_t>(labels, "labels");
    const nb::gil_scoped_release released;
    return make_part({one.values, two.values, three.values, four.values, five.values, six.values, seven.values},
                     std::move(rules), std::move(images), classes.values, about);
}

// Of one class: image, confidence and words of each row; image and counts of each cell.
nb::typed<nb::tuple, nb::any, nb::ellipsis> gather(const KeptMerger& kept, std::size_t label) {
    expect(label < kept.merger.labels().size(), "one of the classes");
    Section section;
    Array<std::uint32_t> image, words, cell_image, counts;
    Array<double> confidence;
    {
        const nb::gil_scoped_release released;
        section = kept.merger.gather(label);
        for (const Row& row : section.rows) {
            image.push_back(row.image);
            confidence.push_back(confidence_of(row.key));
            words.insert(words.end(), section.fates[row.fate].begin(), section.fates[row.fate].end());
        }
        for (const Cell& cell : section.cells) {
            cell_image.push_back(cell.image);
            counts.insert(counts.end(), section.counts[cell.counts].begin(), section.counts[cell.counts].end());
        }
    }
    const std::size_t rows = image.size(), cells = cell_image.size();
    return nb::make_tuple(to_numpy(std::move(image)), to_numpy(std::move(confidence)),
                          to_numpy(std::move(words), {rows, section.fates.width()}), to_numpy(std::move(cell_image)),
                          to_numpy(std::move(counts), {cells, section.counts.width()}));
}

nb::typed<nb::list, nb::str> names_of(const ImageKeys& images) {
    nb::typed<nb::list, nb::str> names;
    for (const std::string& name : images.names)
        names.append(
            nb::steal(PyUnicode_DecodeUTF8(name.data(), static_cast<Py_ssize_t>(name.size()), "surrogatepass")));
    return names;
}

ArraysOf<double, double, double> arrays(const KeptMerger& kept, double absent, unsigned threads) {
    const Rules& rules = kept.merger.first().rules;
    const std::size_t thresholds = rules.thresholds.size(), levels = rules.recalls.size();
    const std::size_t labels = kept.merger.labels().size(), ranges = rules.range_count(), limits = rules.limits.size();
    const std::size_t cells = labels * ranges * limits;
    Array<double> precision(thresholds * levels * cells), confidence(precision.size()), recall(thresholds * cells);
    {
        const nb::gil_scoped_release released;
        kept.merger.fill_arrays(absent, precision, confidence, recall, threads);
    }
    return nb::make_tuple(to_numpy(std::move(precision), {thresholds, levels, labels, ranges, limits}),
                          to_numpy(std::move(recall), {thresholds, labels, ranges, limits}),
                          to_numpy(std::move(confidence), {thresholds, levels, labels, ranges, limits}));
}

ReadingList readings(const KeptMerger& kept, std::size_t threshold, unsigned threads) {
    std::vector<Reading> found;
    {
        const nb::gil_scoped_release released;
        found = kept.merger.readings(threshold, threads);
    }
    return list_readings(found);
}

std::vector<std::tuple<std::int64_t, std::int64_t>> counts(const KeptMerger& kept, unsigned threads) {
    std::vector<Merger::Count> found;
    {
        const nb::gil_scoped_release released;
        found = kept.merger.counts(threads);
    }
    std::vector<std::tuple<std::int64_t, std::int64_t>> listed;
    for (const auto& [truths, preds] : found) listed.emplace_back(truths, preds);
    return listed;
}

std::vector<std::int64_t> list_of(std::span<const std::int64_t> ids) { return {ids.begin(), ids.end()}; }

}  // namespace

void register_parts(nb::module_& module) {
    nb::class_<Part>(module, "Part", "What became of some images, to be merged with others.")
        .def_static("from_bytes", &read_bytes, "data"_a)
        .def_static("of", &make, "about"_a, "ids"_a.none(), "names"_a.none(), "labels"_a, "thresholds"_a, "ranges"_a,
                    "rows"_a, "cells"_a, "Of rows and cells: see cpp/bind/parts.cpp.")
        .def("to_bytes", &write_bytes)
        .def("shift", &shift, "by"_a, "The same images with ids higher by so many.")
        .def(
            "with_notes",
            [](Part part, std::string notes) {
                part.notes = std::move(notes);
                return part;
            },
            "notes"_a, "The same with other notes, which may differ from part to part.")
        .def_prop_ro("notes", [](const Part& part) { return part.notes; })
        .def("is_before", &is_before, "other"_a, "Do all images of this one come before those of another?")
        .def_prop_ro(
            "moved", [](const Part& part) { return part.moved; },
            "Equal confidences that were not in the order of images when the part was made.")
        .def_prop_ro("about", [](const Part& part) { return part.about; })
        .def_prop_ro("image_count", [](const Part& part) { return part.images.size(); })
        .def_prop_ro("row_count",
                     [](const Part& part) {
                         std::uint64_t rows = 0;
                         for (const Bytes& section : part.sections) rows += count_rows(section);
                         return rows;
                     })
        .def("__getstate__", &write_bytes)
        .def("__setstate__", [](Part& part, const Buffer& state) { new (&part) Part(read_bytes(state)); });
    nb::class_<KeptMerger>(module, "Merger", "Several parts looked at as one.")
        .def(nb::init<std::vector<nb::object>, const std::vector<std::int64_t>&, bool>(), "parts"_a,
             "labels"_a = std::vector<std::int64_t>(), "takes_first"_a = false)
        .def(
            "merge",
            [](const KeptMerger& kept, unsigned threads) {
                const nb::gil_scoped_release released;
                return kept.merger.merge(threads);
            },
            "threads"_a = 1, "One part of all images; the same bytes in any order.")
        .def(
            "numbers",
            [](const KeptMerger& kept, unsigned threads) {
                const nb::gil_scoped_release released;
                return kept.merger.numbers(threads);
            },
            "threads"_a = 1)
        .def("arrays", &arrays, "absent"_a, "threads"_a = 1, "precision, recall and scores in the reference's shapes.")
        .def("readings", &readings, "threshold"_a, "threads"_a = 1, "What is read off the curve of every class.")
        .def("counts", &counts, "threads"_a = 1, "For each class, truths to be found and predictions that count.")
        .def(
            "digests",
            [](const KeptMerger& kept, unsigned threads) {
                const nb::gil_scoped_release released;
                const auto [truth, pred] = kept.merger.digests(threads);
                return std::tuple(truth, pred);
            },
            "threads"_a = 1, "What stands for truths and for predictions, however they were parted.")
        .def(
            "count_ties",
            [](const KeptMerger& kept, unsigned threads) {
                const nb::gil_scoped_release released;
                return kept.merger.count_ties(threads);
            },
            "threads"_a = 1,
            "Equal confidences of several images and fates: how many there are of which order matters.")
        .def("gather", &gather, "label"_a,
             "Of one class: image, confidence, words of each row; image, counts of each cell.")
        .def_prop_ro("image_count", [](const KeptMerger& kept) { return kept.merger.images().size(); })
        .def_prop_ro("thresholds", [](const KeptMerger& kept) { return kept.merger.first().rules.thresholds.size(); })
        .def_prop_ro("recalls", [](const KeptMerger& kept) { return kept.merger.first().rules.recalls; })
        .def_prop_ro(
            "rules",
            [](const KeptMerger& kept) {
                const Rules& rules = kept.merger.first().rules;
                return std::tuple(rules.thresholds, rules.ranges, rules.limits, rules.recalls);
            },
            "Thresholds, area ranges, limits and recalls, as the parts have them.")
        .def_prop_ro("repeated", [](const KeptMerger& kept) { return kept.merger.repeated(); })
        .def_prop_ro("ids", [](const KeptMerger& kept) { return list_of(kept.merger.images().ids); })
        .def_prop_ro("names", [](const KeptMerger& kept) { return names_of(kept.merger.images()); })
        .def_prop_ro("labels", [](const KeptMerger& kept) { return list_of(kept.merger.labels()); });
}

}  // namespace verite
