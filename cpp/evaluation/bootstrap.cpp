#include "evaluation/bootstrap.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

#include "columns/parallel.hpp"
#include "evaluation/constants.hpp"
#include "evaluation/deletions.hpp"
#include "evaluation/rematch.hpp"
#include "evaluation/true_positive_ranks.hpp"

namespace verite {
namespace {

// The largest weight of an image whose predictions are repeated one by one.
constexpr double most_copies = std::numeric_limits<std::uint8_t>::max();

// Outcomes that change when one annotation is removed are fewer.
constexpr std::size_t most_deletions = 64;

OutcomeWord word_of(const PredictionFlags& prediction, const Outcome& outcome, std::size_t range) {
    const ThresholdSet ignored = prediction.is_outside(range) ? ThresholdSet(~ThresholdSet{0}) : outcome.ignored;
    return OutcomeWord{outcome.tp} | OutcomeWord(ignored & static_cast<ThresholdSet>(~outcome.tp)) << 16;
}

Outcome outcome_of(const PredictionOutcomes& flags, const PredictionFlags& prediction, std::size_t range) {
    return prediction.outcome < 0 ? Outcome{0, 0}
                                  : flags.outcomes[static_cast<std::size_t>(prediction.outcome) * flags.ranges + range];
}

// The queries of one area range.
struct QueriedRange {
    std::size_t range;
    std::vector<ThresholdSet> precision;  // [block]
    bool has_recall = false, has_counts = false;
    std::vector<std::int32_t> truth_images;  // of ground-truth objects that are not ignored, class by class
    std::vector<std::size_t> truth_offsets;
};

// What all replicates share, class by class and by descending confidence.
struct PreparedQueries {
    PreparedQueries(const Evaluation& evaluation, std::span<const MeanQuery> queries) : evaluation(evaluation) {
        for (const MeanQuery& query : queries) add(query);
        for (QueriedRange& queried : ranges) list_truths(queried);
        const auto& order = evaluation.preds().by_label;
        place.resize(order.size());
        limit.resize(order.size());
        words.resize(evaluation.pred_outcomes().size() * ranges.size());
        for (auto& column : words) column.resize(order.size());
        for (std::size_t i = 0; i < order.size(); ++i) {
            const auto index = static_cast<std::size_t>(order[i]);
            place[index] = static_cast<std::int32_t>(i);
            for (std::size_t block = 0; block < evaluation.pred_outcomes().size(); ++block) {
                const PredictionOutcomes& flags = evaluation.pred_outcomes()[block];
                const PredictionFlags& prediction = flags.predictions[index];
                limit[i] = static_cast<std::uint8_t>(prediction.limit());
                for (std::size_t r = 0; r < ranges.size(); ++r)
                    words[block * ranges.size() + r][i] =
                        word_of(prediction, outcome_of(flags, prediction, ranges[r].range), ranges[r].range);
            }
        }
    }

    void add(const MeanQuery& query) {
        const std::size_t r = range_at(query.range);
        if (r == ranges.size()) {
            ranges.push_back({query.range, {}, false, false, {}, {}});
            ranges[r].precision.assign(evaluation.pred_outcomes().size(), 0);
        }
        ranges[r].has_recall |= query.statistic == Statistic::average_recall;
        ranges[r].has_counts |= is_of_counts(query.statistic);
        for (std::size_t block = 0; block < evaluation.pred_outcomes().size() && query.is_precision(); ++block)
            for (std::size_t t = 0; t < evaluation.pred_outcomes()[block].thresholds; ++t)
                if (!query.threshold || static_cast<std::size_t>(*query.threshold) == block * most_thresholds + t)
                    ranges[r].precision[block] |= static_cast<ThresholdSet>(1u << t);
    }

    // The images of ground-truth objects that are not ignored in a range, class by class.
    void list_truths(QueriedRange& queried) const {
        const GroupedObjects& truths = evaluation.truths();
        const auto visit = [&](const auto& see) {
            for (std::size_t image = 0; image < evaluation.images(); ++image)
                for (auto index = static_cast<std::size_t>(truths.images[image]);
                     index < static_cast<std::size_t>(truths.images[image + 1]); ++index)
                    if (!(evaluation.ignored()[index] >> queried.range & 1))
                        see(static_cast<std::size_t>(truths.labels[index]), static_cast<std::int32_t>(image));
        };
        queried.truth_offsets.assign(evaluation.labels() + 2, 0);
        visit([&](std::size_t label, std::int32_t) { ++queried.truth_offsets[label + 2]; });
        for (std::size_t i = 2; i < queried.truth_offsets.size(); ++i)
            queried.truth_offsets[i] += queried.truth_offsets[i - 1];
        queried.truth_images.resize(queried.truth_offsets.back());
        visit([&](std::size_t label, std::int32_t image) {
            queried.truth_images[queried.truth_offsets[label + 1]++] = image;
        });
    }

