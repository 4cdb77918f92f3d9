// Precision and recall of merged states, a few classes at a time, so that memory is bounded by the largest.
#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "columns/parallel.hpp"
#include "evaluation/state.hpp"

namespace verite {
namespace {

constexpr std::size_t rows_at_once = std::size_t{1} << 22;  // of classes that are accumulated together

// A few classes, as accumulation reads them.
class ClassRows {
  public:
    explicit ClassRows(std::span<const Section> sections)
        : ranges_(sections[0].counts.width()), width_(sections[0].outcomes.width()), offsets_(1, 0) {
        for (const Section& section : sections) {
            const auto base = static_cast<std::uint32_t>(words_.size() / width_);
            for (std::size_t i = 0; i < section.outcomes.size(); ++i)
                words_.insert(words_.end(), section.outcomes[i].begin(), section.outcomes[i].end());
            for (const Row& row : section.rows) {
                outcome_.push_back(base + row.outcome);
                confidence_.push_back(confidence_of(row.key));
            }
            offsets_.push_back(static_cast<std::int64_t>(outcome_.size()));
            for (std::size_t range = 0; range < ranges_; ++range) {
                double sum = 0;
                for (const Cell& cell : section.cells) sum += section.counts[cell.counts][range];
                positives_.push_back(sum);
            }
        }
        order_.resize(outcome_.size());
        std::iota(order_.begin(), order_.end(), 0);
    }

    std::span<const double> positives() const { return positives_; }
    std::span<const std::int64_t> offsets() const { return offsets_; }

    // So many thresholds, from block * 16 on.
    AccumulationInput walk(std::size_t block, std::size_t thresholds) {
        distinct_predictions_.clear();
        outcomes_.clear();
        for (std::size_t at = 0; at < words_.size(); at += width_) {
            PredictionFlags prediction;
            prediction.flags = words_[at];
            prediction.outcome = -1;
            const auto own = std::span(words_).subspan(at + 1 + block * ranges_, ranges_);
            if (std::ranges::any_of(own, [](std::uint32_t word) { return word != 0; })) {
                prediction.outcome = static_cast<std::int32_t>(outcomes_.size() / ranges_);
                for (const std::uint32_t word : own)
                    outcomes_.push_back({static_cast<ThresholdSet>(word), static_cast<ThresholdSet>(word >> 16)});
            }
            distinct_predictions_.push_back(prediction);
        }
        predictions_.resize(outcome_.size());
        for (std::size_t i = 0; i < outcome_.size(); ++i) predictions_[i] = distinct_predictions_[outcome_[i]];
        return {order_, offsets_, predictions_, outcomes_, confidence_, positives_, thresholds, ranges_};
    }

  private:
    std::size_t ranges_, width_;
    Array<std::int64_t> offsets_;
    Array<std::int32_t> order_;
    Array<std::uint32_t> outcome_;  // of each row
    Array<double> confidence_;
    Array<double> positives_;     // [label][range]
    Array<std::uint32_t> words_;  // [outcome]
    // Of the current block of thresholds.
    Array<PredictionFlags> distinct_predictions_, predictions_;
    Array<Outcome> outcomes_;
};

std::size_t thresholds_of(const Rules& rules, std::size_t block) {
    return std::min(rules.thresholds.size() - block * most_thresholds, most_thresholds);
}

}  // namespace

template <class Visit>
void Merger::visit_classes(unsigned threads, Visit&& visit) const {
    for (std::size_t label = 0; label < labels_.size();) {
        std::size_t last = label, rows = 0;
        while (last < labels_.size() && (last == label || rows < rows_at_once)) {
            for (std::size_t p = 0; p < states_.size(); ++p)
                if (const std::int32_t place = label_places_[last][p]; place >= 0)
                    rows += count_rows(states_[p]->sections[static_cast<std::size_t>(place)]);
            ++last;
        }
        std::vector<Section> sections(last - label);
        in_parallel(sections.size(), threads, [&](std::size_t i) { sections[i] = gather(label + i); });
        ClassRows classes(sections);
        sections.clear();
        visit(label, classes);
        label = last;
    }
}

PrecisionRecall Merger::numbers(unsigned threads) const {
    const Rules& rules = first().rules;
    const std::size_t ranges = rules.range_count(), max_dets = rules.max_dets.size();
    std::vector<PrecisionRecall> found;
    visit_classes(threads, [&](std::size_t, ClassRows& classes) {
        PrecisionRecall& some = found.emplace_back(rules, classes.offsets().size() - 1, classes.positives());
        for (std::size_t block = 0; block < first().blocks(); ++block) {
            AccumulationInput walk = classes.walk(block, thresholds_of(rules, block));
            walk.confidence = {};
            accumulate(walk, {rules.recalls, max_dets, max_dets - 1, ranges}, nullptr, threads,
                       some.curves(block * most_thresholds));
        }
    });
    if (found.empty()) return PrecisionRecall(rules, 0, {});
    return PrecisionRecall::join(std::move(found));
}

void Merger::fill_arrays(double absent, std::span<double> precision, std::span<double> confidence,
                         std::span<double> recall, unsigned threads) const {
    const ArraySpans out{precision, confidence, recall};
    clear_arrays(out, absent);
    visit_classes(threads, [&](std::size_t label, ClassRows& classes) {
        for (std::size_t block = 0; block < first().blocks(); ++block)
            verite::fill_arrays(classes.walk(block, thresholds_of(first().rules, block)), first().rules,
                                {block, label, labels_.size()}, threads, out);
    });
}

std::vector<CurveSummary> Merger::curve_summaries(std::size_t threshold, unsigned threads) const {
    if (threshold >= first().rules.thresholds.size())
        throw std::invalid_argument("curves: expected one of the thresholds");
    std::vector<CurveSummary> found;
    const std::size_t block = threshold / most_thresholds;
    visit_classes(threads, [&](std::size_t, ClassRows& classes) {
        const auto some = summarise_curves(classes.walk(block, thresholds_of(first().rules, block)),
                                           threshold % most_thresholds, threads);
        found.insert(found.end(), some.begin(), some.end());
    });
    return found;
}

std::vector<Merger::Count> Merger::counts(unsigned threads) const {
    std::vector<Count> found;
    const std::size_t ranges = first().rules.range_count();
    visit_classes(threads, [&](std::size_t, ClassRows& classes) {
        for (std::size_t i = 0; i + 1 < classes.offsets().size(); ++i)
            found.push_back({static_cast<std::int64_t>(classes.positives()[i * ranges]),
                             classes.offsets()[i + 1] - classes.offsets()[i]});
    });
    return found;
}

}  // namespace verite
