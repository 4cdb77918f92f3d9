#include "evaluation/precision_recall.hpp"

#include <algorithm>
#include <limits>

#include "evaluation/constants.hpp"

namespace verite {

std::size_t count_curve_points(const Rules& rules, std::span<const double> positives) {
    const auto curves = static_cast<std::size_t>(std::ranges::count_if(positives, [](double n) { return n > 0; }));
    return curves * rules.thresholds.size() * rules.recalls.size();
}

PrecisionRecall::PrecisionRecall(const Rules& rules, std::size_t labels, std::span<const double> positives)
    : labels_(labels),
      ranges_(rules.range_count()),
      thresholds_(rules.thresholds.size()),
      levels_(rules.recalls.size()),
      max_dets_(rules.max_dets.size()),
      recall_(max_dets_ * ranges_ * thresholds_ * labels_, absent) {
    lay_out(positives);
}

void PrecisionRecall::lay_out(std::span<const double> positives) {
    positives_.assign(positives.begin(), positives.end());
    first_.assign(ranges_, 0);
    width_.assign(ranges_, 0);
    column_.assign(ranges_ * labels_, CurveColumns::none);
    std::size_t size = 0;
    for (std::size_t range = 0; range < ranges_; ++range) {
        for (std::size_t label = 0; label < labels_; ++label)
            if (positives_[label * ranges_ + range] > 0)
                column_[range * labels_ + label] = static_cast<std::uint32_t>(width_[range]++);
        first_[range] = size;
        size += thresholds_ * levels_ * width_[range];
    }
    precision_.assign(size, absent);
}

PrecisionRecall PrecisionRecall::join(std::vector<PrecisionRecall> parts) {
    if (parts.size() == 1) return std::move(parts.front());
    PrecisionRecall all = parts.front();
    all.labels_ = 0;
    Array<double> positives;
    for (const PrecisionRecall& part : parts) {
        all.labels_ += part.labels_;
        positives.insert(positives.end(), part.positives_.begin(), part.positives_.end());
    }
    all.lay_out(positives);
    all.recall_.assign(all.max_dets_ * all.ranges_ * all.thresholds_ * all.labels_, absent);
    // Rows of the parts one beside the other.
    const auto place = [](std::span<const double> from, std::size_t width, double* to, std::size_t stride) {
        for (std::size_t row = 0; row * width < from.size(); ++row)
            std::ranges::copy(from.subspan(row * width, width), to + row * stride);
    };
    std::vector<std::size_t> columns(all.ranges_, 0);
    std::size_t label = 0;
    for (const PrecisionRecall& part : parts) {
        for (std::size_t range = 0; range < all.ranges_; ++range) {
            const std::size_t width = part.width_[range];
            const auto own =
                std::span(part.precision_).subspan(part.first_[range], part.thresholds_ * part.levels_ * width);
            place(own, width, all.precision_.data() + all.first_[range] + columns[range], all.width_[range]);
            columns[range] += width;
        }
        place(part.recall_, part.labels_, all.recall_.data() + label, all.labels_);
        label += part.labels_;
    }
    return all;
}

CurveOutput PrecisionRecall::curves(std::size_t first) {
    const Strides recall_strides{thresholds_ * labels_, labels_, 0, 1, ranges_ * thresholds_ * labels_};
    return {precision_,
            {},
            {},
            std::span(recall_).subspan(first * recall_strides.threshold),
            recall_strides,
            CurveColumns{first_, width_, column_, labels_, levels_, first}};
}

Array<double> PrecisionRecall::precision(std::size_t ranges) const {
    const std::size_t rows = thresholds_ * levels_;
    Array<double> all(ranges * rows * labels_, absent);
    for (std::size_t range = 0; range < ranges; ++range)
        for (std::size_t row = 0; row < rows; ++row)
            for (std::size_t label = 0; label < labels_; ++label)
                if (const std::uint32_t column = column_of(range, label); column != CurveColumns::none)
                    all[(range * rows + row) * labels_ + label] =
                        precision_[first_[range] + row * width_[range] + column];
    return all;
}

void PrecisionRecall::change(std::span<const double> positives, std::span<const std::int32_t> labels) {
    const PrecisionRecall before = *this;
    lay_out(positives);
    std::vector<bool> is_changed(labels_, false);
    for (const std::int32_t label : labels) {
        is_changed[static_cast<std::size_t>(label)] = true;
        for (auto i = static_cast<std::size_t>(label); i < recall_.size(); i += labels_) recall_[i] = absent;
    }
    for (std::size_t range = 0; range < ranges_; ++range)
        for (std::size_t label = 0; label < labels_; ++label) {
            const std::uint32_t from = before.column_of(range, label), to = column_of(range, label);
            if (is_changed[label] || from == CurveColumns::none || to == CurveColumns::none) continue;
            for (std::size_t row = 0; row < thresholds_ * levels_; ++row)
                precision_[first_[range] + row * width_[range] + to] =
                    before.precision_[before.first_[range] + row * before.width_[range] + from];
        }
}

bool PrecisionRecall::has(const MeanQuery& query) const {
    const bool has_threshold =
        !query.threshold || (*query.threshold >= -1 && *query.threshold < static_cast<std::int64_t>(thresholds_));
    const bool has_classes = query.classes.empty() || query.classes.size() == labels_;
    return !is_of_counts(query.statistic) && has_threshold && has_classes && query.range < ranges_ &&
           query.limit < max_dets_;
}

// The numbers of a query, [threshold][recall][column] of precision or [threshold][class] of recall.
std::span<const double> PrecisionRecall::values(const MeanQuery& query) const {
    const std::size_t row = query.is_precision() ? levels_ * width_[query.range] : labels_;  // numbers of one threshold
    const std::size_t first =
        query.is_precision() ? first_[query.range] : (query.limit * ranges_ + query.range) * thresholds_ * row;
    const auto all = std::span(query.is_precision() ? precision_ : recall_).subspan(first, thresholds_ * row);
    if (!query.threshold) return all;
    if (*query.threshold < 0) return {};
    return all.subspan(static_cast<std::size_t>(*query.threshold) * row, row);
}

bool PrecisionRecall::is_present(std::size_t label, const MeanQuery& query) const {
    return column_of(query.range, label) != CurveColumns::none && (query.classes.empty() || query.classes[label]);
}

double PrecisionRecall::mean(const MeanQuery& query) const {
    auto found = values(query);
    const std::size_t width = query.is_precision() ? width_[query.range] : labels_;
    std::vector<std::size_t> columns;  // that the mean is taken of
    for (std::size_t label = 0; label < labels_; ++label)
        if (is_present(label, query)) columns.push_back(query.is_precision() ? column_of(query.range, label) : label);
    Array<double> present;
    if (columns.size() < width) {
        present.reserve(width > 0 ? found.size() / width * columns.size() : 0);
        for (std::size_t row = 0; row < found.size(); row += width)
            for (const std::size_t column : columns) present.push_back(found[row + column]);
        found = present;
    }
    return found.empty() ? absent : sum_pairwise(found) / static_cast<double>(found.size());
}

std::vector<double> PrecisionRecall::class_means(const MeanQuery& query) const {
    const auto found = values(query);
    const std::size_t width = query.is_precision() ? width_[query.range] : labels_;
    const std::size_t rows = width > 0 ? found.size() / width : 0;
    std::vector<double> means(labels_, absent), own(rows);
    for (std::size_t label = 0; rows > 0 && label < labels_; ++label) {
        if (column_of(query.range, label) == CurveColumns::none) continue;
        const std::size_t column = query.is_precision() ? column_of(query.range, label) : label;
        for (std::size_t row = 0; row < rows; ++row) own[row] = found[row * width + column];
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