    std::size_t range_at(std::size_t range) const {
        return static_cast<std::size_t>(std::ranges::find(ranges, range, &QueriedRange::range) - ranges.begin());
    }

    const Evaluation& evaluation;
    std::vector<QueriedRange> ranges;
    Array<std::int32_t> place;              // of each index in the order of confidences
    Array<std::uint8_t> limit;              // the index of the smallest maxDets that each prediction is within
    std::vector<Array<OutcomeWord>> words;  // [block][range]
};

// Evaluates one replicate after the other; each thread has its own.
class MeanSimulator {
  public:
    MeanSimulator(const PreparedQueries& prepared, const Truths& addable, std::span<const MeanQuery> queries)
        : prepared_(prepared),
          queries_(queries),
          addable_(addable),
          evaluation_(prepared.evaluation),
          rules_(evaluation_.rules()),
          labels_(evaluation_.labels()),
          max_dets_(rules_.max_dets.size()),
          words_(prepared.words),
          rematch_(evaluation_, addable),
          ranks_(rules_.recalls, rules_.recalls.empty() ? 0 : epsilon) {
        const std::size_t cells = prepared.ranges.size() * rules_.thresholds.size() * labels_;
        for (auto* table : {&base_.precision, &now_.precision}) table->assign(cells, absent);
        for (auto* table : {&base_.tp, &now_.tp, &base_.fp, &now_.fp}) table->assign(cells, 0.0);
        for (auto* table : {&base_.recall, &now_.recall}) table->assign(cells * max_dets_, absent);
        deletions_.resize(words_.size() * labels_);
        positives_.assign(evaluation_.positives().begin(), evaluation_.positives().end());
        for (std::size_t label = 0; label < labels_; ++label) walk(label, nullptr, base_);
    }

    void simulate(const Replicate& replicate, std::span<double> out) {
        std::optional<Weighting> weighting;
        if (!replicate.weights.empty()) weighting = evaluation_.weighting(replicate.weights);
        if (weighting && !repeats(replicate.weights)) return evaluate_once(replicate, out);
        weigh(weighting ? &*weighting : nullptr);
        match(replicate);
        if (changes_) changed_truth_->count(replicate.weights, rules_.range_count(), positives_);
        if (weighting) {
            for (std::size_t label = 0; label < labels_; ++label) walk(label, &*weighting, now_);
            is_far_from_base_ = true;
        } else {
            restore();
            if (changes_) differing_ = changed_truth_->labels;
            for (const std::int32_t label : differing_) walk(static_cast<std::size_t>(label), nullptr, now_);
        }
        for (std::size_t i = 0; i < queries_.size(); ++i) out[i] = mean(queries_[i]);
    }

  private:
    struct WordChange {
        std::size_t column, place;
        OutcomeWord before;
    };
    struct DeletionClass {
        double positives = absent;
        std::optional<DeletionAverages> averages;
    };
    struct Tables {
        Array<double> precision;  // [range][threshold][label]
        Array<double> recall;     // [limit][range][threshold][label]
        Array<double> tp, fp;     // [range][threshold][label]
    };

    // Sets `now_` to `base_`.
    void restore() {
        if (is_far_from_base_) now_ = base_;
        is_far_from_base_ = false;
        for (const std::int32_t differing : differing_)
            for (auto [now, base] : {std::pair(&now_.precision, &base_.precision), std::pair(&now_.tp, &base_.tp),
                                     std::pair(&now_.fp, &base_.fp), std::pair(&now_.recall, &base_.recall)})
                for (auto at = static_cast<std::size_t>(differing); at < now->size(); at += labels_)
                    (*now)[at] = (*base)[at];
        differing_.clear();
    }

    // Whether all weights are small whole numbers, so that predictions can be repeated; writes them to copies_.
    bool repeats(std::span<const double> weights) {
        copies_.resize(weights.size());
        for (std::size_t image = 0; image < weights.size(); ++image) {
            if (weights[image] > most_copies || weights[image] != std::floor(weights[image])) return false;
            copies_[image] = static_cast<std::uint8_t>(weights[image]);
        }
        const double most = weights.empty() ? 0 : std::ranges::max(weights);
        return most * static_cast<double>(evaluation_.preds().by_label.size()) < 0x1p31;
    }

