// Matching again after changes of the ground truth: only the groups (image and class) that are touched.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "evaluation/evaluation.hpp"

namespace verite {

// A changed ground truth, ready to be matched. Nothing of it depends on the predictions: many detectors share it.
struct ChangedTruth {
    struct Group {
        std::int32_t image, label;
        std::size_t truths, places, added, flags;  // where its part of each list begins
    };
    struct Count {
        std::int32_t image, label;
        AreaRangeSet ignored;
        double sign;  // 1 for an object that is added, -1 for one that is removed
    };

    std::vector<Group> groups;         // touched, by image and class; the last one ends all lists
    std::vector<std::int32_t> places;  // of each object of a group among those that are kept, -1 if it is removed
    std::vector<std::int32_t> added;   // rows of the objects that are added
    // Flags of the objects of a group: those that are kept, in order, then the added ones.
    std::vector<AreaRangeSet> ignored;
    std::vector<std::uint8_t> multi_match, has_null_id;
    std::vector<double> min_iou;
    std::vector<std::int32_t> labels;  // classes that are touched, ascending
    std::vector<Count> counts;

    // Corrects the numbers of ground-truth objects, [class][area range], by the weights of their images where there are
    // any.
    void count(std::span<const double> weights, std::size_t ranges, std::span<double> positives) const;
};

// Applies changes to the ground truth of an evaluation. Keeps scratch memory; each thread has its own.
class TruthChanger {
  public:
    // `addable` are the objects that changes may add.
    TruthChanger(const Evaluation& evaluation, const Truths& addable);

    // Throws std::invalid_argument for rows that do not exist.
    void apply(const TruthChanges& changes, ChangedTruth& out);

  private:
    struct Touched {
        std::int32_t image, label, added;  // which object is added; -1 for one that is removed
    };

    std::int32_t index_of(std::int32_t row) const;
    void list(const TruthChanges& changes);
    void add_group(std::span<const Touched> group, ChangedTruth& out) const;

    const Evaluation& evaluation_;
    const Truths& addable_;
    Array<AreaRangeSet> addable_ignored_;
    std::span<const std::int32_t> truth_indices_;
    std::vector<Touched> touched_, sorted_;
    std::vector<std::size_t> image_offsets_;
    std::vector<std::int32_t> removed_, duplicated_;  // indices of ground-truth objects
    std::vector<std::uint8_t> is_removed_;            // by index
};

// Keeps scratch memory, so that many changes can be tried one after the other; each thread has its own.
class Rematch {
  public:
    // `addable` are the objects that changes may add.
    Rematch(const Evaluation& evaluation, const Truths& addable);

    // Called with the outcomes of a prediction in every area range, at one block of thresholds; all zeros where it
    // matched nothing.
    using Write = std::function<void(std::size_t block, std::size_t index, std::span<const Outcome> outcomes)>;

    // Writes the outcomes of the predictions of every touched group, except those without candidates before and after.
    void run(const ChangedTruth& changed, const Write& write);

  private:
    void clear();
    void add_preds(std::size_t first, std::size_t last, std::size_t first_truth, std::span<const std::int32_t> places,
                   std::span<const std::int32_t> added, std::size_t kept);
    void match(const Write& write);

    const Evaluation& evaluation_;
    std::unique_ptr<GroupComparison> comparison_;  // of objects that are added
    Candidates extra_;                             // of one group
    // Of all touched groups with predictions, one after the other
    std::vector<std::int32_t> truth_rows_, indices_;  // indices of predictions
    std::vector<std::int64_t> truth_images_, pred_images_;
    std::vector<AreaRangeSet> ignored_;
    std::vector<std::uint8_t> multi_match_, has_null_id_, keeps_truth_free_;
    std::vector<double> min_iou_;
    Candidates candidates_;
    std::vector<ThresholdSet> matched_;
    std::vector<Outcome> outcomes_;
};

}  // namespace verite
