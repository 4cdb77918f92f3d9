// Ground truth and predictions prepared for matching: images and classes by rank, areas, and which objects are ignored,
// dropped or verified.
#pragma once

#include <string>
#include <vector>

#include "evaluation/evaluation.hpp"
#include "similarity/layout.hpp"

namespace verite {

// Which objects take part in an evaluation, and which are ignored.
struct ObjectRules {
    std::vector<Flag> ignored;      // flags of ground-truth objects that are ignored
    std::vector<Flag> multi_match;  // flags of those that any number of predictions may match (crowds)
    // pycocotools' quirks: objects are found by id, an id of 0 means no match.
    bool repeats_quirks = false;
    bool truth_is_results = false, pred_is_results = false;  // COCO results, to which pycocotools gives ids and areas
    double pixel = 0;              // added to widths and heights: 1 where corners are pixel indices
    std::int64_t image_limit = 0;  // predictions of an image that count over all classes; 0: all
    bool drops_flat = false;       // objects without any area do not take part
    // Cells, image * labels + label by position, ascending. Predictions count only in verified cells and in those with
    // ground truth; absent: everywhere. In the others of this pair they are ignored unless matched; absent: nowhere.
    View<std::int64_t> verified, ignore_if_unmatched;
    View<std::uint8_t> in_ignore_region;  // one per prediction: ignored unless matched; absent: none
    View<double> min_iou;                 // the IoU that each ground-truth object requires besides the threshold
    View<std::int32_t> pred_rows;         // which predictions take part and in which order; absent: all
    RaggedView<double> sigmas;            // of the keypoints of each class, by position
    std::size_t most_pairs = SIZE_MAX;
    Reach reach;  // the maximum distance of a match, where points are compared
};

// The columns of one side, with everything that had to be computed for an evaluation.
struct SideStorage {
    Columns columns;
    ComputedColumns computed;
    Array<std::int32_t> image, label, rows;
    Array<double> areas;
    Array<std::uint8_t> ignored, multi_match, has_null_id, ignore_if_unmatched;
    View<double> stated;  // areas, where the file states all of them
};

// Both sides in the order of ids.
class Sides {
  public:
    // `label_rank` is the rank of each class of the ground truth, absent where they are in order. Predictions of
    // classes beyond those of the ground truth do not take part. Throws std::invalid_argument with a sentence that
    // begins with "truth:" or "predictions:" where something that the evaluation needs is missing.
    Sides(Columns truth, Columns pred, Images images, std::size_t labels, View<std::int32_t> label_rank,
          ObjectRules object_rules, const Rules& rules, const SimilarityMeasure& similarity, unsigned threads);
    Sides(const Sides&) = delete;

    const Truths& truths() const { return truths_; }
    const Preds& preds() const { return preds_; }
    const Images& images() const { return images_; }
    std::size_t labels() const { return labels_; }
    const ObjectRules& rules() const { return object_rules_; }

    // Objects that may be added to the ground truth; `side` keeps their memory.
    Truths prepare_added(SideStorage& side, const Columns& added) const;
    // The rank of a class of the ground truth. Throws std::invalid_argument for another.
    std::int32_t rank_of(std::int32_t label) const;
    // Weights of images by rank.
    Array<double> by_rank(std::span<const double> weights) const;
    // The position of the image of each rank; empty where they are in order.
    Array<std::int32_t> image_order() const;

  private:
    Truths prepare_truths(SideStorage& side, bool is_results) const;
    Preds prepare_preds(SideStorage& side) const;
    void prepare_ranks(SideStorage& side, const char* name) const;
    void find_truth_areas(SideStorage& side, Objects& objects) const;
    void find_pred_areas(SideStorage& side, const Objects& objects) const;
    void leave_out(SideStorage& side, const auto& is_out) const;
    void choose_truths(SideStorage& side) const;
    void choose_preds(SideStorage& side) const;

    Images images_;
    std::size_t labels_;
    View<std::int32_t> image_rank_, label_rank_;
    ObjectRules object_rules_;
    Rules rules_;
    const SimilarityMeasure& similarity_;
    Layout layout_;
    unsigned threads_;
    SideStorage truth_, pred_;
    Truths truths_;
    Preds preds_;
};

}  // namespace verite
