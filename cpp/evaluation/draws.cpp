#include "evaluation/draws.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "columns/parallel.hpp"
#include "evaluation/constants.hpp"
#include "evaluation/hit_ranks.hpp"
#include "evaluation/rematch.hpp"

namespace verite {
namespace {

// How often an image may be there for its predictions to be repeated one by one.
constexpr double most_copies = std::numeric_limits<std::uint8_t>::max();

Word word_of(const Brief& brief, const Outcome& outcome, std::size_t range) {
    const Thresholds spared = brief.is_outside(range) ? Thresholds(~Thresholds{0}) : outcome.spared;
    return Word{outcome.hits} | Word(spared & static_cast<Thresholds>(~outcome.hits)) << 16;
}

Outcome outcome_of(const Flags& flags, const Brief& brief, std::size_t range) {
    return brief.outcome < 0 ? Outcome{0, 0}
                             : flags.outcomes[static_cast<std::size_t>(brief.outcome) * flags.ranges + range];
}

// What is asked for in one area range.
struct AskedRange {
    std::size_t range;
    std::vector<Thresholds> precision;  // [block]
    bool has_recall = false;
    std::vector<std::int32_t> truth_images;  // of truths to be found, class by class
    std::vector<std::size_t> truth_offsets;
};

// What all draws share, class by class and by falling confidence.
struct Shared {
    Shared(const Evaluation& evaluation, std::span<const DrawnChoice> choices) : evaluation(evaluation) {
        for (const auto& [choice, classes] : choices) ask(choice);
        for (AskedRange& asked : ranges) list_truths(asked);
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
                        word_of(brief, outcome_of(flags, brief, ranges[r].range), ranges[r].range);
            }
        }
    }

    void ask(const Choice& choice) {
        const std::size_t r = range_at(choice.range);
        if (r == ranges.size()) {
            ranges.push_back({choice.range, {}, false, {}, {}});
            ranges[r].precision.assign(evaluation.flags().size(), 0);
        }
        ranges[r].has_recall |= !choice.is_precision;
        for (std::size_t block = 0; block < evaluation.flags().size() && choice.is_precision; ++block)
            for (std::size_t t = 0; t < evaluation.flags()[block].thresholds; ++t)
                if (!choice.threshold || static_cast<std::size_t>(*choice.threshold) == block * most_thresholds + t)
                    ranges[r].precision[block] |= static_cast<Thresholds>(1u << t);
    }

    // The images of truths that are to be found in a range, class by class.
    void list_truths(AskedRange& asked) const {
        const Grouped& truths = evaluation.truths();
        const auto visit = [&](const auto& see) {
            for (std::size_t image = 0; image < evaluation.images(); ++image)
                for (auto slot = static_cast<std::size_t>(truths.images[image]);
                     slot < static_cast<std::size_t>(truths.images[image + 1]); ++slot)
                    if (!(evaluation.ignored()[slot] >> asked.range & 1))
                        see(static_cast<std::size_t>(truths.labels[slot]), static_cast<std::int32_t>(image));
        };
        asked.truth_offsets.assign(evaluation.labels() + 2, 0);
        visit([&](std::size_t label, std::int32_t) { ++asked.truth_offsets[label + 2]; });
        for (std::size_t i = 2; i < asked.truth_offsets.size(); ++i)
            asked.truth_offsets[i] += asked.truth_offsets[i - 1];
        asked.truth_images.resize(asked.truth_offsets.back());
        visit([&](std::size_t label, std::int32_t image) {
            asked.truth_images[asked.truth_offsets[label + 1]++] = image;
        });
    }

    std::size_t range_at(std::size_t range) const {
        return static_cast<std::size_t>(std::ranges::find(ranges, range, &AskedRange::range) - ranges.begin());
    }

    const Evaluation& evaluation;
    std::vector<AskedRange> ranges;
    Array<std::int32_t> place;       // of each slot in the order
    Array<std::uint8_t> limit;       // the lowest one a prediction is within
    std::vector<Array<Word>> words;  // [block][range]
};

// One draw after the other, each thread with its own.
class Drawer {
  public:
    Drawer(const Shared& shared, const Truths& addable, std::span<const DrawnChoice> choices)
        : shared_(shared),
          choices_(choices),
          addable_(addable),
          evaluation_(shared.evaluation),
          rules_(evaluation_.rules()),
          labels_(evaluation_.labels()),
          limits_(rules_.limits.size()),
          words_(shared.words),
          rematch_(evaluation_, addable),
          ranks_(rules_.recalls, rules_.recalls.empty() ? 0 : epsilon) {
        const std::size_t cells = shared.ranges.size() * rules_.thresholds.size() * labels_;
        for (auto* table : {&base_.precision, &now_.precision}) table->assign(cells, absent);
        for (auto* table : {&base_.recall, &now_.recall}) table->assign(cells * limits_, absent);
        positives_.assign(evaluation_.positives().begin(), evaluation_.positives().end());
        for (std::size_t label = 0; label < labels_; ++label) walk(label, nullptr, base_);
    }

