#include "evaluation/draws.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "columns/parallel.hpp"
#include "evaluation/constants.hpp"
#include "evaluation/rematch.hpp"

namespace verite {
namespace {

// What became of a prediction at up to sixteen thresholds, in one range: hits in the low half, in the high half where
// it counts for nothing.
using Word = std::uint32_t;

// Counts for nothing at any threshold: as if it were not there.
constexpr Word nobody = 0xFFFF0000;

Word word_of(const Brief& brief, const Outcome& outcome, std::size_t range) {
    const Thresholds spared = brief.is_outside(range) ? Thresholds(~Thresholds{0}) : outcome.spared;
    return Word{outcome.hits} | Word(spared & static_cast<Thresholds>(~outcome.hits)) << 16;
}

Outcome outcome_of(const Flags& flags, const Brief& brief, std::size_t range) {
    return brief.outcome < 0 ? Outcome{0, 0}
                             : flags.outcomes[static_cast<std::size_t>(brief.outcome) * flags.ranges + range];
}

// What all draws share, class by class and by falling confidence.
struct Shared {
    Shared(const Evaluation& evaluation, std::span<const DrawnChoice> choices) : evaluation(evaluation) {
        for (const auto& [choice, classes] : choices)
            if (std::ranges::find(ranges, choice.range) == ranges.end()) ranges.push_back(choice.range);
        const auto& order = evaluation.preds().by_label;
        place.resize(order.size());
        limit.resize(order.size());
        words.resize(evaluation.flags().size() * ranges.size());
        for (auto& column : words) column.resize(order.size());
        for (std::size_t i = 0; i < order.size(); ++i) {
            const auto slot = static_cast<std::size_t>(order[i]);
            place[slot] = static_cast<std::int32_t>(i);
            for (std::size_t block = 0; block < evaluation.flags().size(); ++block) {
                const Flags& flags = evaluation.flags()[block];
                const Brief& brief = flags.briefs[slot];
                limit[i] = static_cast<std::uint8_t>(brief.limit());
                for (std::size_t r = 0; r < ranges.size(); ++r)
                    words[block * ranges.size() + r][i] =
                        word_of(brief, outcome_of(flags, brief, ranges[r]), ranges[r]);
            }
        }
    }

    std::size_t range_at(std::size_t range) const {
        return static_cast<std::size_t>(std::ranges::find(ranges, range) - ranges.begin());
    }

    const Evaluation& evaluation;
    std::vector<std::size_t> ranges;  // those that are asked for
    Array<std::int32_t> place;        // of each slot in the order
    Array<std::uint8_t> limit;        // the lowest one a prediction is within
    std::vector<Array<Word>> words;   // [block][range]
};

// One draw after the other, each thread with its own.
class Drawer {
  public:
    Drawer(const Shared& shared, const Truths& addable, std::span<const DrawnChoice> choices)
        : shared_(shared),
          choices_(choices),
          evaluation_(shared.evaluation),
          rules_(evaluation_.rules()),
          labels_(evaluation_.labels()),
          limits_(rules_.limits.size()),
          words_(shared.words),
          rematch_(evaluation_, addable),
          best_(most_thresholds * (rules_.recalls.size() + 1)),
          needed_(rules_.recalls.size() + 1) {
        const std::size_t cells = shared.ranges.size() * rules_.thresholds.size() * labels_;
        for (auto* table : {&base_.precision, &now_.precision}) table->assign(cells, absent);
        for (auto* table : {&base_.recall, &now_.recall}) table->assign(cells * limits_, absent);
        positives_ = evaluation_.weigh_positives({});
        for (std::size_t label = 0; label < labels_; ++label) walk(label, nullptr, base_);
    }

    void draw(const Drawn& drawn, std::span<double> out) {
        std::optional<Weighting> weighting;
        if (!drawn.weights.empty()) weighting = evaluation_.weighting(drawn.weights);
        weigh(drawn.weights);
        match(drawn.changes);
        if (changes_) rematch_.count(drawn.weights, positives_);
        const bool is_all = weighting.has_value();
        now_ = is_all ? now_ : base_;
        if (is_all)
            for (std::size_t label = 0; label < labels_; ++label) walk(label, &*weighting, now_);
        else
            for (const std::int32_t label : touched_) walk(static_cast<std::size_t>(label), nullptr, now_);
        for (std::size_t i = 0; i < choices_.size(); ++i) out[i] = mean(choices_[i]);
    }

  private:
    struct Change {
        std::size_t column, place;
        Word before;
    };
    struct Tables {
        Array<double> precision;  // [range][threshold][label]
        Array<double> recall;     // [limit][range][threshold][label]
    };

    // The truths to be found: those of the record without weights.
    void weigh(std::span<const double> weights) {
        if (weights.empty())
            positives_.assign(evaluation_.positives().begin(), evaluation_.positives().end());
        else
            positives_ = evaluation_.weigh_positives(weights);
    }

