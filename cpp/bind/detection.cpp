// Matching and accumulation of single images and classes for Python, as pycocotools' steps are called one by one.
#include <numeric>

#include "bind/arrays.hpp"
#include "columns/cells.hpp"
#include "evaluation/accumulate.hpp"
#include "evaluation/matching.hpp"
#include "regions/quadrilaterals.hpp"
#include "similarity/boxes.hpp"
#include "similarity/similarity.hpp"

namespace verite {
namespace {

using namespace nb::literals;
using Int32s = Column1<std::int32_t>;
using Int64s = Column1<std::int64_t>;
using Doubles = Column1<double>;
using Flags = Column1<bool>;
using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using FlagTable = nb::ndarray<const bool, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

auto coco_iou_matrix(const BoxArray& pred, const BoxArray& truth, const Flags& crowd) {
    const std::size_t preds = pred.shape(0), truths = truth.shape(0);
    expect(crowd.size() == truths, "a crowd flag for each ground-truth box");
    Array<double> out(preds * truths);
    for (std::size_t p = 0; p < preds; ++p)
        for (std::size_t t = 0; t < truths; ++t)
            out[p * truths + t] = coco_box_iou(pred.data() + 4 * p, truth.data() + 4 * t, crowd.data()[t]);
    return to_numpy(std::move(out), {preds, truths});
}

// The ground-truth object that each prediction matches at each threshold, -1 for none, from the IoUs
// [prediction, object] of one image and class.
auto match_iou_matrix(const Table& iou, const Flags& ignored, const Flags& multi_match, const Flags& keeps_truth_free,
                      const Doubles& thresholds) {
    const std::size_t preds = iou.shape(0), truths = iou.shape(1), count = thresholds.size();
    expect(ignored.size() == truths && multi_match.size() == truths && keeps_truth_free.size() == preds,
           "a flag for each object");
    Array<std::int32_t> truth_rows(truths), pred_rows(preds), truth(preds * truths);
    Array<std::int64_t> offsets(preds + 1), truth_images{0, static_cast<std::int64_t>(truths)};
    Array<std::int64_t> pred_images{0, static_cast<std::int64_t>(preds)};
    Array<AreaRangeSet> left_out(truths);
    std::iota(truth_rows.begin(), truth_rows.end(), 0);
    std::iota(pred_rows.begin(), pred_rows.end(), 0);
    for (std::size_t t = 0; t < truths; ++t) left_out[t] = ignored.data()[t];
    for (std::size_t p = 0; p <= preds; ++p) offsets[p] = static_cast<std::int64_t>(p * truths);
    for (std::size_t c = 0; c < truth.size(); ++c) truth[c] = static_cast<std::int32_t>(c % truths);
    Rules rules;
    rules.area_ranges = {{0, 0}};
    const Array<std::int32_t> truth_labels(truths, 0), pred_labels(preds, 0);
    Array<std::int32_t> matched_pair(count * preds, -1);
    Array<ThresholdSet> matched(truth.size());
    for (std::size_t first = 0; first < count; first += most_thresholds) {
        const std::size_t some = std::min(count - first, most_thresholds);
        match_greedily({truth_rows, truth_labels, truth_images}, {pred_rows, pred_labels, pred_images},
                       {offsets, truth, {iou.data(), iou.size()}},
                       {left_out, flags_of(multi_match), flags_of(keeps_truth_free), {}}, rules,
                       span_of(thresholds).subspan(first, some), 1, matched);
        for (std::size_t c = 0; c < truth.size(); ++c)
            for (std::size_t t = 0; t < some; ++t)
                if (matched[c] >> t & 1) matched_pair[(first + t) * preds + c / truths] = truth[c];
    }
    return to_numpy(std::move(matched_pair), {count, preds});
}

// The candidate pair by which each prediction is matched, -1 for none. One by one in this order, each is matched with
// the unmatched object of highest IoU; where there is none, with an ignored one, which any number may match.
Array<std::int64_t> match_candidates(const CandidateView& pairs, std::span<const std::int64_t> order,
                                     std::span<const std::uint8_t> ignored, double threshold) {
    const auto& [offsets, truth, iou] = pairs;
    const std::size_t preds = order.size(), truths = ignored.size();
    Array<std::int64_t> ordered_offsets{0}, pair_of;
    Array<std::int32_t> ordered_truth;
    Array<double> ordered_iou;
    for (const std::int64_t pred : order) {
        expect(pred >= 0 && static_cast<std::size_t>(pred) + 1 < offsets.size(), "an order of predictions");
        for (std::int64_t pair = offsets[pred]; pair < offsets[pred + 1]; ++pair) {
            pair_of.push_back(pair);
            ordered_truth.push_back(truth[pair]);
            ordered_iou.push_back(iou[pair]);
        }
        ordered_offsets.push_back(static_cast<std::int64_t>(pair_of.size()));
    }
    const Array<std::int32_t> truth_cells(truths, 0), pred_cells(preds, 0);
    const Array<std::int64_t> truth_images{0, static_cast<std::int64_t>(truths)};
    const Array<std::int64_t> pred_images{0, static_cast<std::int64_t>(preds)};
    const Array<AreaRangeSet> left_out(ignored.begin(), ignored.end());
    Rules rules;
    rules.area_ranges = {{0, 0}};
    rules.equal = EqualIoU::first;
    Array<ThresholdSet> matched(pair_of.size());
    match_greedily({truth_cells, truth_cells, truth_images}, {pred_cells, pred_cells, pred_images},
                   {ordered_offsets, ordered_truth, ordered_iou}, {left_out, ignored, {}, {}}, rules, {&threshold, 1},
                   1, matched);
    Array<std::int64_t> matched_pair(offsets.size() - 1, -1);
    for (std::size_t index = 0; index < preds; ++index)
        for (std::int64_t c = ordered_offsets[index]; c < ordered_offsets[index + 1]; ++c)
            if (matched[c]) matched_pair[order[index]] = pair_of[c];
    return matched_pair;
}

auto match_candidates_(const CandidateArrays& candidates, const Int64s& order, const Flags& ignored, double threshold) {
    Array<std::int64_t> matched_pair;
    {
        nb::gil_scoped_release released;
        const std::size_t preds = std::get<0>(candidates).size();
        const CandidateView pairs = candidates_of(candidates, preds - std::min<std::size_t>(preds, 1), ignored.size());
        matched_pair = match_candidates(pairs, span_of(order), flags_of(ignored), threshold);
    }
    return to_numpy(std::move(matched_pair));
}

// One class, area range and maxDets from the outcome of each prediction: precision and confidence [threshold, recall],
// and recall [threshold].
ArraysOf<double, double, double> accumulate_outcomes(const Doubles& confidence, const FlagTable& tp,
                                                     const FlagTable& ignored, double positives,
                                                     const Doubles& recalls) {
    const std::size_t thresholds = tp.shape(0), count = confidence.size(), levels = recalls.size();
    expect(tp.shape(1) == count && ignored.shape(1) == count && ignored.shape(0) == thresholds,
           "a flag for each threshold and prediction");
    Array<double> precision(thresholds * levels), at(precision.size()), recall(thresholds);
    {
        nb::gil_scoped_release released;
        const Array<std::int32_t> everywhere(count, 0);
        OrderedPredictions ordered =
            order_predictions({everywhere, everywhere, 1, 1}, span_of(confidence), INT32_MAX, TieOrder::image, 1);
        Array<double> confidences(count);
        for (std::size_t index = 0; index < count; ++index)
            confidences[index] = confidence.data()[ordered.cells.rows[index]];
        for (std::size_t first = 0; first < thresholds; first += most_thresholds) {
            const std::size_t some = std::min(thresholds - first, most_thresholds);
            Array<PredictionFlags> predictions(count, PredictionFlags(0, 0));
            Column<Outcome> outcomes;
            for (std::size_t index = 0; index < count; ++index) {
                Outcome outcome{0, 0};
                for (std::size_t t = 0; t < some; ++t) {
                    const std::size_t flag = (first + t) * count + static_cast<std::size_t>(ordered.cells.rows[index]);
                    outcome.tp |= static_cast<ThresholdSet>(tp.data()[flag] << t);
                    outcome.ignored |= static_cast<ThresholdSet>(ignored.data()[flag] << t);
                }
                if (!(outcome.tp | outcome.ignored)) continue;
                predictions[index].outcome = static_cast<std::int32_t>(outcomes.rows());
                outcomes.push(outcome);
            }
            const Strides strides{0, levels, 1, 0, 0}, recall_strides{0, 1, 0, 0, 0};
            accumulate({ordered.by_label,
                        ordered.label_offsets,
                        predictions,
                        outcomes.values(),
                        confidences,
                        {&positives, 1},
                        some,
                        1},
                       {span_of(recalls), 1, 0, 1}, nullptr, 1,
                       {std::span(precision).subspan(first * levels), std::span(at).subspan(first * levels), strides,
                        std::span(recall).subspan(first), recall_strides});
        }
    }
    return nb::make_tuple(to_numpy(std::move(precision), {thresholds, levels}),
                          to_numpy(std::move(at), {thresholds, levels}), to_numpy(std::move(recall)));
}

auto box_areas_(const BoxArray& sizes, unsigned threads) {
    Array<double> out(sizes.shape(0));
    {
        nb::gil_scoped_release released;
        box_areas(numbers_of(sizes), threads, out);
    }
    return to_numpy(std::move(out));
}

using QuadArray = nb::ndarray<const double, nb::shape<-1, 8>, nb::c_contig, nb::device::cpu>;

auto quad_iou_(const QuadArray& truth, const QuadArray& pred) {
    expect(truth.shape(0) == pred.shape(0), "as many quadrilaterals on both sides");
    Array<double> out(truth.shape(0));
    {
        nb::gil_scoped_release released;
        for (std::size_t i = 0; i < out.size(); ++i)
            out[i] = quad_iou(Quadrilateral(truth.data() + 8 * i), Quadrilateral(pred.data() + 8 * i));
    }
    return to_numpy(std::move(out));
}

}  // namespace

void register_detection(nb::module_& module) {
    module.def("coco_box_iou", &coco_iou_matrix, "pred"_a, "truth"_a, "crowd"_a,
               "COCO's IoU of every prediction (rows) with every ground-truth box (columns).");
    module.def(
        "match_iou_matrix", &match_iou_matrix, "iou"_a, "ignored"_a, "multi_match"_a, "keeps_truth_free"_a,
        "thresholds"_a,
        "The object that each prediction matches [threshold, prediction], by descending confidence, -1 for none.");
    module.def("match_candidates", &match_candidates_, "candidates"_a, "order"_a, "ignored"_a, "threshold"_a,
               "The candidate pair by which each prediction is matched, one by one in this order, -1 for none.");
    module.def("accumulate_outcomes", &accumulate_outcomes, "confidence"_a, "tp"_a, "ignored"_a, "positives"_a,
               "recalls"_a, "Precision and confidence [threshold, recall] and recall [threshold] of one class.");
    module.def("box_areas", &box_areas_, "sizes"_a, "threads"_a = 1, "Width times height of each box.");
    module.def("quad_iou", &quad_iou_, "truth"_a, "pred"_a,
               "Intersection over union of each pair of quadrilaterals x1, y1, … x4, y4.");
}

}  // namespace verite
