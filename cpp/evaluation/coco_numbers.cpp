#include "evaluation/coco_numbers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "columns/cells.hpp"
#include "evaluation/accumulate.hpp"
#include "evaluation/matching.hpp"
#include "similarity/boxes.hpp"

namespace verite {
namespace {

constexpr double absent = std::numeric_limits<double>::quiet_NaN();

// Flags that are always there.
Array<std::uint8_t> filled(std::span<const std::uint8_t> flags, std::size_t count) {
    if (flags.empty()) return Array<std::uint8_t>(count, 0);
    return {flags.begin(), flags.end()};
}

// Stated areas; where some are not, all of them in `derived`, those of boxes in their place. Masks state theirs.
std::span<const double> truth_areas(const CocoObjects& truth, unsigned threads, Array<double>& derived) {
    const auto is_missing = [](double area) { return std::isnan(area); };
    if (!truth.areas.empty() && std::ranges::none_of(truth.areas, is_missing)) return truth.areas;
    derived.resize(truth.image.size());
    box_areas(truth.boxes, threads, derived);
    for (std::size_t i = 0; i < truth.areas.size(); ++i)
        if (!is_missing(truth.areas[i])) derived[i] = truth.areas[i];
    return derived;
}

Candidates candidates_of(const CocoObjects& truth, const Cells& truths, std::span<const std::uint8_t> crowd,
                         const CocoObjects& pred, const Cells& preds, const CocoRules& rules) {
    const double floor = std::ranges::min(rules.thresholds);
    if (rules.is_on_masks)
        return mask_candidates(truths, truth.outlines, crowd, preds, pred.outlines, floor, rules.threads);
    return coco_box_candidates(truths, truth.boxes, crowd, preds, pred.boxes, floor, rules.threads);
}

// What is known before matching, by slot.
struct Laid {
    Grouped truths;
    Ordered preds;
    Candidates candidates;
    Array<Ranges> ignored, outside;
    Array<std::uint8_t> shared;

