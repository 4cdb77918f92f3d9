// Optimal assignment for Python.
#include "evaluation/assignment.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>
#include <string>

namespace nb = nanobind;
using namespace nb::literals;

namespace verite {
namespace {

using WholeNumbers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Larger gains could not be added up.
constexpr std::int64_t most_gain = std::int64_t{1} << 40;

std::span<const std::int64_t> within(const WholeNumbers& array, std::size_t count, std::int64_t end, const char* name) {
    const std::span<const std::int64_t> values{array.data(), array.size()};
    if (values.size() != count)
        throw std::invalid_argument(std::string(name) + ": expected one per pair, " + std::to_string(count) +
                                    ", found " + std::to_string(values.size()));
    for (const std::int64_t value : values)
        if (value < 0 || value >= end)
            throw std::invalid_argument(std::string(name) + ": expected numbers from 0 to below " +
                                        std::to_string(end) + ", found " + std::to_string(value));
    return values;
}

nb::ndarray<nb::numpy, bool> assign_pairs(const WholeNumbers& rows, const WholeNumbers& columns,
                                          const WholeNumbers& first, const WholeNumbers& second, std::int64_t row_count,
                                          std::int64_t column_count) {
    const std::size_t count = rows.size();
    const WeightedPairs pairs{within(rows, count, row_count, "rows"), within(columns, count, column_count, "columns"),
                              within(first, count, most_gain + 1, "first"),
                              within(second, count, most_gain + 1, "second")};
    auto* chosen = new std::uint8_t[count + 1]();
    nb::capsule owner(chosen, [](void* p) noexcept { delete[] static_cast<std::uint8_t*>(p); });
    {
        nb::gil_scoped_release released;
        assign(pairs, row_count, column_count, {chosen, count});
    }
    return {chosen, {count}, owner};
}

}  // namespace

void register_assignment(nb::module_& module) {
    module.def("assign", &assign_pairs, "rows"_a, "columns"_a, "first"_a, "second"_a, "row_count"_a, "column_count"_a,
               "Which pairs belong to the one-to-one assignment with the largest sum of first, then of second.");
}

}  // namespace verite
