#include "evaluation/numbers.hpp"

#include <algorithm>
#include <limits>

#include "evaluation/constants.hpp"

namespace verite {

PrecisionRecall::PrecisionRecall(const Rules& rules, std::size_t labels, std::span<const double> positives)
    : labels_(labels),
      ranges_(rules.range_count()),
      thresholds_(rules.thresholds.size()),
      levels_(rules.recalls.size()),
      limits_(rules.limits.size()),
      precision_(ranges_ * thresholds_ * levels_ * labels_, absent),
      recall_(limits_ * ranges_ * thresholds_ * labels_, absent),
      positives_(positives.begin(), positives.end()) {}

Curves PrecisionRecall::curves(std::size_t first) {
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

bool PrecisionRecall::has(const Choice& choice) const {
    const bool has_threshold =
        !choice.threshold || (*choice.threshold >= -1 && *choice.threshold < static_cast<std::int64_t>(thresholds_));
    return has_threshold && choice.range < ranges_ && choice.limit < limits_;
}

std::span<const double> PrecisionRecall::values(const Choice& choice) const {
    const std::size_t row = choice.is_precision ? levels_ * labels_ : labels_;  // numbers of one threshold
    const std::size_t block = choice.is_precision ? choice.range : choice.limit * ranges_ + choice.range;
    const auto all = std::span(choice.is_precision ? precision_ : recall_).subspan(block * thresholds_ * row);
    if (!choice.threshold) return all.first(thresholds_ * row);
    if (*choice.threshold < 0) return {};
    return all.subspan(static_cast<std::size_t>(*choice.threshold) * row, row);
}

double PrecisionRecall::mean(const Choice& choice, std::span<const std::uint8_t> classes) const {
    auto found = values(choice);
    Array<double> present;
    const auto is_present = [&](std::size_t label) {
        return positives_[label * ranges_ + choice.range] > 0 && (classes.empty() || classes[label]);
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

std::vector<double> PrecisionRecall::class_means(const Choice& choice) const {
    const auto found = values(choice);
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

void fill_arrays(const Walked& walk, const Rules& rules, const ArrayPlace& place, unsigned threads,
                 const ArraySpans& out) {
    const std::size_t ranges = rules.range_count(), limits = rules.limits.size(), levels = rules.recalls.size();
    const std::size_t cells = place.labels * ranges * limits;  // of a threshold and a recall
    const std::size_t first = place.block * most_thresholds, label = place.first_label * ranges * limits;
    const Strides strides{limits, levels * cells, cells, ranges * limits, 1};
    const Strides recall_strides{limits, cells, 0, ranges * limits, 1};
    std::vector<Question> questions;
    for (std::size_t most = 0; most < limits; ++most) {
        const std::size_t at = first * strides.threshold + label + most;
        const bool is_last = most + 1 == limits;
        questions.push_back(
            {{rules.recalls, limits, most, ranges},
             {out.precision.subspan(at), out.confidence.subspan(at), strides,
              is_last ? out.recall.subspan(first * cells + label) : std::span<double>{}, recall_strides}});
    }
    accumulate(walk, questions, threads);
}

}  // namespace verite
