// Simulation of annotation errors, and clusters of unmatched detections, for Python.
#include "ranking/simulation.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "evaluation/clusters.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Scores = nb::ndarray<nb::numpy, double>;
using OffsetArray = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using NumberArray = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using NumberTable = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using NumberCube = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using CountTable = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using KindArray = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Hands the scores to numpy, which owns them from then on.
Scores to_numpy(std::vector<double>&& values, std::size_t draws, std::size_t size) {
    auto* kept = new std::vector<double>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
    return {kept->data(), {draws, size}, owner};
}

// Offsets must start at 0, never fall and end at the number of items: the kernel trusts them.
std::span<const std::int64_t> offsets(const OffsetArray& array, std::size_t items, const char* name) {
    const std::span<const std::int64_t> values{array.data(), array.size()};
    if (values.empty() || values.front() != 0 || values.back() != static_cast<std::int64_t>(items) ||
        !std::is_sorted(values.begin(), values.end()))
        throw std::invalid_argument(std::string(name) + ": expected rising offsets from 0 to " + std::to_string(items));
    return values;
}

verite::ItemRecords records(const KindArray& kind, const NumberTable& ways, const NumberCube& change) {
    if (ways.shape(0) != change.shape(0) || ways.shape(1) != change.shape(1) || ways.shape(1) == 0)
        throw std::invalid_argument("ways and change: expected the same kinds and ways");
    const std::span<const std::int32_t> kinds{kind.data(), kind.shape(0)};
    for (const std::int32_t one : kinds)
        if (one < 0 || static_cast<std::size_t>(one) >= ways.shape(0))
            throw std::invalid_argument("kind: expected numbers below " + std::to_string(ways.shape(0)));
    return {kinds, {ways.data(), ways.size()}, {change.data(), change.size()}, ways.shape(1), change.shape(2)};
}

Scores independent_changes(const KindArray& kind, const NumberTable& ways, const NumberCube& change, double rate,
                           const NumberArray& share, std::size_t draws, std::uint64_t seed, std::uint64_t first_draw) {
    const verite::ItemRecords items = records(kind, ways, change);
    if (share.shape(0) != 0 && share.shape(0) != kind.shape(0))
        throw std::invalid_argument("share: expected one number per item, or none");
    std::vector<double> out(draws * items.score_count);
    {
        nb::gil_scoped_release released;
        verite::add_independent(items, rate, {share.data(), share.size()}, {seed, first_draw, draws}, out);
    }
    return to_numpy(std::move(out), draws, items.score_count);
}

Scores chosen_changes(const KindArray& kind, const NumberTable& ways, const NumberCube& change,
                      const OffsetArray& groups, const CountTable& wrong, std::uint64_t seed,
                      std::uint64_t first_draw) {
    const verite::ItemRecords items = records(kind, ways, change);
    const auto begins = offsets(groups, kind.shape(0), "groups");
    if (wrong.shape(1) + 1 != groups.shape(0))
        throw std::invalid_argument("wrong: expected one column per group, found " + std::to_string(wrong.shape(1)));
    const std::size_t draws = wrong.shape(0);
    std::vector<double> out(draws * items.score_count);
    {
        nb::gil_scoped_release released;
        verite::add_chosen(items, begins, {wrong.data(), wrong.size()}, {seed, first_draw, draws}, out);
    }
    return to_numpy(std::move(out), draws, items.score_count);
}

auto cluster(const verite::Column1<std::int64_t>& keys, const verite::BoxArray& boxes,
             const verite::Column1<std::int64_t>& truth_keys, const verite::BoxArray& truth_boxes,
             const verite::Column1<bool>& crowd, double least) {
    std::vector<std::int32_t> found;
    {
        nb::gil_scoped_release released;
        found = verite::cluster_boxes({verite::span_of(keys), verite::numbers_of(boxes)},
                                      {verite::span_of(truth_keys), verite::numbers_of(truth_boxes)},
                                      verite::flags_of(crowd), least);
    }
    return verite::to_numpy(verite::Array<std::int32_t>(found.begin(), found.end()));
}

}  // namespace

namespace verite {

void register_simulation(nb::module_& module) {
    module.def("independent_changes", &independent_changes, "kind"_a, "ways"_a, "change"_a, "rate"_a, "share"_a,
               "draws"_a, "seed"_a, "first_draw"_a,
               "Changes of scores [simulation, score]; each record is wrong with the rate times its share.");
    module.def("chosen_changes", &chosen_changes, "kind"_a, "ways"_a, "change"_a, "groups"_a, "wrong"_a, "seed"_a,
               "first_draw"_a,
               "Changes of scores [simulation, score]; a given number of records of each group is wrong.");
    module.def("cluster_boxes", &cluster, "keys"_a, "boxes"_a, "truth_keys"_a, "truth_boxes"_a, "crowd"_a, "least"_a,
               "The cluster of each box that matches no ground truth of its key, or -1; keys are ascending.");
}

}  // namespace verite
