#include "evaluation/facts.hpp"

#include <algorithm>

#include "columns/digest.hpp"

namespace verite {
namespace {

template <class Values>
Fact fact(const char* name, const Values& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return {name, bytes.size(), digest(bytes)};
}

// Sides as 32-bit numbers.
Array<std::int32_t> narrowed(const json::Images& images, std::int64_t (json::Images::*side_of)(std::size_t) const) {
    Array<std::int32_t> narrow(images.count);
    for (std::size_t i = 0; i < images.count; ++i) narrow[i] = static_cast<std::int32_t>((images.*side_of)(i));
    return narrow;
}

}  // namespace

std::vector<Fact> facts_of(const json::Images& images) {
    std::vector<Fact> facts;
    const auto starts = images.file_names.starts().values();
    if (std::ranges::adjacent_find(starts, std::greater_equal()) == starts.end()) {
        facts = {fact("images", images.file_names.values.values()), fact("image offsets", starts)};
    } else {
        std::string letters;
        std::vector<std::int64_t> offsets{0};
        for (std::size_t i = 0; i < images.count; ++i) {
            const auto name = images.file_names[i];
            letters += name.empty() ? std::to_string(images.ids.numbers[i]) : std::string(name.begin(), name.end());
            offsets.push_back(static_cast<std::int64_t>(letters.size()));
        }
        facts = {fact("images", letters), fact("image offsets", offsets)};
    }
    facts.push_back(fact("widths", narrowed(images, &json::Images::width_of)));
    facts.push_back(fact("heights", narrowed(images, &json::Images::height_of)));
    return facts;
}

std::vector<Fact> facts_of(const json::Annotations& objects, const Positions& positions) {
    std::vector<Fact> facts{fact("image", positions.image), fact("label", positions.label)};
    if (objects.scores.rows()) facts.push_back(fact("confidence", objects.scores.values()));
    if (objects.areas.rows()) facts.push_back(fact("area", objects.areas.values()));
    const auto add_flag = [&](const char* name, std::span<const std::uint8_t> flags) {
        if (std::ranges::find(flags, 1) != flags.end()) facts.push_back(fact(name, flags));
    };
    add_flag("ignore", objects.ignores.values());
    add_flag("crowd", objects.crowds.values());
    facts.push_back(fact("xywh", objects.boxes.values()));
    return facts;
}

std::vector<Fact> facts_of(const Shapes& shapes) {
    std::vector<Fact> facts;
    if (shapes.has_polygons())
        facts = {fact("points", shapes.points), fact("rings", shapes.rings), fact("objects", shapes.ring_objects)};
    if (shapes.has_runs()) {
        facts.push_back(fact("counts", shapes.counts));
        facts.push_back(fact("objects", shapes.run_objects));
        facts.push_back(fact("sizes", shapes.sizes));
    }
    return facts;
}

}  // namespace verite
