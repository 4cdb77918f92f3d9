#include "evaluation/rematch.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

namespace verite {

void ChangedTruth::count(std::span<const double> weights, std::size_t ranges, std::span<double> positives) const {
    for (const Count& one : counts) {
        const double weight = one.sign * (weights.empty() ? 1.0 : weights[static_cast<std::size_t>(one.image)]);
        for (std::size_t range = 0; range < ranges; ++range)
            if (!(one.ignored >> range & 1)) positives[static_cast<std::size_t>(one.label) * ranges + range] += weight;
    }
}

TruthChanger::TruthChanger(const Evaluation& evaluation, const Truths& addable)
    : evaluation_(evaluation),
      addable_(addable),
      truth_indices_(evaluation.truth_indices()),
      is_removed_(evaluation.truths_.rows.size(), 0) {
    if (addable.count() == 0) return;
    Array<std::int32_t> rows(addable.count());
    std::iota(rows.begin(), rows.end(), 0);
    addable_ignored_.resize(rows.size());
    outside_ranges(rows, addable.areas, addable.ignored, evaluation.rules_.area_ranges, 1, addable_ignored_);
}

void TruthChanger::apply(const TruthChanges& changes, ChangedTruth& out) {
    list(changes);
    out.groups.clear();
    for (auto* rows : {&out.places, &out.added, &out.labels}) rows->clear();
    for (auto* flags : {&out.multi_match, &out.has_null_id}) flags->clear();
    out.ignored.clear();
    out.min_iou.clear();
    out.counts.clear();
    for (auto first = touched_.begin(); first != touched_.end();) {
        const auto last = std::find_if(first, touched_.end(), [&](const Touched& other) {
            return other.image != first->image || other.label != first->label;
        });
        out.labels.push_back(first->label);
        add_group({first, last}, out);
        first = last;
    }
    out.groups.push_back({-1, -1, 0, out.places.size(), out.added.size(), out.ignored.size()});
    const auto count = [&](std::span<const std::int32_t> indices, double sign) {
        for (const std::int32_t index : indices) {
            const auto at = static_cast<std::size_t>(index);
            const auto row = static_cast<std::size_t>(evaluation_.truths_.rows[at]);
            out.counts.push_back(
                {evaluation_.truth_.image[row], evaluation_.truths_.labels[at], evaluation_.ignored_[at], sign});
        }
    };
    count(removed_, -1);
    count(duplicated_, 1);
    for (const Touched& one : touched_)
        if (one.added >= 0)
            out.counts.push_back({one.image, one.label, addable_ignored_[static_cast<std::size_t>(one.added)], 1});
    for (const std::int32_t index : removed_) is_removed_[static_cast<std::size_t>(index)] = 0;
    for (const std::int32_t index : duplicated_)
        out.labels.push_back(evaluation_.truths_.labels[static_cast<std::size_t>(index)]);
    std::ranges::sort(out.labels);
    out.labels.erase(std::ranges::unique(out.labels).begin(), out.labels.end());
}

// The index of a ground-truth row; -1 for one that does not take part.
std::int32_t TruthChanger::index_of(std::int32_t row) const {
    if (row < 0 || static_cast<std::size_t>(row) >= truth_indices_.size())
        throw std::invalid_argument("changes: expected rows of the ground truth, found " + std::to_string(row));
    return truth_indices_[static_cast<std::size_t>(row)];
}

// Lists the groups that are touched, sorted by image and class.
void TruthChanger::list(const TruthChanges& changes) {
    const Truths& truth = evaluation_.truth_;
    const bool class_agnostic = evaluation_.rules_.class_agnostic;
    const auto add = [&](std::int32_t image, std::int32_t label, std::int32_t row) {
        if (image >= 0 && label >= 0) touched_.push_back({image, class_agnostic ? 0 : label, row});
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
    const auto by_class = [](const Touched& a, const Touched& b) {
        return a.image != b.image ? a.image < b.image : a.label != b.label ? a.label < b.label : a.added < b.added;
    };
    if (touched_.size() < evaluation_.images_ / 8) {
        std::ranges::sort(touched_, by_class);
        return;
    }
    // Many changes: by image first, in time proportional to their number.
    image_offsets_.assign(evaluation_.images_ + 1, 0);
    for (const Touched& one : touched_) ++image_offsets_[static_cast<std::size_t>(one.image) + 1];
    std::partial_sum(image_offsets_.begin(), image_offsets_.end(), image_offsets_.begin());
    sorted_.resize(touched_.size());
    for (const Touched& one : touched_) sorted_[image_offsets_[static_cast<std::size_t>(one.image)]++] = one;
    touched_.swap(sorted_);
    for (std::size_t image = 0, first = 0; image < evaluation_.images_; ++image) {
        const std::size_t last = image_offsets_[image];
        std::sort(touched_.begin() + static_cast<std::ptrdiff_t>(first),
                  touched_.begin() + static_cast<std::ptrdiff_t>(last), by_class);
        first = last;
    }
}

void TruthChanger::add_group(std::span<const Touched> group, ChangedTruth& out) const {
    const Evaluation& kept = evaluation_;
    const auto image = static_cast<std::size_t>(group.front().image);
    const auto truths =
        std::ranges::equal_range(kept.truths_.labels.begin() + kept.truths_.images[image],
                                 kept.truths_.labels.begin() + kept.truths_.images[image + 1], group.front().label);
    const auto first = static_cast<std::size_t>(truths.begin() - kept.truths_.labels.begin());
    out.groups.push_back(
        {group.front().image, group.front().label, first, out.places.size(), out.added.size(), out.ignored.size()});
    const std::size_t flags = out.ignored.size();
    const auto add = [&](AreaRangeSet ignored, bool is_multi_match, bool has_null_id, double min_iou) {
        out.ignored.push_back(ignored);
        out.multi_match.push_back(is_multi_match);
        out.has_null_id.push_back(has_null_id);
        if (!kept.min_iou_.empty()) out.min_iou.push_back(min_iou);
    };
    for (std::size_t index = first; index < first + truths.size(); ++index) {
        out.places.push_back(is_removed_[index] ? -1 : static_cast<std::int32_t>(out.ignored.size() - flags));
        if (!is_removed_[index])
            add(kept.ignored_[index], kept.multi_match_[index], !kept.has_null_id_.empty() && kept.has_null_id_[index],
                kept.min_iou_.empty() ? 0 : kept.min_iou_[index]);
    }
    for (const Touched& one : group) {
        if (one.added < 0) continue;
        const auto row = static_cast<std::size_t>(one.added);
        out.added.push_back(one.added);
        add(addable_ignored_[row], !addable_.multi_match.empty() && addable_.multi_match[row],
            !addable_.has_null_id.empty() && addable_.has_null_id[row],
            addable_.min_iou.empty() ? 0 : addable_.min_iou[row]);
    }
}

Rematch::Rematch(const Evaluation& evaluation, const Truths& addable)
    : evaluation_(evaluation), outcomes_(evaluation.rules_.range_count()) {
    if (addable.count() == 0) return;
    comparison_ = evaluation.similarity_.compare_groups(
        {addable.objects, evaluation.pred_.objects, std::ranges::min(evaluation.rules_.thresholds), evaluation.pixel_});
}

void Rematch::clear() {
    indices_.clear();
    for (auto* flags : {&multi_match_, &has_null_id_, &keeps_truth_free_}) flags->clear();
    for (auto* images : {&truth_images_, &pred_images_}) images->assign(1, 0);
    ignored_.clear();
    min_iou_.clear();
    candidates_.offsets.assign(1, 0);
    candidates_.truth.clear();
    candidates_.iou.clear();
}

// Groups are laid out as if each were an image of its own.
void Rematch::run(const ChangedTruth& changed, const Write& write) {
    clear();
    const GroupedObjects& preds = evaluation_.preds_.cells;
    std::size_t last = 0;  // predictions before this one are of groups before
    for (std::size_t i = 0; i + 1 < changed.groups.size(); ++i) {
        const ChangedTruth::Group &group = changed.groups[i], &next = changed.groups[i + 1];
        const auto image = static_cast<std::size_t>(group.image);
        const auto end = static_cast<std::size_t>(preds.images[image + 1]);
        std::size_t first = std::max(last, static_cast<std::size_t>(preds.images[image]));
        while (first < end && preds.labels[first] < group.label) ++first;
        last = first;
        while (last < end && preds.labels[last] == group.label) ++last;
        if (first == last) continue;
        const auto append = [&](auto& to, const auto& from) {
            if (!from.empty())
                to.insert(to.end(), from.begin() + static_cast<std::ptrdiff_t>(group.flags),
                          from.begin() + static_cast<std::ptrdiff_t>(next.flags));
        };
        const auto part = [](const std::vector<std::int32_t>& all, std::size_t from, std::size_t to) {
            return std::span(all).subspan(from, to - from);
        };
        const auto added = part(changed.added, group.added, next.added);
        add_preds(first, last, group.truths, part(changed.places, group.places, next.places), added,
                  next.flags - group.flags - added.size());
        append(ignored_, changed.ignored);
        append(multi_match_, changed.multi_match);
        append(has_null_id_, changed.has_null_id);
        append(min_iou_, changed.min_iou);
        truth_images_.push_back(static_cast<std::int64_t>(ignored_.size()));
        pred_images_.push_back(static_cast<std::int64_t>(indices_.size()));
    }
    match(write);
}

// Predictions without candidates match nothing, before and now: most of a long list, which are left out. The others
// keep their candidates among the objects that stay, and get those among the added ones.
void Rematch::add_preds(std::size_t first, std::size_t last, std::size_t first_truth,
                        std::span<const std::int32_t> places, std::span<const std::int32_t> added, std::size_t kept) {
    const Candidates& before = evaluation_.candidates_;
    const auto& rows = evaluation_.preds_.cells.rows;
    const bool has_added = !added.empty();
    const auto base = static_cast<std::int32_t>(ignored_.size());
    extra_.offsets.assign(1, 0);
    extra_.truth.clear();
    extra_.iou.clear();
    if (has_added) comparison_->compare(added, std::span(rows).subspan(first, last - first), extra_);
    const auto add = [&](std::int32_t place, double iou) {
        candidates_.truth.push(base + place);
        candidates_.iou.push(iou);
    };
    for (std::size_t index = first; index < last; ++index) {
        const auto from = static_cast<std::size_t>(before.offsets[index]);
        const auto to = static_cast<std::size_t>(before.offsets[index + 1]);
        const std::size_t i = index - first;
        const auto first_extra = static_cast<std::size_t>(has_added ? extra_.offsets[i] : 0);
        const auto last_extra = static_cast<std::size_t>(has_added ? extra_.offsets[i + 1] : 0);
        if (from == to && first_extra == last_extra) continue;
        for (std::size_t c = from; c < to; ++c)
            if (const auto place = places[static_cast<std::size_t>(before.truth[c]) - first_truth]; place >= 0)
                add(place, before.iou[c]);
        for (std::size_t c = first_extra; c < last_extra; ++c)
            add(static_cast<std::int32_t>(kept) + extra_.truth[c], extra_.iou[c]);
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
    ChangedTruth changed;
    TruthChanger(*this, addable).apply(changes, changed);
    Rematch(*this, addable).run(changed, [&](std::size_t block, std::size_t index, std::span<const Outcome> outcomes) {
        auto& [predictions, kept] = copies[block];
        const bool took = std::ranges::any_of(outcomes, [](Outcome o) { return o.tp | o.ignored; });
        predictions[index].outcome = took ? static_cast<std::int32_t>(kept.rows() / ranges) : -1;
        if (took) kept.append(outcomes);
    });
    changed.count(weights, ranges, positives);
    std::optional<PrecisionRecall> found;
    if (weights.empty()) {
        found = numbers();
        found->change(positives, changed.labels);
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
            accumulate_classes(walk, asked, nullptr, changed.labels, threads, curves);
    }
    return std::move(*found);
}

}  // namespace verite
