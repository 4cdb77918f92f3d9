#include "evaluation/sides.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "columns/lookup.hpp"

namespace verite {
namespace {

// Objects that carry one of these flags; empty where none does.
Array<std::uint8_t> any_of(const Columns& columns, std::span<const Flag> flags) {
    Array<std::uint8_t> any;
    for (const Flag flag : flags) {
        const View<std::uint8_t>& column = columns.flag(flag);
        if (!column) continue;
        any.resize(columns.count(), 0);
        std::ranges::transform(any, column.values, any.begin(), std::bit_or<std::uint8_t>());
    }
    return any;
}

// Objects as pycocotools looks them up: by id, image by image in the order of image ids. Of several with the same id
// the last is returned for each. Empty where every id occurs once.
Array<std::int32_t> find_by_id(std::span<const std::int64_t> ids, std::span<const std::int32_t> image) {
    const std::vector<std::int32_t> sorted = rows_by_id(ids);
    const auto id_of = [&](std::int32_t row) { return ids[static_cast<std::size_t>(row)]; };
    if (std::ranges::adjacent_find(sorted, {}, id_of) == sorted.end()) return {};
    std::vector<std::int32_t> order(ids.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](std::int32_t row) { return image[static_cast<std::size_t>(row)]; });
    Array<std::int32_t> rows(ids.size());
    std::ranges::transform(order, rows.begin(), [&](std::int32_t row) {
        return *(std::ranges::upper_bound(sorted, id_of(row), {}, id_of) - 1);
    });
    return rows;
}

bool has_nan(std::span<const double> values) {
    return std::ranges::any_of(values, [](double value) { return std::isnan(value); });
}

bool is_limited(std::span<const AreaRange> ranges) {
    return std::ranges::any_of(
        ranges, [](const AreaRange& range) { return std::isfinite(range.low) || std::isfinite(range.high); });
}

// Cells, image * labels + label each.
class CellSet {
  public:
    CellSet(std::size_t span, std::size_t objects) : is_dense_(span / 8 <= (std::size_t{16} << 20) + 4 * objects) {
        if (is_dense_) bits_.assign(span / 64 + 1, 0);
    }

    void add(std::int64_t cell) {
        if (is_dense_)
            bits_.at(static_cast<std::size_t>(cell) / 64) |= std::uint64_t{1} << (cell & 63);
        else
            cells_.push_back(cell);
    }
    void close() { std::ranges::sort(cells_); }

    bool has(std::int64_t cell) const {
        if (!is_dense_) return std::ranges::binary_search(cells_, cell);
        return bits_[static_cast<std::size_t>(cell) / 64] >> (cell & 63) & 1;
    }

  private:
    bool is_dense_;
    std::vector<std::uint64_t> bits_;
    std::vector<std::int64_t> cells_;
};

// Flags of the `most` predictions of highest confidence in each image; of equal ones the first.
Array<std::uint8_t> find_best(const Columns& pred, std::size_t images, std::int64_t most) {
    Array<std::uint8_t> is_best(pred.count(), 1);
    std::vector<std::int64_t> counts(images, 0);
    for (const std::int32_t image : pred.image) ++counts[static_cast<std::size_t>(image)];
    struct Entry {
        std::int32_t image, row;
        std::uint64_t key;
    };
    std::vector<Entry> entries;
    for (std::size_t i = 0; i < pred.count(); ++i)
        if (counts[static_cast<std::size_t>(pred.image[i])] > most)
            entries.push_back({pred.image[i], static_cast<std::int32_t>(i), falling_key(pred.confidence[i])});
    std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
        return a.image != b.image ? a.image < b.image : a.key != b.key ? a.key < b.key : a.row < b.row;
    });
    std::int64_t rank = 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        rank = i > 0 && entries[i].image == entries[i - 1].image ? rank + 1 : 0;
        if (rank >= most) is_best[static_cast<std::size_t>(entries[i].row)] = 0;
    }
    return is_best;
}

}  // namespace

Sides::Sides(Columns truth, Columns pred, Images images, std::size_t labels, View<std::int32_t> label_rank,
             ObjectRules object_rules, const Rules& rules, const SimilarityMeasure& similarity, unsigned threads)
    : images_(std::move(images)),
      labels_(labels),
      image_rank_(rank(images_)),
      label_rank_(std::move(label_rank)),
      object_rules_(std::move(object_rules)),
      rules_(rules),
      similarity_(similarity),
      layout_(similarity_, images_, object_rules_.sigmas, object_rules_.reach),
      threads_(threads) {
    check(rules_);
    truth_.columns = std::move(truth);
    pred_.columns = std::move(pred);
    truths_ = prepare_truths(truth_, object_rules_.truth_is_results);
    preds_ = prepare_preds(pred_);
}

