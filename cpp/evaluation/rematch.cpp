#include "evaluation/rematch.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

namespace verite {

Rematch::Rematch(const Evaluation& evaluation, const Truths& addable)
    : evaluation_(evaluation),
      addable_(addable),
      truth_indices_(evaluation.truth_indices()),
      is_removed_(evaluation.truths_.rows.size(), 0),
      outcomes_(evaluation.rules_.range_count()) {
    if (addable.count() == 0) return;
    Array<std::int32_t> rows(addable.count());
    std::iota(rows.begin(), rows.end(), 0);
    addable_ignored_.resize(rows.size());
    outside_ranges(rows, addable.areas, addable.ignored, evaluation.rules_.area_ranges, 1, addable_ignored_);
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
        add_group({first, last});
        first = last;
    }
    match(write);
    for (const std::int32_t index : removed_) is_removed_[static_cast<std::size_t>(index)] = 0;
    for (const std::int32_t index : duplicated_)
        labels_.push_back(evaluation_.truths_.labels[static_cast<std::size_t>(index)]);
    std::ranges::sort(labels_);
    labels_.erase(std::ranges::unique(labels_).begin(), labels_.end());
    return labels_;
}

void Rematch::clear() {
    for (auto* list : {&labels_, &indices_}) list->clear();
    for (auto* flags : {&multi_match_, &has_null_id_, &keeps_truth_free_}) flags->clear();
    for (auto* images : {&truth_images_, &pred_images_}) images->assign(1, 0);
    ignored_.clear();
    min_iou_.clear();
    candidates_.offsets.assign(1, 0);
    candidates_.truth.clear();
    candidates_.iou.clear();
}

// The index of a ground-truth row; -1 for one that does not take part.
std::int32_t Rematch::index_of(std::int32_t row) const {
    if (row < 0 || static_cast<std::size_t>(row) >= truth_indices_.size())
        throw std::invalid_argument("changes: expected rows of the ground truth, found " + std::to_string(row));
    return truth_indices_[static_cast<std::size_t>(row)];
}

// Lists the groups that are touched, sorted by image and class.
void Rematch::list(const TruthChanges& changes) {
    const Truths& truth = evaluation_.truth_;
    const bool class_agnostic = evaluation_.rules_.class_agnostic;
    const auto add = [&](std::int32_t image, std::int32_t label, std::int32_t position) {
        if (image >= 0 && label >= 0) touched_.push_back({image, class_agnostic ? 0 : label, position});
    };
    touched_.clear();
    removed_.clear();
    duplicated_.clear();
    for (const std::int32_t row : changes.removed) {
        const std::int32_t index = index_of(row);
        if (index < 0 || is_removed_[static_cast<std::size_t>(index)]) continue;
        is_removed_[static_cast<std::size_t>(index)] = 1;
        removed_.push_back(index);
        add(truth.image[static_cast<std::size_t>(row)], truth.label[static_cast<std::size_t>(row)], -1);
    }
    for (std::size_t i = 0; i < changes.added.size(); ++i) {
        const std::int32_t row = changes.added[i], label = changes.labels[i];
        if (row < 0 || static_cast<std::size_t>(row) >= addable_.count())
            throw std::invalid_argument("changes: expected objects that may be added, found " + std::to_string(row));
        const std::int32_t image = addable_.image[static_cast<std::size_t>(row)];
        if (image >= static_cast<std::int32_t>(evaluation_.images_) ||
            (!class_agnostic && label >= static_cast<std::int32_t>(evaluation_.labels_)))
            throw std::invalid_argument("changes: expected images and classes of the ground truth");
        if (addable_.label[static_cast<std::size_t>(row)] >= 0) add(image, label, row);
    }
    for (const std::int32_t row : changes.duplicated)
        if (const std::int32_t index = index_of(row); index >= 0) duplicated_.push_back(index);
    std::ranges::sort(touched_, [](const Touched& a, const Touched& b) {
        return a.image != b.image ? a.image < b.image : a.label != b.label ? a.label < b.label : a.added < b.added;
    });
}

