// Python's side of the drawn truths: checks the arrays, lets go of the interpreter, hands memory over.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "draws.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Scores = nb::ndarray<nb::numpy, double>;
using OffsetArray = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using NumberArray = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using NumberTable = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using NumberCube = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
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

verite::Records records(const KindArray& kind, const OffsetArray& groups, const NumberArray& share,
                        const NumberTable& ways, const NumberCube& change) {
    const std::size_t items = kind.shape(0);
    if (share.shape(0) != 0 && share.shape(0) != items)
        throw std::invalid_argument("share: expected one number an item, or none");
    if (ways.shape(0) != change.shape(0) || ways.shape(1) != change.shape(1) || ways.shape(1) == 0)
        throw std::invalid_argument("ways and change: expected the same kinds and ways");
    for (std::size_t i = 0; i < items; ++i)
        if (kind.data()[i] < 0 || static_cast<std::size_t>(kind.data()[i]) >= ways.shape(0))
            throw std::invalid_argument("kind: expected numbers below " + std::to_string(ways.shape(0)));
    return {{kind.data(), items},
            offsets(groups, items, "groups"),
            {share.data(), share.size()},
            {ways.data(), ways.size()},
            {change.data(), change.size()},
            ways.shape(1),
            change.shape(2)};
}

Scores independent_changes(const KindArray& kind, const OffsetArray& groups, const NumberArray& share,
                           const NumberTable& ways, const NumberCube& change, const NumberTable& rates,
                           std::uint64_t seed, std::uint64_t first_draw) {
    const verite::Records sorted = records(kind, groups, share, ways, change);
    if (rates.shape(1) + 1 != groups.shape(0))
        throw std::invalid_argument("rates: expected one column a group, found " + std::to_string(rates.shape(1)));
    const std::size_t draws = rates.shape(0), size = change.shape(2);
    std::vector<double> out(draws * size);
    {
        nb::gil_scoped_release released;
        verite::add_independent(sorted, {rates.data(), rates.size()}, seed, first_draw, out);
    }
    return to_numpy(std::move(out), draws, size);
}

Scores chosen_changes(const KindArray& kind, const NumberTable& ways, const NumberCube& change,
                      const OffsetArray& counts, std::uint64_t seed, std::uint64_t first_draw) {
    const std::int64_t all[] = {0, static_cast<std::int64_t>(kind.shape(0))};
    verite::Records whole = records(kind, OffsetArray(all, {2}), NumberArray(nullptr, {0}), ways, change);
    const std::size_t draws = counts.shape(0), size = change.shape(2);
    std::vector<double> out(draws * size);
    {
        nb::gil_scoped_release released;
        verite::add_chosen(whole, {counts.data(), counts.size()}, seed, first_draw, out);
    }
    return to_numpy(std::move(out), draws, size);
}

}  // namespace

namespace verite {

void register_draws(nb::module_& module) {
    module.def("independent_changes", &independent_changes, "kind"_a, "groups"_a, "share"_a, "ways"_a, "change"_a,
               "rates"_a, "seed"_a, "first_draw"_a,
               "What wrong records add to scores, each record wrong with its group's rate in that draw.");
    module.def("chosen_changes", &chosen_changes, "kind"_a, "ways"_a, "change"_a, "counts"_a, "seed"_a, "first_draw"_a,
               "What wrong records add to scores, exactly so many of them in each draw.");
}

}  // namespace verite
