// Cells, overlaps, matching and accumulation for Python.
#include "bind/arrays.hpp"
#include "columns/cells.hpp"
#include "evaluation/accumulate.hpp"
#include "evaluation/matching.hpp"
#include "similarity/boxes.hpp"

namespace verite {
namespace {

using namespace nb::literals;
using Int32s = Column1<std::int32_t>;
using Int64s = Column1<std::int64_t>;
using Doubles = Column1<double>;
using Flags = Column1<bool>;

nb::tuple group_objects_(const Int32s& image, const Int32s& label, std::int32_t images, std::int32_t labels) {
    Grouped grouped;
    {
        nb::gil_scoped_release released;
        grouped = group_objects({span_of(image), span_of(label), images, labels});
    }
    return nb::make_tuple(to_numpy(std::move(grouped.rows)), to_numpy(std::move(grouped.labels)),
                          to_numpy(std::move(grouped.images)));
}

nb::tuple order_predictions_(const Int32s& image, const Int32s& label, const Doubles& confidence, std::int32_t images,
                             std::int32_t labels, std::int32_t most, unsigned threads) {
    Ordered ordered;
    {
        nb::gil_scoped_release released;
        ordered =
            order_predictions({span_of(image), span_of(label), images, labels}, span_of(confidence), most, threads);
    }
    auto& cells = ordered.cells;
    return nb::make_tuple(nb::make_tuple(to_numpy(std::move(cells.rows)), to_numpy(std::move(cells.labels)),
                                         to_numpy(std::move(cells.images))),
                          to_numpy(std::move(ordered.ranks)), to_numpy(std::move(ordered.by_label)),
                          to_numpy(std::move(ordered.label_offsets)));
}

nb::tuple coco_box_candidates_(const CellArrays& truth, const BoxArray& truth_sizes, const Flags& crowd,
                               const CellArrays& pred, const BoxArray& pred_sizes, double floor, unsigned threads) {
    expect(crowd.size() == truth_sizes.shape(0), "a crowd flag for each truth");
    Candidates found;
    {
        nb::gil_scoped_release released;
        found = coco_box_candidates(cells_of(truth, truth_sizes.shape(0)), numbers_of(truth_sizes), flags_of(crowd),
                                    cells_of(pred, pred_sizes.shape(0)), numbers_of(pred_sizes), floor, threads);
    }
    return to_python(std::move(found));
}

auto coco_box_overlaps(const BoxArray& pred, const BoxArray& truth, const Flags& crowd) {
    const std::size_t preds = pred.shape(0), truths = truth.shape(0);
    expect(crowd.size() == truths, "a crowd flag for each truth");
    Array<double> out(preds * truths);
    for (std::size_t p = 0; p < preds; ++p)
        for (std::size_t t = 0; t < truths; ++t)
            out[p * truths + t] = coco_overlap(pred.data() + 4 * p, truth.data() + 4 * t, crowd.data()[t]);
    return to_numpy(std::move(out), {preds, truths});
}

auto outside_ranges_(const Int32s& rows, const Doubles& areas, const Flags& left_out, const Doubles& ranges,
                     unsigned threads) {
    expect(left_out.size() == 0 || left_out.size() == areas.size(), "a flag for each area");
    check_below(span_of(rows), areas.size(), "rows that have an area");
    Array<Ranges> out(rows.size());
    {
        nb::gil_scoped_release released;
        outside_ranges(span_of(rows), span_of(areas), flags_of(left_out), span_of(ranges), threads, out);
    }
    return to_numpy(std::move(out));
}

template <class Bits>
auto match(const Cells& truths, const Cells& preds, const CandidateView& pairs, const Rules& rules, unsigned threads) {
    Array<Bits> matched(rules.ranges * pairs.truth.size());
    {
        nb::gil_scoped_release released;
        match_greedily<Bits>(truths, preds, pairs, rules, threads, matched);
    }
    return to_numpy(std::move(matched), {pairs.truth.size(), rules.ranges});
}

// Sixteen bits are enough for most; more thresholds get sixty-four.
nb::object match_greedily_(const CellArrays& truth, const CellArrays& pred, const CandidateArrays& candidates,
                           const Doubles& thresholds, std::size_t ranges, const Column1<Ranges>& ignored,
                           const Flags& shared, const Flags& grasping, unsigned threads) {
    const Rules rules{span_of(thresholds), ranges, span_of(ignored), flags_of(shared), flags_of(grasping)};
    const Cells truths = cells_of(truth, INT32_MAX), preds = cells_of(pred, INT32_MAX);
    const CandidateView pairs = candidates_of(candidates, preds.rows.size(), truths.rows.size());
    if (thresholds.size() <= most_thresholds<std::uint16_t>)
        return nb::cast(match<std::uint16_t>(truths, preds, pairs, rules, threads));
    return nb::cast(match<std::uint64_t>(truths, preds, pairs, rules, threads));
}

auto count_positives_(const Int32s& labels, const Column1<Ranges>& ignored, std::size_t ranges, std::size_t classes) {
    expect(labels.size() == ignored.size(), "a label for each truth");
    check_below(span_of(labels), classes, "labels that are classes");
    std::vector<std::int64_t> out(classes * ranges);
    count_positives(span_of(labels), span_of(ignored), ranges, out);
    return to_numpy(std::move(out), {classes, ranges});
}

// Absent values are NaN. Confidences are asked for by giving those of the predictions, slot by slot.
template <class Bits>
nb::tuple accumulate_(const Int32s& by_label, const Int64s& label_offsets, const Int32s& ranks,
                      const Column1<Ranges>& outside, const CandidateArrays& candidates,
                      const nb::ndarray<const Bits, nb::ndim<2>, nb::c_contig, nb::device::cpu>& matched,
                      const Column1<Ranges>& ignored, const Flags& is_void,
                      const nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>& positives,
                      std::size_t thresholds, const Doubles& recalls, std::int64_t most, const Int64s& limits,
                      const Doubles& confidence, unsigned threads) {
    const std::size_t ranges = matched.shape(1), labels = positives.shape(0), levels = recalls.size();
    expect(positives.shape(1) == ranges, "positives for each range");
    constexpr double absent = std::numeric_limits<double>::quiet_NaN();
    Array<double> precision, at, recall;
    {
        nb::gil_scoped_release released;
        check_below(span_of(by_label), ranks.size(), "predictions that have a rank");
        check_offsets(span_of(label_offsets), by_label.size(), "classes that end with the last prediction");
        expect(label_offsets.size() == labels + 1, "positives for each class");
        const Matched<Bits> given{span_of(by_label),
                                  span_of(label_offsets),
                                  span_of(ranks),
                                  span_of(confidence),
                                  span_of(outside),
                                  candidates_of(candidates, ranks.size(), ignored.size()),
                                  {matched.data(), matched.size()},
                                  span_of(ignored),
                                  flags_of(is_void),
                                  {positives.data(), positives.size()},
                                  thresholds,
                                  ranges};
        precision.assign(ranges * thresholds * levels * labels, absent);
        at.assign(confidence.size() ? precision.size() : 0, absent);
        recall.assign(limits.size() * ranges * thresholds * labels, absent);
        accumulate(given, {span_of(recalls), most, span_of(limits)}, threads, {precision, at, recall});
    }
    const bool asked = confidence.size() > 0;
    return nb::make_tuple(to_numpy(std::move(precision), {ranges, thresholds, levels, labels}),
                          to_numpy(std::move(at), {asked ? ranges : 0, thresholds, levels, labels}),
                          to_numpy(std::move(recall), {limits.size(), ranges, thresholds, labels}));
}

auto box_areas_(const BoxArray& sizes, unsigned threads) {
    Array<double> out(sizes.shape(0));
    {
        nb::gil_scoped_release released;
        box_areas(numbers_of(sizes), threads, out);
    }
    return to_numpy(std::move(out));
}

}  // namespace

void register_detection(nb::module_& module) {
    module.def("group_objects", &group_objects_, "image"_a, "label"_a, "images"_a, "labels"_a,
               "Objects laid out in cells, image by image and class by class: rows, labels, offsets of images.");
    module.def("order_predictions", &order_predictions_, "image"_a, "label"_a, "confidence"_a, "images"_a, "labels"_a,
               "most"_a, "threads"_a = 1,
               "Predictions in cells by falling confidence, their ranks, and the slots of each class by falling "
               "confidence.");
    module.def("coco_box_candidates", &coco_box_candidates_, "truth"_a, "truth_sizes"_a, "crowd"_a, "pred"_a,
               "pred_sizes"_a, "floor"_a, "threads"_a = 1,
               "Pairs of the same cell whose boxes (left, top, width, height) overlap by COCO's rule.");
    module.def("coco_box_overlaps", &coco_box_overlaps, "pred"_a, "truth"_a, "crowd"_a,
               "COCO's overlap of every prediction (rows) with every truth (columns).");
    module.def("outside_ranges", &outside_ranges_, "rows"_a, "areas"_a, "left_out"_a, "ranges"_a, "threads"_a = 1,
               "For each row, the set of area ranges it is not in, one bit each.");
    module.def(
        "match_greedily", &match_greedily_, "truth"_a, "pred"_a, "candidates"_a, "thresholds"_a, "ranges"_a,
        "ignored"_a, "shared"_a, "grasping"_a, "threads"_a = 1,
        "COCO's greedy rule: for each candidate and range the thresholds at which it was matched, one bit each.");
    module.def("count_positives", &count_positives_, "labels"_a, "ignored"_a, "ranges"_a, "classes"_a,
               "How many truths each class has to be found in each range.");
    const auto def_accumulate = [&](auto accumulate) {
        module.def("accumulate", accumulate, "by_label"_a, "label_offsets"_a, "ranks"_a, "outside"_a, "candidates"_a,
                   "matched"_a, "ignored"_a, "is_void"_a, "positives"_a, "thresholds"_a, "recalls"_a, "most"_a,
                   "limits"_a, "confidence"_a, "threads"_a = 1,
                   "Precision [range, threshold, recall, class], the confidences where it is reached, and recall "
                   "[limit, range, threshold, class].");
    };
    def_accumulate(&accumulate_<std::uint16_t>);
    def_accumulate(&accumulate_<std::uint64_t>);
    module.def("box_areas", &box_areas_, "sizes"_a, "threads"_a = 1, "Width times height of each box.");
}

}  // namespace verite
