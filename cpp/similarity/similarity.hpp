// How alike are two regions? The only place that knows what a region is: one file for each kind, one interface for all.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "similarity/coco_masks.hpp"
#include "similarity/overlaps.hpp"

namespace verite {

// What a similarity may look at, object by object.
struct Objects {
    std::span<const double> boxes{};        // four numbers each, in the layout the similarity wants
    std::span<const std::uint8_t> crowd{};  // of truths
    Outlines outlines{};                    // empty where the similarity does not want them
    Ragged<double> keypoints{};             // x, y and visibility of each point; empty likewise
    std::span<const double> quads{};        // four corners each, x1, y1, … x4, y4; empty likewise
    // Of truths, where keypoints are wanted: areas, classes, and for each class how far each point may be off.
    std::span<const double> areas{};
    std::span<const std::int32_t> labels{};
    Ragged<double> sigmas{};
};

// What a similarity wants to look at besides boxes as left, top, width and height.
struct Wanted {
    bool corners = false;   // boxes as x1, y1, x2, y2
    bool outlines = false;  // masks, polygons
    bool keypoints = false;
    bool quads = false;  // four corners
};

// Both sides and how they are compared.
struct Comparison {
    Objects truth, pred;
    double floor = 0;  // pairs below it do not matter
    double pixel = 0;  // added to every width and height: 1 where corners are pixel indices
    std::size_t most_pairs = SIZE_MAX;
};

// One group after the other, for those who do not compare everything at once.
class GroupComparison {
  public:
    virtual ~GroupComparison() = default;

    // Adds the pairs of these predictions with these truths, whose positions are those in `truths`, and ends the
    // candidates of every prediction.
    virtual void compare(std::span<const std::int32_t> truths, std::span<const std::int32_t> preds,
                         Candidates& found) = 0;
};

struct Similarity {
    std::string_view name;
    std::string_view about;  // what is compared, as help says it; empty: nobody asks for it by name
    Wanted wants;
    Candidates (*find)(const Comparison& comparison, const Cells& truth, const Cells& pred, unsigned threads);
    std::unique_ptr<GroupComparison> (*compare_groups)(const Comparison& comparison);
    // The area of each object, where the file does not state it.
    void (*areas)(const Objects& objects, unsigned threads, std::span<double> out);
};

std::span<const Similarity* const> every_similarity();

// Throws std::invalid_argument with the names there are.
const Similarity& find_similarity(std::string_view name);

// A similarity made of a measure (see find_candidates), which is made from a comparison.
template <class Measure>
class MeasuredGroups : public GroupComparison {
  public:
    explicit MeasuredGroups(const Comparison& comparison) : comparison_(comparison), measure_(comparison_) {}

    void compare(std::span<const std::int32_t> truths, std::span<const std::int32_t> preds,
                 Candidates& found) override {
        measure_.meet(truths);
        const auto add = [&](std::size_t t, double overlap) {
            found.truth.push(static_cast<std::int32_t>(t));
            found.overlap.push(overlap);
        };
        for (const std::int32_t pred : preds) {
            add_candidates(measure_, pred, truths.size(), comparison_.floor, found, add);
            found.offsets.push_back(static_cast<std::int64_t>(found.truth.rows()));
        }
    }

  private:
    const Comparison comparison_;
    Measure measure_;
};

template <class Measure>
constexpr Similarity make_similarity(std::string_view name, std::string_view about, Wanted wants,
                                     void (*areas)(const Objects&, unsigned, std::span<double>)) {
    return {name,
            about,
            wants,
            [](const Comparison& comparison, const Cells& truth, const Cells& pred, unsigned threads) {
                return find_candidates(truth, pred, comparison.floor, comparison.most_pairs, threads,
                                       [&] { return Measure(comparison); });
            },
            [](const Comparison& comparison) -> std::unique_ptr<GroupComparison> {
                return std::make_unique<MeasuredGroups<Measure>>(comparison);
            },
            areas};
}

}  // namespace verite