void Rematch::count(std::span<const double> weights, std::span<double> positives) const {
    const std::size_t ranges = evaluation_.rules_.range_count();
    const auto change = [&](std::int32_t image, std::int32_t label, AreaRangeSet ignored, double sign) {
        const double weight = sign * (weights.empty() ? 1.0 : weights[static_cast<std::size_t>(image)]);
        for (std::size_t range = 0; range < ranges; ++range)
            if (!(ignored >> range & 1)) positives[static_cast<std::size_t>(label) * ranges + range] += weight;
    };
    const auto change_indices = [&](std::span<const std::int32_t> indices, double sign) {
        for (const std::int32_t index : indices) {
            const auto at = static_cast<std::size_t>(index);
            const auto row = static_cast<std::size_t>(evaluation_.truths_.rows[at]);
            change(evaluation_.truth_.image[row], evaluation_.truths_.labels[at], evaluation_.ignored_[at], sign);
        }
    };
    change_indices(removed_, -1);
    change_indices(duplicated_, 1);
    for (const Touched& group : touched_)
        if (group.added >= 0)
            change(group.image, group.label, addable_ignored_[static_cast<std::size_t>(group.added)], 1);
}

Rematch::Stretch Rematch::group_of(const GroupedObjects& side, const Touched& group) {
    const auto image = static_cast<std::size_t>(group.image);
    const auto found = std::ranges::equal_range(side.labels.begin() + side.images[image],
                                                side.labels.begin() + side.images[image + 1], group.label);
    return {static_cast<std::size_t>(found.begin() - side.labels.begin()),
            static_cast<std::size_t>(found.end() - side.labels.begin())};
}

// Groups are laid out as if each were an image of its own.
void Rematch::add_group(std::span<const Touched> group) {
    const Evaluation& kept = evaluation_;
    const Stretch truths = group_of(kept.truths_, group.front()), preds = group_of(kept.preds_.cells, group.front());
    if (preds.first == preds.last) return;
    add_truths(truths, group);
    add_preds(truths, preds);
    truth_images_.push_back(static_cast<std::int64_t>(ignored_.size()));
    pred_images_.push_back(static_cast<std::int64_t>(indices_.size()));
}

// Ground-truth objects that stay, in order, then the added ones.
void Rematch::add_truths(Stretch truths, std::span<const Touched> group) {
    const Evaluation& kept = evaluation_;
    place_.clear();
    added_rows_.clear();
    const auto add = [&](AreaRangeSet ignored, bool is_multi_match, bool has_null_id, double min_iou) {
        ignored_.push_back(ignored);
        multi_match_.push_back(is_multi_match);
        has_null_id_.push_back(has_null_id);
        min_iou_.push_back(min_iou);
    };
    for (std::size_t index = truths.first; index < truths.last; ++index) {
        place_.push_back(is_removed_[index] ? -1 : static_cast<std::int32_t>(ignored_.size()));
        if (!is_removed_[index])
            add(kept.ignored_[index], kept.multi_match_[index], !kept.has_null_id_.empty() && kept.has_null_id_[index],
                kept.min_iou_.empty() ? 0 : kept.min_iou_[index]);
    }
    first_added_ = static_cast<std::int32_t>(ignored_.size());
    for (const Touched& one : group) {
        if (one.added < 0) continue;
        const auto row = static_cast<std::size_t>(one.added);
        added_rows_.push_back(one.added);
        add(addable_ignored_[row], !addable_.multi_match.empty() && addable_.multi_match[row],
            !addable_.has_null_id.empty() && addable_.has_null_id[row],
            addable_.min_iou.empty() ? 0 : addable_.min_iou[row]);
    }
}

