// Similarities of regions (box IoU, mask IoU, boundary IoU, OKS, rotated IoU, distance of points): the only place that
// knows what a region is. One file for each, one interface for all.
#pragma once

#include <concepts>
#include <memory>
#include <span>
#include <string_view>

#include "similarity/candidates.hpp"
#include "similarity/coco_masks.hpp"

namespace verite {

// What a similarity may look at, object by object. Columns that it does not want are empty.
struct Objects {
    std::span<const double> boxes{};        // four numbers each, in the layout the similarity wants
    std::span<const std::uint8_t> crowd{};  // of ground truth
    Outlines outlines{};
    Ragged<double> keypoints{};        // x, y and visibility of each point
    std::span<const double> quads{};   // four corners each, x1, y1, … x4, y4
    std::span<const double> points{};  // x, y and the maximum distance of a match each
    // Of ground truth with keypoints: areas in square pixels, classes, and the sigmas of each class.
    std::span<const double> areas{};
    std::span<const std::int32_t> labels{};
    Ragged<double> sigmas{};
};

// What a similarity wants to look at besides boxes as left, top, width and height.
struct Wanted {
    bool corners = false;   // boxes as x1, y1, x2, y2
    bool outlines = false;  // masks, polygons
    bool keypoints = false;
    bool quads = false;   // four corners
    bool points = false;  // one point, and the maximum distance of a match
};

// The maximum distance of a match of points: in pixels, plus a share of the image's diagonal, plus a share of the size
// of the ground-truth object (the root of its box's area).
struct Reach {
    double pixels = 0, diagonal = 0, size = 0;
};

// Both sides and how they are compared.
struct Comparison {
    Objects truth, pred;
    double floor = 0;  // pairs below it are no candidates
    double pixel = 0;  // added to every width and height: 1 where corners are pixel indices
    std::size_t most_pairs = SIZE_MAX;
};

// Compares one group after the other, where not everything is compared at once.
class GroupComparison {
  public:
    virtual ~GroupComparison() = default;

    // Adds the candidates of these predictions among these ground-truth objects, whose positions are those in `truths`,
    // and one offset for every prediction.
    virtual void compare(std::span<const std::int32_t> truths, std::span<const std::int32_t> preds,
                         Candidates& found) = 0;
};

// A similarity as evaluations use it: its name and what it can do.
struct SimilarityMeasure {
    std::string_view name;   // what `--on` takes
    std::string_view about;  // what is compared, for help texts; empty: for internal use only
    Wanted wants;
    Candidates (*find)(const Comparison& comparison, const Cells& truth, const Cells& pred, unsigned threads);
    std::unique_ptr<GroupComparison> (*compare_groups)(const Comparison& comparison);
    // The area of each object in square pixels, where the file does not state it.
    void (*areas)(const Objects& objects, unsigned threads, std::span<double> out);
};

std::span<const SimilarityMeasure* const> every_similarity();

// Throws std::invalid_argument that lists the names there are.
const SimilarityMeasure& find_similarity(std::string_view name);

template <Similarity Compare>
class ComparedGroups : public GroupComparison {
  public:
    explicit ComparedGroups(const Comparison& comparison) : comparison_(comparison), similarity_(comparison_) {}

    void compare(std::span<const std::int32_t> truths, std::span<const std::int32_t> preds,
                 Candidates& found) override {
        similarity_.set_truths(truths);
        const auto add = [&](std::size_t t, double iou) {
            found.truth.push(static_cast<std::int32_t>(t));
            found.iou.push(iou);
        };
        for (const std::int32_t pred : preds) {
            add_candidates(similarity_, pred, truths.size(), comparison_.floor, found, add);
            found.offsets.push_back(static_cast<std::int64_t>(found.truth.rows()));
        }
    }

  private:
    const Comparison comparison_;
    Compare similarity_;
};

// Makes the record of a similarity that is constructed from a comparison.
template <Similarity Compare>
    requires std::constructible_from<Compare, const Comparison&>
constexpr SimilarityMeasure make_similarity(std::string_view name, std::string_view about, Wanted wants,
                                            void (*areas)(const Objects&, unsigned, std::span<double>)) {
    return {name,
            about,
            wants,
            [](const Comparison& comparison, const Cells& truth, const Cells& pred, unsigned threads) {
                return find_candidates(truth, pred, comparison.floor, comparison.most_pairs, threads,
                                       [&] { return Compare(comparison); });
            },
            [](const Comparison& comparison) -> std::unique_ptr<GroupComparison> {
                return std::make_unique<ComparedGroups<Compare>>(comparison);
            },
            areas};
}

}  // namespace verite
