// One evaluation, kept: who meets whom, who takes whom and what becomes of it, to be asked many ways.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "columns/cells.hpp"
#include "evaluation/numbers.hpp"
#include "similarity/similarity.hpp"

namespace verite {

// The truths of an evaluation, object by object. What is empty holds for nobody.
struct Truths {
    std::span<const std::int32_t> image, label;  // ranks; -1 leaves an object out
    std::span<const std::int32_t> rows;          // which objects there are and in which order; empty: all, as given
    Objects objects;
    std::span<const double> areas;          // what is not a number is in every range
    std::span<const std::uint8_t> ignored;  // neither reward nor punish
    std::span<const std::uint8_t> shared;   // may be taken by many
    std::span<const std::uint8_t> is_void;  // count as no match though they are taken
    std::span<const double> least;          // the overlap each asks for besides the threshold

    std::size_t count() const { return image.size(); }
};

struct Preds {
    std::span<const std::int32_t> image, label;
    std::span<const std::int32_t> rows;
    Objects objects;
    std::span<const double> areas;
    std::span<const double> confidence;              // empty: all the same
    std::span<const std::uint8_t> spared;            // count for nothing if they find nothing
    std::span<const std::uint8_t> keeps_truth_free;  // take a truth and yet leave it free

    std::size_t count() const { return image.size(); }
};

// The truth as it may be instead: these objects are not there, those are there too, behind all others of their groups.
struct TruthChanges {
    std::span<const std::int32_t> removed;        // objects of the truth
    std::span<const std::int32_t> added, labels;  // which of the objects that may be added, and their classes by rank
    std::span<const std::int32_t> again;          // objects of the truth with a twin that nobody finds
};

// At one threshold and in one area range, object by object.
struct Outcomes {
    enum State : std::int8_t { ignored = -1, wrong = 0, right = 1, unseen = -2 };

    Array<std::int8_t> state;         // of predictions: `unseen` are those beyond the limit or of no class
    Array<std::int32_t> truth, pred;  // whom each took, and by whom each was taken; -1 for nobody
    Array<double> overlap;            // of predictions with whom they took
    Array<std::uint8_t> is_asked;     // truths that are to be found
};

// Every image as if there were no other, in the order of ranks.
struct ImageNumbers {
    Array<double> precision;  // averaged over all thresholds, recalls and classes that have truths in the image
    Array<std::int64_t> truths, found, wrong;  // at the first threshold
};

class Rematch;

class Evaluation {
  public:
    // Makes everything up to the flags. The memory of both sides stays the caller's and must outlive this.
    Evaluation(const Truths& truth, const Preds& pred, std::size_t images, std::size_t labels, const Rules& rules,
               const Similarity& similarity, double pixel, std::size_t most_pairs, unsigned threads);

    const Rules& rules() const { return rules_; }
    std::size_t labels() const { return labels_; }
    std::size_t images() const { return images_; }

    // Precision and recall; made when they are first asked for.
    const PrecisionRecall& numbers() const;

    // As if each image were there so many times: weights by rank, 0 or more.
    PrecisionRecall weight(std::span<const double> weights, unsigned threads) const;

    // As if the truth were another one, and each image there so many times where there are weights. What is not touched
    // is borrowed; nothing of this is written to, so that many may ask at once.
    PrecisionRecall change(const TruthChanges& changes, const Truths& addable, std::span<const double> weights,
                           unsigned threads) const;

    // precision, confidence [threshold][recall][label][range][limit] and recall [threshold][label][range][limit].
    void fill_arrays(double absent, std::span<double> precision, std::span<double> confidence,
                     std::span<double> recall) const;

    Outcomes outcomes(std::size_t threshold, std::size_t range) const;
    ImageNumbers by_image() const;

    // For each class, truths to be found and predictions that count.
    std::vector<std::int64_t> truth_counts() const, pred_counts() const;

    // What is kept, by slot.
    const Grouped& truths() const { return truths_; }
    const Ordered& preds() const { return preds_; }
    CandidateView candidates() const {
        return {candidates_.offsets, candidates_.truth.values(), candidates_.overlap.values()};
    }
    // Up to sixteen thresholds each, in their order.
    std::span<const Flags> flags() const { return flags_; }
    std::span<const Array<Thresholds>> matched() const { return matched_; }
    std::span<const double> positives() const { return positives_; }
    std::span<const Ranges> ignored() const { return ignored_; }
    std::span<const Ranges> outside() const { return outside_; }
    std::span<const double> confidence() const;
    // The thresholds from block * 16 on.
    std::span<const double> thresholds(std::size_t block) const;

    // The truths to be found, [label][range], where images are there so often; and what walks with these weights need.
    Array<double> weigh_positives(std::span<const double> weights) const;
    Weighting weighting(std::span<const double> weights) const;

  private:
    friend class Rematch;

    void match();
    Walked walked(std::size_t block) const;
    std::span<const std::int32_t> truth_slots() const;
    MatchFlags standing() const { return {ignored_, shared_, grasping_, least_}; }

    Truths truth_;
    Preds pred_;
    std::size_t images_, labels_;
    Rules rules_;
    const Similarity& similarity_;
    double pixel_;
    unsigned threads_;

    Grouped truths_;
    Ordered preds_;
    Candidates candidates_;
    Array<Ranges> ignored_, outside_;
    Array<std::uint8_t> shared_, is_void_, grasping_;
    Array<double> least_;
    std::vector<Array<Thresholds>> matched_;
    std::vector<Flags> flags_;
    Array<double> positives_;  // [label][range]

    // Made when first asked for.
    mutable std::mutex making_;
    mutable std::optional<PrecisionRecall> numbers_;
    mutable Array<double> confidence_;        // by slot
    mutable Array<std::int32_t> image_;       // of each place in the order of classes
    mutable Array<std::uint32_t> runs_;       // from each place on, of the same image and confidence
    mutable Array<std::int32_t> truth_slot_;  // of each truth; -1 where it has none
};

}  // namespace verite