// Predictions without candidates match nothing, before and now: most of a long list, which are left out. The others
// keep their candidates among the objects that stay, and get those among the added ones.
void Rematch::add_preds(Stretch truths, Stretch preds) {
    const Candidates& before = evaluation_.candidates_;
    const auto& rows = evaluation_.preds_.cells.rows;
    const bool has_added = !added_rows_.empty();
    extra_.offsets.assign(1, 0);
    extra_.truth.clear();
    extra_.iou.clear();
    if (has_added)
        comparison_->compare(added_rows_, std::span(rows).subspan(preds.first, preds.last - preds.first), extra_);
    const auto add = [&](std::int32_t place, double iou) {
        candidates_.truth.push(place);
        candidates_.iou.push(iou);
    };
    for (std::size_t index = preds.first; index < preds.last; ++index) {
        const auto first = static_cast<std::size_t>(before.offsets[index]);
        const auto last = static_cast<std::size_t>(before.offsets[index + 1]);
        const std::size_t i = index - preds.first;
        const auto first_extra = static_cast<std::size_t>(has_added ? extra_.offsets[i] : 0);
        const auto last_extra = static_cast<std::size_t>(has_added ? extra_.offsets[i + 1] : 0);
        if (first == last && first_extra == last_extra) continue;
        for (std::size_t c = first; c < last; ++c)
            if (const auto place = place_[static_cast<std::size_t>(before.truth[c]) - truths.first]; place >= 0)
                add(place, before.iou[c]);
        for (std::size_t c = first_extra; c < last_extra; ++c) add(first_added_ + extra_.truth[c], extra_.iou[c]);
        candidates_.offsets.push_back(static_cast<std::int64_t>(candidates_.truth.rows()));
        indices_.push_back(static_cast<std::int32_t>(index));
        if (!evaluation_.keeps_truth_free_.empty()) keeps_truth_free_.push_back(evaluation_.keeps_truth_free_[index]);
    }
}

void Rematch::match(const Write& write) {
    const Evaluation& kept = evaluation_;
    const CandidateView pairs{candidates_.offsets, candidates_.truth.values(), candidates_.iou.values()};
    truth_rows_.resize(ignored_.size());  // which objects these are does not matter
    const Cells truths{truth_rows_, {}, truth_images_}, preds{indices_, {}, pred_images_};
    const MatchFlags match_flags{ignored_, multi_match_, keeps_truth_free_,
                                 kept.min_iou_.empty() ? std::span<const double>{} : std::span<const double>(min_iou_)};
    matched_.resize(pairs.truth.size() * outcomes_.size());
    const MatchedCandidates given{{}, {}, pairs, matched_, ignored_, has_null_id_};
    for (std::size_t block = 0; block < kept.pred_outcomes_.size(); ++block) {
        match_greedily(truths, preds, pairs, match_flags, kept.rules_, kept.thresholds(block), 1, matched_);
        for (std::size_t i = 0; i < indices_.size(); ++i) {
            if (!find_outcomes(given, i, outcomes_)) std::ranges::fill(outcomes_, Outcome{0, 0});
            write(block, static_cast<std::size_t>(indices_[i]), outcomes_);
        }
    }
}

// A copy of the outcomes, replaced where predictions are of touched groups.
PrecisionRecall Evaluation::change(const TruthChanges& changes, const Truths& addable, std::span<const double> weights,
                                   unsigned threads) const {
    struct Copy {
        Array<PredictionFlags> predictions;
        Column<Outcome> outcomes;
    };
    std::vector<Copy> copies(pred_outcomes_.size());
    for (std::size_t block = 0; block < pred_outcomes_.size(); ++block) {
        copies[block].predictions = pred_outcomes_[block].predictions;
        copies[block].outcomes.append(pred_outcomes_[block].outcomes.values());
    }
    const std::size_t ranges = rules_.range_count(), max_dets = rules_.max_dets.size();
    Array<double> positives = weights.empty() ? positives_ : weigh_positives(weights);
    Rematch rematch(*this, addable);
    const auto labels =
        rematch.run(changes, [&](std::size_t block, std::size_t index, std::span<const Outcome> outcomes) {
            auto& [predictions, kept] = copies[block];
            const bool took = std::ranges::any_of(outcomes, [](Outcome o) { return o.tp | o.ignored; });
            predictions[index].outcome = took ? static_cast<std::int32_t>(kept.rows() / ranges) : -1;
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
    for (std::size_t block = 0; block < pred_outcomes_.size(); ++block) {
        AccumulationInput walk = accumulation_input(block);
        walk.predictions = copies[block].predictions;
        walk.outcomes = copies[block].outcomes.values();
        walk.positives = positives;
        const CurveRequest asked{rules_.recalls, max_dets, max_dets - 1, ranges};
        const CurveOutput curves = found->curves(block * most_thresholds);
        if (given)
            accumulate(walk, asked, &*given, threads, curves);
        else
            accumulate_classes(walk, asked, nullptr, labels, threads, curves);
    }
    return std::move(*found);
}

}  // namespace verite
