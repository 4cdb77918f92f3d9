// The bytes of a partial result: a name, a version, what it is about, rules, images, classes, a packed section of each
// class, notes if there are any, and a digest.
#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string_view>

#include "columns/digest.hpp"
#include "evaluation/state.hpp"

namespace verite {
namespace {

constexpr std::string_view magic = "verite part\n";
constexpr std::uint64_t version = 1;
constexpr std::size_t digest_bytes = 8;

std::span<const std::uint8_t> bytes_of(std::string_view text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::uint64_t digest_of(std::span<const std::uint8_t> bytes) { return digest(std::as_bytes(bytes)); }

void put_text(Writer& out, std::string_view text) {
    out.put(text.size());
    out.put_span(bytes_of(text));
}

std::string take_text(Reader& in) {
    const auto bytes = in.take_span(in.take());
    return {bytes.begin(), bytes.end()};
}

template <class T>
void put_values(Writer& out, const std::vector<T>& values) {
    out.put(values.size());
    for (const T value : values) out.put_bytes(std::bit_cast<std::uint64_t>(value), 8);
}

template <class T>
void take_values(Reader& in, std::vector<T>& values) {
    values.resize(in.take_count(8));
    for (T& value : values) value = std::bit_cast<T>(in.take_bytes(8));
}

// The bounds of area ranges, lowest, highest, lowest, …
void put_ranges(Writer& out, const std::vector<AreaRange>& ranges) {
    std::vector<double> bounds;
    for (const auto& [low, high] : ranges) bounds.insert(bounds.end(), {low, high});
    put_values(out, bounds);
}

void take_ranges(Reader& in, std::vector<AreaRange>& ranges) {
    std::vector<double> bounds;
    take_values(in, bounds);
    if (bounds.size() % 2 != 0) Reader::refuse();
    for (std::size_t i = 0; i < bounds.size(); i += 2) ranges.push_back({bounds[i], bounds[i + 1]});
}

// Ascending numbers: the first one, then the difference from each to the next.
void put_rising(Writer& out, std::span<const std::int64_t> ids) {
    out.put(ids.size());
    std::uint64_t before = 0;
    for (const std::int64_t id : ids) {
        out.put(static_cast<std::uint64_t>(id) - before);
        before = static_cast<std::uint64_t>(id);
    }
}

void take_rising(Reader& in, Array<std::int64_t>& ids) {
    ids.resize(in.take_count());
    std::uint64_t number = 0;
    for (std::int64_t& id : ids) id = static_cast<std::int64_t>(number += in.take());
    if (std::ranges::adjacent_find(ids, std::greater_equal()) != ids.end()) Reader::refuse();
}

}  // namespace

Bytes to_bytes(const EvaluationState& state) {
    Writer out;
    std::size_t size = 1024 + state.about.size() + state.notes.size();
    for (const Bytes& section : state.sections) size += section.size() + 8;
    out.bytes.reserve(size);
    out.put_span(bytes_of(magic));
    out.put(version);
    put_text(out, state.about);
    put_values(out, state.rules.thresholds);
    put_ranges(out, state.rules.area_ranges);
    put_values(out, state.rules.max_dets);
    put_values(out, state.rules.recalls);
    put_rising(out, state.images.ids);
    out.put(state.images.names.size());
    for (const std::string& name : state.images.names) put_text(out, name);
    put_rising(out, state.labels);
    for (const Bytes& section : state.sections) {
        out.put(section.size());
        out.put_span(section);
    }
    if (!state.notes.empty()) put_text(out, state.notes);
    out.put_bytes(digest_of(out.bytes), digest_bytes);
    return std::move(out.bytes);
}

EvaluationState state_from_bytes(std::span<const std::uint8_t> bytes) {
    if (bytes.size() < magic.size() || !std::ranges::equal(bytes.first(magic.size()), bytes_of(magic)))
        throw std::invalid_argument("expected a part as verite writes it, found other bytes");
    Reader in(bytes.subspan(magic.size()));
    if (const std::uint64_t found = in.take(); found != version)
        throw std::invalid_argument("expected a part of version " + std::to_string(version) + ", found version " +
                                    std::to_string(found) + "; make it again with this version of verite");
    if (bytes.size() < magic.size() + digest_bytes) Reader::refuse();
    const auto inner = bytes.first(bytes.size() - digest_bytes);
    if (Reader(bytes.last(digest_bytes)).take_bytes(digest_bytes) != digest_of(inner)) Reader::refuse();
    in = Reader(inner.subspan(magic.size()));
    in.take();
    EvaluationState state;
    state.about = take_text(in);
    take_values(in, state.rules.thresholds);
    take_ranges(in, state.rules.area_ranges);
    take_values(in, state.rules.max_dets);
    take_values(in, state.rules.recalls);
    check(state.rules);
    take_rising(in, state.images.ids);
    const std::size_t names = in.take_count();
    for (std::size_t i = 0; i < names; ++i) state.images.names.push_back(take_text(in));
    if (std::ranges::adjacent_find(state.images.names, std::greater_equal()) != state.images.names.end() ||
        (names > 0 && !state.images.ids.empty()))
        Reader::refuse();
    take_rising(in, state.labels);
    for (std::size_t i = 0; i < state.labels.size(); ++i) {
        const auto section = in.take_span(in.take());
        state.sections.emplace_back(section.begin(), section.end());
    }
    if (in.left() > 0) state.notes = take_text(in);
    if (in.left() > 0) Reader::refuse();
    for (std::size_t i = 0; i < state.sections.size(); ++i)
        check(state.section(i), state.shape(), state.rules.recalls.empty() && state.rules.area_ranges.back().high == 0);
    return state;
}

}  // namespace verite