    // Matches the truth as these changes have it, unless that was done for the draw before.
    void match(const TruthChanges* changes) {
        if (changes == changes_) return;
        for (auto at = changed_.rbegin(); at != changed_.rend(); ++at) words_[at->column][at->place] = at->before;
        changed_.clear();
        touched_ = {};
        changes_ = changes;
        if (changes)
            touched_ = rematch_.run(*changes, [&](std::size_t block, std::size_t slot,
                                                  std::span<const Outcome> outcomes) { write(block, slot, outcomes); });
    }

    // Of a prediction as it was before. What is kept by slot lies side by side, words lie anywhere: only those that
    // change are looked up.
    void write(std::size_t block, std::size_t slot, std::span<const Outcome> outcomes) {
        const Flags& flags = evaluation_.flags()[block];
        const Brief& brief = flags.briefs[slot];
        for (std::size_t r = 0; r < shared_.ranges.size(); ++r) {
            const std::size_t range = shared_.ranges[r];
            const Word before = word_of(brief, outcome_of(flags, brief, range), range);
            const Word word = word_of(brief, outcomes[range], range);
            if (word == before) continue;
            const std::size_t column = block * shared_.ranges.size() + r;
            const auto at = static_cast<std::size_t>(shared_.place[slot]);
            changed_.push_back({column, at, before});
            words_[column][at] = word;
        }
    }

    std::size_t cell(std::size_t r, std::size_t threshold, std::size_t label) const {
        return (r * rules_.thresholds.size() + threshold) * labels_ + label;
    }

    void walk(std::size_t label, const Weighting* weighting, Tables& tables) {
        for (std::size_t r = 0; r < shared_.ranges.size(); ++r) {
            const double positives = positives_[label * rules_.range_count() + shared_.ranges[r]];
            const std::size_t levels = rules_.recalls.size();
            for (std::size_t i = 0; i < levels && positives > 0; ++i) needed_[i] = needed(i, positives, weighting);
            needed_[levels] = never;
            for (std::size_t block = 0; block < evaluation_.flags().size(); ++block) {
                const std::size_t count = evaluation_.flags()[block].thresholds;
                if (positives > 0) start(words_[block * shared_.ranges.size() + r], label, weighting);
                for (std::size_t t = 0; t < count; ++t) {
                    const std::size_t at = cell(r, block * most_thresholds + t, label);
                    tables.precision[at] = positives > 0 ? levels > 0 ? average(t) : sum_hits(t, positives) : absent;
                    double sum = 0;
                    for (std::size_t m = 0; m < limits_; ++m) {
                        sum += within_[m][t];
                        tables.recall[m * base_.precision.size() + at] = positives > 0 ? sum / positives : absent;
                    }
                }
            }
        }
    }

    double needed(std::size_t i, double positives, const Weighting* weighting) const {
        const double level = rules_.recalls[i];
        if (weighting && !weighting->is_whole) return level <= 1 ? level * positives * (1 - 1e-12) : never;
        return find_needed(level, positives);
    }

    // Walks the predictions of a class.
    void start(std::span<const Word> words, std::size_t label, const Weighting* weighting) {
        for (auto* counts : {&found_, &spared_, &top_}) counts->fill(0);
        below_.fill(1);
        next_.fill(needed_[0]);
        level_.fill(0);
        within_.resize(limits_ + 1);
        for (auto& counts : within_) counts.fill(0);
        for (auto& hits : hits_) hits.clear();
        seen_ = 0;
        const auto first = static_cast<std::size_t>(evaluation_.preds().label_offsets[label]);
        const auto last = static_cast<std::size_t>(evaluation_.preds().label_offsets[label + 1]);
        if (!weighting) {
            for (std::size_t i = first; i < last; ++i) look(words[i], i, 1);
            return;
        }
        const double* const weights = weighting->weights.data();
        for (std::size_t i = first; i < last; ++i) {
            const double weight = weights[weighting->image[i]];
            if (weighting->runs[i] > 1 && weight > 1 && weighting->is_whole) {
                const std::size_t end = i + weighting->runs[i];
                for (double copy = 0; copy < weight; ++copy)
                    for (std::size_t k = i; k < end; ++k) look(words[k], k, 1);
                i = end - 1;
            } else {
                look(words[i], i, weight);
            }
        }
    }

    void look(Word word, std::size_t i, double weight) {
        if (word == nobody) return;
        seen_ += weight;
        if (word && weight > 0) step(word, shared_.limit[i], weight);
    }

    void step(Word word, std::size_t limit, double weight) {
        for (Word spared = word >> 16; spared; spared &= spared - 1) spared_[std::countr_zero(spared)] += weight;
        for (Word hits = word & 0xFFFF; hits; hits &= hits - 1) {
            const int t = std::countr_zero(hits);
            within_[limit][t] += weight;
            const double found = found_[t] += weight, all = seen_ - spared_[t];
            if (rules_.recalls.empty()) {
                hits_[t].push_back({found / all, weight});
            } else if (found >= next_[t]) {
                close(t);
                std::size_t& level = level_[t];
                for (; needed_[level] <= found; ++level) best_[t * needed_.size() + level] = 0;
                next_[t] = needed_[level];
                top_[t] = found;
                below_[t] = all;
            } else if (found * below_[t] > top_[t] * all) {
                top_[t] = found;
                below_[t] = all;
            }
        }
    }

