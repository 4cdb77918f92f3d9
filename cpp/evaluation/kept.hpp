// Both sides and their evaluation, kept and asked many ways.
#pragma once

#include <string>
#include <vector>

#include "evaluation/draws.hpp"
#include "evaluation/parts.hpp"
#include "evaluation/sides.hpp"

namespace verite {

class KeptEvaluation {
  public:
    // As Sides are made.
    KeptEvaluation(Columns truth, Columns pred, Images images, std::size_t labels, View<std::int32_t> label_rank,
                   SideRules side_rules, const Rules& rules, const Similarity& similarity, unsigned threads);

    const Sides& sides() const { return sides_; }
    const Evaluation& evaluation() const { return evaluation_; }

    PrecisionRecall weight(std::span<const double> weights, unsigned threads) const;
    // Rows of the truth that are not there, and objects that are; weights may be empty.
    PrecisionRecall change(std::span<const std::int32_t> removed, const Columns* added, std::span<const double> weights,
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
    std::vector<double> bootstrap_means(std::span<const double> weights, const Changes* changes,
                                        std::span<const Doubt> doubts, std::span<const DrawnChoice> choices,
                                        unsigned threads) const;

    // What became of these images, by their ids or else by their names; `labels` are ids of classes in their order.
    Part part(std::span<const std::int64_t> labels, std::string about) const;

  private:
    Sides sides_;
    Evaluation evaluation_;
    unsigned threads_;
};

}  // namespace verite