// Ranks instead of positions.
void Sides::prepare_ranks(SideStorage& side, const char* name) const {
    const Columns& columns = side.columns;
    for (const std::int32_t image : columns.image)
        if (static_cast<std::uint32_t>(image) >= images_.count())
            throw std::invalid_argument(std::string(name) + ": expected images of the ground truth, found others");
    if (image_rank_) {
        side.image.resize(columns.count());
        std::ranges::transform(columns.image, side.image.begin(),
                               [&](std::int32_t at) { return image_rank_[static_cast<std::size_t>(at)]; });
    }
    const bool has_others =
        std::ranges::any_of(columns.label, [&](std::int32_t at) { return static_cast<std::uint32_t>(at) >= labels_; });
    if (label_rank_ || has_others) {
        side.label.resize(columns.count());
        std::ranges::transform(columns.label, side.label.begin(), [&](std::int32_t at) {
            if (static_cast<std::uint32_t>(at) >= labels_) return std::int32_t{-1};
            return label_rank_ ? label_rank_[static_cast<std::size_t>(at)] : at;
        });
    }
}

Truths Sides::prepare_truths(SideStorage& side, bool is_results) const {
    const Columns& columns = side.columns;
    prepare_ranks(side, "truth");
    side.ignored = any_of(columns, object_rules_.ignored);
    side.multi_match = any_of(columns, object_rules_.multi_match);
    layout_.ignore_without_keypoints(columns, side.ignored);
    Objects objects = layout_.prepare_truths(columns, side.computed);
    objects.crowd = side.multi_match;
    find_truth_areas(side, objects);
    const auto image = side.image.empty() ? columns.image.values : std::span<const std::int32_t>(side.image);
    if (object_rules_.repeats_quirks && columns.ids) {
        if (!is_results) side.rows = find_by_id(columns.ids.values, image);
        side.has_null_id.resize(columns.count());
        std::ranges::transform(columns.ids, side.has_null_id.begin(), [](std::int64_t id) { return id == 0; });
    }
    choose_truths(side);
    return {image,
            side.label.empty() ? columns.label.values : std::span<const std::int32_t>(side.label),
            side.rows,
            objects,
            side.stated ? side.stated.values : std::span<const double>(side.areas),
            side.ignored,
            side.multi_match,
            side.has_null_id,
            &side == &truth_ ? object_rules_.min_iou.values : std::span<const double>{}};
}

void Sides::choose_truths(SideStorage& side) const {
    const View<double>& area = side.columns.area;
    if (!object_rules_.drops_flat || !area) return;
    leave_out(side, [&](std::size_t row) { return area[row] <= 0; });
}

// Objects that do not take part get the class -1.
void Sides::leave_out(SideStorage& side, const auto& is_out) const {
    const Columns& columns = side.columns;
    for (std::size_t row = 0; row < columns.count(); ++row) {
        if (!is_out(row)) continue;
        if (side.label.empty()) side.label.assign(columns.label.begin(), columns.label.end());
        side.label[row] = -1;
    }
}

// Areas as stated; of the region where they are not.
void Sides::find_truth_areas(SideStorage& side, Objects& objects) const {
    if (!is_limited(rules_.area_ranges) && !similarity_.wants.keypoints) return;
    const View<double>& stated = side.columns.area;
    if (stated && !has_nan(stated.values)) {
        side.stated = stated;
        objects.areas = stated.values;
        return;
    }
    side.areas.resize(side.columns.count());
    similarity_.areas(objects, threads_, side.areas);
    for (std::size_t i = 0; i < stated.size(); ++i)
        if (!std::isnan(stated[i])) side.areas[i] = stated[i];
    objects.areas = side.areas;
}

Preds Sides::prepare_preds(SideStorage& side) const {
    const Columns& columns = side.columns;
    prepare_ranks(side, "predictions");
    std::size_t missing = 0, first = 0;
    for (std::size_t i = columns.confidence.size(); i-- > 0;)
        if (std::isnan(columns.confidence[i])) ++missing, first = i;
    if (missing > 0 && !object_rules_.repeats_quirks)
        throw std::invalid_argument("predictions: expected a confidence for every prediction, found " +
                                    std::to_string(missing) + " that are no numbers, the first in image " +
                                    name_of(images_, static_cast<std::size_t>(columns.image[first])) +
                                    "; remove or fix them");
    const bool has_only_masks = columns.regions.boxed && columns.regions.kinds;
    const Objects objects =
        layout_.prepare_preds(columns, has_only_masks && is_limited(rules_.area_ranges), side.computed);
    find_pred_areas(side, objects);
    const auto image = side.image.empty() ? columns.image.values : std::span<const std::int32_t>(side.image);
    if (object_rules_.repeats_quirks && !object_rules_.pred_is_results && columns.ids) {
        side.rows = find_by_id(columns.ids.values, image);
        side.has_null_id.resize(columns.count());
        std::ranges::transform(columns.ids, side.has_null_id.begin(), [](std::int64_t id) { return id <= 0; });
    }
    if (object_rules_.pred_rows) side.rows.assign(object_rules_.pred_rows.begin(), object_rules_.pred_rows.end());
    choose_preds(side);
    return {image,
            side.label.empty() ? columns.label.values : std::span<const std::int32_t>(side.label),
            side.rows,
            objects,
            side.stated ? side.stated.values : std::span<const double>(side.areas),
            columns.confidence.values,
            side.ignore_if_unmatched,
            side.has_null_id};
}

