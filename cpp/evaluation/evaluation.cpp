#include "evaluation/evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

#include "columns/parallel.hpp"
#include "evaluation/constants.hpp"

namespace verite {
namespace {

// Objects as one class (class-agnostic), ordered by their own classes or as given. Those without a class stay out.
struct Together {
    Together(std::span<const std::int32_t> label, std::span<const std::int32_t> rows, std::size_t labels,
             bool orders_by_class) {
        this->label.resize(label.size());
        std::ranges::transform(label, this->label.begin(), [](std::int32_t own) { return std::min(own, 0); });
        if (orders_by_class)
            order_by_class(label, rows, labels);
        else
            this->rows.assign(rows.begin(), rows.end());
    }

    void order_by_class(std::span<const std::int32_t> label, std::span<const std::int32_t> rows, std::size_t labels) {
        std::vector<std::size_t> next(labels + 2, 0);
        const std::size_t count = rows.empty() ? label.size() : rows.size();
        const auto row_of = [&](std::size_t i) { return rows.empty() ? static_cast<std::int32_t>(i) : rows[i]; };
        const auto bin_of = [&](std::int32_t row) {
            return static_cast<std::size_t>(label[static_cast<std::size_t>(row)] + 1);
        };
        for (std::size_t i = 0; i < count; ++i) ++next.at(bin_of(row_of(i)) + 1);
        std::partial_sum(next.begin(), next.end(), next.begin());
        this->rows.resize(count);
        for (std::size_t i = 0; i < count; ++i) this->rows[next[bin_of(row_of(i))]++] = row_of(i);
    }

