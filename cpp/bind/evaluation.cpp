// Evaluations for Python: the records that go in (rules, queries, simulated changes), the evaluation itself, and the
// numbers and arrays that come out.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "bind/arrays.hpp"
#include "bind/curve_summary.hpp"
#include "bind/views.hpp"
#include "evaluation/counts.hpp"
#include "evaluation/order_range.hpp"
#include "evaluation/owning_evaluation.hpp"

namespace verite {
namespace {

using namespace nb::literals;
using Pairs = std::vector<std::pair<double, double>>;

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

void register_enums(nb::module_& module) {
    nb::enum_<Match>(module, "Match", "Which ground-truth object a prediction is matched with.")
        .value("greedy", Match::greedy, "The unmatched object of highest IoU, ignored ones last (COCO).")
        .value("argmax", Match::argmax, "The object of highest IoU or none, even if it is matched (Pascal VOC).")
        .value("nearest", Match::nearest, "The unmatched object of highest IoU; ignored ones rank like others.")
        .value("optimal", Match::optimal, "One-to-one: most matches, then the largest sum of IoUs.")
        .value("falling_iou", Match::falling_iou, "One-to-one: pairs by descending IoU.");
    nb::enum_<EqualIoU>(module, "EqualIoU", "Which of two ground-truth objects of equal IoU is matched.")
        .value("later", EqualIoU::later)
        .value("first", EqualIoU::first);
    nb::enum_<TieOrder>(module, "TieOrder", "How predictions of a class with equal confidences are ordered.")
        .value("image", TieOrder::image, "By image, then by row.")
        .value("row", TieOrder::row, "By row.");
    nb::enum_<Flag> flag(module, "Flag", "What a file may say about an object besides box and class.");
    for (std::size_t i = 0; i < flag_names.size(); ++i) flag.value(flag_names[i].data(), static_cast<Flag>(i));
}

void register_rules(nb::module_& module) {
    nb::class_<Rules>(module, "Rules", "How predictions are matched and accumulated: the rules of a protocol.")
        .def(
            "__init__",
            [](Rules* self, std::vector<double> thresholds, const Pairs& area_ranges,
               std::vector<std::int64_t> max_dets, std::vector<double> recalls, Match match, EqualIoU equal,
               TieOrder ties, bool is_strict, bool class_agnostic, bool orders_by_class) {
                std::vector<AreaRange> ranges;
                for (const auto& [low, high] : area_ranges) ranges.push_back({low, high});
                new (self) Rules{std::move(thresholds),
                                 std::move(ranges),
                                 std::move(max_dets),
                                 std::move(recalls),
                                 match,
                                 equal,
                                 ties,
                                 is_strict,
                                 class_agnostic,
                                 orders_by_class};
            },
            nb::kw_only(), "thresholds"_a, "area_ranges"_a, "max_dets"_a, "recalls"_a, "match"_a = Match::greedy,
            "equal"_a = EqualIoU::later, "ties"_a = TieOrder::image, "is_strict"_a = false, "class_agnostic"_a = false,
            "orders_by_class"_a = true)
        .def_ro("thresholds", &Rules::thresholds, "IoU thresholds.")
        .def_prop_ro(
            "area_ranges",
            [](const Rules& rules) {
                Pairs ranges;
                for (const auto& [low, high] : rules.area_ranges) ranges.emplace_back(low, high);
                return ranges;
            },
            "Lowest and highest area of each range, in square pixels.")
        .def_ro("max_dets", &Rules::max_dets, "Predictions per image and class that count, ascending.")
        .def_ro("recalls", &Rules::recalls, "Recall levels at which precision is read, ascending.")
        .def_ro("match", &Rules::match)
        .def_ro("equal", &Rules::equal)
        .def_ro("ties", &Rules::ties)
        .def_ro("is_strict", &Rules::is_strict, "Whether an IoU must exceed its threshold.")
        .def_ro("class_agnostic", &Rules::class_agnostic, "Whether all classes are one.")
        .def_ro("orders_by_class", &Rules::orders_by_class, "Whether ties in an image are ordered class by class.");

    nb::class_<ObjectRules>(module, "ObjectRules", "Which objects take part in an evaluation, and which are ignored.")
        .def(
            "__init__",
            [](ObjectRules* self, std::vector<Flag> ignored, std::vector<Flag> multi_match, bool repeats_quirks,
               bool truth_is_results, bool pred_is_results, double pixel, std::int64_t image_limit, bool drops_flat,
               const Buffer& verified, const Buffer& ignore_if_unmatched, const Buffer& in_ignore_region,
               const Buffer& min_iou, const Buffer& pred_rows, const std::vector<std::vector<double>>& sigmas,
               std::size_t most_pairs, const std::array<double, 3>& reach) {
                new (self) ObjectRules{std::move(ignored),
                                       std::move(multi_match),
                                       repeats_quirks,
                                       truth_is_results,
                                       pred_is_results,
                                       pixel,
                                       image_limit,
                                       drops_flat,
                                       to_view<std::int64_t>(verified, "verified"),
                                       to_view<std::int64_t>(ignore_if_unmatched, "ignore_if_unmatched"),
                                       to_view<std::uint8_t>(in_ignore_region, "in_ignore_region"),
                                       to_view<double>(min_iou, "min_iou"),
                                       to_view<std::int32_t>(pred_rows, "pred_rows"),
                                       ragged(sigmas),
                                       most_pairs,
                                       {reach[0], reach[1], reach[2]}};
            },
            nb::kw_only(), "ignored"_a = std::vector<Flag>(), "multi_match"_a = std::vector<Flag>(),
            "repeats_quirks"_a = false, "truth_is_results"_a = false, "pred_is_results"_a = false, "pixel"_a = 0.0,
            "image_limit"_a = 0, "drops_flat"_a = false, "verified"_a.none() = nb::none(),
            "ignore_if_unmatched"_a.none() = nb::none(), "in_ignore_region"_a.none() = nb::none(),
            "min_iou"_a.none() = nb::none(), "pred_rows"_a.none() = nb::none(),
            "sigmas"_a = std::vector<std::vector<double>>(), "most_pairs"_a = SIZE_MAX,
            "reach"_a = std::array<double, 3>{}, "See cpp/evaluation/sides.hpp for each field.")
        .def_ro("ignored", &ObjectRules::ignored)
        .def_ro("multi_match", &ObjectRules::multi_match)
        .def_ro("repeats_quirks", &ObjectRules::repeats_quirks)
        .def_ro("truth_is_results", &ObjectRules::truth_is_results)
        .def_ro("pred_is_results", &ObjectRules::pred_is_results)
        .def_ro("pixel", &ObjectRules::pixel)
        .def_ro("image_limit", &ObjectRules::image_limit)
        .def_ro("drops_flat", &ObjectRules::drops_flat)
        .def_ro("most_pairs", &ObjectRules::most_pairs);
}

void register_queries(nb::module_& module) {
    nb::enum_<Statistic>(module, "Statistic", "What a mean is of; micro and macro count predictions of any confidence.")
        .value("average_precision", Statistic::average_precision)
        .value("average_recall", Statistic::average_recall)
        .value("micro_precision", Statistic::micro_precision)
        .value("micro_recall", Statistic::micro_recall)
        .value("micro_f1", Statistic::micro_f1)
        .value("macro_precision", Statistic::macro_precision)
        .value("macro_recall", Statistic::macro_recall)
        .value("macro_f1", Statistic::macro_f1);
    nb::class_<MeanQuery>(module, "MeanQuery", "What a mean is taken of, such as AP50 or AR of small objects.")
        .def(
            "__init__",
            [](MeanQuery* self, Statistic statistic, std::optional<std::int64_t> threshold, std::size_t range,
               std::size_t limit, const std::optional<nb::bytes>& classes) {
                const auto* flags = classes ? reinterpret_cast<const std::uint8_t*>(classes->c_str()) : nullptr;
                new (self)
                    MeanQuery{statistic, threshold, range, limit, {flags, flags + (classes ? classes->size() : 0)}};
            },
            nb::kw_only(), "statistic"_a, "threshold"_a.none(), "range"_a, "limit"_a, "classes"_a = nb::none(),
            "Threshold, area range and maxDets by index (no threshold: all of them); one flag byte per class.")
        .def_ro("statistic", &MeanQuery::statistic)
        .def_ro("threshold", &MeanQuery::threshold)
        .def_ro("range", &MeanQuery::range)
        .def_ro("limit", &MeanQuery::limit);

    nb::class_<UncertaintySource>(module, "UncertaintySource",
                                  "Whether the bootstrap of images and the simulation of annotation errors apply.")
        .def(nb::init<bool, bool>(), nb::kw_only(), "has_weights"_a, "has_changes"_a)
        .def_ro("has_weights", &UncertaintySource::has_weights)
        .def_ro("has_changes", &UncertaintySource::has_changes);

    nb::class_<SimulatedChanges>(module, "SimulatedChanges",
                                 "The changed ground truth of many simulations: lists, and offsets of simulations.")
        .def(
            "__init__",
            [](SimulatedChanges* self, const Buffer& removed, const Buffer& removed_offsets, const Buffer& added,
               const Buffer& labels, const Buffer& added_offsets, const Buffer& duplicated,
               const Buffer& duplicated_offsets) {
                new (self) SimulatedChanges{to_view<std::int32_t>(removed, "removed"),
                                            to_view<std::int64_t>(removed_offsets, "removed_offsets"),
                                            to_view<std::int32_t>(added, "added"),
                                            to_view<std::int32_t>(labels, "labels"),
                                            to_view<std::int64_t>(added_offsets, "added_offsets"),
                                            to_view<std::int32_t>(duplicated, "duplicated"),
                                            to_view<std::int64_t>(duplicated_offsets, "duplicated_offsets")};
            },
            nb::kw_only(), "removed"_a, "removed_offsets"_a, "added"_a, "labels"_a, "added_offsets"_a, "duplicated"_a,
            "duplicated_offsets"_a);

    nb::class_<PreparedSimulations>(module, "PreparedSimulations",
                                    "Weights and changed ground truths, ready for every detector on one ground truth.")
        .def("__len__", [](const PreparedSimulations& prepared) { return prepared.count; });
}

void expect_query(const PrecisionRecall& numbers, const MeanQuery& query) {
    expect(numbers.has(query),
           "one of the thresholds or none for all, one of the area ranges and of maxDets, a flag for each class");
}

void register_numbers(nb::module_& module) {
    nb::class_<PrecisionRecall>(module, "PrecisionRecall", "Precision and recall of everything, to be averaged.")
        .def(
            "mean",
            [](const PrecisionRecall& numbers, const MeanQuery& query) {
                expect_query(numbers, query);
                return numbers.mean(query);
            },
            "query"_a, "The mean over everything that is present; nan where nothing is.")
        .def(
            "class_means",
            [](const PrecisionRecall& numbers, const MeanQuery& query) {
                expect_query(numbers, query);
                return numbers.class_means(query);
            },
            "query"_a, "The same for each class.")
        .def_prop_ro("positives",
                     [](const PrecisionRecall& numbers) {
                         const auto all = numbers.positives();
                         return std::vector<double>(all.begin(), all.end());
                     })
        .def_prop_ro(
            "precision",
            [](const PrecisionRecall& numbers) {
                return to_numpy(numbers.precision(numbers.ranges()),
                                {numbers.ranges(), numbers.thresholds(), numbers.levels(), numbers.labels()});
            },
            nb::rv_policy::move, "[area range, threshold, recall, class]")
        .def_prop_ro(
            "curves",
            [](const PrecisionRecall& numbers) {
                return to_numpy(numbers.precision(1), {numbers.thresholds(), numbers.levels(), numbers.labels()});
            },
            nb::rv_policy::move, "Precision of the first area range: [threshold, recall, class]")
        .def_prop_ro(
            "recall",
            [](const PrecisionRecall& numbers) {
                const auto all = numbers.recall();
                return to_numpy(Array<double>(all.begin(), all.end()),
                                {numbers.max_dets(), numbers.ranges(), numbers.thresholds(), numbers.labels()});
            },
            nb::rv_policy::move, "[maxDets, area range, threshold, class]");
    register_curve_summary(module);
}

void evaluate(OwningEvaluation* self, const Columns& truth, const Columns& pred, const Images& images,
              std::size_t labels, const Buffer& label_rank, const Rules& rules, const ObjectRules& objects,
              const std::string& similarity, unsigned threads) {
    auto rank = to_view<std::int32_t>(label_rank, "label_rank");
    expect(!rank || rank.size() == labels, "a rank for each class");
    const SimilarityMeasure& measure = find_similarity(similarity);
    const nb::gil_scoped_release released;
    new (self) OwningEvaluation(truth, pred, images, labels, std::move(rank), objects, rules, measure, threads);
}

// precision, recall and confidence in pycocotools' shapes.
ArraysOf<double, double, double> arrays(const OwningEvaluation& self, double absent) {
    const Evaluation& evaluation = self.evaluation();
    const Rules& rules = evaluation.rules();
    const std::size_t thresholds = rules.thresholds.size(), levels = rules.recalls.size();
    const std::size_t labels = evaluation.labels(), ranges = rules.range_count(), max_dets = rules.max_dets.size();
    const std::size_t cells = labels * ranges * max_dets;
    Array<double> precision(thresholds * levels * cells), confidence(precision.size()), recall(thresholds * cells);
    {
        const nb::gil_scoped_release released;
        evaluation.fill_arrays(absent, precision, confidence, recall);
    }
    return nb::make_tuple(to_numpy(std::move(precision), {thresholds, levels, labels, ranges, max_dets}),
                          to_numpy(std::move(recall), {thresholds, labels, ranges, max_dets}),
                          to_numpy(std::move(confidence), {thresholds, levels, labels, ranges, max_dets}));
}

template <class T>
ArrayOf<T> array_of(Array<T>&& values) {
    return nb::cast(to_numpy(std::move(values)));
}

// ObjectOutcomes as arrays.
struct OutcomeArrays {
    nb::object state, truth, iou, pred, counted_truth;
};

OutcomeArrays outcomes(const OwningEvaluation& self, std::size_t threshold, std::size_t range) {
    ObjectOutcomes found;
    {
        const nb::gil_scoped_release released;
        found = self.evaluation().outcomes(threshold, range);
    }
    return {array_of(std::move(found.state)), array_of(std::move(found.truth)), array_of(std::move(found.iou)),
            array_of(std::move(found.pred)), to_flags(keep(std::move(found.counted_truth)))};
}

// Predictions class by class, by descending confidence, and offsets of classes.
ArraysOf<std::int32_t, std::int64_t> by_class(const OwningEvaluation& self) {
    const OrderedPredictions& preds = self.evaluation().preds();
    Array<std::int32_t> rows(preds.by_label.size());
    std::ranges::transform(preds.by_label, rows.begin(),
                           [&](std::int32_t index) { return preds.cells.rows[static_cast<std::size_t>(index)]; });
    return nb::make_tuple(array_of(std::move(rows)), array_of(Array<std::int64_t>(preds.label_offsets)));
}

DictOfAny by_image(const OwningEvaluation& self) {
    ImageResults found;
    Array<std::int32_t> order;
    {
        const nb::gil_scoped_release released;
        found = self.evaluation().by_image();
        order = self.sides().image_order();
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
    columns["found"] = list(found.tp);
    columns["wrong"] = list(found.fp);
    return columns;
}

// Counts as lists of classes, and as arrays of images; images come in the order of positions.
DictOfAny counts(const OwningEvaluation& self) {
    OutcomeCounts found;
    Array<std::int32_t> order;
    {
        const nb::gil_scoped_release released;
        found = count_outcomes(self.evaluation());
        order = self.sides().image_order();
    }
    const auto list = [](const Array<std::int64_t>& values) {
        nb::list listed;
        for (const auto value : values) listed.append(nb::cast(value));
        return listed;
    };
    const auto lists = [](const Array<std::int64_t>& values, std::size_t rows, std::size_t width) {
        nb::list listed;
        for (std::size_t row = 0; row < rows; ++row) {
            nb::list own;
            for (std::size_t i = 0; i < width; ++i) own.append(nb::cast(values[row * width + i]));
            listed.append(own);
        }
        return listed;
    };
    const auto by_position = [&](Array<std::int64_t>&& values, std::size_t width) {
        if (order.empty()) return std::move(values);
        Array<std::int64_t> moved(values.size());
        for (std::size_t rank = 0; rank < order.size(); ++rank)
            for (std::size_t i = 0; i < width; ++i)
                moved[static_cast<std::size_t>(order[rank]) * width + i] = values[rank * width + i];
        return moved;
    };
    nb::dict columns;
    columns["truths"] = list(found.truths);
    columns["preds"] = list(found.preds);
    columns["tp"] = lists(found.tp, found.labels, found.thresholds);
    columns["ignored"] = lists(found.ignored, found.labels, found.thresholds);
    columns["iou"] = lists(found.iou, found.labels, found.thresholds);
    columns["error"] = list(found.error);
    columns["absolute_error"] = list(found.absolute_error);
    columns["squared_error"] = list(found.squared_error);
    columns["image_truths"] = list(by_position(std::move(found.image_truths), 1));
    columns["image_preds"] = list(by_position(std::move(found.image_preds), 1));
    columns["image_tp"] =
        lists(by_position(std::move(found.image_tp), found.thresholds), found.images, found.thresholds);
    columns["image_ignored"] =
        lists(by_position(std::move(found.image_ignored), found.thresholds), found.images, found.thresholds);
    return columns;
}

// [class][threshold] as (background, most, least, released, late, is_exact), and by class whether one order is the
// worst and the best at every threshold.
DictOfAny order_range(const OwningEvaluation& self) {
    OrderRange found;
    {
        const nb::gil_scoped_release released;
        found = find_order_range(self.evaluation());
    }
    nb::list classes, has_worst, has_best;
    for (std::size_t label = 0; label < found.has_best.size(); ++label) {
        nb::list own;
        for (std::size_t t = 0; t < found.thresholds; ++t) {
            const OrderCounts& one = found.counts[label * found.thresholds + t];
            nb::list released;
            for (const auto& [step, count] : one.released) released.append(nb::make_tuple(step, count));
            nb::list late;
            for (const auto& [order, count] : one.late) late.append(nb::make_tuple(order.first, order.second, count));
            own.append(nb::make_tuple(one.background, one.most, one.least, nb::tuple(released), nb::tuple(late),
                                      one.is_exact));
        }
        classes.append(own);
        has_worst.append(bool(found.has_worst[label]));
        has_best.append(bool(found.has_best[label]));
    }
    nb::dict columns;
    columns["classes"] = classes;
    columns["has_worst"] = has_worst;
    columns["has_best"] = has_best;
    return columns;
}

// What the numbers are made of, by index: (rows, classes, offsets of images) of both sides, candidates, matches.
DictOfAny match_layout(const OwningEvaluation& self) {
    const Evaluation& evaluation = self.evaluation();
    const auto copy = [](const auto& values) {
        using T = std::remove_cvref_t<decltype(values[0])>;
        return array_of(Array<T>(values.begin(), values.end()));
    };
    const auto cells = [&](const GroupedObjects& side) {
        return nb::make_tuple(copy(side.rows), copy(side.labels), copy(side.images));
    };
    const CandidateView pairs = evaluation.candidates();
    nb::dict found;
    found["truths"] = cells(evaluation.truths());
    found["preds"] = cells(evaluation.preds().cells);
    found["ranks"] = copy(evaluation.preds().ranks);
    found["by_label"] = copy(evaluation.preds().by_label);
    found["label_offsets"] = copy(evaluation.preds().label_offsets);
    found["candidates"] = nb::make_tuple(copy(pairs.offsets), copy(pairs.truth), copy(pairs.iou));
    found["ignored"] = copy(evaluation.ignored());
    found["outside"] = copy(evaluation.outside());
    nb::list matched;
    for (const auto& bits : evaluation.matched())
        matched.append(nb::cast(to_numpy(Array<ThresholdSet>(bits.begin(), bits.end()),
                                         {pairs.truth.size(), evaluation.rules().range_count()})));
    found["matched"] = matched;
    return found;
}

template <class T>
auto array_property(nb::object OutcomeArrays::* field) {
    return [field](const OutcomeArrays& found) { return ArrayOf<T>(found.*field); };
}

}  // namespace

void register_evaluations(nb::module_& module) {
    register_enums(module);
    register_rules(module);
    register_queries(module);
    register_numbers(module);
    module.def(
        "mean",
        [](const std::vector<double>& values) { return sum_pairwise(values) / static_cast<double>(values.size()); },
        "values"_a, "The mean to the last bit as numpy has it; nan of nothing.");
    module.def(
        "similarities",
        [] {
            std::vector<std::pair<std::string, std::string>> found;
            for (const SimilarityMeasure* one : every_similarity())
                if (!one->about.empty()) found.emplace_back(one->name, one->about);
            return found;
        },
        "The name of each similarity, and what it compares.");
    module.def(
        "wants_outlines",
        [](const std::string& similarity) {
            const Wanted& wants = find_similarity(similarity).wants;
            return wants.outlines || wants.quads;
        },
        "similarity"_a, "Whether a similarity looks at polygons and masks.");

    nb::class_<OutcomeArrays>(module, "ObjectOutcomes", "The outcome of every object at one threshold.")
        .def_prop_ro("state", array_property<std::int8_t>(&OutcomeArrays::state),
                     "Of predictions: 1 true positive, 0 false positive, -1 ignored, -2 not evaluated.")
        .def_prop_ro("truth", array_property<std::int32_t>(&OutcomeArrays::truth),
                     "The ground-truth row that each prediction matched, -1 for none.")
        .def_prop_ro("iou", array_property<double>(&OutcomeArrays::iou), "With that object; nan for none.")
        .def_prop_ro("pred", array_property<std::int32_t>(&OutcomeArrays::pred),
                     "The first prediction that matched each ground-truth object, -1 for none.")
        .def_prop_ro("counted_truth", array_property<bool>(&OutcomeArrays::counted_truth),
                     "Ground-truth objects that are not ignored.");

    nb::class_<OwningEvaluation>(module, "Evaluation", "Matched predictions, kept to answer many questions.")
        .def("__init__", &evaluate, "truth"_a, "pred"_a, "images"_a, "labels"_a, "label_rank"_a.none() = nb::none(),
             nb::kw_only(), "rules"_a, "objects"_a, "similarity"_a = "box", "threads"_a = 1)
        .def(
            "numbers",
            [](const OwningEvaluation& self) -> const PrecisionRecall& {
                const nb::gil_scoped_release released;
                return self.evaluation().numbers();
            },
            nb::rv_policy::reference_internal)
        .def(
            "weighted",
            [](const OwningEvaluation& self, const Buffer& weights, unsigned threads) {
                const auto given = to_view<double>(weights, "weights");
                const nb::gil_scoped_release released;
                return self.weight(given.values, threads);
            },
            "weights"_a, "threads"_a = 1, "Precision and recall as if each image were repeated.")
        .def(
            "changed",
            [](const OwningEvaluation& self, const Buffer& removed, const Columns* added, const Buffer& weights,
               unsigned threads) {
                const auto rows = to_view<std::int32_t>(removed, "removed");
                const auto given = to_view<double>(weights, "weights");
                const nb::gil_scoped_release released;
                return self.change(rows.values, added, given.values, threads);
            },
            "removed"_a.none(), "added"_a.none(), "weights"_a.none() = nb::none(), "threads"_a = 1,
            "Precision and recall without these ground-truth rows and with the added objects.")
        .def(
            "prepare_simulations",
            [](const OwningEvaluation& self, const Buffer& weights, const SimulatedChanges* changes,
               const Columns* addable, bool applies, unsigned threads) {
                const auto given = to_view<double>(weights, "weights");
                const nb::gil_scoped_release released;
                return self.prepare(given.values, changes, addable, applies, threads);
            },
            "weights"_a.none() = nb::none(), "changes"_a.none() = nb::none(), "addable"_a.none() = nb::none(),
            nb::kw_only(), "applies"_a, "threads"_a = 1,
            "Weights and changed ground truths of many simulations, for all detectors on this ground truth.")
        .def("shares_truth", &OwningEvaluation::shares_truth, "other"_a,
             "Whether simulations that the other one has prepared are of this ground truth, too.")
        .def(
            "bootstrap_means",
            [](const OwningEvaluation& self, const std::vector<MeanQuery>& queries, const PreparedSimulations& prepared,
               const std::vector<UncertaintySource>& sources, unsigned threads) {
                const nb::gil_scoped_release released;
                return self.bootstrap_means(prepared, sources, queries, threads);
            },
            "queries"_a, "prepared"_a, nb::kw_only(), "sources"_a, "threads"_a = 1,
            "Means of many simulations, [simulation, source, query] in one list.")
        .def(
            "state",
            [](const OwningEvaluation& self, const Buffer& labels, std::string about) {
                const auto ids = to_view<std::int64_t>(labels, "labels");
                const nb::gil_scoped_release released;
                return self.state(ids.values, std::move(about));
            },
            "labels"_a, "about"_a, "The state of these images, to be merged with others about the same.")
        .def("arrays", &arrays, "absent"_a, "precision, recall and confidence in pycocotools' shapes.")
        .def("outcomes", &outcomes, "threshold"_a, "range"_a = 0, "The outcome of every object.")
        .def("by_class", &by_class, "Predictions class by class, by descending confidence, and offsets of classes.")
        .def(
            "curve_summaries",
            [](const OwningEvaluation& self, std::size_t threshold, unsigned threads) {
                const nb::gil_scoped_release released;
                return summarise_curves(self.evaluation(), threshold, threads);
            },
            "threshold"_a, "threads"_a = 1, "Average precision and best F1 of every class.")
        .def("by_image", &by_image, "Every image evaluated by itself, in the order of ids, as columns.")
        .def("order_range", &order_range,
             "True and false positives over all orders of the predictions, by class and threshold.")
        .def("counts", &counts, "True positives, ignored predictions, objects and IoU sums, by class and by image.")
        .def("match_layout", &match_layout, "Copies of what is kept, by index.")
        .def_prop_ro("curve_points", [](const OwningEvaluation& self) { return self.evaluation().curve_points(); })
        .def_prop_ro("truth_counts", [](const OwningEvaluation& self) { return self.evaluation().truth_counts(); })
        .def_prop_ro("pred_counts", [](const OwningEvaluation& self) { return self.evaluation().pred_counts(); });
}

}  // namespace verite
