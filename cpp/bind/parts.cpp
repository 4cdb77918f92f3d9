// Parts of evaluations for Python: merged, averaged, pickled as bytes.
#include "evaluation/parts.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "bind/arrays.hpp"

namespace verite {
namespace {

using namespace nb::literals;

constexpr int version = 1;

template <class Values>
nb::bytes bytes_of(const Values& values) {
    return nb::bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0]));
}

template <class Values>
void read_bytes(nb::handle given, Values& values) {
    using T = std::remove_cvref_t<decltype(values[0])>;
    const auto bytes = nb::cast<nb::bytes>(given);
    expect(bytes.size() % sizeof(T) == 0, "a part that is whole");
    values.resize(bytes.size() / sizeof(T));
    if (bytes.size() > 0) std::memcpy(static_cast<void*>(values.data()), bytes.c_str(), bytes.size());
}

State get_state(const Part& part) {
    nb::list blocks;
    for (const auto& [thresholds, briefs, outcomes] : part.blocks)
        blocks.append(nb::make_tuple(thresholds, bytes_of(briefs), bytes_of(outcomes)));
    const Rules& rules = part.rules;
    return nb::make_tuple(version, part.about, rules.thresholds, rules.ranges, rules.limits, rules.recalls,
                          bytes_of(part.images), bytes_of(part.offsets), bytes_of(part.confidence),
                          bytes_of(part.image), bytes_of(part.rank), bytes_of(part.positives), blocks);
}

// What is walked must be there: bytes come from anywhere.
void check(const Part& part) {
    check(part.rules);
    const std::size_t rows = part.confidence.size(), ranges = part.rules.range_count();
    check_offsets(part.offsets, rows, "a part whose classes end with the last row");
    expect(part.image.size() == rows && part.rank.size() == rows, "a part with an image and a rank for each row");
    expect(part.positives.size() == part.labels() * ranges, "a part that says how many truths there are");
    std::size_t thresholds = 0;
    for (const auto& [count, briefs, outcomes] : part.blocks) {
        expect(count > 0 && count <= most_thresholds && briefs.size() == rows && outcomes.size() % ranges == 0,
               "a part with flags for each row");
        thresholds += count;
        const auto took = static_cast<std::int64_t>(outcomes.size() / ranges);
        for (const Brief& brief : briefs)
            expect(brief.outcome >= -1 && brief.outcome < took && brief.limit() <= part.rules.limits.size(),
                   "a part whose flags are its own");
    }
    expect(thresholds == part.rules.thresholds.size(), "a part with flags for each threshold");
}

void set_state(Part& part, const State& state) {
    expect(state.size() == 13 && nb::cast<int>(state[0]) == version, "a part of this version of verite");
    Part read;
    read.about = nb::cast<std::string>(state[1]);
    read.rules.thresholds = nb::cast<std::vector<double>>(state[2]);
    read.rules.ranges = nb::cast<std::vector<double>>(state[3]);
    read.rules.limits = nb::cast<std::vector<std::int64_t>>(state[4]);
    read.rules.recalls = nb::cast<std::vector<double>>(state[5]);
    read_bytes(state[6], read.images);
    read_bytes(state[7], read.offsets);
    read_bytes(state[8], read.confidence);
    read_bytes(state[9], read.image);
    read_bytes(state[10], read.rank);
    read_bytes(state[11], read.positives);
    for (const nb::handle block : nb::cast<nb::list>(state[12])) {
        Part::Block& own = read.blocks.emplace_back();
        own.thresholds = nb::cast<std::uint64_t>(block[0]);
        read_bytes(block[1], own.briefs);
        read_bytes(block[2], own.outcomes);
    }
    check(read);
    new (&part) Part(std::move(read));
}

Part merge(const std::vector<const Part*>& parts) {
    const nb::gil_scoped_release released;
    return merge_parts(parts);
}

}  // namespace

void register_parts(nb::module_& module) {
    nb::class_<Part>(module, "Part", "What became of some images, to be merged with others.")
        .def_static("merge", &merge, "parts"_a, "Parts of different images as one; in any order the same.")
        .def(
            "numbers",
            [](const Part& part, unsigned threads) {
                const nb::gil_scoped_release released;
                return number_part(part, threads);
            },
            "threads"_a = 1)
        .def_prop_ro("image_count", [](const Part& part) { return part.images.size(); })
        .def("__getstate__", &get_state)
        .def("__setstate__", &set_state);
}

}  // namespace verite
