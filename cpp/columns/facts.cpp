#include "columns/facts.hpp"

#include <utility>

#include "columns/digest.hpp"

namespace verite {
namespace {

template <class Values>
Fact fact(std::string_view name, const Values& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return {std::string(name), bytes.size(), digest(bytes)};
}

}  // namespace

std::vector<Fact> facts_of(const Images& images) {
    std::vector<Fact> facts;
    if (images.names) {
        facts = {fact("images", images.names.values), fact("image offsets", images.names.starts)};
    } else {
        std::string letters;
        std::vector<std::int64_t> offsets{0};
        for (const std::int64_t id : images.ids) {
            letters += std::to_string(id);
            offsets.push_back(static_cast<std::int64_t>(letters.size()));
        }
        facts = {fact("images", letters), fact("image offsets", offsets)};
    }
    facts.push_back(fact("widths", images.widths));
    facts.push_back(fact("heights", images.heights));
    return facts;
}

std::vector<Fact> facts_of(const Columns& columns) {
    std::vector<Fact> facts{fact("image", columns.image), fact("label", columns.label)};
    const auto add = [&](std::string_view name, const auto& column) {
        if (column) facts.push_back(fact(name, column));
    };
    add("confidence", columns.confidence);
    add("area", columns.area);
    for (std::size_t i = 0; i < flag_names.size(); ++i) add(flag_names[i], columns.flags[i]);
    add(name_of(columns.regions.layout), columns.regions.boxes);
    add("keypoints", columns.regions.keypoints.values);
    add("keypoint objects", columns.regions.keypoints.starts);
    add("labelled", columns.labelled);
    add("track", columns.track);
    return facts;
}

std::vector<Fact> facts_of(const Shapes& shapes) {
    std::vector<Fact> facts;
    const auto add = [&](std::string_view name, const auto& column) {
        if (column) facts.push_back(fact(name, column));
    };
    add("points", shapes.points);
    add("rings", shapes.rings);
    add("objects", shapes.ring_objects);
    add("counts", shapes.counts);
    add("objects", shapes.run_objects);
    add("sizes", shapes.sizes);
    return facts;
}

}  // namespace verite