    Array<std::int32_t> rows, label;
};

// Groups of one side by `make`, which takes places.
template <class Side, class Make>
auto lay_out(const Side& side, std::size_t images, std::size_t labels, const Rules& rules, Make&& make) {
    ObjectPlaces places{side.image, side.label, static_cast<std::int32_t>(images), static_cast<std::int32_t>(labels),
                        side.rows};
    if (!rules.class_agnostic) return make(places);
    const Together together(side.label, side.rows, labels, rules.orders_by_class);
    places.label = together.label;
    places.rows = together.rows;
    places.labels = 1;
    return make(places);
}

// A column of objects by index; empty where the column is.
template <class T>
Array<T> by_index(std::span<const T> objects, std::span<const std::int32_t> rows) {
    Array<T> indices(objects.empty() ? 0 : rows.size());
    for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = objects[static_cast<std::size_t>(rows[i])];
    return indices;
}

template <class Side>
void check_side(const Side& side, const char* name) {
    const auto expect = [&](std::size_t size, const char* what) {
        if (size != 0 && size != side.count())
            throw std::invalid_argument(std::string(name) + ": expected " + std::to_string(side.count()) + " " + what +
                                        ", found " + std::to_string(size));
    };
    expect(side.label.size(), "labels");
    expect(side.objects.boxes.size() / 4, "boxes");
    expect(side.areas.size(), "areas");
}

}  // namespace

Evaluation::Evaluation(const Truths& truth, const Preds& pred, std::size_t images, std::size_t labels,
                       const Rules& rules, const SimilarityMeasure& similarity, double pixel, std::size_t most_pairs,
                       unsigned threads)
    : truth_(truth),
      pred_(pred),
      images_(images),
      labels_(rules.class_agnostic ? 1 : labels),
      rules_(rules),
      similarity_(similarity),
      pixel_(pixel),
      threads_(threads) {
    check(rules_);
    check_side(truth, "truths");
    check_side(pred, "predictions");
    truths_ = lay_out(truth, images, labels, rules_, [](const ObjectPlaces& places) { return group_objects(places); });
    const Array<double> same(pred.confidence.empty() ? pred.count() : 0, 1.0);
    const auto confidence = pred.confidence.empty() ? std::span<const double>(same) : pred.confidence;
    preds_ = lay_out(pred, images, labels, rules_, [&](const ObjectPlaces& places) {
        return order_predictions(places, confidence, static_cast<std::int32_t>(rules_.largest_max_dets()), rules_.ties,
                                 threads_);
    });
    const auto &truth_rows = truths_.rows, &pred_rows = preds_.cells.rows;
    const double floor = std::ranges::min(rules_.thresholds);
    candidates_ = similarity_.find({truth_.objects, pred_.objects, floor, pixel_, most_pairs}, truths_.view(),
                                   preds_.cells.view(), threads_);
    ignored_.resize(truth_rows.size());
    outside_ranges(truth_rows, truth_.areas, truth_.ignored, rules_.area_ranges, threads_, ignored_);
    outside_.resize(pred_rows.size());
    outside_ranges(pred_rows, pred_.areas, pred_.ignore_if_unmatched, rules_.area_ranges, threads_, outside_);
    multi_match_ = by_index(truth_.multi_match, truth_rows);
    if (multi_match_.empty()) multi_match_.assign(truth_rows.size(), 0);
    has_null_id_ = by_index(truth_.has_null_id, truth_rows);
    min_iou_ = by_index(truth_.min_iou, truth_rows);
    keeps_truth_free_ = by_index(pred_.keeps_truth_free, pred_rows);
    match();
    positives_ = weigh_positives({});
}

void Evaluation::match() {
    const std::size_t blocks = (rules_.thresholds.size() + most_thresholds - 1) / most_thresholds;
    const CandidateView pairs = candidates();
    for (std::size_t block = 0; block < blocks; ++block) {
        auto& matched = matched_.emplace_back(rules_.range_count() * pairs.truth.size());
        match_greedily(truths_.view(), preds_.cells.view(), pairs, match_flags(), rules_, thresholds(block), threads_,
                       matched);
        pred_outcomes_.push_back(make_outcomes({preds_.ranks, outside_, pairs, matched, ignored_, has_null_id_}, rules_,
                                               thresholds(block).size(), threads_));
    }
}

std::span<const double> Evaluation::thresholds(std::size_t block) const {
    const auto rest = std::span(rules_.thresholds).subspan(block * most_thresholds);
    return rest.first(std::min(rest.size(), most_thresholds));
}

Array<double> Evaluation::weigh_positives(std::span<const double> weights) const {
    const std::size_t ranges = rules_.range_count();
    Array<double> positives(labels_ * ranges, 0.0);
    for (std::size_t image = 0; image < images_; ++image) {
        const double weight = weights.empty() ? 1.0 : weights[image];
        for (auto index = static_cast<std::size_t>(truths_.images[image]);
             index < static_cast<std::size_t>(truths_.images[image + 1]); ++index) {
            double* own = &positives[static_cast<std::size_t>(truths_.labels[index]) * ranges];
            const AreaRangeSet ignored = ignored_[index];
            for (std::size_t range = 0; range < ranges; ++range) own[range] += ignored >> range & 1 ? 0.0 : weight;
        }
    }
    return positives;
}

AccumulationInput Evaluation::accumulation_input(std::size_t block) const {
    const PredictionOutcomes& flags = pred_outcomes_[block];
    return {preds_.by_label, preds_.label_offsets, flags.predictions, flags.outcomes.values(), {},
            positives_,      flags.thresholds,     flags.ranges};
}

const PrecisionRecall& Evaluation::numbers() const {
    expect_interpreter_released("numbers");
    const std::lock_guard lock(making_);
    if (!numbers_) {
        PrecisionRecall found(rules_, labels_, positives_);
        const std::size_t max_dets = rules_.max_dets.size();
        for (std::size_t block = 0; block < pred_outcomes_.size(); ++block)
            accumulate(accumulation_input(block), {rules_.recalls, max_dets, max_dets - 1, rules_.range_count()},
                       nullptr, threads_, found.curves(block * most_thresholds));
        numbers_ = std::move(found);
    }
    return *numbers_;
}

std::span<const double> Evaluation::confidence() const {
    const std::lock_guard lock(making_);
    if (confidence_.empty() && !preds_.cells.rows.empty()) {
        confidence_ = by_index(pred_.confidence, preds_.cells.rows);
        if (confidence_.empty()) confidence_.assign(preds_.cells.rows.size(), 1.0);
    }
    return confidence_;
}

std::span<const std::int32_t> Evaluation::truth_indices() const {
    const std::lock_guard lock(making_);
    if (truth_index_.empty() && truth_.count() > 0) {
        truth_index_.assign(truth_.count(), -1);
        for (std::size_t index = 0; index < truths_.rows.size(); ++index)
            truth_index_[static_cast<std::size_t>(truths_.rows[index])] = static_cast<std::int32_t>(index);
    }
    return truth_index_;
}

Weighting Evaluation::weighting(std::span<const double> weights) const {
    if (weights.size() != images_)
        throw std::invalid_argument("weights: expected one for each of " + std::to_string(images_) + " images, found " +
                                    std::to_string(weights.size()));
    bool is_whole = true;
    for (const double weight : weights) {
        if (!(weight >= 0 && weight <= 0x1p53))
            throw std::invalid_argument("weights: expected numbers from 0 up, found " + std::to_string(weight));
        is_whole &= weight == std::floor(weight);
    }
    const auto confidences = confidence();
    const std::lock_guard lock(making_);
    const auto& order = preds_.by_label;
    if (image_.empty() && !order.empty()) {
        Array<std::int32_t> image_of(order.size());
        for (std::size_t image = 0; image < images_; ++image)
            std::fill(image_of.begin() + preds_.cells.images[image], image_of.begin() + preds_.cells.images[image + 1],
                      static_cast<std::int32_t>(image));
        image_.resize(order.size());
        runs_.assign(order.size(), 1);
        for (std::size_t i = 0; i < order.size(); ++i) image_[i] = image_of[static_cast<std::size_t>(order[i])];
        for (std::size_t label = 0; label < labels_; ++label)
            for (auto i = static_cast<std::size_t>(preds_.label_offsets[label + 1]);
                 i-- > static_cast<std::size_t>(preds_.label_offsets[label]) + 1;)
                if (image_[i] == image_[i - 1] && falling_key(confidences[static_cast<std::size_t>(order[i])]) ==
                                                      falling_key(confidences[static_cast<std::size_t>(order[i - 1])]))
                    runs_[i - 1] = runs_[i] + 1;
    }
    return {weights, image_, runs_, is_whole};
}

PrecisionRecall Evaluation::weight(std::span<const double> weights, unsigned threads) const {
    const Weighting given = weighting(weights);
    const Array<double> positives = weigh_positives(weights);
    PrecisionRecall found(rules_, labels_, positives);
    const std::size_t max_dets = rules_.max_dets.size();
    for (std::size_t block = 0; block < pred_outcomes_.size(); ++block) {
        AccumulationInput walk = accumulation_input(block);
        walk.positives = positives;
        accumulate(walk, {rules_.recalls, max_dets, max_dets - 1, rules_.range_count()}, &given, threads,
                   found.curves(block * most_thresholds));
    }
    return found;
}

void Evaluation::fill_arrays(double missing, std::span<double> precision, std::span<double> confidence,
                             std::span<double> recall) const {
    const ArraySpans out{precision, confidence, recall};
    clear_arrays(out, missing);
    for (std::size_t block = 0; block < pred_outcomes_.size(); ++block) {
        AccumulationInput walk = accumulation_input(block);
        walk.confidence = this->confidence();
        verite::fill_arrays(walk, rules_, {block, 0, labels_}, threads_, out);
    }
}

ObjectOutcomes Evaluation::outcomes(std::size_t threshold, std::size_t range) const {
    const Array<ThresholdSet>& matched = matched_.at(threshold / most_thresholds);
    const std::size_t ranges = rules_.range_count();
    if (threshold >= rules_.thresholds.size() || range >= ranges)
        throw std::invalid_argument("outcomes: expected one of the thresholds and area ranges");
    ObjectOutcomes found;
    found.state.assign(pred_.count(), ObjectOutcomes::not_evaluated);
    found.truth.assign(pred_.count(), -1);
    found.iou.assign(pred_.count(), absent);
    found.pred.assign(truth_.count(), -1);
    found.counted_truth.assign(truth_.count(), 0);
    for (std::size_t index = 0; index < truths_.rows.size(); ++index)
        found.counted_truth[static_cast<std::size_t>(truths_.rows[index])] = ~ignored_[index] >> range & 1;
    for (std::size_t index = 0; index < preds_.cells.rows.size(); ++index) {
        const auto row = static_cast<std::size_t>(preds_.cells.rows[index]);
        found.state[row] = outside_[index] >> range & 1 ? ObjectOutcomes::ignored : ObjectOutcomes::false_positive;
        for (auto c = static_cast<std::size_t>(candidates_.offsets[index]);
             c < static_cast<std::size_t>(candidates_.offsets[index + 1]); ++c) {
            if (!(matched[c * ranges + range] >> threshold % most_thresholds & 1)) continue;
            const auto truth = static_cast<std::size_t>(candidates_.truth[c]);
            const bool is_ignored = ignored_[truth] >> range & 1;
            if (!is_ignored && !has_null_id_.empty() && has_null_id_[truth]) continue;
            found.state[row] = is_ignored ? ObjectOutcomes::ignored : ObjectOutcomes::true_positive;
            found.truth[row] = truths_.rows[truth];
            found.iou[row] = candidates_.iou[c];
            std::int32_t& taker = found.pred[static_cast<std::size_t>(truths_.rows[truth])];
            if (taker < 0) taker = static_cast<std::int32_t>(row);
        }
    }
    return found;
}

ImageResults Evaluation::by_image() const {
    const std::size_t ranges = rules_.range_count(), levels = rules_.recalls.size();
    ImageResults found;
    found.precision.assign(images_, absent);
    for (auto* counts : {&found.truths, &found.tp, &found.fp}) counts->assign(images_, 0);
    in_stretches(images_, threads_, [&](std::size_t first_image, std::size_t last_image) {
        Array<std::int32_t> order;
        Array<double> precision, sums;
        for (std::size_t image = first_image; image < last_image; ++image) {
            const auto first_pred = static_cast<std::size_t>(preds_.cells.images[image]);
            const auto last_pred = static_cast<std::size_t>(preds_.cells.images[image + 1]);
            // Groups with ground truth that is not ignored; their predictions are sorted by confidence already.
            order.clear();
            Array<std::int64_t> offsets(1, 0);
            Array<double> positives;
            std::size_t pred = first_pred;
            const auto last_truth = static_cast<std::size_t>(truths_.images[image + 1]);
            for (auto truth = static_cast<std::size_t>(truths_.images[image]); truth < last_truth;) {
                const std::int32_t label = truths_.labels[truth];
                std::int64_t asked = 0;
                for (; truth < last_truth && truths_.labels[truth] == label; ++truth) asked += ~ignored_[truth] & 1;
                if (asked == 0) continue;
                found.truths[image] += asked;
                while (pred < last_pred && preds_.cells.labels[pred] < label) ++pred;
                for (; pred < last_pred && preds_.cells.labels[pred] == label; ++pred)
                    order.push_back(static_cast<std::int32_t>(pred));
                offsets.push_back(static_cast<std::int64_t>(order.size()));
                positives.push_back(static_cast<double>(asked));
                positives.resize(offsets.size() * ranges - ranges, 0.0);
            }
            for (std::size_t index = first_pred; index < last_pred; ++index) {
                const PredictionFlags& prediction = pred_outcomes_[0].predictions[index];
                const Outcome outcome =
                    prediction.outcome < 0
                        ? Outcome{0, 0}
                        : pred_outcomes_[0].outcomes[static_cast<std::size_t>(prediction.outcome) * ranges];
                found.tp[image] += outcome.tp & 1;
                found.fp[image] += !((outcome.tp | outcome.ignored) & 1) && !prediction.is_outside(0);
            }
            const std::size_t groups = offsets.size() - 1, thresholds = rules_.thresholds.size();
            if (groups == 0) continue;
            precision.assign(thresholds * levels * groups, absent);
            for (std::size_t block = 0; block < pred_outcomes_.size(); ++block) {
                const PredictionOutcomes& flags = pred_outcomes_[block];
                const AccumulationInput walk{order, offsets,   flags.predictions, flags.outcomes.values(),
                                             {},    positives, flags.thresholds,  flags.ranges};
                const Strides strides{0, levels * groups, groups, 1, 0};
                accumulate(walk, {rules_.recalls, rules_.max_dets.size(), rules_.max_dets.size() - 1, 1}, nullptr, 1,
                           {std::span(precision).subspan(block * most_thresholds * strides.threshold),
                            {},
                            strides,
                            {},
                            strides});
            }
            // Row by row, as numpy's mean over the first axis.
            sums.assign(groups, 0.0);
            for (std::size_t i = 0; i < precision.size(); ++i) sums[i % groups] += precision[i];
            double sum = 0;
            for (const double own : sums) sum += own / static_cast<double>(thresholds * levels);
            found.precision[image] = sum / static_cast<double>(groups);
        }
    });
    return found;
}

std::vector<std::int64_t> Evaluation::truth_counts() const {
    std::vector<std::int64_t> counts(labels_);
    for (std::size_t label = 0; label < labels_; ++label)
        counts[label] = static_cast<std::int64_t>(positives_[label * rules_.range_count()]);
    return counts;
}

std::vector<std::int64_t> Evaluation::pred_counts() const {
    std::vector<std::int64_t> counts(labels_);
    for (std::size_t label = 0; label < labels_; ++label)
        counts[label] = preds_.label_offsets[label + 1] - preds_.label_offsets[label];
    return counts;
}

}  // namespace verite
