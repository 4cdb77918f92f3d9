#include "evaluation/coco_numbers.hpp"

#include <algorithm>
#include <cmath>

#include "similarity/boxes.hpp"

namespace verite {
namespace {

// Stated areas; where some are not, all of them in `derived`, those of boxes in their place. Masks state theirs.
std::span<const double> truth_areas(const CocoObjects& truth, unsigned threads, Array<double>& derived) {
    const auto is_missing = [](double area) { return std::isnan(area); };
    if (!truth.areas.empty() && std::ranges::none_of(truth.areas, is_missing)) return truth.areas;
    derived.resize(truth.image.size());
    box_areas(truth.boxes, threads, derived);
    for (std::size_t i = 0; i < truth.areas.size(); ++i)
        if (!is_missing(truth.areas[i])) derived[i] = truth.areas[i];
    return derived;
}

// What is made besides the columns, while an evaluation lasts.
struct Made {
    Made(const CocoObjects& truth, const CocoObjects& pred, bool honours_ignore, unsigned threads)
        : ignored(truth.crowd.begin(), truth.crowd.end()), pred_areas(pred.image.size()) {
        if (honours_ignore && !truth.ignore.empty()) {
            ignored.resize(truth.image.size(), 0);
            std::ranges::transform(ignored, truth.ignore, ignored.begin(), std::bit_or<std::uint8_t>());
        }
        areas = truth_areas(truth, threads, derived);
        box_areas(pred.boxes, threads, pred_areas);
    }

    Array<std::uint8_t> ignored;
    Array<double> derived, pred_areas;
    std::span<const double> areas;
};

}  // namespace

CocoNumbers::CocoNumbers(const Evaluation& evaluation)
    : numbers(evaluation.numbers()), truth_counts(evaluation.truth_counts()), pred_counts(evaluation.pred_counts()) {}

CocoNumbers::CocoNumbers(const CocoObjects& truth, const CocoObjects& pred, std::size_t images, std::size_t labels,
                         const Rules& rules, const Similarity& similarity, bool honours_ignore, unsigned threads)
    : CocoNumbers([&] {
          const Made made(truth, pred, honours_ignore, threads);
          const Truths truths{truth.image, truth.label,  {},          {truth.boxes, truth.crowd, truth.outlines},
                              made.areas,  made.ignored, truth.crowd, {},
                              {}};
          const Preds preds{pred.image,      pred.label,      {}, {pred.boxes, {}, pred.outlines},
                            made.pred_areas, pred.confidence, {}, {}};
          return CocoNumbers(Evaluation(truths, preds, images, labels, rules, similarity, 0, threads));
      }()) {}

}  // namespace verite
