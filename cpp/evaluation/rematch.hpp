// Matching again after changes of the ground truth: only the groups (image and class) that are touched.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "evaluation/evaluation.hpp"

namespace verite {

// Keeps scratch memory, so that many changes can be tried one after the other; each thread has its own.
class Rematch {
  public:
    // `addable` are the objects that changes may add.
    Rematch(const Evaluation& evaluation, const Truths& addable);

    // Called with the outcomes of a prediction in every area range, at one block of thresholds; all zeros where it
    // matched nothing.
    using Write = std::function<void(std::size_t block, std::size_t index, std::span<const Outcome> outcomes)>;

    // Writes the outcomes of the predictions of every touched group, except those without candidates before and after.
    // Returns the classes that were touched, ascending. Throws std::invalid_argument for rows that do not exist.
    std::span<const std::int32_t> run(const TruthChanges& changes, const Write& write);

    // Corrects the numbers of ground-truth objects, [class][area range], for the changes that were run last, by the
    // weights of their images where there are any.
    void count(std::span<const double> weights, std::span<double> positives) const;

  private:
    struct Touched {
        std::int32_t image, label, added;  // which object is added; -1 for one that is removed
    };
    struct Stretch {
        std::size_t first, last;
    };

    static Stretch group_of(const GroupedObjects& side, const Touched& group);
    void list(const TruthChanges& changes);
    void clear();
    void add_group(std::span<const Touched> group);
    void add_truths(Stretch truths, std::span<const Touched> group);
    void add_preds(Stretch truths, Stretch preds);
    void match(const Write& write);
    std::int32_t index_of(std::int32_t row) const;

    const Evaluation& evaluation_;
    const Truths& addable_;
    Array<AreaRangeSet> addable_ignored_;
    std::unique_ptr<GroupComparison> comparison_;  // of objects that are added
    std::span<const std::int32_t> truth_indices_;
    std::vector<Touched> touched_;
    std::vector<std::int32_t> labels_, removed_, duplicated_;  // classes, and indices of ground-truth objects
    std::vector<std::uint8_t> is_removed_;                     // by index
    // Of one group
    std::vector<std::int32_t> added_rows_;
    std::vector<std::int32_t> place_;  // of each of its objects among those that are kept, -1 if it is removed
    std::int32_t first_added_ = 0;
    Candidates extra_;
    // Of all touched groups, one after the other
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
