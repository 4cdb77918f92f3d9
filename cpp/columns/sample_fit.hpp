// Sample fit: whether predictions match the ground truth in a sample of images so well that boxes and classes cannot
// have been misread; and signs of exchanged classes, missing non-maximum suppression and reversed confidences.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "columns/anomalies.hpp"

namespace verite {

// How much of the ground truth must be matched.
struct FitRules {
    std::size_t images = 128,
                per_image = 100;         // the sample: evenly spaced images, the most confident predictions
    double found = 0.5, precise = 0.75;  // IoUs from which an object is matched, and matched precisely
    double share = 0.5;                  // of the objects that can be matched: to be matched precisely
    // ... or, of a detector that misses many: share to be matched, and share of these to be matched precisely.
    double matched = 0.65, mostly_precise = 0.6;
    double pixels = 2,
           most_small =
               0.05;          // coordinates up to this many pixels may be fractions; the share of them that is accepted
    std::size_t fewest = 6;   // matched objects from which their classes are evidence
    double taken_for = 0.75;  // share of a class that is matched as one other class: the two are exchanged
    double clone = 0.85, same = 0.999;  // IoUs between which non-maximum suppression leaves one of two predictions
    double as_sure = 0.5;               // ... or leaves it less than this part of its confidence
};

// A class most of whose objects are matched by predictions of another one.
struct Exchange {
    std::int32_t label, as;
    std::size_t count, found;
};

struct SampleFit {
    std::size_t possible = 0, precise = 0, found = 0, agreeing = 0;
    // Most objects are matched precisely, by predictions most of which have their class, with coordinates too large to
    // be fractions. False is no evidence of the opposite.
    bool is_good = false;
    std::vector<Exchange> exchanges{};  // cycles of classes: each is matched as the next
    std::size_t images_with_objects = 0;
    Tally unpredicted{};  // those of them that have no prediction ...
    double expected = 0;  // ... and how many would have none if objects were matched independently of each other
    std::size_t looked_at = 0,
                unsuppressed =
                    0;  // predictions of the sample, and those that suppression by a more confident one removes
    std::size_t true_positives = 0, false_positives = 0;  // of the sample
    // Pairs of a true and a false positive in which the true positive is more confident; half where they are equal.
    double u_statistic = 0;
    // Objects without a match whose box some prediction has precisely if its four numbers are read in another layout,
    // by layout (see `other_layouts`): part of a file may be written in another one than the rest.
    std::array<std::size_t, 5> gained{};
    // The farthest right and bottom edges of predictions, how many lie exactly on one of them, and how many objects
    // have their centre beyond: predictions may be in coordinates of tiles, or clipped to another size.
    double reach[2] = {0, 0};
    std::size_t at_reach = 0, beyond_reach = 0, objects = 0;
    std::size_t most_in_image = 0, images_predicted = 0;  // predictions of the image that has most, and images with any
};

// The layouts of `SampleFit::gained`, for boxes read as left, top, width, height or as corners: the other of the two,
// centre and size, and the same with y before x.
inline constexpr std::array<const char*, 5> other_layouts = {"xywh", "xyxy", "cxcywh", "yxhw", "yxyx"};

// Crowds are ignored; `images` is the number of images. Without confidences is_good is false.
SampleFit sample_fit(const Surveyed& truth, const Surveyed& pred, std::size_t images, const FitRules& rules = {});

}  // namespace verite