    // Weights that are not small whole numbers, evaluated in the general way.
    void evaluate_once(const Replicate& replicate, std::span<double> out) const {
        const bool has_counts = std::ranges::any_of(prepared_.ranges, &QueriedRange::has_counts);
        if (rules_.recalls.empty() || has_counts)
            throw std::invalid_argument(
                "weights: expected whole numbers up to 255 where precision is not interpolated at recall levels");
        const TruthChanges none{};
        const PrecisionRecall found =
            evaluation_.change(replicate.changes ? *replicate.changes : none, addable_, replicate.weights, 1);
        for (std::size_t i = 0; i < queries_.size(); ++i) out[i] = found.mean(queries_[i]);
    }

    // Counts ground-truth objects that are not ignored, weighted by image.
    void weigh(const Weighting* weighting) {
        positives_.assign(evaluation_.positives().begin(), evaluation_.positives().end());
        if (!weighting) return;
        for (const QueriedRange& queried : prepared_.ranges)
            for (std::size_t label = 0; label < labels_; ++label) {
                std::uint32_t sum = 0;
                for (std::size_t i = queried.truth_offsets[label]; i < queried.truth_offsets[label + 1]; ++i)
                    sum += copies_[static_cast<std::size_t>(queried.truth_images[i])];
                positives_[label * rules_.range_count() + queried.range] = sum;
            }
    }

    // Matches the changed ground truth, unless that was done for the replicate before.
    void match(const Replicate& replicate) {
        if (replicate.changes == changes_) return;
        for (auto at = changed_.rbegin(); at != changed_.rend(); ++at) words_[at->column][at->place] = at->before;
        changed_.clear();
        changes_ = replicate.changes;
        if (!changes_) return;
        changed_truth_ = replicate.changed;
        if (!changed_truth_) {
            if (!changer_) changer_.emplace(evaluation_, addable_);
            changer_->apply(*changes_, own_changed_truth_);
            changed_truth_ = &own_changed_truth_;
        }
        rematch_.run(*changed_truth_, [&](std::size_t block, std::size_t index, std::span<const Outcome> outcomes) {
            write(block, index, outcomes);
        });
    }

    // What is kept by index lies side by side in memory, words lie anywhere: only those that change are looked up.
    void write(std::size_t block, std::size_t index, std::span<const Outcome> outcomes) {
        const PredictionOutcomes& flags = evaluation_.pred_outcomes()[block];
        const PredictionFlags& prediction = flags.predictions[index];
        for (std::size_t r = 0; r < prepared_.ranges.size(); ++r) {
            const std::size_t range = prepared_.ranges[r].range;
            const OutcomeWord before = word_of(prediction, outcome_of(flags, prediction, range), range);
            const OutcomeWord word = word_of(prediction, outcomes[range], range);
            if (word == before) continue;
            const std::size_t column = block * prepared_.ranges.size() + r;
            const auto at = static_cast<std::size_t>(prepared_.place[index]);
            changed_.push_back({column, at, before});
            words_[column][at] = word;
        }
    }

    std::size_t cell(std::size_t r, std::size_t threshold, std::size_t label) const {
        return (r * rules_.thresholds.size() + threshold) * labels_ + label;
    }

    void walk(std::size_t label, const Weighting* weighting, Tables& tables) {
        for (std::size_t r = 0; r < prepared_.ranges.size(); ++r) {
            const QueriedRange& queried = prepared_.ranges[r];
            const double positives = positives_[label * rules_.range_count() + queried.range];
            for (std::size_t block = 0; block < evaluation_.pred_outcomes().size(); ++block) {
                const auto given = words_of(words_[block * prepared_.ranges.size() + r], label, weighting);
                means_.assign(evaluation_.pred_outcomes()[block].thresholds, absent);
                if (positives > 0 && queried.precision[block] &&
                    (weighting || !average_deletions(block, r, label, given, positives))) {
                    ranks_.read(given);
                    ranks_.average(queried.precision[block], positives, means_);
                }
                write_means(tables.precision, cell(r, block * most_thresholds, label));
                if (queried.has_counts) {
                    count_true_positives(given, max_dets_ - 1, means_);
                    write_means(tables.tp, cell(r, block * most_thresholds, label));
                    count_false_positives(given, means_);
                    write_means(tables.fp, cell(r, block * most_thresholds, label));
                }
                for (std::size_t limit = 0; limit < max_dets_ && queried.has_recall; ++limit) {
                    if (positives > 0) count_true_positives(given, limit, means_);
                    for (double& mean : means_) mean = positives > 0 ? mean / positives : absent;
                    write_means(tables.recall,
                                limit * base_.precision.size() + cell(r, block * most_thresholds, label));
                }
            }
        }
    }

