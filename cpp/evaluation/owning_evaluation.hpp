// An evaluation together with the columns it was made from: what Python holds.
#pragma once

#include <string>
#include <vector>

#include "evaluation/bootstrap.hpp"
#include "evaluation/sides.hpp"
#include "evaluation/state.hpp"

namespace verite {

// The changed ground truth of many simulations: lists one after the other, and offsets where each simulation begins.
struct SimulatedChanges {
    View<std::int32_t> removed;
    View<std::int64_t> removed_offsets;
    View<std::int32_t> added, labels;  // rows of the objects that may be added, and positions of their classes
    View<std::int64_t> added_offsets;
    View<std::int32_t> duplicated;
    View<std::int64_t> duplicated_offsets;
};

// A source of uncertainty: which of the bootstrap of images and the simulation of annotation errors is applied.
struct UncertaintySource {
    bool has_weights = true, has_changes = true;
};

// Weights and changed ground truths of many simulations, ready for every detector on the same ground truth.
struct PreparedSimulations {
    std::size_t count = 0;
    std::vector<Array<double>> weights;  // by rank; empty where images are not drawn
    SimulatedChanges given;              // keeps the memory of `changes`
    SideStorage side;                    // keeps the memory of `addable`
    Truths addable;
    Array<std::int32_t> labels;
    std::vector<TruthChanges> changes;  // empty where the ground truth is not changed
    std::vector<ChangedTruth> changed;  // the same, applied; may be empty
};

class OwningEvaluation {
  public:
    // As Sides are made.
    OwningEvaluation(Columns truth, Columns pred, Images images, std::size_t labels, View<std::int32_t> label_rank,
                     ObjectRules object_rules, const Rules& rules, const SimilarityMeasure& similarity,
                     unsigned threads);

    const Sides& sides() const { return sides_; }
    const Evaluation& evaluation() const { return evaluation_; }

    // Weights are by position of the image.
    PrecisionRecall weight(std::span<const double> weights, unsigned threads) const;
    // Without these rows of the ground truth and with the added objects; weights may be empty.
    PrecisionRecall change(std::span<const std::int32_t> removed, const Columns* added, std::span<const double> weights,
                           unsigned threads) const;

    // Weights are [simulation][image] or empty; `changes` may be null, `addable` (the objects that changes may add)
    // too. With `applies`, changes are applied here, once for all detectors. Throws std::invalid_argument where lengths
    // do not agree.
    PreparedSimulations prepare(std::span<const double> weights, const SimulatedChanges* changes,
                                const Columns* addable, bool applies, unsigned threads) const;
    // Whether both have the same ground truth, so that one can use what the other has prepared.
    bool shares_truth(const OwningEvaluation& other) const;

    // Means of many simulations, [simulation][source][query].
    std::vector<double> bootstrap_means(const PreparedSimulations& prepared, std::span<const UncertaintySource> sources,
                                        std::span<const MeanQuery> queries, unsigned threads) const;

    // The mergeable state of these images, which are known by their ids or else by their names; `labels` are ids of
    // classes in their order, `about` must be equal in states that are merged.
    EvaluationState state(std::span<const std::int64_t> labels, std::string about) const;

  private:
    Sides sides_;
    Evaluation evaluation_;
    unsigned threads_;
};

}  // namespace verite