    CandidateView pairs() const { return {candidates.offsets, candidates.truth.values(), candidates.overlap.values()}; }
};

Laid lay_out(const CocoObjects& truth, const CocoObjects& pred, const CocoRules& rules) {
    const auto images = static_cast<std::int32_t>(rules.images), labels = static_cast<std::int32_t>(rules.labels);
    Laid laid;
    laid.truths = group_objects({truth.image, truth.label, images, labels});
    const Array<double> same(pred.confidence.empty() ? pred.image.size() : 0, 1.0);
    laid.preds = order_predictions({pred.image, pred.label, images, labels},
                                   pred.confidence.empty() ? std::span<const double>(same) : pred.confidence,
                                   static_cast<std::int32_t>(rules.limits.back()), rules.threads);
    const auto& truth_rows = laid.truths.rows;
    const auto& pred_rows = laid.preds.cells.rows;
    const auto crowd = filled(truth.crowd, truth.image.size());
    laid.candidates = candidates_of(truth, laid.truths.view(), crowd, pred, laid.preds.cells.view(), rules);
    auto left_out = crowd;
    if (rules.honours_ignore && !truth.ignore.empty())
        std::ranges::transform(left_out, truth.ignore, left_out.begin(), std::bit_or<std::uint8_t>());
    Array<double> derived, pred_areas(pred.image.size());
    const auto areas = truth_areas(truth, rules.threads, derived);
    laid.ignored.resize(truth_rows.size());
    outside_ranges(truth_rows, areas, left_out, rules.ranges, rules.threads, laid.ignored);
    box_areas(pred.boxes, rules.threads, pred_areas);
    laid.outside.resize(pred_rows.size());
    outside_ranges(pred_rows, pred_areas, {}, rules.ranges, rules.threads, laid.outside);
    laid.shared.resize(truth_rows.size());
    std::ranges::transform(truth_rows, laid.shared.begin(),
                           [&](std::int32_t row) { return crowd[static_cast<std::size_t>(row)]; });
    return laid;
}

template <class Bits>
void match_and_accumulate(const Laid& laid, const CocoRules& rules, std::span<const std::int64_t> positives,
                          const Curves& curves) {
    const CandidateView pairs = laid.pairs();
    const std::size_t ranges = rules.range_count();
    Array<Bits> matched(ranges * pairs.truth.size());
    match_greedily<Bits>(laid.truths.view(), laid.preds.cells.view(), pairs,
                         {rules.thresholds, ranges, laid.ignored, laid.shared, {}}, rules.threads, matched);
    const Matched<Bits> given{laid.preds.by_label,
                              laid.preds.label_offsets,
                              laid.preds.ranks,
                              {},
                              laid.outside,
                              pairs,
                              matched,
                              laid.ignored,
                              {},
                              positives,
                              rules.thresholds.size(),
                              ranges};
    accumulate(given, {rules.recalls, rules.limits.back(), rules.limits}, rules.threads, curves);
}

}  // namespace

CocoNumbers::CocoNumbers(const CocoObjects& truth, const CocoObjects& pred, const CocoRules& rules)
    : labels_(rules.labels),
      ranges_(rules.range_count()),
      thresholds_(rules.thresholds.size()),
      levels_(rules.recalls.size()),
      limits_(rules.limits.size()) {
    Laid laid = lay_out(truth, pred, rules);
    positives_.assign(labels_ * ranges_, 0);
    count_positives(laid.truths.labels, laid.ignored, ranges_, positives_);
    precision_.assign(ranges_ * thresholds_ * levels_ * labels_, absent);
    recall_.assign(rules.limits.size() * ranges_ * thresholds_ * labels_, absent);
    const auto rest = thresholds_ <= most_thresholds<std::uint16_t> ? match_and_accumulate<std::uint16_t>
                                                                    : match_and_accumulate<std::uint64_t>;
    rest(laid, rules, positives_, {precision_, {}, recall_});
    label_offsets_ = std::move(laid.preds.label_offsets);
}

bool CocoNumbers::has(const Part& part) const {
    const bool has_threshold =
        !part.threshold || (*part.threshold >= -1 && *part.threshold < static_cast<std::int64_t>(thresholds_));
    return has_threshold && part.range < ranges_ && part.limit < limits_;
}

std::span<const double> CocoNumbers::values(const Part& part) const {
    const std::size_t row = part.is_precision ? levels_ * labels_ : labels_;  // numbers of one threshold
    const std::size_t block = part.is_precision ? part.range : part.limit * ranges_ + part.range;
    const auto all = std::span(part.is_precision ? precision_ : recall_).subspan(block * thresholds_ * row);
    if (!part.threshold) return all.first(thresholds_ * row);
    if (*part.threshold < 0) return {};
    return all.subspan(static_cast<std::size_t>(*part.threshold) * row, row);
}

double CocoNumbers::mean(const Part& part) const {
    auto found = values(part);
    Array<double> present;
    const auto is_present = [&](std::size_t label) { return positives_[label * ranges_ + part.range] > 0; };
    std::size_t count = 0;
    for (std::size_t label = 0; label < labels_; ++label) count += is_present(label);
    if (count < labels_) {
        for (std::size_t row = 0; row < found.size(); row += labels_)
            for (std::size_t label = 0; label < labels_; ++label)
                if (is_present(label)) present.push_back(found[row + label]);
        found = present;
    }
    return found.empty() ? absent : sum_pairwise(found) / static_cast<double>(found.size());
}

std::vector<double> CocoNumbers::class_means(const Part& part) const {
    const auto found = values(part);
    const std::size_t rows = found.size() / labels_;
    std::vector<double> means(labels_, absent), own(rows);
    for (std::size_t label = 0; rows > 0 && label < labels_; ++label) {
        for (std::size_t row = 0; row < rows; ++row) own[row] = found[row * labels_ + label];
        means[label] = sum_pairwise(own) / static_cast<double>(rows);
    }
    return means;
}

std::vector<std::int64_t> CocoNumbers::truth_counts() const {
    std::vector<std::int64_t> counts(labels_);
    for (std::size_t label = 0; label < labels_; ++label) counts[label] = positives_[label * ranges_];
    return counts;
}

std::vector<std::int64_t> CocoNumbers::pred_counts() const {
    std::vector<std::int64_t> counts(labels_);
    for (std::size_t label = 0; label < labels_; ++label)
        counts[label] = label_offsets_[label + 1] - label_offsets_[label];
    return counts;
}

double sum_pairwise(std::span<const double> values) {
    constexpr std::size_t lanes = 8, block = 128;
    if (values.size() > block) {
        const std::size_t half = values.size() / 2 / lanes * lanes;
        return sum_pairwise(values.first(half)) + sum_pairwise(values.subspan(half));
    }
    double sum = 0;
    std::size_t i = 0;
    if (values.size() >= lanes) {
        double lane[lanes];
        std::copy_n(values.begin(), lanes, lane);
        for (i = lanes; i + lanes <= values.size(); i += lanes)
            for (std::size_t k = 0; k < lanes; ++k) lane[k] += values[i + k];
        sum = ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
    }
    for (; i < values.size(); ++i) sum += values[i];
    return sum;
}

}  // namespace verite