    // Average precision where at each threshold at most one true positive is no more and nothing else has changed,
    // which is so for most removals of one annotation. Writes means_; false where it is not so, or where the class is
    // evaluated for the first time with so many positives.
    bool average_deletions(std::size_t block, std::size_t r, std::size_t label, const ClassWords& given,
                           double positives) {
        if (rules_.recalls.empty() || !changes_ || changed_.size() > most_deletions) return false;
        const std::size_t column = block * prepared_.ranges.size() + r;
        const auto first = static_cast<std::size_t>(evaluation_.preds().label_offsets[label]);
        std::optional<std::size_t> places[most_thresholds];
        for (const WordChange& change : changed_) {
            if (change.column != column || change.place < first || change.place >= first + given.words.size()) continue;
            const OutcomeWord now = words_[column][change.place], gone = change.before & ~now;
            if ((now & ~change.before) || gone >> 16) return false;
            for (OutcomeWord rest = gone; rest; rest &= rest - 1) {
                auto& place = places[std::countr_zero(rest)];
                if (place) return false;
                place = change.place - first;
            }
        }
        DeletionClass& kept = deletions_[column * labels_ + label];
        if (!kept.averages || kept.averages->positives() != positives) {
            if (kept.positives != positives) {
                kept.positives = positives;
                return false;
            }
            base_words_.assign(given.words.begin(), given.words.end());
            for (auto change = changed_.rbegin(); change != changed_.rend(); ++change)
                if (change->column == column && change->place >= first && change->place < first + base_words_.size())
                    base_words_[change->place - first] = change->before;
            kept.averages.emplace(rules_.recalls, epsilon, base_words_, prepared_.ranges[r].precision[block],
                                  positives);
        }
        for (std::size_t t = 0; t < means_.size(); ++t)
            if (prepared_.ranges[r].precision[block] >> t & 1) means_[t] = kept.averages->average(t, places[t]);
        return true;
    }

    void write_means(std::span<double> table, std::size_t first) const {
        for (std::size_t t = 0; t < means_.size(); ++t) table[first + t * labels_] = means_[t];
    }

    ClassWords words_of(std::span<const OutcomeWord> words, std::size_t label, const Weighting* weighting) const {
        const auto first = static_cast<std::size_t>(evaluation_.preds().label_offsets[label]);
        const auto last = static_cast<std::size_t>(evaluation_.preds().label_offsets[label + 1]);
        const auto of_class = [&](auto all) { return all.subspan(first, last - first); };
        ClassWords given{of_class(words), of_class(std::span(prepared_.limit)), {}, {}, {}};
        if (weighting) {
            given.image = of_class(weighting->image);
            given.runs = of_class(weighting->runs);
            given.copies = copies_;
        }
        return given;
    }

    double mean(const MeanQuery& query) {
        const std::size_t r = prepared_.range_at(query.range), all = rules_.thresholds.size();
        const auto first = static_cast<std::size_t>(query.threshold.value_or(0));
        const std::size_t last = query.threshold ? first + 1 : all;
        if (query.threshold && *query.threshold < 0) return absent;
        if (is_of_counts(query.statistic)) return mean_of_counts(query, r, first, last);
        const double* table =
            query.is_precision() ? now_.precision.data() : &now_.recall[query.limit * base_.precision.size()];
        present_.clear();
        for (std::size_t t = first; t < last; ++t)
            for (std::size_t label = 0; label < labels_; ++label) {
                const double value = table[cell(r, t, label)];
                if (!std::isnan(value) && (query.classes.empty() || query.classes[label])) present_.push_back(value);
            }
        return present_.empty() ? absent : sum_pairwise(present_) / static_cast<double>(present_.size());
    }

