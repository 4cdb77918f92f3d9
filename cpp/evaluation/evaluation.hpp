// One evaluation: IoUs, matches and outcomes of all predictions, kept to answer many questions (AP, AR, per object, per
// image, weighted images, changed ground truth).
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "columns/cells.hpp"
#include "evaluation/precision_recall.hpp"
#include "similarity/similarity.hpp"

namespace verite {

// Ground-truth objects, row by row. An empty flag column means that no object carries the flag.
struct Truths {
    std::span<const std::int32_t> image, label;  // ranks; an object of rank -1 does not take part
    std::span<const std::int32_t> rows;          // which objects there are and in which order; empty: all, as given
    Objects objects;
    std::span<const double> areas;              // square pixels; NaN is in every area range
    std::span<const std::uint8_t> ignored;      // matching them is neither a true nor a false positive
    std::span<const std::uint8_t> multi_match;  // any number of predictions may match them (crowds)
    std::span<const std::uint8_t> has_null_id;  // id 0, whose matches pycocotools takes for none
    std::span<const double> min_iou;            // the IoU that each requires besides the threshold

    std::size_t count() const { return image.size(); }
};

// Predictions, row by row.
struct Preds {
    std::span<const std::int32_t> image, label;
    std::span<const std::int32_t> rows;
    Objects objects;
    std::span<const double> areas;
    std::span<const double> confidence;                 // empty: all the same
    std::span<const std::uint8_t> ignore_if_unmatched;  // ignored instead of false positives
    std::span<const std::uint8_t> keeps_truth_free;     // their match leaves the object free for others

    std::size_t count() const { return image.size(); }
};

// Changes of the ground truth, as a simulation of annotation errors makes them.
struct TruthChanges {
    std::span<const std::int32_t> removed;        // rows of the ground truth
    std::span<const std::int32_t> added, labels;  // rows of the objects that may be added, and their classes by rank
    std::span<const std::int32_t> duplicated;     // rows of the ground truth with a second copy that nothing matches
};

// The outcome of every object at one threshold and in one area range.
struct ObjectOutcomes {
    enum State : std::int8_t { not_evaluated = -2, ignored = -1, false_positive = 0, true_positive = 1 };

    Array<std::int8_t> state;           // of predictions; not evaluated: beyond maxDets or of no class
    Array<std::int32_t> truth;          // the row each prediction matched, -1 for none
    Array<double> iou;                  // with that object; NaN for none
    Array<std::int32_t> pred;           // the first prediction that matched each ground-truth object, -1 for none
    Array<std::uint8_t> counted_truth;  // ground-truth objects that are not ignored: found or missed
};

// Every image evaluated by itself, in the order of ranks.
struct ImageResults {
    Array<double> precision;  // averaged over all thresholds, recalls and classes of the image; NaN where it has none
    Array<std::int64_t> truths, tp, fp;  // at the first threshold
};

class Rematch;
class TruthChanger;

class Evaluation {
  public:
    // Compares, matches and finds outcomes. The memory of both sides stays the caller's and must outlive this.
    // `pixel` is added to widths and heights (1 where corners are pixel indices), `most_pairs` bounds the candidates.
    // Throws std::invalid_argument for inconsistent input and std::length_error for too many candidates.
    Evaluation(const Truths& truth, const Preds& pred, std::size_t images, std::size_t labels, const Rules& rules,
               const SimilarityMeasure& similarity, double pixel, std::size_t most_pairs, unsigned threads);

    const Rules& rules() const { return rules_; }
    std::size_t labels() const { return labels_; }
    std::size_t images() const { return images_; }

    // Precision and recall; accumulated at the first call.
    const PrecisionRecall& numbers() const;

    // As if each image were repeated: weights by rank, 0 or more. Throws std::invalid_argument for others.
    PrecisionRecall weight(std::span<const double> weights, unsigned threads) const;

    // With changed ground truth, and repeated images where there are weights. Only touched groups are matched again;
    // several threads may call it at once. Throws std::invalid_argument for rows that do not exist.
    PrecisionRecall change(const TruthChanges& changes, const Truths& addable, std::span<const double> weights,
                           unsigned threads) const;

    // precision, confidence [threshold][recall][class][area range][maxDets] and recall
    // [threshold][class][area range][maxDets], `absent` where a class has no ground truth.
    void fill_arrays(double absent, std::span<double> precision, std::span<double> confidence,
                     std::span<double> recall) const;

    // Throws std::invalid_argument for a threshold or area range that was not evaluated.
    ObjectOutcomes outcomes(std::size_t threshold, std::size_t range) const;
    ImageResults by_image() const;

    // For each class, ground-truth objects that are not ignored, and predictions within maxDets.
    // How many numbers the precision-recall curves of all classes with ground truth have.
    std::size_t curve_points() const { return count_curve_points(rules_, positives_); }
    std::vector<std::int64_t> truth_counts() const, pred_counts() const;

    // Whether the ground truth of both has the same flags.
    bool shares_flags(const Evaluation& other) const {
        return multi_match_ == other.multi_match_ && has_null_id_ == other.has_null_id_ && min_iou_ == other.min_iou_ &&
               rules_.area_ranges == other.rules_.area_ranges;
    }

    // What is kept, by index.
    const GroupedObjects& truths() const { return truths_; }
    const OrderedPredictions& preds() const { return preds_; }
    CandidateView candidates() const {
        return {candidates_.offsets, candidates_.truth.values(), candidates_.iou.values()};
    }
    // One element per block of sixteen thresholds.
    std::span<const PredictionOutcomes> pred_outcomes() const { return pred_outcomes_; }
    std::span<const Array<ThresholdSet>> matched() const { return matched_; }
    std::span<const double> positives() const { return positives_; }
    std::span<const AreaRangeSet> ignored() const { return ignored_; }
    std::span<const AreaRangeSet> outside() const { return outside_; }
    std::span<const double> confidence() const;
    // The thresholds of a block.
    std::span<const double> thresholds(std::size_t block) const;

    // Ground-truth objects that are not ignored, [class][area range], weighted by image; and what accumulation needs of
    // weights.
    Array<double> weigh_positives(std::span<const double> weights) const;
    Weighting weighting(std::span<const double> weights) const;

  private:
    friend class Rematch;
    friend class TruthChanger;

    void match();
    AccumulationInput accumulation_input(std::size_t block) const;
    std::span<const std::int32_t> truth_indices() const;
    MatchFlags match_flags() const { return {ignored_, multi_match_, keeps_truth_free_, min_iou_}; }

    Truths truth_;
    Preds pred_;
    std::size_t images_, labels_;
    Rules rules_;
    const SimilarityMeasure& similarity_;
    double pixel_;
    unsigned threads_;

    GroupedObjects truths_;
    OrderedPredictions preds_;
    Candidates candidates_;
    Array<AreaRangeSet> ignored_, outside_;
    Array<std::uint8_t> multi_match_, has_null_id_, keeps_truth_free_;
    Array<double> min_iou_;
    std::vector<Array<ThresholdSet>> matched_;
    std::vector<PredictionOutcomes> pred_outcomes_;
    Array<double> positives_;  // [class][area range]

    // Made at the first call that needs them.
    mutable std::mutex making_;
    mutable std::optional<PrecisionRecall> numbers_;
    mutable Array<double> confidence_;         // by index
    mutable Array<std::int32_t> image_;        // of each place in the order of classes
    mutable Array<std::uint32_t> runs_;        // from each place on, of the same image and confidence
    mutable Array<std::int32_t> truth_index_;  // of each ground-truth row; -1 where it has none
};

}  // namespace verite
