// From the columns of two sides to what an evaluation compares: ranks by id, areas, who is set aside.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "columns/objects.hpp"
#include "evaluation/draws.hpp"
#include "evaluation/parts.hpp"

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
};

// Objects of one side, with everything that had to be made for an evaluation.
struct Sided {
    Columns columns;
    View<double> boxes;
    Array<std::int32_t> image, label, rows, sizes;
    Array<double> areas, quads;
    Array<std::uint8_t> ignored, shared, is_odd, spared;  // odd: those with an id that means nobody
    View<double> stated;                                  // areas, where they are all stated
};

// Both sides in the order of ids, and their evaluation.
class KeptEvaluation {
  public:
    // `label_rank` of the truth's labels is absent where they stand in their order. Labels of predictions behind those
    // of the truth are nobody's. Throws std::invalid_argument with a sentence that begins with "truth:" or
    // "predictions:" where something is not there that is needed.
    KeptEvaluation(Columns truth, Columns pred, Images images, std::size_t labels, View<std::int32_t> label_rank,
                   SideRules side_rules, const Rules& rules, const Similarity& similarity, unsigned threads);
    KeptEvaluation(const KeptEvaluation&) = delete;

    const Evaluation& evaluation() const { return *evaluation_; }

    Numbers weight(std::span<const double> weights, unsigned threads) const;
    // Rows of the truth that are not there, and objects that are; weights may be empty.
    Numbers change(std::span<const std::int32_t> removed, const Columns* added, std::span<const double> weights,
                   unsigned threads) const;

    // Changed truths of many draws: lists one after the other, and where each draw's part of them begins.
    struct Changes {
        const Columns* addable;  // null: none
        View<std::int32_t> removed, added, labels, again;
        View<std::int64_t> removed_offsets, added_offsets, again_offsets;
    };
    // What may be in doubt about a draw.
    struct Doubt {
        bool has_weights, has_changes;
    };
    // The means of many draws, [draw][doubt][choice]: weights [draw][image]; changes may be null.
    std::vector<double> draw_means(std::span<const double> weights, const Changes* changes,
                                   std::span<const Doubt> doubts, std::span<const DrawnChoice> choices,
                                   unsigned threads) const;

    // What became of these images, by their ids or else by their names; `labels` are ids of classes in their order.
    Part part(std::span<const std::int64_t> labels, std::string about) const;

    // Weights of images by rank.
    Array<double> by_rank(std::span<const double> weights) const;
    // The image at each rank; empty where they stand in their order.
    Array<std::int32_t> image_order() const;

  private:
    Truths lay_truths(Sided& side, bool is_results) const;
    Truths lay_added(Sided& side, const Columns& added) const;
    Preds lay_preds(Sided& side) const;
    void lay_places(Sided& side, const char* name) const;
    Objects lay_objects(Sided& side, const char* name) const;
    void find_truth_areas(Sided& side, Objects& objects) const;
    void find_pred_areas(Sided& side, const Objects& objects) const;
    void leave_out(Sided& side, const auto& is_out) const;
    void lay_quads(Sided& side, const char* name, Objects& objects) const;
    void lay_keypoints(Sided& side, const char* name, Objects& objects) const;
    void set_aside_unlabelled(Sided& side) const;
    void choose_truths(Sided& side) const;
    void choose_preds(Sided& side) const;
    std::string name_of(std::size_t image) const;

    Images images_;
    std::size_t labels_;
    View<std::int32_t> image_rank_, label_rank_;
    SideRules side_rules_;
    Rules rules_;
    const Similarity& similarity_;
    unsigned threads_;
    Sided truth_, pred_;
    std::unique_ptr<Evaluation> evaluation_;
};

}  // namespace verite
