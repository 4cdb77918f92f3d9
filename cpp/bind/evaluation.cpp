// Evaluations for Python: made of two sides of columns, asked for numbers and arrays.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "bind/arrays.hpp"
#include "bind/readings.hpp"
#include "bind/views.hpp"
#include "evaluation/kept.hpp"

namespace verite {
namespace {

using namespace nb::literals;
using Doubles = Column1<double>;

std::vector<Flag> flags_from(const std::vector<std::string>& names) {
    std::vector<Flag> flags;
    for (const auto& name : names) {
        const auto at = std::ranges::find(flag_names, name);
        expect(at != flag_names.end(), "flags of known names");
        flags.push_back(static_cast<Flag>(at - flag_names.begin()));
    }
    return flags;
}

// What a word stands for.
template <class T>
T choose(const std::map<std::string, T>& words, const std::string& word, const char* what) {
    const auto at = words.find(word);
    expect(at != words.end(), what);
    return at->second;
}

RaggedView<double> ragged(const std::vector<std::vector<double>>& rows) {
    if (rows.empty()) return {};
    std::vector<double> values;
    std::vector<std::int64_t> starts{0};
    for (const auto& row : rows) {
        values.insert(values.end(), row.begin(), row.end());
        starts.push_back(static_cast<std::int64_t>(values.size()));
    }
    return {keep(std::move(values)), keep(std::move(starts))};
}

void evaluate(KeptEvaluation* evaluation, const Columns& truth, const Columns& pred, const Images& images,
              std::size_t labels, const Buffer& label_rank, std::vector<double> thresholds, std::vector<double> ranges,
              std::vector<std::int64_t> limits, std::vector<double> recalls, const std::string& similarity,
              double pixel, const std::string& wants, const std::string& equal, const std::string& ties, bool is_strict,
              bool class_agnostic, bool orders_by_class, const std::vector<std::string>& ignored,
              const std::vector<std::string>& shared, bool repeats_quirks, bool truth_is_results, bool pred_is_results,
              std::int64_t image_limit, bool drops_flat, const Buffer& judged, const Buffer& spared,
              const Buffer& least, const Buffer& pred_rows, const std::vector<std::vector<double>>& sigmas,
              std::size_t most_pairs, unsigned threads) {
    const Rules rules{std::move(thresholds),
                      std::move(ranges),
                      std::move(limits),
                      std::move(recalls),
                      choose<Wants>({{"free", Wants::free}, {"best", Wants::best}, {"nearest", Wants::nearest}}, wants,
                                    "wants: free, best or nearest"),
                      choose<Equal>({{"later", Equal::later}, {"first", Equal::first}}, equal, "equal: later or first"),
                      choose<Ties>({{"image", Ties::image}, {"row", Ties::row}}, ties, "ties: image or row"),
                      is_strict,
                      class_agnostic,
                      orders_by_class};
    SideRules sides{flags_from(ignored),
                    flags_from(shared),
                    repeats_quirks,
                    truth_is_results,
                    pred_is_results,
                    pixel,
                    image_limit,
                    drops_flat,
                    to_view<std::int64_t>(judged, "judged"),
                    to_view<std::int64_t>(spared, "spared"),
                    to_view<double>(least, "least"),
                    to_view<std::int32_t>(pred_rows, "pred_rows"),
                    ragged(sigmas),
                    most_pairs};
    auto rank = to_view<std::int32_t>(label_rank, "label_rank");
    expect(!rank || rank.size() == labels, "a rank for each label");
    const Similarity& kind = find_similarity(similarity);
    const nb::gil_scoped_release released;
    new (evaluation)
        KeptEvaluation(truth, pred, images, labels, std::move(rank), std::move(sides), rules, kind, threads);
}

Choice choice_of(bool is_precision, std::optional<std::int64_t> threshold, std::size_t range, std::size_t limit) {
    return {is_precision, threshold, range, limit};
}

void check_choice(const PrecisionRecall& numbers, const Choice& choice) {
    expect(numbers.has(choice), "one of the thresholds or none for all, one of the area ranges and of the limits");
}

// Flags of classes, one byte each.
std::span<const std::uint8_t> bytes_of(const std::optional<nb::bytes>& classes) {
    if (!classes) return {};
    return {reinterpret_cast<const std::uint8_t*>(classes->c_str()), classes->size()};
}

double mean(const PrecisionRecall& numbers, bool is_precision, std::optional<std::int64_t> threshold, std::size_t range,
            std::size_t limit, const std::optional<nb::bytes>& classes) {
    const Choice choice = choice_of(is_precision, threshold, range, limit);
    check_choice(numbers, choice);
    expect(!classes || classes->size() == numbers.labels(), "a flag for each class");
    return numbers.mean(choice, bytes_of(classes));
}

std::vector<double> class_means(const PrecisionRecall& numbers, bool is_precision,
                                std::optional<std::int64_t> threshold, std::size_t range, std::size_t limit) {
    const Choice choice = choice_of(is_precision, threshold, range, limit);
    check_choice(numbers, choice);
    return numbers.class_means(choice);
}

auto precision_of(const PrecisionRecall& numbers) {
    const auto all = numbers.precision();
    return to_numpy(Array<double>(all.begin(), all.end()),
                    {numbers.ranges(), numbers.thresholds(), numbers.levels(), numbers.labels()});
}

auto recall_of(const PrecisionRecall& numbers) {
    const auto all = numbers.recall();
    return to_numpy(Array<double>(all.begin(), all.end()),
                    {numbers.limits(), numbers.ranges(), numbers.thresholds(), numbers.labels()});
}

// precision, recall and confidence in the reference's shapes.
ArraysOf<double, double, double> arrays(const KeptEvaluation& kept, double absent) {
    const Evaluation& evaluation = kept.evaluation();
    const Rules& rules = evaluation.rules();
    const std::size_t thresholds = rules.thresholds.size(), levels = rules.recalls.size();
    const std::size_t labels = evaluation.labels(), ranges = rules.range_count(), limits = rules.limits.size();
    const std::size_t cells = labels * ranges * limits;
    Array<double> precision(thresholds * levels * cells), confidence(precision.size()), recall(thresholds * cells);
    {
        const nb::gil_scoped_release released;
        evaluation.fill_arrays(absent, precision, confidence, recall);
    }
    return nb::make_tuple(to_numpy(std::move(precision), {thresholds, levels, labels, ranges, limits}),
                          to_numpy(std::move(recall), {thresholds, labels, ranges, limits}),
                          to_numpy(std::move(confidence), {thresholds, levels, labels, ranges, limits}));
}

template <class T>
ArrayOf<T> array_of(Array<T>&& values) {
    return nb::cast(to_numpy(std::move(values)));
}

DictOfAny outcomes(const KeptEvaluation& kept, std::size_t threshold, std::size_t range) {
    Outcomes found;
    {
        const nb::gil_scoped_release released;
        found = kept.evaluation().outcomes(threshold, range);
    }
    nb::dict columns;
    columns["state"] = array_of(std::move(found.state));
    columns["truth"] = array_of(std::move(found.truth));
    columns["overlap"] = array_of(std::move(found.overlap));
    columns["pred"] = array_of(std::move(found.pred));
    columns["is_asked"] = to_flags(keep(std::move(found.is_asked)));
    return columns;
}

// Predictions class by class, by falling confidence, and offsets of classes.
ArraysOf<std::int32_t, std::int64_t> by_class(const KeptEvaluation& kept) {
    const Ordered& preds = kept.evaluation().preds();
    Array<std::int32_t> rows(preds.by_label.size());
    std::ranges::transform(preds.by_label, rows.begin(),
                           [&](std::int32_t slot) { return preds.cells.rows[static_cast<std::size_t>(slot)]; });
    return nb::make_tuple(array_of(std::move(rows)), array_of(Array<std::int64_t>(preds.label_offsets)));
}

ReadingList readings(const KeptEvaluation& kept, std::size_t threshold, unsigned threads) {
    std::vector<Reading> found;
    {
        const nb::gil_scoped_release released;
        found = read_curves(kept.evaluation(), threshold, threads);
    }
    return list_readings(found);
}

DictOfAny by_image(const KeptEvaluation& kept) {
    ImageNumbers found;
    Array<std::int32_t> order;
    {
        const nb::gil_scoped_release released;
        found = kept.evaluation().by_image();
        order = kept.sides().image_order();
        if (order.empty()) {
            order.resize(found.precision.size());
            for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
        }
    }
    nb::dict columns;
    const auto list = [](const auto& values) {
        nb::list listed;
        for (const auto value : values) listed.append(nb::cast(value));
        return listed;
    };
    columns["image"] = list(order);
    columns["precision"] = list(found.precision);
    columns["truths"] = list(found.truths);
    columns["found"] = list(found.found);
    columns["wrong"] = list(found.wrong);
    return columns;
}

std::span<const double> doubles(const View<double>& view) { return view.values; }

PrecisionRecall weight(const KeptEvaluation& kept, const Buffer& weights, unsigned threads) {
    const auto given = to_view<double>(weights, "weights");
    const nb::gil_scoped_release released;
    return kept.weight(doubles(given), threads);
}

PrecisionRecall change(const KeptEvaluation& kept, const Buffer& removed, const Columns* added, const Buffer& weights,
                       unsigned threads) {
    const auto rows = to_view<std::int32_t>(removed, "removed");
    const auto given = to_view<double>(weights, "weights");
    const nb::gil_scoped_release released;
    return kept.change(rows.values, added, doubles(given), threads);
}

// [draw][doubt][choice] in one row. Choices are (is precision, threshold or none, range, limit, flags of classes or
// none), doubts (has weights, has changes), changes (objects that may be added or none, removed, their offsets, added,
// their labels, their offsets, again, their offsets).
using Changes = nb::typed<nb::tuple, nb::any, nb::ellipsis>;

std::vector<double> draw_all(const KeptEvaluation& kept,
                             const std::vector<std::tuple<bool, std::optional<std::int64_t>, std::size_t, std::size_t,
                                                          std::optional<nb::bytes>>>& choices,
                             const Buffer& weights, const std::optional<Changes>& changes,
                             const std::vector<std::pair<bool, bool>>& doubts, unsigned threads) {
    std::vector<DrawnChoice> chosen;
    for (const auto& [is_precision, threshold, range, limit, classes] : choices) {
        const auto flags = bytes_of(classes);
        chosen.push_back({{is_precision, threshold, range, limit}, {flags.begin(), flags.end()}});
    }
    const auto given = to_view<double>(weights, "weights");
    std::optional<KeptEvaluation::Changes> changed;
    if (changes) {
        expect(changes->size() == 8, "eight lists of changes");
        const nb::object addable = (*changes)[0];
        const auto rows = [&](std::size_t i) { return to_view<std::int32_t>((*changes)[i], "rows"); };
        const auto offsets = [&](std::size_t i) { return to_view<std::int64_t>((*changes)[i], "offsets"); };
        changed = {addable.is_none() ? nullptr : &nb::cast<const Columns&>(addable),
                   rows(1),
                   rows(3),
                   rows(4),
                   rows(6),
                   offsets(2),
                   offsets(5),
                   offsets(7)};
    }
    std::vector<KeptEvaluation::Doubt> asked;
    for (const auto& [has_weights, has_changes] : doubts) asked.push_back({has_weights, has_changes});
    const nb::gil_scoped_release released;
    return kept.bootstrap_means(doubles(given), changed ? &*changed : nullptr, asked, chosen, threads);
}

// One after the other: (rows, labels, offsets of images) of truths and predictions, ranks, (offsets, truth, overlap).
DictOfAny stages(const KeptEvaluation& kept) {
    const Evaluation& evaluation = kept.evaluation();
    const auto copy = [](const auto& values) {
        using T = std::remove_cvref_t<decltype(values[0])>;
        return array_of(Array<T>(values.begin(), values.end()));
    };
    const auto cells = [&](const Grouped& side) {
        return nb::make_tuple(copy(side.rows), copy(side.labels), copy(side.images));
    };
    const CandidateView pairs = evaluation.candidates();
    nb::dict found;
    found["truths"] = cells(evaluation.truths());
    found["preds"] = cells(evaluation.preds().cells);
    found["ranks"] = copy(evaluation.preds().ranks);
    found["by_label"] = copy(evaluation.preds().by_label);
    found["label_offsets"] = copy(evaluation.preds().label_offsets);
    found["candidates"] = nb::make_tuple(copy(pairs.offsets), copy(pairs.truth), copy(pairs.overlap));
    found["ignored"] = copy(evaluation.ignored());
    found["outside"] = copy(evaluation.outside());
    nb::list matched;
    for (const auto& bits : evaluation.matched())
        matched.append(nb::cast(to_numpy(Array<Thresholds>(bits.begin(), bits.end()),
                                         {pairs.truth.size(), evaluation.rules().range_count()})));
    found["matched"] = matched;
    return found;
}

}  // namespace

void register_evaluations(nb::module_& module) {
    module.def(
        "mean",
        [](const std::vector<double>& values) { return sum_pairwise(values) / static_cast<double>(values.size()); },
        "values"_a, "The mean to the last bit as numpy has it; nan of nothing.");
    module.def(
        "similarities",
        [] {
            std::vector<std::pair<std::string, std::string>> found;
            for (const Similarity* one : every_similarity())
                if (!one->about.empty()) found.emplace_back(one->name, one->about);
            return found;
        },
        "What objects can be compared by: the name of each similarity, and what is compared.");
    module.def(
        "wants_outlines",
        [](const std::string& similarity) {
            const Wanted& wants = find_similarity(similarity).wants;
            return wants.outlines || wants.quads;
        },
        "similarity"_a, "Does it look at polygons and masks?");
    nb::class_<PrecisionRecall>(module, "PrecisionRecall", "Precision and recall of everything, to be averaged.")
        .def("mean", &mean, "is_precision"_a, "threshold"_a.none(), "range"_a, "limit"_a, "classes"_a = nb::none(),
             "The mean over everything present, of all classes or of those with a flag; nan where nothing is.")
        .def("class_means", &class_means, "is_precision"_a, "threshold"_a.none(), "range"_a, "limit"_a,
             "The same for each class.")
        .def_prop_ro("positives",
                     [](const PrecisionRecall& numbers) {
                         const auto all = numbers.positives();
                         return std::vector<double>(all.begin(), all.end());
                     })
        .def_prop_ro("precision", &precision_of, nb::rv_policy::move, "[range, threshold, recall, class]")
        .def_prop_ro("recall", &recall_of, nb::rv_policy::move, "[limit, range, threshold, class]");

    nb::class_<KeptEvaluation>(module, "Evaluation", "Who takes whom, kept and asked many ways.")
        .def("__init__", &evaluate, "truth"_a, "pred"_a, "images"_a, "labels"_a, "label_rank"_a.none() = nb::none(),
             nb::kw_only(), "thresholds"_a, "ranges"_a, "limits"_a, "recalls"_a, "similarity"_a = "box",
             "pixel"_a = 0.0, "wants"_a = "free", "equal"_a = "later", "ties"_a = "image", "is_strict"_a = false,
             "class_agnostic"_a = false, "orders_by_class"_a = true, "ignored"_a = std::vector<std::string>(),
             "shared"_a = std::vector<std::string>(), "repeats_quirks"_a = false, "truth_is_results"_a = false,
             "pred_is_results"_a = false, "image_limit"_a = 0, "drops_flat"_a = false, "judged"_a.none() = nb::none(),
             "spared"_a.none() = nb::none(), "least"_a.none() = nb::none(), "pred_rows"_a.none() = nb::none(),
             "sigmas"_a = std::vector<std::vector<double>>(), "most_pairs"_a = SIZE_MAX, "threads"_a = 1)
        .def(
            "numbers",
            [](const KeptEvaluation& kept) -> const PrecisionRecall& {
                const nb::gil_scoped_release released;
                return kept.evaluation().numbers();
            },
            nb::rv_policy::reference_internal)
        .def("weighted", &weight, "weights"_a, "threads"_a = 1,
             "The numbers as if each image were there so many times.")
        .def("changed", &change, "removed"_a.none(), "added"_a.none(), "weights"_a.none() = nb::none(), "threads"_a = 1,
             "The numbers as if these truths were not there, and those were.")
        .def("bootstrap_means", &draw_all, "choices"_a, "weights"_a.none() = nb::none(),
             "changes"_a.none() = nb::none(), "doubts"_a = std::vector<std::pair<bool, bool>>{{true, true}},
             "threads"_a = 1, "The means of many draws of weights and changed truths, draw by draw.")
        .def(
            "part",
            [](const KeptEvaluation& kept, const Buffer& labels, std::string about) {
                const auto ids = to_view<std::int64_t>(labels, "labels");
                const nb::gil_scoped_release released;
                return kept.part(ids.values, std::move(about));
            },
            "labels"_a, "about"_a, "What became of these images, to be merged with others about the same.")
        .def("arrays", &arrays, "absent"_a, "precision, recall and scores in the reference's shapes.")
        .def("outcomes", &outcomes, "threshold"_a, "range"_a = 0, "What became of every object.")
        .def("by_class", &by_class, "Predictions class by class, by falling confidence, and offsets of classes.")
        .def("readings", &readings, "threshold"_a, "threads"_a = 1, "What is read off the curve of every class.")
        .def("by_image", &by_image, "Every image as if there were no other, in the order of ids.")
        .def("stages", &stages, "Copies of what is kept, slot by slot.")
        .def_prop_ro("truth_counts", [](const KeptEvaluation& kept) { return kept.evaluation().truth_counts(); })
        .def_prop_ro("pred_counts", [](const KeptEvaluation& kept) { return kept.evaluation().pred_counts(); });
}

}  // namespace verite