// Results do not state areas: of the box, or of the mask where they have no box. The box of keypoints is around them.
void Sides::find_pred_areas(SideStorage& side, const Objects& objects) const {
    const Columns& columns = side.columns;
    if (!is_limited(rules_.area_ranges) && !object_rules_.drops_flat) return;
    const bool repeats_quirks = object_rules_.repeats_quirks;
    if (repeats_quirks && !object_rules_.pred_is_results && columns.area && !has_nan(columns.area.values)) {
        side.stated = columns.area;
        return;
    }
    if (similarity_.wants.quads) {
        side.areas.resize(columns.count());
        return similarity_.areas(objects, threads_, side.areas);
    }
    const auto& boxed = columns.regions.boxed;
    const auto sizes = boxes_as(columns.regions, BoxLayout::sizes);
    side.areas.resize(columns.count());
    // pycocotools looks at the first result to see what all of them have.
    const bool are_masks = boxed && columns.regions.kinds && (!repeats_quirks || !boxed[0]);
    if (are_masks) draw_areas(objects.outlines, threads_, side.areas);
    for (std::size_t i = 0; i < columns.count(); ++i)
        if (!are_masks || (!repeats_quirks && boxed[i])) side.areas[i] = sizes[4 * i + 2] * sizes[4 * i + 3];
}

void Sides::choose_preds(SideStorage& side) const {
    const Columns& columns = side.columns;
    const std::size_t span = images_.count() * labels_;
    const auto cell_of = [&](const Columns& objects, std::size_t row) {
        return static_cast<std::int64_t>(objects.image[row]) * static_cast<std::int64_t>(labels_) + objects.label[row];
    };
    const auto is_known = [&](std::size_t row) { return static_cast<std::uint32_t>(columns.label[row]) < labels_; };
    if (object_rules_.image_limit > 0 && columns.confidence) {
        const auto is_best = find_best(columns, images_.count(), object_rules_.image_limit);
        leave_out(side, [&](std::size_t row) { return !is_best[row]; });
    }
    if (object_rules_.drops_flat) {
        const auto areas = side.stated ? side.stated.values : std::span<const double>(side.areas);
        leave_out(side, [&](std::size_t row) { return !(areas[row] > 0); });
    }
    if (object_rules_.verified) {
        CellSet verified(span, columns.count());
        for (const std::int64_t cell : object_rules_.verified) verified.add(cell);
        const Columns& truth = truth_.columns;
        for (std::size_t row = 0; row < truth.count(); ++row)
            if (truth_.label.empty() || truth_.label[row] >= 0) verified.add(cell_of(truth, row));
        verified.close();
        leave_out(side, [&](std::size_t row) { return is_known(row) && !verified.has(cell_of(columns, row)); });
    }
    if (object_rules_.ignore_if_unmatched) {
        CellSet ignore_if_unmatched(span, columns.count());
        for (const std::int64_t cell : object_rules_.ignore_if_unmatched) ignore_if_unmatched.add(cell);
        ignore_if_unmatched.close();
        side.ignore_if_unmatched.resize(columns.count());
        for (std::size_t row = 0; row < columns.count(); ++row)
            side.ignore_if_unmatched[row] = is_known(row) && ignore_if_unmatched.has(cell_of(columns, row));
    }
    if (object_rules_.in_ignore_region) {
        if (object_rules_.in_ignore_region.size() != columns.count())
            throw std::invalid_argument("in_ignore_region: expected one value per prediction");
        if (side.ignore_if_unmatched.empty()) side.ignore_if_unmatched.assign(columns.count(), 0);
        for (std::size_t row = 0; row < columns.count(); ++row)
            side.ignore_if_unmatched[row] |= object_rules_.in_ignore_region[row];
    }
}

Array<double> Sides::by_rank(std::span<const double> weights) const {
    Array<double> ranked(weights.begin(), weights.end());
    if (image_rank_ && weights.size() == images_.count())
        for (std::size_t i = 0; i < weights.size(); ++i) ranked[static_cast<std::size_t>(image_rank_[i])] = weights[i];
    return ranked;
}

Array<std::int32_t> Sides::image_order() const {
    Array<std::int32_t> order(image_rank_.size());
    for (std::size_t i = 0; i < order.size(); ++i)
        order[static_cast<std::size_t>(image_rank_[i])] = static_cast<std::int32_t>(i);
    return order;
}

std::int32_t Sides::rank_of(std::int32_t label) const {
    if (static_cast<std::uint32_t>(label) >= labels_)
        throw std::invalid_argument("changes: expected classes of the ground truth, found others");
    return label_rank_ ? label_rank_[static_cast<std::size_t>(label)] : label;
}

Truths Sides::prepare_added(SideStorage& side, const Columns& added) const {
    side.columns = added;
    for (const std::int32_t label : added.label) rank_of(label);
    return prepare_truths(side, true);
}

}  // namespace verite
