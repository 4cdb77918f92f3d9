#include "evaluation/owning_evaluation.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "columns/parallel.hpp"

namespace verite {

OwningEvaluation::OwningEvaluation(Columns truth, Columns pred, Images images, std::size_t labels,
                                   View<std::int32_t> label_rank, ObjectRules object_rules, const Rules& rules,
                                   const SimilarityMeasure& similarity, unsigned threads)
    : sides_(std::move(truth), std::move(pred), std::move(images), labels, std::move(label_rank),
             std::move(object_rules), rules, similarity, threads),
      evaluation_(sides_.truths(), sides_.preds(), sides_.images().count(), labels, rules, similarity,
                  sides_.rules().pixel, sides_.rules().most_pairs, threads),
      threads_(threads) {}

PrecisionRecall OwningEvaluation::weight(std::span<const double> weights, unsigned threads) const {
    return evaluation_.weight(sides_.by_rank(weights), threads);
}

PrecisionRecall OwningEvaluation::change(std::span<const std::int32_t> removed, const Columns* added,
                                         std::span<const double> weights, unsigned threads) const {
    SideStorage side;
    Truths addable;
    if (added) addable = sides_.prepare_added(side, *added);
    Array<std::int32_t> rows(addable.count());
    std::iota(rows.begin(), rows.end(), 0);
    return evaluation_.change({removed, rows, addable.label, {}}, addable, sides_.by_rank(weights), threads);
}

EvaluationState OwningEvaluation::state(std::span<const std::int64_t> labels, std::string about) const {
    ImageKeys keys;
    if (sides_.images().ids) {
        keys.ids.assign(sides_.images().ids.begin(), sides_.images().ids.end());
        std::ranges::sort(keys.ids);
    } else {
        for (std::size_t image = 0; image < sides_.images().count(); ++image) {
            const auto name = sides_.images().names[image];
            keys.names.emplace_back(name.begin(), name.end());
        }
        std::ranges::sort(keys.names);
    }
    return make_state(evaluation_, std::move(keys), labels, std::move(about), threads_);
}

PreparedSimulations OwningEvaluation::prepare(std::span<const double> weights, const SimulatedChanges* changes,
                                              const Columns* addable, bool applies, unsigned threads) const {
    const std::size_t images = sides_.images().count();
    const auto count_lists = [](const View<std::int64_t>& offsets, std::size_t count) {
        if (offsets.values.empty() || offsets[0] != 0 || offsets.values.back() != static_cast<std::int64_t>(count) ||
            !std::ranges::is_sorted(offsets.values))
            throw std::invalid_argument("changes: expected offsets that rise from 0 to the number of rows");
        return offsets.size() - 1;
    };
    PreparedSimulations found;
    found.count = changes ? count_lists(changes->removed_offsets, changes->removed.size())
                          : weights.size() / std::max<std::size_t>(images, 1);
    if (!(weights.empty() && changes) && weights.size() != found.count * images)
        throw std::invalid_argument(
            "bootstrap: expected a weight for each image and as many changed ground truths as rows of weights");
    for (std::size_t i = 0; i < found.count && !weights.empty(); ++i)
        found.weights.push_back(sides_.by_rank(weights.subspan(i * images, images)));
    if (!changes) return found;
    if (count_lists(changes->added_offsets, changes->added.size()) != found.count ||
        count_lists(changes->duplicated_offsets, changes->duplicated.size()) != found.count ||
        changes->labels.size() != changes->added.size())
        throw std::invalid_argument("changes: expected as many lists of every kind as simulations");
    found.given = *changes;
    if (addable) found.addable = sides_.prepare_added(found.side, *addable);
    for (const std::int32_t label : changes->labels) found.labels.push_back(sides_.rank_of(label));
    for (std::size_t i = 0; i < found.count; ++i) {
        const auto list = [&](std::span<const std::int32_t> rows, const View<std::int64_t>& offsets) {
            return rows.subspan(static_cast<std::size_t>(offsets[i]),
                                static_cast<std::size_t>(offsets[i + 1] - offsets[i]));
        };
        found.changes.push_back({list(changes->removed.values, changes->removed_offsets),
                                 list(changes->added.values, changes->added_offsets),
                                 list(found.labels, changes->added_offsets),
                                 list(changes->duplicated.values, changes->duplicated_offsets)});
    }
    if (!applies) return found;
    found.changed.resize(found.count);
    const std::size_t pieces = std::min<std::size_t>(std::max(threads, 1u), std::max<std::size_t>(found.count, 1));
    in_parallel(pieces, threads, [&](std::size_t piece) {
        TruthChanger changer(evaluation_, found.addable);
        Pause pause;
        for (std::size_t i = found.count * piece / pieces; i < found.count * (piece + 1) / pieces; ++i, pause())
            changer.apply(found.changes[i], found.changed[i]);
    });
    return found;
}

bool OwningEvaluation::shares_truth(const OwningEvaluation& other) const {
    const Evaluation &mine = evaluation_, &theirs = other.evaluation_;
    const auto same = [](const auto& a, const auto& b) { return std::ranges::equal(a, b); };
    return mine.images() == theirs.images() && mine.labels() == theirs.labels() &&
           same(sides_.image_order(), other.sides_.image_order()) && same(mine.truths().rows, theirs.truths().rows) &&
           same(mine.truths().labels, theirs.truths().labels) && same(mine.truths().images, theirs.truths().images) &&
           same(mine.ignored(), theirs.ignored()) && mine.rules().class_agnostic == theirs.rules().class_agnostic &&
           mine.rules().range_count() == theirs.rules().range_count() && mine.shares_flags(theirs);
}

std::vector<double> OwningEvaluation::bootstrap_means(const PreparedSimulations& prepared,
                                                      std::span<const UncertaintySource> sources,
                                                      std::span<const MeanQuery> queries, unsigned threads) const {
    std::vector<Replicate> replicates;
    for (std::size_t i = 0; i < prepared.count; ++i)
        for (const auto& [has_weights, has_changes] : sources) {
            const bool is_drawn = has_weights && !prepared.weights.empty();
            const bool is_changed = has_changes && !prepared.changes.empty();
            replicates.push_back({is_drawn ? std::span<const double>(prepared.weights[i]) : std::span<const double>{},
                                  is_changed ? &prepared.changes[i] : nullptr,
                                  is_changed && !prepared.changed.empty() ? &prepared.changed[i] : nullptr});
        }
    return verite::bootstrap_means(evaluation_, prepared.addable, replicates, queries, threads);
}

}  // namespace verite
