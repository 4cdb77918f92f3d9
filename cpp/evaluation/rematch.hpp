// What becomes of predictions where the truth is another one? Only groups that are touched are matched again.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "evaluation/evaluation.hpp"

namespace verite {

// Keeps scratch memory, so that many changes can be asked for one after the other; each thread has its own.
class Rematch {
  public:
    // `addable` are the objects that changes may add.
    Rematch(const Evaluation& evaluation, const Truths& addable);

    // What became of a prediction in every range, at the thresholds of a block; nothing taken is all zeros.
    using Write = std::function<void(std::size_t block, std::size_t slot, std::span<const Outcome> outcomes)>;

    // Writes what became of the predictions of every group that is touched, those aside that meet nobody, and says
    // which classes were touched, rising.
    std::span<const std::int32_t> run(const TruthChanges& changes, const Write& write);

    // Corrects the numbers of truths to be found for the changes that were run last, by the weights of their images
    // where there are any.
    void count(std::span<const double> weights, std::span<double> positives) const;

  private:
    struct Touched {
        std::int32_t image, label, added;  // which object is added; -1 for one that is removed
    };
    struct Stretch {
        std::size_t first, last;
    };

    static Stretch group_of(const Grouped& side, const Touched& group);
    void list(const TruthChanges& changes);
    void clear();
    void lay_group(std::span<const Touched> group);
    void lay_truths(Stretch truths, std::span<const Touched> group);
    void lay_preds(Stretch truths, Stretch preds);
    void match(const Write& write);
    std::int32_t slot_of(std::int32_t row) const;

    const Evaluation& evaluation_;
    const Truths& addable_;
    Array<Ranges> addable_ignored_;
    std::unique_ptr<GroupComparison> comparison_;  // of objects that are added
    std::span<const std::int32_t> truth_slots_;
    std::vector<Touched> touched_;
    std::vector<std::int32_t> labels_, removed_, again_;  // classes, and slots of truths
    std::vector<std::uint8_t> is_removed_;                // by slot
    // Of one group
    std::vector<std::int32_t> added_rows_;
    std::vector<std::int32_t> place_;  // of each of its truths among those that are laid out, -1 if it does not stay
    std::int32_t first_added_ = 0;
    Candidates extra_;
    // Of all that are touched, one after the other
    std::vector<std::int32_t> truth_rows_, slots_;  // slots of predictions
    std::vector<std::int64_t> truth_images_, pred_images_;
    std::vector<Ranges> ignored_;
    std::vector<std::uint8_t> shared_, is_void_, grasping_;
    std::vector<double> least_;
    Candidates candidates_;
    std::vector<Thresholds> matched_;
    std::vector<Outcome> outcomes_;
};

}  // namespace verite
