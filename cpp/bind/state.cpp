// Partial results for Python: mergeable states of evaluations, merged, averaged, written as bytes.
#include "evaluation/state.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind/arrays.hpp"
#include "bind/curve_summary.hpp"
#include "bind/views.hpp"

namespace verite {
namespace {

using namespace nb::literals;

nb::bytes write_bytes(const EvaluationState& state) {
    Bytes bytes;
    {
        const nb::gil_scoped_release released;
        bytes = to_bytes(state);
    }
    return nb::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

EvaluationState read_bytes(const Buffer& given) {
    const auto bytes = to_view<std::uint8_t>(given, "part");
    const nb::gil_scoped_release released;
    return state_from_bytes(bytes.values);
}

// The same images with ids that are higher by `by`.
EvaluationState shift(const EvaluationState& state, std::int64_t by) {
    expect(!state.images.are_names(), "images with ids");
    EvaluationState moved = state;
    for (std::int64_t& id : moved.images.ids) id += by;
    return moved;
}

bool is_before(const EvaluationState& state, const EvaluationState& other) {
    const ImageKeys &one = state.images, &two = other.images;
    if (one.size() == 0 || two.size() == 0) return true;
    if (one.are_names() != two.are_names()) return false;
    return one.are_names() ? one.names.back() < two.names.front() : one.ids.back() < two.ids.front();
}

// A merger together with the states it reads.
struct OwningMerger {
    OwningMerger(std::vector<nb::object> states, const std::vector<std::int64_t>& labels, bool takes_first)
        : owners(std::move(states)), merger(states_of(owners), labels, takes_first) {}

    static std::vector<const EvaluationState*> states_of(const std::vector<nb::object>& owners) {
        std::vector<const EvaluationState*> states;
        for (const nb::object& owner : owners) states.push_back(&nb::cast<const EvaluationState&>(owner));
        return states;
    }

    std::vector<nb::object> owners;
    Merger merger;
};

std::vector<std::string> strings_of(const RaggedView<char>& texts) {
    std::vector<std::string> strings;
    for (std::size_t i = 0; i < texts.size(); ++i) strings.emplace_back(texts[i].begin(), texts[i].end());
    return strings;
}

// The outcomes of predictions and the counts of ground truth, as columns.
struct PredictionRows {
    View<std::int32_t> label, image;
    View<double> confidence;
    View<std::uint32_t> words;
};
struct TruthCounts {
    View<std::int32_t> label, image;
    View<std::uint32_t> counts;
};

EvaluationState make(const std::string& about, const Buffer& ids, const nb::object& names, const Buffer& labels,
                     std::size_t thresholds, std::size_t ranges, const PredictionRows& rows, const TruthCounts& cells) {
    ImageKeys images;
    const auto numbers = to_view<std::int64_t>(ids, "ids");
    images.ids.assign(numbers.begin(), numbers.end());
    if (!names.is_none()) images.names = strings_of(texts_from(names));
    Rules rules;
    rules.thresholds.assign(thresholds, 0.5);
    rules.area_ranges.assign(ranges, {0.0, 0.0});
    rules.max_dets = {1};
    const auto classes = to_view<std::int64_t>(labels, "labels");
    const nb::gil_scoped_release released;
    return make_state({rows.label.values, rows.image.values, rows.confidence.values, rows.words.values,
                       cells.label.values, cells.image.values, cells.counts.values},
                      std::move(rules), std::move(images), classes.values, about);
}

// Of one class, as columns: image, confidence and outcome words of predictions; image and counts of cells.
DictOfAny gather(const OwningMerger& self, std::size_t label) {
    expect(label < self.merger.labels().size(), "one of the classes");
    Section section;
    Array<std::uint32_t> image, words, cell_image, counts;
    Array<double> confidence;
    {
        const nb::gil_scoped_release released;
        section = self.merger.gather(label);
        for (const Row& row : section.rows) {
            image.push_back(row.image);
            confidence.push_back(confidence_of(row.key));
            words.insert(words.end(), section.outcomes[row.outcome].begin(), section.outcomes[row.outcome].end());
        }
        for (const Cell& cell : section.cells) {
            cell_image.push_back(cell.image);
            counts.insert(counts.end(), section.counts[cell.counts].begin(), section.counts[cell.counts].end());
        }
    }
    const std::size_t rows = image.size(), cells = cell_image.size();
    nb::dict found;
    found["image"] = to_numpy(std::move(image));
    found["confidence"] = to_numpy(std::move(confidence));
    found["words"] = to_numpy(std::move(words), {rows, section.outcomes.width()});
    found["cell_image"] = to_numpy(std::move(cell_image));
    found["counts"] = to_numpy(std::move(counts), {cells, section.counts.width()});
    return found;
}

nb::typed<nb::list, nb::str> names_of(const ImageKeys& images) {
    nb::typed<nb::list, nb::str> names;
    for (const std::string& name : images.names)
        names.append(
            nb::steal(PyUnicode_DecodeUTF8(name.data(), static_cast<Py_ssize_t>(name.size()), "surrogatepass")));
    return names;
}

ArraysOf<double, double, double> arrays(const OwningMerger& self, double absent, unsigned threads) {
    const Rules& rules = self.merger.first().rules;
    const std::size_t thresholds = rules.thresholds.size(), levels = rules.recalls.size();
    const std::size_t labels = self.merger.labels().size(), ranges = rules.range_count(),
                      max_dets = rules.max_dets.size();
    const std::size_t cells = labels * ranges * max_dets;
    Array<double> precision(thresholds * levels * cells), confidence(precision.size()), recall(thresholds * cells);
    {
        const nb::gil_scoped_release released;
        self.merger.fill_arrays(absent, precision, confidence, recall, threads);
    }
    return nb::make_tuple(to_numpy(std::move(precision), {thresholds, levels, labels, ranges, max_dets}),
                          to_numpy(std::move(recall), {thresholds, labels, ranges, max_dets}),
                          to_numpy(std::move(confidence), {thresholds, levels, labels, ranges, max_dets}));
}

std::vector<std::tuple<std::int64_t, std::int64_t>> counts(const OwningMerger& self, unsigned threads) {
    std::vector<Merger::Count> found;
    {
        const nb::gil_scoped_release released;
        found = self.merger.counts(threads);
    }
    std::vector<std::tuple<std::int64_t, std::int64_t>> listed;
    for (const auto& [truths, preds] : found) listed.emplace_back(truths, preds);
    return listed;
}

std::vector<std::int64_t> list_of(std::span<const std::int64_t> ids) { return {ids.begin(), ids.end()}; }

}  // namespace

void register_states(nb::module_& module) {
    nb::class_<PredictionRows>(module, "PredictionRows", "Predictions of a protocol that keeps its own outcomes.")
        .def(
            "__init__",
            [](PredictionRows* self, const Buffer& label, const Buffer& image, const Buffer& confidence,
               const Buffer& words) {
                new (self)
                    PredictionRows{to_view<std::int32_t>(label, "label"), to_view<std::int32_t>(image, "image"),
                                   to_view<double>(confidence, "confidence"), to_view<std::uint32_t>(words, "words")};
            },
            nb::kw_only(), "label"_a, "image"_a, "confidence"_a, "words"_a,
            "Positions of class and image, confidence, and outcome words (see cpp/evaluation/sections.hpp).");
    nb::class_<TruthCounts>(module, "TruthCounts", "Ground-truth objects of an image and class that are not ignored.")
        .def(
            "__init__",
            [](TruthCounts* self, const Buffer& label, const Buffer& image, const Buffer& counts) {
                new (self) TruthCounts{to_view<std::int32_t>(label, "label"), to_view<std::int32_t>(image, "image"),
                                       to_view<std::uint32_t>(counts, "counts")};
            },
            nb::kw_only(), "label"_a, "image"_a, "counts"_a, "Positions of class and image, counts [cell, range].");
    nb::class_<EvaluationState>(module, "EvaluationState", "The mergeable state of an evaluation of some images.")
        .def_static("from_bytes", &read_bytes, "data"_a)
        .def_static("of", &make, nb::kw_only(), "about"_a, "ids"_a.none(), "names"_a.none(), "labels"_a, "thresholds"_a,
                    "ranges"_a, "rows"_a, "cells"_a,
                    "From the outcomes of a protocol; images are known by ids or else by names.")
        .def("to_bytes", &write_bytes)
        .def("shift", &shift, "by"_a, "The same images with ids that are higher by this number.")
        .def(
            "with_notes",
            [](EvaluationState state, std::string notes) {
                state.notes = std::move(notes);
                return state;
            },
            "notes"_a, "The same with other metadata, which may differ from state to state.")
        .def_prop_ro("notes", [](const EvaluationState& state) { return state.notes; })
        .def("is_before", &is_before, "other"_a, "Whether all its images come before those of another.")
        .def_prop_ro(
            "moved", [](const EvaluationState& state) { return state.moved; },
            "Predictions of equal confidence that were not in the order of images when the state was made.")
        .def_prop_ro("about", [](const EvaluationState& state) { return state.about; })
        .def_prop_ro("image_count", [](const EvaluationState& state) { return state.images.size(); })
        .def_prop_ro("row_count",
                     [](const EvaluationState& state) {
                         std::uint64_t rows = 0;
                         for (const Bytes& section : state.sections) rows += count_rows(section);
                         return rows;
                     })
        .def("__getstate__", &write_bytes)
        .def("__setstate__",
             [](EvaluationState& self, const Buffer& state) { new (&self) EvaluationState(read_bytes(state)); });
    nb::class_<OwningMerger>(module, "Merger", "Several states read as one.")
        .def(nb::init<std::vector<nb::object>, const std::vector<std::int64_t>&, bool>(), "states"_a,
             "labels"_a = std::vector<std::int64_t>(), "takes_first"_a = false)
        .def(
            "merge",
            [](const OwningMerger& self, unsigned threads) {
                const nb::gil_scoped_release released;
                return self.merger.merge(threads);
            },
            "threads"_a = 1, "One state of all images; the same bytes in any order.")
        .def(
            "numbers",
            [](const OwningMerger& self, unsigned threads) {
                const nb::gil_scoped_release released;
                return self.merger.numbers(threads);
            },
            "threads"_a = 1)
        .def("arrays", &arrays, "absent"_a, "threads"_a = 1, "precision, recall and confidence in pycocotools' shapes.")
        .def(
            "curve_summaries",
            [](const OwningMerger& self, std::size_t threshold, unsigned threads) {
                const nb::gil_scoped_release released;
                return self.merger.curve_summaries(threshold, threads);
            },
            "threshold"_a, "threads"_a = 1, "Average precision and best F1 of every class.")
        .def("counts", &counts, "threads"_a = 1,
             "For each class, ground-truth objects that are not ignored and predictions within maxDets.")
        .def(
            "digests",
            [](const OwningMerger& self, unsigned threads) {
                const nb::gil_scoped_release released;
                const auto [truth, pred] = self.merger.digests(threads);
                return std::tuple(truth, pred);
            },
            "threads"_a = 1, "Digests of ground truth and predictions, however images were divided.")
        .def(
            "count_ties",
            [](const OwningMerger& self, unsigned threads) {
                const nb::gil_scoped_release released;
                return self.merger.count_ties(threads);
            },
            "threads"_a = 1, "Predictions of equal confidence whose order matters.")
        .def("gather", &gather, "label"_a, "Predictions and counts of one class, as columns.")
        .def_prop_ro("image_count", [](const OwningMerger& self) { return self.merger.images().size(); })
        .def_prop_ro(
            "rules", [](const OwningMerger& self) -> const Rules& { return self.merger.first().rules; },
            nb::rv_policy::reference_internal, "The rules of the states.")
        .def_prop_ro("repeated", [](const OwningMerger& self) { return self.merger.repeated(); })
        .def_prop_ro("ids", [](const OwningMerger& self) { return list_of(self.merger.images().ids); })
        .def_prop_ro("names", [](const OwningMerger& self) { return names_of(self.merger.images()); })
        .def_prop_ro("labels", [](const OwningMerger& self) { return list_of(self.merger.labels()); });
}

}  // namespace verite
