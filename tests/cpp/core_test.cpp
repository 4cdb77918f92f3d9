// Unit tests of the native core: greedy matching, accumulation and the lock rule, with numbers worked out by hand.
//
// Compiled and run by test_core.py, and by ctest where CMake is given -DVERITE_TESTS=ON. Prints every check that fails
// and returns how many did. Must be compiled without NDEBUG.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "columns/cells.hpp"
#include "columns/parallel.hpp"
#include "evaluation/accumulate.hpp"
#include "evaluation/matching.hpp"
#include "evaluation/outcomes.hpp"
#include "evaluation/precision_recall.hpp"
#include "evaluation/true_positive_ranks.hpp"

#ifdef NDEBUG
#error "the lock rule is checked in builds without NDEBUG only"
#endif

namespace {

using namespace verite;

int failures = 0;

#define CHECK(condition)                                                         \
    do {                                                                         \
        if (!(condition)) {                                                      \
            ++failures;                                                          \
            std::printf("%s:%d: expected %s\n", __FILE__, __LINE__, #condition); \
        }                                                                        \
    } while (false)

template <class Error>
bool throws(const std::function<void()>& work) {
    try {
        work();
    } catch (const Error&) {
        return true;
    }
    return false;
}

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

// ------------------------------------------------------------------------------------------------------- matching

// One image and class: the IoU of every prediction (row, by descending confidence) with every ground-truth object.
struct Group {
    std::vector<std::vector<double>> iou;
    std::vector<double> thresholds{0.5};
    Rules rules{};
    std::vector<AreaRangeSet> ignored{};
    std::vector<std::uint8_t> multi_match{}, keeps_truth_free{};
    std::vector<double> min_iou{};

    // The thresholds at which each pair is matched, one bit each, [prediction][object], in the first area range.
    std::vector<std::vector<int>> match() const {
        const std::size_t preds = iou.size(), truths = iou[0].size();
        std::vector<std::int32_t> truth_rows(truths), pred_rows(preds), truth;
        std::vector<std::int64_t> truth_images{0, static_cast<std::int64_t>(truths)}, offsets{0};
        const std::vector<std::int64_t> pred_images{0, static_cast<std::int64_t>(preds)};
        std::vector<double> values;
        for (const auto& row : iou) {
            for (std::size_t t = 0; t < truths; ++t) {
                truth.push_back(static_cast<std::int32_t>(t));
                values.push_back(row[t]);
            }
            offsets.push_back(static_cast<std::int64_t>(truth.size()));
        }
        Rules used = rules;
        if (used.area_ranges.empty()) used.area_ranges = {{-infinity, infinity}};
        std::vector<AreaRangeSet> own_ignored = ignored;
        own_ignored.resize(truths, 0);
        std::vector<std::uint8_t> own_multi = multi_match;
        own_multi.resize(truths, 0);
        std::vector<ThresholdSet> matched(truth.size() * used.range_count());
        match_greedily({truth_rows, {}, truth_images}, {pred_rows, {}, pred_images}, {offsets, truth, values},
                       {own_ignored, own_multi, keeps_truth_free, min_iou}, used, thresholds, 1, matched);
        std::vector<std::vector<int>> found(preds, std::vector<int>(truths));
        for (std::size_t p = 0; p < preds; ++p)
            for (std::size_t t = 0; t < truths; ++t) found[p][t] = matched[(p * truths + t) * used.range_count()];
        return found;
    }
};

using Bits = std::vector<std::vector<int>>;

void a_prediction_is_matched_with_the_free_object_of_highest_iou() {
    // At 0.5 the first takes object 0 and the second must do with object 1; at 0.75 nothing is left for the second.
    CHECK((Group{{{0.8, 0.6}, {0.7, 0.55}}, {0.5, 0.75}}.match() == Bits{{0b11, 0}, {0, 0b01}}));
}

void every_threshold_is_matched_by_itself() {
    // 0.6 reaches 0.5 alone, so that at 0.75 the object is free for the less confident prediction.
    CHECK((Group{{{0.6}, {0.8}}, {0.5, 0.75}}.match() == Bits{{0b01}, {0b10}}));
}

void ignored_objects_come_after_all_others() {
    Group group{{{0.9, 0.6}}, {0.5, 0.75}};
    group.ignored = {1, 0};
    CHECK((group.match() == Bits{{0b10, 0b01}}));
    group.rules.match = Match::nearest;  // here they rank like others
    CHECK((group.match() == Bits{{0b11, 0}}));
}

void a_crowd_is_matched_any_number_of_times() {
    Group group{{{0.9}, {0.8}, {0.4}}};
    CHECK((group.match() == Bits{{1}, {0}, {0}}));
    group.multi_match = {1};
    CHECK((group.match() == Bits{{1}, {1}, {0}}));
}

void equal_ious_go_to_the_later_object_or_to_the_first() {
    Group group{{{0.7, 0.7}}};
    CHECK((group.match() == Bits{{0, 1}}));
    group.rules.equal = EqualIoU::first;
    CHECK((group.match() == Bits{{1, 0}}));
}

void argmax_matches_the_object_of_highest_iou_or_none() {
    Group group{{{0.8, 0.1}, {0.7, 0.6}}};
    CHECK((group.match() == Bits{{1, 0}, {0, 1}}));
    group.rules.match = Match::argmax;
    CHECK((group.match() == Bits{{1, 0}, {0, 0}}));
}

void an_iou_reaches_or_exceeds_its_threshold() {
    Group group{{{0.5}}, {0.5, 0.49}};
    CHECK((group.match() == Bits{{0b11}}));
    group.rules.is_strict = true;
    CHECK((group.match() == Bits{{0b10}}));
}

void an_object_may_require_more_than_the_threshold() {
    Group group{{{0.6}, {0.7}}};
    group.min_iou = {0.65};
    CHECK((group.match() == Bits{{0}, {1}}));
}

void a_match_may_leave_the_object_free() {
    Group group{{{0.9}, {0.8}}};
    group.keeps_truth_free = {1, 0};
    CHECK((group.match() == Bits{{1}, {1}}));
}

void nan_is_matched_as_in_pycocotools() {
    // `if ious[d, g] < iou: continue` never continues on NaN: the last object in the loop that is not below the best
    // wins, and NaN as the best so far lets any other one pass.
    CHECK((Group{{{nan}}}.match() == Bits{{1}}));
    CHECK((Group{{{nan, 0.2}}}.match() == Bits{{0, 1}}));
    CHECK((Group{{{0.9, nan}}}.match() == Bits{{0, 1}}));
}

void seventeen_thresholds_are_refused() {
    CHECK((throws<std::invalid_argument>([] { Group{{{0.9}}, std::vector<double>(17, 0.5)}.match(); })));
}

void areas_are_inside_their_range_with_both_ends() {
    const std::vector<std::int32_t> rows{0, 1, 2, 3, 4};
    const std::vector<double> areas{1024, 1024.5, 31, nan, 50};
    const std::vector<std::uint8_t> left_out{0, 0, 0, 0, 1};
    const std::vector<AreaRange> ranges{{0, 1024}, {1024, 9216}};
    std::vector<AreaRangeSet> found(5);
    outside_ranges(rows, areas, left_out, ranges, 1, found);
    CHECK((found == std::vector<AreaRangeSet>{0b00, 0b01, 0b10, 0b00, 0b11}));
}

void matching_does_not_depend_on_the_number_of_threads() {
    // 300 images with one object and two predictions each, of which the first matches in even images.
    constexpr std::size_t images = 300;
    std::vector<std::int32_t> truth_rows(images), pred_rows(2 * images), truth;
    std::vector<std::int64_t> truth_images, pred_images, offsets{0};
    std::vector<double> iou;
    for (std::size_t i = 0; i < images; ++i) {
        truth_images.push_back(static_cast<std::int64_t>(i));
        pred_images.push_back(static_cast<std::int64_t>(2 * i));
        for (const double value : {i % 2 == 0 ? 0.9 : 0.4, 0.6}) {
            truth.push_back(static_cast<std::int32_t>(i));
            iou.push_back(value);
            offsets.push_back(static_cast<std::int64_t>(truth.size()));
        }
    }
    truth_images.push_back(images);
    pred_images.push_back(2 * images);
    Rules rules;
    rules.area_ranges = {{-infinity, infinity}};
    const std::vector<AreaRangeSet> ignored(images, 0);
    const std::vector<std::uint8_t> crowd(images, 0);
    const std::vector<double> thresholds{0.5};
    for (const unsigned threads : {1u, 4u}) {
        std::vector<ThresholdSet> matched(truth.size(), 7);
        match_greedily({truth_rows, {}, truth_images}, {pred_rows, {}, pred_images}, {offsets, truth, iou},
                       {ignored, crowd, {}, {}}, rules, thresholds, threads, matched);
        bool is_right = true;
        for (std::size_t i = 0; i < images; ++i)
            is_right &= matched[2 * i] == (i % 2 == 0) && matched[2 * i + 1] == (i % 2 == 1);
        CHECK(is_right);
    }
    truth[0] = 5;  // of another image
    std::vector<ThresholdSet> matched(truth.size());
    CHECK((throws<std::invalid_argument>([&] {
        match_greedily({truth_rows, {}, truth_images}, {pred_rows, {}, pred_images}, {offsets, truth, iou},
                       {ignored, crowd, {}, {}}, rules, thresholds, 1, matched);
    })));
}

// ----------------------------------------------------------------------------------------------------- accumulation

// Predictions of one class by descending confidence, at one threshold and in one area range.
struct Curve {
    enum Kind { tp, fp, ignored, outside, outside_tp };

    std::vector<Kind> kinds;
    double positives;
    std::vector<double> recalls{0, 1 / 3.0, 2 / 3.0, 1};
    std::vector<std::int64_t> max_dets{100};
    std::vector<double> precision{}, confidence{}, recall{};

    void accumulate(const Weighting* weighting = nullptr) {
        const std::size_t count = kinds.size();
        std::vector<std::int32_t> order(count);
        const std::vector<std::int64_t> offsets{0, static_cast<std::int64_t>(count)};
        std::vector<PredictionFlags> predictions;
        std::vector<Outcome> outcomes;
        std::vector<double> confidences;
        for (std::size_t i = 0; i < count; ++i) {
            order[i] = static_cast<std::int32_t>(i);
            confidences.push_back(0.9 - 0.1 * static_cast<double>(i));
            PredictionFlags own(kinds[i] == outside || kinds[i] == outside_tp ? 1 : 0,
                                limit_of(static_cast<std::int64_t>(i), max_dets));
            if (kinds[i] == tp || kinds[i] == outside_tp || kinds[i] == ignored) {
                own.outcome = static_cast<std::int32_t>(outcomes.size());
                outcomes.push_back(kinds[i] == ignored ? Outcome{0, 1} : Outcome{1, 0});
            }
            predictions.push_back(own);
        }
        precision.assign(recalls.size(), nan);
        confidence.assign(recalls.size(), nan);
        recall.assign(max_dets.size(), nan);
        verite::accumulate({order, offsets, predictions, outcomes, confidences, {&positives, 1}, 1, 1},
                           {recalls, max_dets.size(), max_dets.size() - 1, 1}, weighting, 1,
                           {precision, confidence, {0, 0, 1, 0, 0}, recall, {0, 0, 0, 0, 1}});
    }
};

constexpr double almost_one = 1 - 0x1p-52;  // 1 / (1 + 2^-52), rounded

void precision_is_interpolated_and_read_at_recall_levels() {
    // tp, fp, tp of three objects: precision 1, 1/2, 2/3 at the recalls 1/3, 1/3, 2/3; a recall of 1 is not reached.
    Curve curve{{Curve::tp, Curve::fp, Curve::tp}, 3};
    curve.accumulate();
    CHECK((curve.precision == std::vector<double>{almost_one, almost_one, 2 / 3.0, 0}));
    CHECK((curve.confidence == std::vector<double>{0.9, 0.9, 0.9 - 0.1 * 2, 0}));
    CHECK((curve.recall == std::vector<double>{2 / 3.0}));
}

void a_later_point_of_higher_precision_raises_the_earlier_ones() {
    // fp, tp, tp of two objects: precision 0, 1/2, 2/3. At every level the best that follows is 2/3.
    Curve curve{{Curve::fp, Curve::tp, Curve::tp}, 2};
    curve.recalls = {0, 0.5, 1};
    curve.accumulate();
    CHECK((curve.precision == std::vector<double>{2 / 3.0, 2 / 3.0, 2 / 3.0}));
}

void ignored_predictions_do_not_count() {
    Curve curve{{Curve::tp, Curve::ignored, Curve::tp}, 3};
    curve.accumulate();
    CHECK((curve.precision == std::vector<double>{1, 1, 1, 0}));  // 2 / (2 + 2^-52) is 1
    CHECK((curve.recall == std::vector<double>{2 / 3.0}));
}

void a_prediction_outside_the_area_range_counts_only_if_it_is_a_true_positive() {
    Curve curve{{Curve::outside, Curve::outside_tp, Curve::fp}, 1};
    curve.recalls = {1};
    curve.accumulate();
    CHECK((curve.precision == std::vector<double>{almost_one}));
    CHECK((curve.recall == std::vector<double>{1}));
}

void recall_is_counted_within_each_max_dets() {
    Curve curve{{Curve::tp, Curve::fp, Curve::tp}, 3};
    curve.max_dets = {1, 2, 3};
    curve.accumulate();
    CHECK((curve.recall == std::vector<double>{1 / 3.0, 1 / 3.0, 2 / 3.0}));
}

void a_class_without_ground_truth_is_not_written() {
    Curve curve{{Curve::fp}, 0};
    curve.accumulate();
    for (const double value : curve.precision) CHECK(std::isnan(value));
    CHECK(std::isnan(curve.recall[0]));
}

void an_image_of_weight_two_counts_as_two_images() {
    // A false positive of image 1 before a true positive of image 0: precision 1/2, or 1/3 where image 1 is there
    // twice.
    const std::vector<std::int32_t> image{1, 0};
    const std::vector<std::uint32_t> runs{1, 1};
    Curve curve{{Curve::fp, Curve::tp}, 1};
    curve.recalls = {1};
    for (const auto& [weight, expected] : {std::pair{1.0, 0.5}, {2.0, 1 / 3.0}, {0.0, almost_one}}) {
        const std::vector<double> weights{1, weight};
        const Weighting weighting{weights, image, runs, true};
        curve.accumulate(&weighting);
        CHECK(curve.precision[0] == expected);
    }
}

void recall_levels_need_whole_numbers_of_true_positives() {
    CHECK(true_positives_needed(0, 3) == 0);
    CHECK(true_positives_needed(1 / 3.0, 3) == 1);
    CHECK(true_positives_needed(0.5, 3) == 2);
    CHECK(true_positives_needed(0.7, 10) == 7);  // 7 / 10 is the same double as 0.7
    CHECK(true_positives_needed(1, 3) == 3);
    CHECK(true_positives_needed(1.01, 3) == infinity);
}

// Interpolated precision at recall levels by definition, one threshold at a time.
double average_by_definition(const std::vector<OutcomeWord>& words, std::size_t threshold, double positives,
                             const std::vector<double>& recalls) {
    std::vector<std::pair<double, double>> curve;  // true positives and precision
    double tp = 0, all = 0, sum = 0;
    for (const OutcomeWord word : words) {
        if (word >> threshold >> 16 & 1) continue;
        ++all;
        tp += word >> threshold & 1;
        curve.emplace_back(tp, tp / all);
    }
    for (const double recall : recalls) {
        double best = 0;
        for (const auto& [found, precision] : curve)
            if (found / positives >= recall) best = std::max(best, precision);
        sum += best;
    }
    return sum / static_cast<double>(recalls.size());
}

void ranks_of_true_positives_give_average_precision_by_definition() {
    std::vector<double> recalls(101);
    for (std::size_t i = 0; i < recalls.size(); ++i) recalls[i] = static_cast<double>(i) / 100;
    std::uint32_t state = 1;
    const auto random = [&] { return (state = state * 1664525u + 1013904223u) >> 8; };
    for (const std::size_t count : {1u, 15u, 16u, 17u, 40u, 333u}) {
        std::vector<OutcomeWord> words;
        for (std::size_t i = 0; i < count; ++i) {
            const OutcomeWord tp = random() % 3 ? (1u << random() % 11) - 1 : random() & 0x3FF;
            const OutcomeWord ignored = random() % 5 ? 0 : random() & 0x3FF & ~tp;
            words.push_back(random() % 17 ? tp | ignored << 16 : ignored_everywhere);
        }
        const std::vector<std::uint8_t> limits(count, 0);
        TruePositiveRanks ranks(recalls, 0);
        ranks.read({words, limits, {}, {}, {}});
        std::vector<double> means(10);
        const double positives = static_cast<double>(count) + 3;
        ranks.average(0x3FF, positives, means);
        for (std::size_t t = 0; t < means.size(); ++t)
            CHECK(std::abs(means[t] - average_by_definition(words, t, positives, recalls)) < 1e-12);
    }
}

void outcomes_are_true_positive_or_ignored_by_threshold_and_range() {
    // One prediction, two objects; the second is ignored in the second area range. Matched with object 0 at threshold 0
    // and with object 1 at threshold 1, in both ranges.
    const std::vector<std::int64_t> offsets{0, 2};
    const std::vector<std::int32_t> truth{0, 1}, ranks{0};
    const std::vector<double> iou{0.6, 0.9};
    const std::vector<ThresholdSet> matched{0b01, 0b01, 0b10, 0b10};
    const std::vector<AreaRangeSet> ignored{0b00, 0b10}, outside{0b10};
    const std::vector<std::uint8_t> has_null_id{1, 0};
    Rules rules;
    rules.area_ranges = {{0, 1}, {0, 1}};
    rules.max_dets = {1, 10};
    MatchedCandidates given{ranks, outside, {offsets, truth, iou}, matched, ignored, {}};
    const PredictionOutcomes found = make_outcomes(given, rules, 2, 1);
    CHECK(found.matched_count() == 1 && found.predictions[0].outcome == 0);
    CHECK(found.predictions[0].limit() == 0 && !found.predictions[0].is_outside(0) &&
          found.predictions[0].is_outside(1));
    CHECK(found.outcomes[0].tp == 0b11 && found.outcomes[0].ignored == 0);
    CHECK(found.outcomes[1].tp == 0b01 && found.outcomes[1].ignored == 0b10);
    given.has_null_id = has_null_id;  // a match with object 0 is none
    const PredictionOutcomes without = make_outcomes(given, rules, 2, 1);
    CHECK(without.outcomes[0].tp == 0b10 && without.outcomes[1].tp == 0);
}

void means_leave_out_classes_without_ground_truth() {
    Rules rules;
    rules.thresholds = {0.5, 0.75};
    rules.area_ranges = {{-infinity, infinity}};
    rules.max_dets = {100};
    rules.recalls = {0, 1};
    const std::vector<double> positives{2, 0, 1};  // the second class has none
    PrecisionRecall numbers(rules, 3, positives);
    const CurveOutput out = numbers.curves(0);
    const auto write = [&](std::size_t threshold, std::size_t recall, std::size_t label, double value) {
        out.precision[out.columns->row(0, threshold, recall) + out.columns->column_of(0, label)] = value;
    };
    for (std::size_t r : {0, 1}) {
        write(0, r, 0, 1.0);
        write(0, r, 2, 0.5);
        write(1, r, 0, 0.5);
        write(1, r, 2, 0.0);
    }
    CHECK(numbers.mean({Statistic::average_precision, std::nullopt, 0, 0}) == 0.5);  // (1 + 0.5 + 0.5 + 0) / 4
    CHECK(numbers.mean({Statistic::average_precision, 0, 0, 0}) == 0.75);
    CHECK(numbers.mean({Statistic::average_precision, std::nullopt, 0, 0, {0, 1, 1}}) == 0.25);
    CHECK(std::isnan(numbers.mean({Statistic::average_precision, std::nullopt, 0, 0, {0, 1, 0}})));
    CHECK(std::isnan(numbers.mean({Statistic::average_precision, -1, 0, 0})));
    const auto by_class = numbers.class_means({Statistic::average_precision, 1, 0, 0});
    CHECK(by_class[0] == 0.5 && std::isnan(by_class[1]) && by_class[2] == 0);
    CHECK(!numbers.has({Statistic::average_precision, 2, 0, 0}) &&
          !numbers.has({Statistic::average_precision, 0, 1, 0}) &&
          !numbers.has({Statistic::average_precision, 0, 0, 0, {1}}));
}

void curves_follow_classes_with_ground_truth() {
    Rules rules;
    rules.thresholds = {0.5};
    rules.area_ranges = {{-infinity, infinity}, {0, 100}};
    rules.max_dets = {100};
    rules.recalls = {0, 1};
    const auto fill = [](PrecisionRecall& numbers, std::size_t label, double value) {
        const CurveOutput out = numbers.curves(0);
        for (std::size_t range : {0, 1})
            for (std::size_t recall : {0, 1})
                if (const std::size_t column = out.columns->column_of(range, label); column != CurveColumns::none)
                    out.precision[out.columns->row(range, 0, recall) + column] = value + 0.25 * (range == 1);
    };
    const std::vector<double> first{2, 1, 0, 0}, second{3, 0};  // [class][area range]
    std::vector<PrecisionRecall> parts{PrecisionRecall(rules, 2, first), PrecisionRecall(rules, 1, second)};
    fill(parts[0], 0, 0.5);
    fill(parts[1], 0, 0.25);
    CHECK(count_curve_points(rules, first) == 4 && count_curve_points(rules, second) == 2);
    PrecisionRecall all = PrecisionRecall::join(std::move(parts));
    CHECK(all.labels() == 3 && all.positives()[4] == 3);
    CHECK(all.mean({Statistic::average_precision, 0, 0, 0}) == 0.375);  // of 0.5 and 0.25
    CHECK(all.mean({Statistic::average_precision, 0, 1, 0}) == 0.75);   // the first class alone has small objects
    CHECK(all.precision(2).size() == 2 * 2 * 3);
    CHECK(all.precision(2)[2] == 0.25 && std::isnan(all.precision(2)[1]) && all.precision(2)[6] == 0.75);
    // The second class gets an object, the first loses its small one, the third is to be written again.
    const std::vector<double> changed{2, 0, 1, 0, 3, 0};
    const std::vector<std::int32_t> touched{1, 2};
    all.change(changed, touched);
    fill(all, 1, 1.0);
    fill(all, 2, 0.0);
    CHECK(all.mean({Statistic::average_precision, 0, 0, 0}) == 0.5);  // of 0.5, 1 and 0
    CHECK(std::isnan(all.mean({Statistic::average_precision, 0, 1, 0})));
}

// -------------------------------------------------------------------------------------------------------- the rules

void threads_are_refused_to_the_holder_of_pythons_lock() {
    std::atomic<int> calls = 0;
    const auto work = [&](std::size_t) { ++calls; };
    holds_interpreter = [] { return true; };
    CHECK((throws<std::logic_error>([&] { in_parallel(8, 4, work); })));
    CHECK(calls == 0);
    in_parallel(8, 1, work);  // nothing is waited for
    CHECK(calls == 8);
    holds_interpreter = [] { return false; };
    in_parallel(8, 4, work);
    CHECK(calls == 16);
    holds_interpreter = nullptr;
}

void the_first_exception_of_a_thread_is_thrown_to_the_caller() {
    CHECK((throws<std::out_of_range>([] {
        in_parallel(100, 4, [](std::size_t piece) {
            if (piece == 50) throw std::out_of_range("piece 50");
        });
    })));
}

struct Constant {
    void set_truths(std::span<const std::int32_t>) {}
    void set_pred(std::int32_t) {}
    void each_candidate(auto&& visit) { visit(0); }
    double value(std::size_t) const { return 1; }
};
struct Silent : Constant {
    void value(std::size_t) const {}
};
static_assert(Similarity<Constant>);
static_assert(!Similarity<Silent>);
static_assert(!Similarity<int>);

}  // namespace

int main() {
    a_prediction_is_matched_with_the_free_object_of_highest_iou();
    every_threshold_is_matched_by_itself();
    ignored_objects_come_after_all_others();
    a_crowd_is_matched_any_number_of_times();
    equal_ious_go_to_the_later_object_or_to_the_first();
    argmax_matches_the_object_of_highest_iou_or_none();
    an_iou_reaches_or_exceeds_its_threshold();
    an_object_may_require_more_than_the_threshold();
    a_match_may_leave_the_object_free();
    nan_is_matched_as_in_pycocotools();
    seventeen_thresholds_are_refused();
    areas_are_inside_their_range_with_both_ends();
    matching_does_not_depend_on_the_number_of_threads();
    precision_is_interpolated_and_read_at_recall_levels();
    a_later_point_of_higher_precision_raises_the_earlier_ones();
    ignored_predictions_do_not_count();
    a_prediction_outside_the_area_range_counts_only_if_it_is_a_true_positive();
    recall_is_counted_within_each_max_dets();
    a_class_without_ground_truth_is_not_written();
    an_image_of_weight_two_counts_as_two_images();
    recall_levels_need_whole_numbers_of_true_positives();
    ranks_of_true_positives_give_average_precision_by_definition();
    outcomes_are_true_positive_or_ignored_by_threshold_and_range();
    means_leave_out_classes_without_ground_truth();
    curves_follow_classes_with_ground_truth();
    threads_are_refused_to_the_holder_of_pythons_lock();
    the_first_exception_of_a_thread_is_thrown_to_the_caller();
    std::printf("%d checks failed\n", failures);
    return failures;
}