    void draw(const Drawn& drawn, std::span<double> out) {
        std::optional<Weighting> weighting;
        if (!drawn.weights.empty()) weighting = evaluation_.weighting(drawn.weights);
        if (weighting && !repeats(drawn.weights)) return draw_once(drawn, out);
        weigh(weighting ? &*weighting : nullptr);
        match(drawn.changes);
        if (changes_) rematch_.count(drawn.weights, positives_);
        if (weighting) {
            for (std::size_t label = 0; label < labels_; ++label) walk(label, &*weighting, now_);
        } else {
            now_ = base_;
            for (const std::int32_t label : touched_) walk(static_cast<std::size_t>(label), nullptr, now_);
        }
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

    // Whether images are there so often that their predictions can be repeated; how often each is.
    bool repeats(std::span<const double> weights) {
        copies_.resize(weights.size());
        for (std::size_t image = 0; image < weights.size(); ++image) {
            if (weights[image] > most_copies || weights[image] != std::floor(weights[image])) return false;
            copies_[image] = static_cast<std::uint8_t>(weights[image]);
        }
        const double most = weights.empty() ? 0 : std::ranges::max(weights);
        return most * static_cast<double>(evaluation_.preds().by_label.size()) < 0x1p31;
    }

    // Weights of other kinds, which nobody draws a thousand times.
    void draw_once(const Drawn& drawn, std::span<double> out) const {
        if (rules_.recalls.empty())
            throw std::invalid_argument(
                "weights: expected whole numbers up to 255 where precision is summed wherever recall changes");
        const TruthChanges none{};
        const PrecisionRecall found =
            evaluation_.change(drawn.changes ? *drawn.changes : none, addable_, drawn.weights, 1);
        for (std::size_t i = 0; i < choices_.size(); ++i) out[i] = found.mean(choices_[i].choice, choices_[i].classes);
    }

    // The truths to be found: those of the record without weights.
    void weigh(const Weighting* weighting) {
        positives_.assign(evaluation_.positives().begin(), evaluation_.positives().end());
        if (!weighting) return;
        for (const AskedRange& asked : shared_.ranges)
            for (std::size_t label = 0; label < labels_; ++label) {
                std::uint32_t sum = 0;
                for (std::size_t i = asked.truth_offsets[label]; i < asked.truth_offsets[label + 1]; ++i)
                    sum += copies_[static_cast<std::size_t>(asked.truth_images[i])];
                positives_[label * rules_.range_count() + asked.range] = sum;
            }
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
            const std::size_t range = shared_.ranges[r].range;
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
            const AskedRange& asked = shared_.ranges[r];
            const double positives = positives_[label * rules_.range_count() + asked.range];
            for (std::size_t block = 0; block < evaluation_.flags().size(); ++block) {
                const auto given = words_of(words_[block * shared_.ranges.size() + r], label, weighting);
                means_.assign(evaluation_.flags()[block].thresholds, absent);
                if (positives > 0 && asked.precision[block]) {
                    ranks_.read(given);
                    ranks_.average(asked.precision[block], positives, means_);
                }
                write_means(tables.precision, cell(r, block * most_thresholds, label));
                for (std::size_t limit = 0; limit < limits_ && asked.has_recall; ++limit) {
                    if (positives > 0) count_hits(given, limit, means_);
                    for (double& mean : means_) mean = positives > 0 ? mean / positives : absent;
                    write_means(tables.recall,
                                limit * base_.precision.size() + cell(r, block * most_thresholds, label));
                }
            }
        }
    }

    void write_means(std::span<double> table, std::size_t first) const {
        for (std::size_t t = 0; t < means_.size(); ++t) table[first + t * labels_] = means_[t];
    }

    ClassWords words_of(std::span<const Word> words, std::size_t label, const Weighting* weighting) const {
        const auto first = static_cast<std::size_t>(evaluation_.preds().label_offsets[label]);
        const auto last = static_cast<std::size_t>(evaluation_.preds().label_offsets[label + 1]);
        const auto of_class = [&](auto all) { return all.subspan(first, last - first); };
        ClassWords given{of_class(words), of_class(std::span(shared_.limit)), {}, {}, {}};
        if (weighting) {
            given.image = of_class(weighting->image);
            given.runs = of_class(weighting->runs);
            given.copies = copies_;
        }
        return given;
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

    const Shared& shared_;
    std::span<const DrawnChoice> choices_;
    const Truths& addable_;
    const Evaluation& evaluation_;
    const Rules& rules_;
    const std::size_t labels_, limits_;
    std::vector<Array<Word>> words_;
    std::vector<Change> changed_;
    const TruthChanges* changes_ = nullptr;  // those that `words_` are of
    std::span<const std::int32_t> touched_;  // classes
    Rematch rematch_;
    HitRanks ranks_;
    Tables base_, now_;
    Array<double> positives_;
    std::vector<std::uint8_t> copies_;  // of each image
    std::vector<double> means_, present_;
};

void check(const Evaluation& evaluation, std::span<const DrawnChoice> choices) {
    const auto expect = [](bool holds, const char* what) {
        if (!holds) throw std::invalid_argument(std::string("draws: expected ") + what);
    };
    const Rules& rules = evaluation.rules();
    const auto thresholds = static_cast<std::int64_t>(rules.thresholds.size());
    for (const auto& [choice, classes] : choices) {
        expect(classes.empty() || classes.size() == evaluation.labels(), "a flag for each class");
        expect(choice.range < rules.range_count() && choice.limit < rules.limits.size() &&
                   (!choice.threshold || (*choice.threshold >= -1 && *choice.threshold < thresholds)),
               "thresholds, area ranges and limits of the evaluation");
        expect(!choice.is_precision || choice.limit + 1 == rules.limits.size(), "precision at the last limit");
    }
}

}  // namespace

std::vector<double> bootstrap_means(const Evaluation& evaluation, const Truths& addable, std::span<const Drawn> draws,
                                    std::span<const DrawnChoice> choices, unsigned threads) {
    check(evaluation, choices);
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