    // The best precision since the last level, at that level.
    void close(std::size_t t) {
        if (level_[t] > 0) best_[t * needed_.size() + level_[t] - 1] = top_[t] / (below_[t] + epsilon);
    }

    // The mean over all levels of the best precision at this recall or a higher one.
    double average(std::size_t t) {
        close(t);
        double best = 0, sum = 0, levels = 0;
        for (std::size_t level = level_[t]; level-- > 0; ++levels) {
            const double own = best_[t * needed_.size() + level];
            if (own <= best) continue;
            sum += best * levels;  // one rounding for all levels of the same precision
            best = own;
            levels = 0;
        }
        return (sum + best * levels) / static_cast<double>(rules_.recalls.size());
    }

    // The best precision at this recall or a higher one, summed wherever recall changes.
    double sum_hits(std::size_t t, double positives) const {
        double best = 0, sum = 0;
        for (auto hit = hits_[t].rbegin(); hit != hits_[t].rend(); ++hit) {
            best = std::max(best, hit->precision);
            sum += best * hit->weight;
        }
        return sum / positives;
    }

    double mean(const DrawnChoice& asked) {
        const auto& [choice, classes] = asked;
        const std::size_t r = shared_.range_at(choice.range), all = rules_.thresholds.size();
        const auto first = static_cast<std::size_t>(choice.threshold.value_or(0));
        const std::size_t last = choice.threshold ? first + 1 : all;
        if (choice.threshold && *choice.threshold < 0) return absent;
        const double* table =
            choice.is_precision ? now_.precision.data() : &now_.recall[choice.limit * base_.precision.size()];
        present_.clear();
        for (std::size_t t = first; t < last; ++t)
            for (std::size_t label = 0; label < labels_; ++label) {
                const double value = table[cell(r, t, label)];
                if (!std::isnan(value) && (classes.empty() || classes[label])) present_.push_back(value);
            }
        return present_.empty() ? absent : sum_pairwise(present_) / static_cast<double>(present_.size());
    }

    struct Hit {
        double precision, weight;
    };

    const Shared& shared_;
    std::span<const DrawnChoice> choices_;
    const Evaluation& evaluation_;
    const Rules& rules_;
    const std::size_t labels_, limits_;
    std::vector<Array<Word>> words_;
    std::vector<Change> changed_;
    const TruthChanges* changes_ = nullptr;  // those that `words_` are of
    std::span<const std::int32_t> touched_;  // classes
    Rematch rematch_;
    Tables base_, now_;
    Array<double> positives_;
    // Of the class being walked, by threshold
    using Counts = std::array<double, most_thresholds>;
    Counts found_, spared_, top_, below_, next_;  // the best precision since the last level is top_ / below_
    std::array<std::size_t, most_thresholds> level_;
    std::vector<Counts> within_;         // [limit] truths found within it and not a lower one
    std::vector<double> best_, needed_;  // [threshold][level], [level]
    std::array<std::vector<Hit>, most_thresholds> hits_;
    std::vector<double> present_;
    double seen_ = 0;
};

}  // namespace

std::vector<double> draw_means(const Evaluation& evaluation, const Truths& addable, std::span<const Drawn> draws,
                               std::span<const DrawnChoice> choices, unsigned threads) {
    for (const auto& [choice, classes] : choices) {
        if (!classes.empty() && classes.size() != evaluation.labels())
            throw std::invalid_argument("draws: expected a flag for each class");
        const auto thresholds = static_cast<std::int64_t>(evaluation.rules().thresholds.size());
        if (choice.range >= evaluation.rules().range_count() || choice.limit >= evaluation.rules().limits.size() ||
            (choice.threshold && (*choice.threshold < -1 || *choice.threshold >= thresholds)))
            throw std::invalid_argument("draws: expected thresholds, area ranges and limits of the evaluation");
        if (choice.is_precision && choice.limit + 1 != evaluation.rules().limits.size())
            throw std::invalid_argument("draws: expected precision at the last limit");
    }
    const Shared shared(evaluation, choices);
    std::vector<double> means(draws.size() * choices.size());
    const std::size_t pieces = std::min<std::size_t>(std::max(threads, 1u), std::max<std::size_t>(draws.size(), 1));
    in_parallel(pieces, threads, [&](std::size_t piece) {
        Drawer drawer(shared, addable, choices);
        Pause pause;
        for (std::size_t i = draws.size() * piece / pieces; i < draws.size() * (piece + 1) / pieces; ++i, pause())
            drawer.draw(draws[i], std::span(means).subspan(i * choices.size(), choices.size()));
    });
    return means;
}

}  // namespace verite