    // Thresholds at which the statistic is undefined are left out, as for a micro-average without any objects.
    double mean_of_counts(const MeanQuery& query, std::size_t r, std::size_t first, std::size_t last) {
        const std::size_t range = prepared_.ranges[r].range;
        const auto of = [&](double tp, double fp, double truths) {
            switch (query.statistic) {
                case Statistic::micro_precision:
                case Statistic::macro_precision:
                    return tp + fp > 0 ? tp / (tp + fp) : truths > 0 ? 0.0 : absent;
                case Statistic::micro_recall:
                case Statistic::macro_recall:
                    return truths > 0 ? tp / truths : absent;
                default:
                    return truths + tp + fp > 0 ? 2 * tp / (truths + tp + fp) : absent;
            }
        };
        const bool is_micro = query.statistic < Statistic::macro_precision;
        present_.clear();
        for (std::size_t t = first; t < last; ++t) {
            double tp = 0, fp = 0, truths = 0, sum = 0, classes = 0;
            for (std::size_t label = 0; label < labels_; ++label) {
                if (!query.classes.empty() && !query.classes[label]) continue;
                const double own_tp = now_.tp[cell(r, t, label)], own_fp = now_.fp[cell(r, t, label)];
                const double own_truths = positives_[label * rules_.range_count() + range];
                tp += own_tp, fp += own_fp, truths += own_truths;
                if (is_micro || !(own_truths > 0)) continue;
                sum += of(own_tp, own_fp, own_truths);
                ++classes;
            }
            const double value = is_micro ? of(tp, fp, truths) : classes > 0 ? sum / classes : absent;
            if (!std::isnan(value)) present_.push_back(value);
        }
        return present_.empty() ? absent : sum_pairwise(present_) / static_cast<double>(present_.size());
    }

    const PreparedQueries& prepared_;
    std::span<const MeanQuery> queries_;
    const Truths& addable_;
    const Evaluation& evaluation_;
    const Rules& rules_;
    const std::size_t labels_, max_dets_;
    std::vector<Array<OutcomeWord>> words_;
    std::vector<WordChange> changed_;
    const TruthChanges* changes_ = nullptr;  // those that `words_` are of
    const ChangedTruth* changed_truth_ = nullptr;
    ChangedTruth own_changed_truth_;
    std::optional<TruthChanger> changer_;
    Rematch rematch_;
    TruePositiveRanks ranks_;
    std::vector<DeletionClass> deletions_;  // [column][label]
    std::vector<OutcomeWord> base_words_;
    Tables base_, now_;
    std::vector<std::int32_t> differing_;  // classes in which `now_` differs from `base_`
    bool is_far_from_base_ = true;         // all may differ
    Array<double> positives_;
    std::vector<std::uint8_t> copies_;  // of each image
    std::vector<double> means_, present_;
};

void check(const Evaluation& evaluation, std::span<const MeanQuery> queries) {
    const auto expect = [](bool holds, const char* what) {
        if (!holds) throw std::invalid_argument(std::string("bootstrap: expected ") + what);
    };
    const Rules& rules = evaluation.rules();
    const auto thresholds = static_cast<std::int64_t>(rules.thresholds.size());
    for (const MeanQuery& query : queries) {
        expect(query.classes.empty() || query.classes.size() == evaluation.labels(), "a flag for each class");
        expect(query.range < rules.range_count() && query.limit < rules.max_dets.size() &&
                   (!query.threshold || (*query.threshold >= -1 && *query.threshold < thresholds)),
               "thresholds, area ranges and maxDets of the evaluation");
        expect(!query.is_precision() || query.limit + 1 == rules.max_dets.size(), "precision at the largest maxDets");
    }
}

}  // namespace

std::vector<double> bootstrap_means(const Evaluation& evaluation, const Truths& addable,
                                    std::span<const Replicate> replicates, std::span<const MeanQuery> queries,
                                    unsigned threads) {
    check(evaluation, queries);
    const PreparedQueries prepared(evaluation, queries);
    std::vector<double> means(replicates.size() * queries.size());
    const std::size_t pieces =
        std::min<std::size_t>(std::max(threads, 1u), std::max<std::size_t>(replicates.size(), 1));
    in_parallel(pieces, threads, [&](std::size_t piece) {
        MeanSimulator simulator(prepared, addable, queries);
        Pause pause;
        for (std::size_t i = replicates.size() * piece / pieces; i < replicates.size() * (piece + 1) / pieces;
             ++i, pause())
            simulator.simulate(replicates[i], std::span(means).subspan(i * queries.size(), queries.size()));
    });
    return means;
}

}  // namespace verite
