#include "evaluation/rematch.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>
#include <string>

namespace verite {

Rematch::Rematch(const Evaluation& evaluation, const Truths& addable)
    : evaluation_(evaluation),
      addable_(addable),
      truth_slots_(evaluation.truth_slots()),
      is_removed_(evaluation.truths_.rows.size(), 0),
      outcomes_(evaluation.rules_.range_count()) {
    if (addable.count() == 0) return;
    Array<std::int32_t> rows(addable.count());
    std::iota(rows.begin(), rows.end(), 0);
    addable_ignored_.resize(rows.size());
    outside_ranges(rows, addable.areas, addable.ignored, evaluation.rules_.ranges, 1, addable_ignored_);
    comparison_ = evaluation.similarity_.compare_groups(
        {addable.objects, evaluation.pred_.objects, std::ranges::min(evaluation.rules_.thresholds), evaluation.pixel_});
}

std::span<const std::int32_t> Rematch::run(const TruthChanges& changes, const Write& write) {
    list(changes);
    labels_.clear();
    for (auto first = touched_.begin(); first != touched_.end();) {
        const auto last = std::find_if(first, touched_.end(), [&](const Touched& other) {
            return other.image != first->image || other.label != first->label;
        });
        labels_.push_back(first->label);
        match_group({first, last}, write);
        first = last;
    }
    for (const std::int32_t slot : removed_) is_removed_[static_cast<std::size_t>(slot)] = 0;
    for (const std::int32_t slot : again_)
        labels_.push_back(evaluation_.truths_.labels[static_cast<std::size_t>(slot)]);
    std::ranges::sort(labels_);
    labels_.erase(std::ranges::unique(labels_).begin(), labels_.end());
    return labels_;
}

// Where a truth is; -1 for one that does not count.
std::int32_t Rematch::slot_of(std::int32_t row) const {
    if (row < 0 || static_cast<std::size_t>(row) >= truth_slots_.size())
        throw std::invalid_argument("changes: expected rows of the truth, found " + std::to_string(row));
    return truth_slots_[static_cast<std::size_t>(row)];
}

// The groups that are touched, side by side.
void Rematch::list(const TruthChanges& changes) {
    const Truths& truth = evaluation_.truth_;
    const bool is_together = evaluation_.rules_.is_together;
    const auto add = [&](std::int32_t image, std::int32_t label, std::int32_t position) {
        if (image >= 0 && label >= 0) touched_.push_back({image, is_together ? 0 : label, position});
    };
    touched_.clear();
    removed_.clear();
    again_.clear();
    for (const std::int32_t row : changes.removed) {
        const std::int32_t slot = slot_of(row);
        if (slot < 0 || is_removed_[static_cast<std::size_t>(slot)]) continue;
        is_removed_[static_cast<std::size_t>(slot)] = 1;
        removed_.push_back(slot);
        add(truth.image[static_cast<std::size_t>(row)], truth.label[static_cast<std::size_t>(row)], -1);
    }
    for (std::size_t i = 0; i < changes.added.size(); ++i) {
        const std::int32_t row = changes.added[i], label = changes.labels[i];
        if (row < 0 || static_cast<std::size_t>(row) >= addable_.count())
            throw std::invalid_argument("changes: expected objects that may be added, found " + std::to_string(row));
        const std::int32_t image = addable_.image[static_cast<std::size_t>(row)];
        if (image >= static_cast<std::int32_t>(evaluation_.images_) ||
            (!is_together && label >= static_cast<std::int32_t>(evaluation_.labels_)))
            throw std::invalid_argument("changes: expected images and classes of the truth");
        if (addable_.label[static_cast<std::size_t>(row)] >= 0) add(image, label, row);
    }
    for (const std::int32_t row : changes.again)
        if (const std::int32_t slot = slot_of(row); slot >= 0) again_.push_back(slot);
    std::ranges::sort(touched_, [](const Touched& a, const Touched& b) {
        return a.image != b.image ? a.image < b.image : a.label != b.label ? a.label < b.label : a.added < b.added;
    });
}

void Rematch::count(std::span<const double> weights, std::span<double> positives) const {
    const std::size_t ranges = evaluation_.rules_.range_count();
    const auto change = [&](std::int32_t image, std::int32_t label, Ranges ignored, double sign) {
        const double weight = sign * (weights.empty() ? 1.0 : weights[static_cast<std::size_t>(image)]);
        for (std::size_t range = 0; range < ranges; ++range)
            if (!(ignored >> range & 1)) positives[static_cast<std::size_t>(label) * ranges + range] += weight;
    };
    const auto change_slots = [&](std::span<const std::int32_t> slots, double sign) {
        for (const std::int32_t slot : slots) {
            const auto at = static_cast<std::size_t>(slot);
            const auto row = static_cast<std::size_t>(evaluation_.truths_.rows[at]);
            change(evaluation_.truth_.image[row], evaluation_.truths_.labels[at], evaluation_.ignored_[at], sign);
        }
    };
    change_slots(removed_, -1);
    change_slots(again_, 1);
    for (const Touched& group : touched_)
        if (group.added >= 0)
            change(group.image, group.label, addable_ignored_[static_cast<std::size_t>(group.added)], 1);
}

Rematch::Stretch Rematch::group_of(const Grouped& side, const Touched& group) {
    const auto image = static_cast<std::size_t>(group.image);
    const auto found = std::ranges::equal_range(side.labels.begin() + side.images[image],
                                                side.labels.begin() + side.images[image + 1], group.label);
    return {static_cast<std::size_t>(found.begin() - side.labels.begin()),
            static_cast<std::size_t>(found.end() - side.labels.begin())};
}

// Truths that stay, in their order, then those that are added.
void Rematch::add_truths(Stretch truths, std::span<const Touched> group) {
    const Evaluation& kept = evaluation_;
    ignored_.clear();
    shared_.clear();
    is_void_.clear();
    least_.clear();
    place_.clear();
    added_rows_.clear();
    const auto add = [&](Ranges ignored, bool is_shared, bool is_void, double least) {
        ignored_.push_back(ignored);
        shared_.push_back(is_shared);
        is_void_.push_back(is_void);
        least_.push_back(least);
    };
    for (std::size_t slot = truths.first; slot < truths.last; ++slot) {
        place_.push_back(is_removed_[slot] ? -1 : static_cast<std::int32_t>(ignored_.size()));
        if (!is_removed_[slot])
            add(kept.ignored_[slot], kept.shared_[slot], !kept.is_void_.empty() && kept.is_void_[slot],
                kept.least_.empty() ? 0 : kept.least_[slot]);
    }
    for (const Touched& one : group) {
        if (one.added < 0) continue;
        const auto row = static_cast<std::size_t>(one.added);
        added_rows_.push_back(one.added);
        add(addable_ignored_[row], !addable_.shared.empty() && addable_.shared[row],
            !addable_.is_void.empty() && addable_.is_void[row], addable_.least.empty() ? 0 : addable_.least[row]);
    }
}

// Pairs that there were with truths that stay, and those with the ones that are added.
void Rematch::add_candidates(Stretch truths, Stretch preds) {
    const Candidates& before = evaluation_.candidates_;
    const auto& rows = evaluation_.preds_.cells.rows;
    extra_.offsets.assign(1, 0);
    extra_.truth.clear();
    extra_.overlap.clear();
    if (!added_rows_.empty())
        comparison_->compare(added_rows_, std::span(rows).subspan(preds.first, preds.last - preds.first), extra_);
    const auto stay = static_cast<std::int32_t>(ignored_.size() - added_rows_.size());
    candidates_.offsets.assign(1, 0);
    candidates_.truth.clear();
    candidates_.overlap.clear();
    for (std::size_t slot = preds.first; slot < preds.last; ++slot) {
        for (auto c = static_cast<std::size_t>(before.offsets[slot]);
             c < static_cast<std::size_t>(before.offsets[slot + 1]); ++c) {
            const std::int32_t place = place_[static_cast<std::size_t>(before.truth[c]) - truths.first];
            if (place < 0) continue;
            candidates_.truth.push(place);
            candidates_.overlap.push(before.overlap[c]);
        }
        if (!added_rows_.empty()) {
            const std::size_t i = slot - preds.first;
            for (auto c = static_cast<std::size_t>(extra_.offsets[i]);
                 c < static_cast<std::size_t>(extra_.offsets[i + 1]); ++c) {
                candidates_.truth.push(stay + extra_.truth[c]);
                candidates_.overlap.push(extra_.overlap[c]);
            }
        }
        candidates_.offsets.push_back(static_cast<std::int64_t>(candidates_.truth.rows()));
    }
}

void Rematch::match_group(std::span<const Touched> group, const Write& write) {
    const Evaluation& kept = evaluation_;
    const Stretch truths = group_of(kept.truths_, group.front()), preds = group_of(kept.preds_.cells, group.front());
    if (preds.first == preds.last) return;
    add_truths(truths, group);
    add_candidates(truths, preds);
    const std::size_t count = preds.last - preds.first;
    // Who meets nobody takes nobody, before and now: most predictions of a long list.
    const auto meets = [&](std::size_t i) {
        return kept.candidates_.offsets[preds.first + i] != kept.candidates_.offsets[preds.first + i + 1] ||
               candidates_.offsets[i] != candidates_.offsets[i + 1];
    };
    if (candidates_.truth.rows() == 0 && kept.candidates_.offsets[preds.first] == kept.candidates_.offsets[preds.last])
        return;
    const CandidateView pairs{candidates_.offsets, candidates_.truth.values(), candidates_.overlap.values()};
    const std::array<std::int64_t, 2> truth_images{0, static_cast<std::int64_t>(ignored_.size())};
    const std::array<std::int64_t, 2> pred_images{0, static_cast<std::int64_t>(count)};
    truth_rows_.resize(ignored_.size());  // which objects these are does not matter
    const Cells truth_cells{truth_rows_, {}, truth_images};
    const Cells pred_cells{std::span(kept.preds_.cells.rows).subspan(preds.first, count), {}, pred_images};
    const auto of_group = [&](const auto& by_slot) {
        return by_slot.empty() ? std::span<const std::uint8_t>{} : std::span(by_slot).subspan(preds.first, count);
    };
    const Standing standing{ignored_, shared_, of_group(kept.grasping_),
                            kept.least_.empty() ? std::span<const double>{} : std::span<const double>(least_)};
    matched_.resize(pairs.truth.size() * outcomes_.size());
    const Matched given{std::span(kept.preds_.ranks).subspan(preds.first, count),
                        std::span(kept.outside_).subspan(preds.first, count),
                        pairs,
                        matched_,
                        ignored_,
                        is_void_};
    for (std::size_t block = 0; block < kept.flags_.size(); ++block) {
        match_greedily(truth_cells, pred_cells, pairs, standing, kept.rules_, kept.thresholds(block), 1, matched_);
        for (std::size_t i = 0; i < count; ++i) {
            if (!meets(i)) continue;
            if (!find_outcomes(given, i, outcomes_)) std::ranges::fill(outcomes_, Outcome{0, 0});
            write(block, preds.first + i, outcomes_);
        }
    }
}

// A copy of the flags, with predictions of touched groups as they are now.
Numbers Evaluation::change(const TruthChanges& changes, const Truths& addable, std::span<const double> weights,
                           unsigned threads) const {
    struct Copy {
        Array<Brief> briefs;
        Column<Outcome> outcomes;
    };
    std::vector<Copy> copies(flags_.size());
    for (std::size_t block = 0; block < flags_.size(); ++block) {
        copies[block].briefs = flags_[block].briefs;
        copies[block].outcomes.append(flags_[block].outcomes.values());
    }
    const std::size_t ranges = rules_.range_count(), limits = rules_.limits.size();
    Array<double> positives = weights.empty() ? positives_ : weigh_positives(weights);
    Rematch rematch(*this, addable);
    const auto labels =
        rematch.run(changes, [&](std::size_t block, std::size_t slot, std::span<const Outcome> outcomes) {
            auto& [briefs, kept] = copies[block];
            const bool took = std::ranges::any_of(outcomes, [](Outcome o) { return o.hits | o.spared; });
            briefs[slot].outcome = took ? static_cast<std::int32_t>(kept.rows() / ranges) : -1;
            if (took) kept.append(outcomes);
        });
    rematch.count(weights, positives);
    std::optional<Numbers> found;
    if (weights.empty()) {
        found = numbers();
        found->change(positives, labels);
    } else {
        found.emplace(rules_, labels_, positives);
    }
    const std::optional<Weighting> given = weights.empty() ? std::nullopt : std::optional(weighting(weights));
    for (std::size_t block = 0; block < flags_.size(); ++block) {
        Walked walk = walked(block);
        walk.briefs = copies[block].briefs;
        walk.outcomes = copies[block].outcomes.values();
        walk.positives = positives;
        const Asked asked{rules_.recalls, limits, limits - 1, ranges};
        const Curves curves = found->curves(block * most_thresholds);
        if (given)
            accumulate(walk, asked, &*given, threads, curves);
        else
            accumulate_classes(walk, asked, nullptr, labels, threads, curves);
    }
    return std::move(*found);
}

}  // namespace verite
