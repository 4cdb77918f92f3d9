#include "evaluation/precision_recall.hpp"

#include <algorithm>
#include <limits>

#include "evaluation/constants.hpp"

namespace verite {

PrecisionRecall::PrecisionRecall(const Rules& rules, std::size_t labels, std::span<const double> positives)
    : labels_(labels),
      ranges_(rules.range_count()),
      thresholds_(rules.thresholds.size()),
      levels_(rules.recalls.size()),
      max_dets_(rules.max_dets.size()),
      precision_(ranges_ * thresholds_ * levels_ * labels_, absent),
      recall_(max_dets_ * ranges_ * thresholds_ * labels_, absent),
      positives_(positives.begin(), positives.end()) {}

CurveOutput PrecisionRecall::curves(std::size_t first) {
    const Strides strides{thresholds_ * levels_ * labels_, levels_ * labels_, labels_, 1, 0};
    const Strides recall_strides{thresholds_ * labels_, labels_, 0, 1, ranges_ * thresholds_ * labels_};
    return {std::span(precision_).subspan(first * strides.threshold),
            {},
            strides,
            std::span(recall_).subspan(first * recall_strides.threshold),
            recall_strides};
}

void PrecisionRecall::change(std::span<const double> positives, std::span<const std::int32_t> labels) {
    positives_.assign(positives.begin(), positives.end());
    for (auto* values : {&precision_, &recall_})
        for (const std::int32_t label : labels)
            for (auto i = static_cast<std::size_t>(label); i < values->size(); i += labels_) (*values)[i] = absent;
}

bool PrecisionRecall::has(const MeanQuery& query) const {
    const bool has_threshold =
        !query.threshold || (*query.threshold >= -1 && *query.threshold < static_cast<std::int64_t>(thresholds_));
    const bool has_classes = query.classes.empty() || query.classes.size() == labels_;
    return has_threshold && has_classes && query.range < ranges_ && query.limit < max_dets_;
}

std::span<const double> PrecisionRecall::values(const MeanQuery& query) const {
    const std::size_t row = query.is_precision ? levels_ * labels_ : labels_;  // numbers of one threshold
    const std::size_t block = query.is_precision ? query.range : query.limit * ranges_ + query.range;
    const auto all = std::span(query.is_precision ? precision_ : recall_).subspan(block * thresholds_ * row);
    if (!query.threshold) return all.first(thresholds_ * row);
    if (*query.threshold < 0) return {};
    return all.subspan(static_cast<std::size_t>(*query.threshold) * row, row);
}

double PrecisionRecall::mean(const MeanQuery& query) const {
    auto found = values(query);
    Array<double> present;
    const auto is_present = [&](std::size_t label) {
        return positives_[label * ranges_ + query.range] > 0 && (query.classes.empty() || query.classes[label]);
    };
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

std::vector<double> PrecisionRecall::class_means(const MeanQuery& query) const {
    const auto found = values(query);
    const std::size_t rows = labels_ > 0 ? found.size() / labels_ : 0;
    std::vector<double> means(labels_, absent), own(rows);
    for (std::size_t label = 0; rows > 0 && label < labels_; ++label) {
        for (std::size_t row = 0; row < rows; ++row) own[row] = found[row * labels_ + label];
        means[label] = sum_pairwise(own) / static_cast<double>(rows);
    }
    return means;
}

void clear_arrays(const ArraySpans& out, double missing) {
    for (const auto& values : {out.precision, out.confidence, out.recall}) std::ranges::fill(values, missing);
}

void fill_arrays(const AccumulationInput& given, const Rules& rules, const ArrayPlace& place, unsigned threads,
                 const ArraySpans& out) {
    const std::size_t ranges = rules.range_count(), max_dets = rules.max_dets.size(), levels = rules.recalls.size();
    const std::size_t cells = place.labels * ranges * max_dets;  // of a threshold and a recall
    const std::size_t first = place.block * most_thresholds, label = place.first_label * ranges * max_dets;
    const Strides strides{max_dets, levels * cells, cells, ranges * max_dets, 1};
    const Strides recall_strides{max_dets, cells, 0, ranges * max_dets, 1};
    std::vector<CurveTask> tasks;
    for (std::size_t most = 0; most < max_dets; ++most) {
        const std::size_t at = first * strides.threshold + label + most;
        const bool is_last = most + 1 == max_dets;
        tasks.push_back({{rules.recalls, max_dets, most, ranges},
                         {out.precision.subspan(at), out.confidence.subspan(at), strides,
                          is_last ? out.recall.subspan(first * cells + label) : std::span<double>{}, recall_strides}});
    }
    accumulate(given, tasks, threads);
}

}  // namespace verite
