// From the columns of two sides to what an evaluation compares: ranks by id, areas, who is set aside.
#pragma once

#include <string>
#include <vector>

#include "evaluation/evaluation.hpp"
#include "similarity/layout.hpp"

namespace verite {

// What a protocol makes of both sides.
struct SideRules {
    std::vector<Flag> ignored, shared;  // flags of truths that neither reward nor punish; that many may take
    bool repeats_quirks = false;        // of pycocotools: objects are found by id, ids of 0 mean nobody
    bool truth_is_results = false, pred_is_results = false;  // results get new ids and areas there
    double pixel = 0;
    std::int64_t image_limit = 0;  // predictions of an image that count, whatever their classes; 0: all
    bool drops_flat = false;       // objects without any area are left out
    // Cells, image * labels + label by position, rising: where predictions count at all besides where there are truths,
    // and where they are spared if they find nothing. Absent: everywhere; nowhere.
    View<std::int64_t> judged, spared;
    View<double> least;            // the overlap each truth asks for besides the threshold
    View<std::int32_t> pred_rows;  // which predictions there are and in which order; absent: all
    RaggedView<double> sigmas;     // of the keypoints of each label, by position
    std::size_t most_pairs = SIZE_MAX;
};

// Objects of one side, with everything that had to be made for an evaluation.
struct Sided {
    Columns columns;
    LaidObjects laid;
    Array<std::int32_t> image, label, rows;
    Array<double> areas;
    Array<std::uint8_t> ignored, shared, is_odd, spared;  // odd: those with an id that means nobody
    View<double> stated;                                  // areas, where they are all stated
};

// Both sides in the order of ids.
class Sides {
  public:
    // `label_rank` of the truth's labels is absent where they stand in their order. Labels of predictions behind those
    // of the truth are nobody's. Throws std::invalid_argument with a sentence that begins with "truth:" or
    // "predictions:" where something is not there that is needed.
    Sides(Columns truth, Columns pred, Images images, std::size_t labels, View<std::int32_t> label_rank,
          SideRules side_rules, const Rules& rules, const Similarity& similarity, unsigned threads);
    Sides(const Sides&) = delete;

    const Truths& truths() const { return truths_; }
    const Preds& preds() const { return preds_; }
    const Images& images() const { return images_; }
    std::size_t labels() const { return labels_; }
    const SideRules& rules() const { return side_rules_; }

    // Objects that the truth may have besides; `side` keeps what they are made of.
    Truths lay_added(Sided& side, const Columns& added) const;
    // The rank of a label of the truth. Throws std::invalid_argument for another.
    std::int32_t rank_of(std::int32_t label) const;
    // Weights of images by rank.
    Array<double> by_rank(std::span<const double> weights) const;
    // The image at each rank; empty where they stand in their order.
    Array<std::int32_t> image_order() const;

  private:
    Truths lay_truths(Sided& side, bool is_results) const;
    Preds lay_preds(Sided& side) const;
    void lay_places(Sided& side, const char* name) const;
    void find_truth_areas(Sided& side, Objects& objects) const;
    void find_pred_areas(Sided& side, const Objects& objects) const;
    void leave_out(Sided& side, const auto& is_out) const;
    void choose_truths(Sided& side) const;
    void choose_preds(Sided& side) const;

    Images images_;
    std::size_t labels_;
    View<std::int32_t> image_rank_, label_rank_;
    SideRules side_rules_;
    Rules rules_;
    const Similarity& similarity_;
    Layout layout_;
    unsigned threads_;
    Sided truth_, pred_;
    Truths truths_;
    Preds preds_;
};

}  // namespace verite
