// A part as bytes: a name, a version, what it is about, images, classes, a packed section of each class, notes if there
// are any, and a digest.
#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string_view>

#include "columns/digest.hpp"
#include "evaluation/parts.hpp"

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

// IsotonicFit numbers: the first one, then how far it is from each to the next.
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

Bytes to_bytes(const Part& part) {
    Writer out;
    std::size_t size = 1024 + part.about.size() + part.notes.size();
    for (const Bytes& section : part.sections) size += section.size() + 8;
    out.bytes.reserve(size);
    out.put_span(bytes_of(magic));
    out.put(version);
    put_text(out, part.about);
    put_values(out, part.rules.thresholds);
    put_values(out, part.rules.ranges);
    put_values(out, part.rules.limits);
    put_values(out, part.rules.recalls);
    put_rising(out, part.images.ids);
    out.put(part.images.names.size());
    for (const std::string& name : part.images.names) put_text(out, name);
    put_rising(out, part.labels);
    for (const Bytes& section : part.sections) {
        out.put(section.size());
        out.put_span(section);
    }
    if (!part.notes.empty()) put_text(out, part.notes);
    out.put_bytes(digest_of(out.bytes), digest_bytes);
    return std::move(out.bytes);
}

Part part_from(std::span<const std::uint8_t> bytes) {
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
    Part part;
    part.about = take_text(in);
    take_values(in, part.rules.thresholds);
    take_values(in, part.rules.ranges);
    take_values(in, part.rules.limits);
    take_values(in, part.rules.recalls);
    check(part.rules);
    take_rising(in, part.images.ids);
    const std::size_t names = in.take_count();
    for (std::size_t i = 0; i < names; ++i) part.images.names.push_back(take_text(in));
    if (std::ranges::adjacent_find(part.images.names, std::greater_equal()) != part.images.names.end() ||
        (names > 0 && !part.images.ids.empty()))
        Reader::refuse();
    take_rising(in, part.labels);
    for (std::size_t i = 0; i < part.labels.size(); ++i) {
        const auto section = in.take_span(in.take());
        part.sections.emplace_back(section.begin(), section.end());
    }
    if (in.left() > 0) part.notes = take_text(in);
    if (in.left() > 0) Reader::refuse();
    for (std::size_t i = 0; i < part.sections.size(); ++i)
        check(part.section(i), part.shape(), part.rules.recalls.empty() && part.rules.ranges.back() == 0);
    return part;
}

}  // namespace verite
