#include "evaluation/rematch.hpp"

#include <algorithm>
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
    clear();
    for (auto first = touched_.begin(); first != touched_.end();) {
        const auto last = std::find_if(first, touched_.end(), [&](const Touched& other) {
            return other.image != first->image || other.label != first->label;
        });
        labels_.push_back(first->label);
        lay_group({first, last});
        first = last;
    }
    match(write);
    for (const std::int32_t slot : removed_) is_removed_[static_cast<std::size_t>(slot)] = 0;
    for (const std::int32_t slot : again_)
        labels_.push_back(evaluation_.truths_.labels[static_cast<std::size_t>(slot)]);
    std::ranges::sort(labels_);
    labels_.erase(std::ranges::unique(labels_).begin(), labels_.end());
    return labels_;
}

void Rematch::clear() {
    for (auto* list : {&labels_, &slots_}) list->clear();
    for (auto* flags : {&shared_, &is_void_, &grasping_}) flags->clear();
    for (auto* images : {&truth_images_, &pred_images_}) images->assign(1, 0);
    ignored_.clear();
    least_.clear();
    candidates_.offsets.assign(1, 0);
    candidates_.truth.clear();
    candidates_.overlap.clear();
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
    const bool class_agnostic = evaluation_.rules_.class_agnostic;
    const auto add = [&](std::int32_t image, std::int32_t label, std::int32_t position) {
        if (image >= 0 && label >= 0) touched_.push_back({image, class_agnostic ? 0 : label, position});
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
            (!class_agnostic && label >= static_cast<std::int32_t>(evaluation_.labels_)))
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

// Groups lie side by side as if each were an image.
void Rematch::lay_group(std::span<const Touched> group) {
    const Evaluation& kept = evaluation_;
    const Stretch truths = group_of(kept.truths_, group.front()), preds = group_of(kept.preds_.cells, group.front());
    if (preds.first == preds.last) return;
    lay_truths(truths, group);
    lay_preds(truths, preds);
    truth_images_.push_back(static_cast<std::int64_t>(ignored_.size()));
    pred_images_.push_back(static_cast<std::int64_t>(slots_.size()));
}

// Truths that stay, in their order, then those that are added.
void Rematch::lay_truths(Stretch truths, std::span<const Touched> group) {
    const Evaluation& kept = evaluation_;
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
    first_added_ = static_cast<std::int32_t>(ignored_.size());
    for (const Touched& one : group) {
        if (one.added < 0) continue;
        const auto row = static_cast<std::size_t>(one.added);
        added_rows_.push_back(one.added);
        add(addable_ignored_[row], !addable_.shared.empty() && addable_.shared[row],
            !addable_.is_void.empty() && addable_.is_void[row], addable_.least.empty() ? 0 : addable_.least[row]);
    }
}

// Who meets nobody takes nobody, before and now: most predictions of a long list, which are left out. The others with
// pairs that there were with truths that stay, and with those that are added.
void Rematch::lay_preds(Stretch truths, Stretch preds) {
    const Candidates& before = evaluation_.candidates_;
    const auto& rows = evaluation_.preds_.cells.rows;
    const bool has_added = !added_rows_.empty();
    extra_.offsets.assign(1, 0);
    extra_.truth.clear();
    extra_.overlap.clear();
    if (has_added)
        comparison_->compare(added_rows_, std::span(rows).subspan(preds.first, preds.last - preds.first), extra_);
    const auto add = [&](std::int32_t place, double overlap) {
        candidates_.truth.push(place);
        candidates_.overlap.push(overlap);
    };
    for (std::size_t slot = preds.first; slot < preds.last; ++slot) {
        const auto first = static_cast<std::size_t>(before.offsets[slot]);
        const auto last = static_cast<std::size_t>(before.offsets[slot + 1]);
        const std::size_t i = slot - preds.first;
        const auto first_extra = static_cast<std::size_t>(has_added ? extra_.offsets[i] : 0);
        const auto last_extra = static_cast<std::size_t>(has_added ? extra_.offsets[i + 1] : 0);
        if (first == last && first_extra == last_extra) continue;
        for (std::size_t c = first; c < last; ++c)
            if (const auto place = place_[static_cast<std::size_t>(before.truth[c]) - truths.first]; place >= 0)
                add(place, before.overlap[c]);
        for (std::size_t c = first_extra; c < last_extra; ++c) add(first_added_ + extra_.truth[c], extra_.overlap[c]);
        candidates_.offsets.push_back(static_cast<std::int64_t>(candidates_.truth.rows()));
        slots_.push_back(static_cast<std::int32_t>(slot));
        if (!evaluation_.grasping_.empty()) grasping_.push_back(evaluation_.grasping_[slot]);
    }
}

void Rematch::match(const Write& write) {
    const Evaluation& kept = evaluation_;
    const CandidateView pairs{candidates_.offsets, candidates_.truth.values(), candidates_.overlap.values()};
    truth_rows_.resize(ignored_.size());  // which objects these are does not matter
    const Cells truths{truth_rows_, {}, truth_images_}, preds{slots_, {}, pred_images_};
    const MatchFlags standing{ignored_, shared_, grasping_,
                              kept.least_.empty() ? std::span<const double>{} : std::span<const double>(least_)};
    matched_.resize(pairs.truth.size() * outcomes_.size());
    const Matched given{{}, {}, pairs, matched_, ignored_, is_void_};
    for (std::size_t block = 0; block < kept.flags_.size(); ++block) {
        match_greedily(truths, preds, pairs, standing, kept.rules_, kept.thresholds(block), 1, matched_);
        for (std::size_t i = 0; i < slots_.size(); ++i) {
            if (!find_outcomes(given, i, outcomes_)) std::ranges::fill(outcomes_, Outcome{0, 0});
            write(block, static_cast<std::size_t>(slots_[i]), outcomes_);
        }
    }
}

// A copy of the flags, with predictions of touched groups as they are now.
PrecisionRecall Evaluation::change(const TruthChanges& changes, const Truths& addable, std::span<const double> weights,
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
    std::optional<PrecisionRecall> found;
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
