// Error types and their cost in average precision for Python.
#include "evaluation/error_costs.hpp"

#include <nanobind/nanobind.h>

#include <limits>
#include <stdexcept>
#include <string>

#include "bind/arrays.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace verite {
namespace {

template <class T>
std::span<const T> checked_span(const Column1<T>& array, std::size_t count, const char* name) {
    if (array.size() != count)
        throw std::invalid_argument(std::string(name) + ": expected " + std::to_string(count) + " values, found " +
                                    std::to_string(array.size()));
    return {array.data(), array.size()};
}

// Positions below a count; -1 where `may_lack`.
template <class T>
std::span<const T> rows_of(const Column1<T>& array, std::size_t count, std::size_t end, bool may_lack,
                           const char* name) {
    const auto values = checked_span(array, count, name);
    for (const T value : values)
        if (value < (may_lack ? -1 : 0) || value >= static_cast<std::int64_t>(end))
            throw std::invalid_argument(std::string(name) + ": expected positions below " + std::to_string(end) +
                                        ", found " + std::to_string(value));
    return values;
}

ArraysOf<std::int8_t, std::int32_t, std::uint8_t, std::uint8_t> find_types(
    const Column1<std::int8_t>& state, const Column1<double>& same, const Column1<double>& other,
    const Column1<std::int32_t>& same_truth, const Column1<std::int32_t>& other_truth,
    const Column1<std::int64_t>& places, const Column1<std::int32_t>& pair_pred,
    const Column1<std::int32_t>& pair_truth, const Column1<double>& pair_iou, const Column1<std::uint8_t>& is_matched,
    const Column1<std::uint8_t>& counted_truth, double iou, double background) {
    const std::size_t preds = state.size(), truths = is_matched.size(), pairs = pair_pred.size();
    const ErrorInput given{checked_span(state, preds, "state"),
                           checked_span(same, preds, "same"),
                           checked_span(other, preds, "other"),
                           rows_of(same_truth, preds, truths, true, "same_truth"),
                           rows_of(other_truth, preds, truths, true, "other_truth"),
                           checked_span(places, preds, "places"),
                           rows_of(pair_pred, pairs, preds, false, "pair_pred"),
                           rows_of(pair_truth, pairs, truths, false, "pair_truth"),
                           checked_span(pair_iou, pairs, "pair_iou"),
                           checked_span(is_matched, truths, "is_matched"),
                           checked_span(counted_truth, truths, "counted_truth"),
                           iou,
                           background};
    Array<std::int8_t> kind(preds);
    Array<std::int32_t> target(preds);
    Array<std::uint8_t> is_fixed(preds), is_missed(truths);
    {
        const nb::gil_scoped_release released;
        find_error_types(given, {kind, target, is_fixed, is_missed});
    }
    return nb::make_tuple(to_numpy(std::move(kind)), to_numpy(std::move(target)), to_numpy(std::move(is_fixed)),
                          to_numpy(std::move(is_missed)));
}

ArraysOf<double, double> fix(const Column1<std::int64_t>& rows, const Column1<std::int64_t>& offsets,
                             const Column1<std::int64_t>& places, const Column1<std::int8_t>& state,
                             const Column1<std::int8_t>& kind, const Column1<std::int32_t>& target,
                             const Column1<std::int32_t>& truth_label, const Column1<std::uint8_t>& is_fixed,
                             const Column1<std::int64_t>& truths, const Column1<std::int64_t>& not_missed,
                             const Column1<std::int64_t>& needed, const Column1<std::int64_t>& needed_offsets,
                             double slack, unsigned threads) {
    const std::size_t preds = state.size(), labels = truths.size();
    const FixInput given{rows_of(rows, rows.size(), preds, false, "rows"),
                         rows_of(offsets, labels + 1, rows.size() + 1, false, "offsets"),
                         checked_span(places, preds, "places"),
                         checked_span(state, preds, "state"),
                         rows_of(kind, preds, 5, true, "kind"),
                         rows_of(target, preds, truth_label.size(), true, "target"),
                         rows_of(truth_label, truth_label.size(), labels, false, "truth_label"),
                         checked_span(is_fixed, preds, "is_fixed"),
                         checked_span(truths, labels, "truths"),
                         checked_span(not_missed, labels, "not_missed"),
                         checked_span(needed, needed.size(), "needed"),
                         rows_of(needed_offsets, 3 * labels + 1, needed.size() + 1, false, "needed_offsets"),
                         slack};
    for (const std::int64_t count : given.needed)
        if (count < 1) throw std::invalid_argument("needed: expected whole numbers from 1 up");
    for (std::size_t i = 0; i < preds; ++i)
        if (given.is_fixed[i] && given.target[i] < 0)
            throw std::invalid_argument("target: expected one for every prediction that is fixed");
    constexpr double absent = std::numeric_limits<double>::quiet_NaN();
    Array<double> values(labels * error_sets, absent), specials(labels * 2, absent);
    {
        const nb::gil_scoped_release released;
        fix_errors(given, threads, values, specials);
    }
    return nb::make_tuple(to_numpy(std::move(values), {labels, error_sets}),
                          to_numpy(std::move(specials), {labels, std::size_t{2}}));
}

}  // namespace

void register_error_costs(nb::module_& module) {
    module.def("find_error_types", &find_types, nb::kw_only(), "state"_a, "same"_a, "other"_a, "same_truth"_a,
               "other_truth"_a, "places"_a, "pair_pred"_a, "pair_truth"_a, "pair_iou"_a, "is_matched"_a,
               "counted_truth"_a, "iou"_a, "background"_a,
               "Of every prediction the error type, its target and whether fixing makes it right; and missed objects.");
    module.def("fix_errors", &fix, nb::kw_only(), "rows"_a, "offsets"_a, "places"_a, "state"_a, "kind"_a, "target"_a,
               "truth_label"_a, "is_fixed"_a, "truths"_a, "not_missed"_a, "needed"_a, "needed_offsets"_a, "slack"_a,
               "threads"_a = 1,
               "Average precision [label, set] with the types of a set fixed, and [label, 2] of two special fixes.");
}

}  // namespace verite
