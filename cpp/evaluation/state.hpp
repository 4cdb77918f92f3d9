// Partial results: the mergeable state of an evaluation of some images.
//
// Images are independent until predictions are ranked by confidence. A state keeps confidence and outcome of every
// prediction, without boxes and masks; states of other images are merged with it to the numbers of one evaluation, bit
// for bit.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "evaluation/curve_summary.hpp"
#include "evaluation/evaluation.hpp"
#include "evaluation/sections.hpp"

namespace verite {

// Images by their ids or by their names, ascending.
struct ImageKeys {
    Array<std::int64_t> ids;
    std::vector<std::string> names;

    bool are_names() const { return !names.empty(); }
    std::size_t size() const { return are_names() ? names.size() : ids.size(); }
    std::string spell(std::size_t i) const { return are_names() ? "'" + names[i] + "'" : std::to_string(ids[i]); }
};

// Rows have a total order, so that states merged in any order give the same bytes.
struct EvaluationState {
    std::string about;  // what must be equal in states that are merged: protocol, settings, classes
    Rules rules;
    ImageKeys images;
    Array<std::int64_t> labels;   // ids of classes, ascending
    std::vector<Bytes> sections;  // the packed outcomes of each class
    std::string notes;            // metadata that may differ from state to state; merging does not read it
    // Predictions of equal confidence that were not in the order of images when the state was made; not in the bytes.
    std::size_t moved = 0;

    std::size_t blocks() const { return (rules.thresholds.size() + most_thresholds - 1) / most_thresholds; }
    SectionShape shape() const { return {blocks(), rules.range_count(), rules.max_dets.size(), images.size()}; }
    Section section(std::size_t label) const { return unpack(sections[label], shape()); }
};

// `images` by rank; `labels` are the ids of the first classes, the rest are left out. Throws std::invalid_argument for
// repeated ids.
EvaluationState make_state(const Evaluation& evaluation, ImageKeys images, std::span<const std::int64_t> labels,
                           std::string about, unsigned threads);

// Predictions and counts of a protocol that does not stand on an Evaluation; image and label are positions.
struct StateColumns {
    std::span<const std::int32_t> label, image;
    std::span<const double> confidence;
    std::span<const std::uint32_t> words;  // the outcome of each prediction, see Section
    std::span<const std::int32_t> cell_label, cell_image;
    std::span<const std::uint32_t> counts;  // [cell][area range] ground-truth objects that are not ignored
};

// Predictions of equal confidence are ordered by image, those of one image as given. Throws std::invalid_argument where
// columns differ in length or positions do not exist.
EvaluationState make_state(const StateColumns& columns, Rules rules, ImageKeys images,
                           std::span<const std::int64_t> labels, std::string about);

// Several states read as one, in any order the same. An image that is in several is that of the first state, or
// refused. `labels` are there even if no state has them. Throws std::invalid_argument where states do not belong
// together.
class Merger {
  public:
    Merger(std::vector<const EvaluationState*> states, std::span<const std::int64_t> labels, bool takes_first);

    const ImageKeys& images() const { return images_; }
    std::span<const std::int64_t> labels() const { return labels_; }
    std::size_t repeated() const { return repeated_; }  // images that were left out of later states

    EvaluationState merge(unsigned threads) const;

    // Bit for bit those of one evaluation of all images. A few classes are accumulated at a time.
    PrecisionRecall numbers(unsigned threads) const;
    void fill_arrays(double absent, std::span<double> precision, std::span<double> confidence, std::span<double> recall,
                     unsigned threads) const;
    std::vector<CurveSummary> curve_summaries(std::size_t threshold, unsigned threads) const;

    // For each class, ground-truth objects that are not ignored, and predictions within maxDets.
    struct Count {
        std::int64_t truths, preds;
    };
    std::vector<Count> counts(unsigned threads) const;

    // Predictions that share class and confidence with some of another image and another outcome: their order matters.
    std::size_t count_ties(unsigned threads) const;

    // The predictions and counts of one class.
    Section gather(std::size_t label) const;

    // Digests of ground truth and predictions, however images were divided among states.
    struct Digests {
        std::uint64_t truth, pred;
    };
    Digests digests(unsigned threads) const;

    const EvaluationState& first() const { return *states_[0]; }

  private:
    void join_images(bool takes_first);
    void join_labels(std::span<const std::int64_t> more);
    template <class Visit>
    void visit_classes(unsigned threads, Visit&& visit) const;

    std::vector<const EvaluationState*> states_;
    ImageKeys images_;
    Array<std::int64_t> labels_;
    std::size_t repeated_ = 0;
    std::vector<Array<std::uint32_t>> image_places_;  // of each state's images; UINT32_MAX for those left out
    std::vector<Array<std::int32_t>> label_places_;   // by class, the section of each state; -1 for none
};

// The bytes of a file: the same from version to version, with a digest of themselves at the end.
Bytes to_bytes(const EvaluationState& state);
// Throws std::invalid_argument for bytes of another kind or version, and for damaged ones.
EvaluationState state_from_bytes(std::span<const std::uint8_t> bytes);

}  // namespace verite
