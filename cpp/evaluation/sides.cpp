#include "evaluation/sides.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <tuple>

#include "similarity/boxes.hpp"

namespace verite {
namespace {

// Objects that carry one of these flags; nobody: empty.
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

// Objects as pycocotools finds them: by id, image by image in the order of image ids. Of several with the same id only
// the last is found, once for each. Empty where every id is there once.
Array<std::int32_t> find_by_id(std::span<const std::int64_t> ids, std::span<const std::int32_t> image) {
    std::vector<std::int32_t> sorted(ids.size());
    std::iota(sorted.begin(), sorted.end(), 0);
    const auto id_of = [&](std::int32_t row) { return ids[static_cast<std::size_t>(row)]; };
    if (!std::ranges::is_sorted(ids)) std::ranges::stable_sort(sorted, {}, id_of);
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

bool has_limits(std::span<const double> ranges) {
    return std::ranges::any_of(ranges, [](double limit) { return std::isfinite(limit); });
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

// Flags of the predictions that are among the best of their images; of equal ones the first.
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

KeptEvaluation::KeptEvaluation(Columns truth, Columns pred, Images images, std::size_t labels,
                               View<std::int32_t> label_rank, SideRules side_rules, const Rules& rules,
                               const Similarity& similarity, unsigned threads)
    : images_(std::move(images)),
      labels_(labels),
      image_rank_(rank(images_)),
      label_rank_(std::move(label_rank)),
      side_rules_(std::move(side_rules)),
      rules_(rules),
      similarity_(similarity),
      threads_(threads) {
    check(rules_);
    truth_.columns = std::move(truth);
    pred_.columns = std::move(pred);
    const Truths truths = lay_truths(truth_, side_rules_.truth_is_results);
    const Preds preds = lay_preds(pred_);
    evaluation_ = std::make_unique<Evaluation>(truths, preds, images_.count(), labels_, rules_, similarity_,
                                               side_rules_.pixel, threads_);
}

std::string KeptEvaluation::name_of(std::size_t image) const {
    if (images_.names) {
        const auto letters = images_.names[image];
        return "'" + std::string(letters.begin(), letters.end()) + "'";
    }
    return "'" + std::to_string(images_.ids[image]) + "'";
}

// Ranks instead of positions.
void KeptEvaluation::lay_places(Sided& side, const char* name) const {
    const Columns& columns = side.columns;
    for (const std::int32_t image : columns.image)
        if (static_cast<std::uint32_t>(image) >= images_.count())
            throw std::invalid_argument(std::string(name) + ": expected images of the truth, found others");
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

Objects KeptEvaluation::lay_objects(Sided& side, const char* name) const {
    const Columns& columns = side.columns;
    side.boxes = boxes_as(columns.regions, similarity_.wants.corners ? BoxLayout::corners : BoxLayout::sizes);
    Objects objects{.boxes = side.boxes.values, .crowd = side.shared};
    if (similarity_.wants.keypoints) lay_keypoints(side, name, objects);
    if (similarity_.wants.quads) lay_quads(side, name, objects);
    const bool needs_areas =
        &side == &pred_ && columns.regions.boxed && columns.regions.kinds && has_limits(rules_.ranges);
    if (!similarity_.wants.outlines && !needs_areas) return objects;
    static const Shapes none;
    const Shapes& shapes = columns.regions.shapes ? columns.regions.shapes->get() : none;
    side.sizes.resize(2 * columns.count());
    for (std::size_t i = 0; i < columns.count(); ++i) {
        const auto image = static_cast<std::size_t>(columns.image[i]);
        side.sizes[2 * i] = images_.heights[image];
        side.sizes[2 * i + 1] = images_.widths[image];
        const bool is_drawn = !shapes.has_runs() || shapes.run_objects[i] == shapes.run_objects[i + 1];
        if (is_drawn && std::min(side.sizes[2 * i], side.sizes[2 * i + 1]) <= 0)
            throw std::invalid_argument(std::string(name) +
                                        ": expected the size of every image to draw masks, found none for " +
                                        name_of(image) + "; give --image-size WIDTH,HEIGHT or --images FOLDER");
    }
    objects.outlines = list_outlines(shapes, side.boxes.values, side.sizes);
    return objects;
}

// Polygons of four corners as they are, boxes by theirs.
void KeptEvaluation::lay_quads(Sided& side, const char* name, Objects& objects) const {
    const Columns& columns = side.columns;
    const Regions& regions = columns.regions;
    const bool has_quads = std::ranges::any_of(regions.kinds.values, [](std::uint8_t kind) { return kind == 1; });
    if (columns.count() > 0 && !has_quads)
        throw std::invalid_argument(std::string(name) +
                                    ": expected rotated boxes, found none; evaluate boxes with --on box");
    static const Shapes none;
    const Shapes& shapes = regions.shapes ? regions.shapes->get() : none;
    side.quads.resize(8 * columns.count());
    for (std::size_t i = 0; i < columns.count(); ++i) {
        double* const quad = &side.quads[8 * i];
        if (regions.kind(i) == RegionKind::box) {
            const double *box = &side.boxes[4 * i], right = box[0] + box[2], bottom = box[1] + box[3];
            const double corners[8] = {box[0], box[1], right, box[1], right, bottom, box[0], bottom};
            std::copy_n(corners, 8, quad);
            continue;
        }
        const auto refuse = [&](const std::string& found) {
            throw std::invalid_argument(std::string(name) + ": expected four corners for every object, found " + found +
                                        " in image " + name_of(static_cast<std::size_t>(columns.image[i])) +
                                        "; compare polygons and masks with --on mask");
        };
        if (regions.kind(i) == RegionKind::mask) refuse("a mask");
        const auto ring = static_cast<std::size_t>(shapes.ring_objects[i]);
        if (shapes.ring_objects[i + 1] - shapes.ring_objects[i] != 1) refuse("a polygon of several rings");
        const std::int64_t corners = shapes.rings[ring + 1] - shapes.rings[ring];
        if (corners != 4) refuse("a polygon of " + std::to_string(corners));
        std::copy_n(shapes.points.data() + 2 * shapes.rings[ring], 8, quad);
    }
    objects.quads = side.quads;
}

void KeptEvaluation::lay_keypoints(Sided& side, const char* name, Objects& objects) const {
    const Columns& columns = side.columns;
    const auto& keypoints = columns.regions.keypoints;
    const bool is_pred = &side == &pred_;
    objects.sigmas = {side_rules_.sigmas.values.values, side_rules_.sigmas.starts.values};
    objects.labels = columns.label.values;
    if (columns.count() == 0) return;
    if (!keypoints)
        throw std::invalid_argument(std::string(name) +
                                    ": expected keypoints, found none; evaluate boxes with --on box");
    for (std::size_t i = 0; i < columns.count(); ++i) {
        const auto label = static_cast<std::size_t>(columns.label[i]);
        const std::size_t found = keypoints[i].size() / 3;
        if (label >= side_rules_.sigmas.size() || (found == 0 && !is_pred)) continue;
        const std::size_t wanted = side_rules_.sigmas[label].size();
        if (found != wanted || found == 0)
            throw std::invalid_argument(std::string(name) + ": expected " + std::to_string(wanted) +
                                        " keypoints, as there are sigmas, found " + std::to_string(found) +
                                        " in image " + name_of(static_cast<std::size_t>(columns.image[i])) +
                                        " (V420); are these of the same skeleton?");
    }
    objects.keypoints = {keypoints.values.values, keypoints.starts.values};
}

// Truths without a labelled keypoint neither reward nor punish.
void KeptEvaluation::set_aside_unlabelled(Sided& side) const {
    const auto& [keypoints, labelled] = std::tie(side.columns.regions.keypoints, side.columns.labelled);
    side.ignored.resize(side.columns.count(), 0);
    for (std::size_t i = 0; i < side.columns.count(); ++i) {
        std::int64_t count = labelled ? labelled[i] : -1;
        if (count < 0) {
            count = 0;
            const auto points = keypoints ? keypoints[i] : std::span<const double>{};
            for (std::size_t at = 2; at < points.size(); at += 3) count += points[at] > 0;
        }
        side.ignored[i] |= count == 0;
    }
}

Truths KeptEvaluation::lay_truths(Sided& side, bool is_results) const {
    const Columns& columns = side.columns;
    lay_places(side, "truth");
    if (similarity_.wants.outlines) {
        const auto& kinds = columns.regions.kinds;
        const auto is_box = [&](std::size_t i) {
            return !kinds || kinds[i] == static_cast<std::uint8_t>(RegionKind::box);
        };
        std::size_t boxes = 0, first = columns.count();
        for (std::size_t i = columns.count(); i-- > 0;)
            if (is_box(i)) ++boxes, first = i;
        if (boxes > 0)
            throw std::invalid_argument(
                "truth: expected a polygon or mask for every object, found " + std::to_string(boxes) + " of " +
                std::to_string(columns.count()) + " without, the first in image " +
                name_of(static_cast<std::size_t>(columns.image[first])) + "; evaluate boxes with --on box");
    }
    side.ignored = any_of(columns, side_rules_.ignored);
    side.shared = any_of(columns, side_rules_.shared);
    if (similarity_.wants.keypoints) set_aside_unlabelled(side);
    Objects objects = lay_objects(side, "truth");
    find_truth_areas(side, objects);
    const auto image = side.image.empty() ? columns.image.values : std::span<const std::int32_t>(side.image);
    if (side_rules_.repeats_quirks && columns.ids) {
        if (!is_results) side.rows = find_by_id(columns.ids.values, image);
        side.is_odd.resize(columns.count());
        std::ranges::transform(columns.ids, side.is_odd.begin(), [](std::int64_t id) { return id == 0; });
    }
    choose_truths(side);
    return {image,
            side.label.empty() ? columns.label.values : std::span<const std::int32_t>(side.label),
            side.rows,
            objects,
            side.stated ? side.stated.values : std::span<const double>(side.areas),
            side.ignored,
            side.shared,
            side.is_odd,
            &side == &truth_ ? side_rules_.least.values : std::span<const double>{}};
}

void KeptEvaluation::choose_truths(Sided& side) const {
    const View<double>& area = side.columns.area;
    if (!side_rules_.drops_flat || !area) return;
    leave_out(side, [&](std::size_t row) { return area[row] <= 0; });
}

// Objects that do not count are of no class.
void KeptEvaluation::leave_out(Sided& side, const auto& is_out) const {
    const Columns& columns = side.columns;
    for (std::size_t row = 0; row < columns.count(); ++row) {
        if (!is_out(row)) continue;
        if (side.label.empty()) side.label.assign(columns.label.begin(), columns.label.end());
        side.label[row] = -1;
    }
}

// As stated; of the region where they are not.
void KeptEvaluation::find_truth_areas(Sided& side, Objects& objects) const {
    if (!has_limits(rules_.ranges) && !similarity_.wants.keypoints) return;
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

Preds KeptEvaluation::lay_preds(Sided& side) const {
    const Columns& columns = side.columns;
    lay_places(side, "predictions");
    std::size_t missing = 0, first = 0;
    for (std::size_t i = columns.confidence.size(); i-- > 0;)
        if (std::isnan(columns.confidence[i])) ++missing, first = i;
    if (missing > 0 && !side_rules_.repeats_quirks)
        throw std::invalid_argument("predictions: expected a confidence for every prediction, found " +
                                    std::to_string(missing) + " that are no numbers, the first in image " +
                                    name_of(static_cast<std::size_t>(columns.image[first])) + "; remove or mend them");
    const Objects objects = lay_objects(side, "predictions");
    find_pred_areas(side, objects);
    const auto image = side.image.empty() ? columns.image.values : std::span<const std::int32_t>(side.image);
    if (side_rules_.repeats_quirks && !side_rules_.pred_is_results && columns.ids) {
        side.rows = find_by_id(columns.ids.values, image);
        side.is_odd.resize(columns.count());
        std::ranges::transform(columns.ids, side.is_odd.begin(), [](std::int64_t id) { return id <= 0; });
    }
    if (side_rules_.pred_rows) side.rows.assign(side_rules_.pred_rows.begin(), side_rules_.pred_rows.end());
    choose_preds(side);
    return {image,
            side.label.empty() ? columns.label.values : std::span<const std::int32_t>(side.label),
            side.rows,
            objects,
            side.stated ? side.stated.values : std::span<const double>(side.areas),
            columns.confidence.values,
            side.spared,
            side.is_odd};
}

// Results do not state areas: of the box, or of the mask where they have no box. The box of keypoints is around them.
void KeptEvaluation::find_pred_areas(Sided& side, const Objects& objects) const {
    const Columns& columns = side.columns;
    if (!has_limits(rules_.ranges) && !side_rules_.drops_flat) return;
    const bool repeats_quirks = side_rules_.repeats_quirks;
    if (repeats_quirks && !side_rules_.pred_is_results && columns.area && !has_nan(columns.area.values)) {
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

void KeptEvaluation::choose_preds(Sided& side) const {
    const Columns& columns = side.columns;
    const std::size_t span = images_.count() * labels_;
    const auto cell_of = [&](const Columns& objects, std::size_t row) {
        return static_cast<std::int64_t>(objects.image[row]) * static_cast<std::int64_t>(labels_) + objects.label[row];
    };
    const auto is_known = [&](std::size_t row) { return static_cast<std::uint32_t>(columns.label[row]) < labels_; };
    if (side_rules_.image_limit > 0 && columns.confidence) {
        const auto is_best = find_best(columns, images_.count(), side_rules_.image_limit);
        leave_out(side, [&](std::size_t row) { return !is_best[row]; });
    }
    if (side_rules_.drops_flat) leave_out(side, [&](std::size_t row) { return !(side.areas[row] > 0); });
    if (side_rules_.judged) {
        CellSet judged(span, columns.count());
        for (const std::int64_t cell : side_rules_.judged) judged.add(cell);
        const Columns& truth = truth_.columns;
        for (std::size_t row = 0; row < truth.count(); ++row)
            if (truth_.label.empty() || truth_.label[row] >= 0) judged.add(cell_of(truth, row));
        judged.close();
        leave_out(side, [&](std::size_t row) { return is_known(row) && !judged.has(cell_of(columns, row)); });
    }
    if (side_rules_.spared) {
        CellSet spared(span, columns.count());
        for (const std::int64_t cell : side_rules_.spared) spared.add(cell);
        spared.close();
        side.spared.resize(columns.count());
        for (std::size_t row = 0; row < columns.count(); ++row)
            side.spared[row] = is_known(row) && spared.has(cell_of(columns, row));
    }
}

Array<double> KeptEvaluation::by_rank(std::span<const double> weights) const {
    Array<double> ranked(weights.begin(), weights.end());
    if (image_rank_ && weights.size() == images_.count())
        for (std::size_t i = 0; i < weights.size(); ++i) ranked[static_cast<std::size_t>(image_rank_[i])] = weights[i];
    return ranked;
}

Array<std::int32_t> KeptEvaluation::image_order() const {
    Array<std::int32_t> order(image_rank_.size());
    for (std::size_t i = 0; i < order.size(); ++i)
        order[static_cast<std::size_t>(image_rank_[i])] = static_cast<std::int32_t>(i);
    return order;
}

Numbers KeptEvaluation::weight(std::span<const double> weights, unsigned threads) const {
    return evaluation_->weight(by_rank(weights), threads);
}

Numbers KeptEvaluation::change(std::span<const std::int32_t> removed, const Columns* added,
                               std::span<const double> weights, unsigned threads) const {
    Sided side;
    Truths addable;
    if (added) addable = lay_added(side, *added);
    Array<std::int32_t> rows(addable.count());
    std::iota(rows.begin(), rows.end(), 0);
    return evaluation_->change({removed, rows, addable.label, {}}, addable, by_rank(weights), threads);
}

Truths KeptEvaluation::lay_added(Sided& side, const Columns& added) const {
    side.columns = added;
    for (const std::int32_t label : added.label)
        if (static_cast<std::uint32_t>(label) >= labels_)
            throw std::invalid_argument("changes: expected classes of the truth, found others");
    return lay_truths(side, true);
}

Part KeptEvaluation::part(std::span<const std::int64_t> labels, std::string about) const {
    ImageKeys keys;
    if (images_.ids) {
        keys.ids.assign(images_.ids.begin(), images_.ids.end());
        std::ranges::sort(keys.ids);
    } else {
        for (std::size_t image = 0; image < images_.count(); ++image) {
            const auto name = images_.names[image];
            keys.names.emplace_back(name.begin(), name.end());
        }
        std::ranges::sort(keys.names);
    }
    return make_part(*evaluation_, std::move(keys), labels, std::move(about), threads_);
}

std::vector<double> KeptEvaluation::draw_means(std::span<const double> weights, const Changes* changes,
                                               std::span<const Doubt> doubts, std::span<const DrawnChoice> choices,
                                               unsigned threads) const {
    const std::size_t images = images_.count();
    const auto bounds = [](const View<std::int64_t>& offsets, std::size_t count) {
        if (offsets.values.empty() || offsets[0] != 0 || offsets.values.back() != static_cast<std::int64_t>(count) ||
            !std::ranges::is_sorted(offsets.values))
            throw std::invalid_argument("draws: expected offsets that rise from 0 to the number of rows");
        return offsets.size() - 1;
    };
    const std::size_t draws = changes ? bounds(changes->removed_offsets, changes->removed.size())
                                      : weights.size() / std::max<std::size_t>(images, 1);
    if (!(weights.empty() && changes) && weights.size() != draws * images)
        throw std::invalid_argument("draws: expected a weight for each image and as many changed truths as draws");
    std::vector<Array<double>> ranked;
    for (std::size_t i = 0; i < draws && !weights.empty(); ++i)
        ranked.push_back(by_rank(weights.subspan(i * images, images)));
    Sided side;
    Truths addable;
    std::vector<TruthChanges> changed;
    Array<std::int32_t> labels;
    if (changes) {
        if (bounds(changes->added_offsets, changes->added.size()) != draws ||
            bounds(changes->again_offsets, changes->again.size()) != draws ||
            changes->labels.size() != changes->added.size())
            throw std::invalid_argument("draws: expected as many parts of every list as draws");
        if (changes->addable) addable = lay_added(side, *changes->addable);
        for (const std::int32_t label : changes->labels) {
            if (static_cast<std::uint32_t>(label) >= labels_)
                throw std::invalid_argument("changes: expected classes of the truth, found others");
            labels.push_back(label_rank_ ? label_rank_[static_cast<std::size_t>(label)] : label);
        }
        for (std::size_t i = 0; i < draws; ++i) {
            const auto part = [&](std::span<const std::int32_t> rows, const View<std::int64_t>& offsets) {
                return rows.subspan(static_cast<std::size_t>(offsets[i]),
                                    static_cast<std::size_t>(offsets[i + 1] - offsets[i]));
            };
            changed.push_back({part(changes->removed.values, changes->removed_offsets),
                               part(changes->added.values, changes->added_offsets),
                               part(labels, changes->added_offsets),
                               part(changes->again.values, changes->again_offsets)});
        }
    }
    std::vector<Drawn> drawn;
    for (std::size_t i = 0; i < draws; ++i)
        for (const auto& [has_weights, has_changes] : doubts)
            drawn.push_back(
                {has_weights && !weights.empty() ? std::span<const double>(ranked[i]) : std::span<const double>{},
                 has_changes && changes ? &changed[i] : nullptr});
    return verite::draw_means(*evaluation_, addable, drawn, choices, threads);
}

}  // namespace verite
