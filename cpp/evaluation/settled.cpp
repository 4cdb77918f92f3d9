#include "evaluation/settled.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include "columns/lookup.hpp"

namespace verite {
namespace {

using json::Ids;

// The rank of each id; nothing where one is there twice.
std::optional<Array<std::int32_t>> ranked(std::span<const std::int64_t> ids) {
    if (std::ranges::adjacent_find(ids, std::greater_equal()) == ids.end()) return Array<std::int32_t>();
    std::vector<std::int32_t> order(ids.size());
    std::iota(order.begin(), order.end(), 0);
    const auto id_of = [&](std::int32_t i) { return ids[static_cast<std::size_t>(i)]; };
    std::ranges::sort(order, {}, id_of);
    if (std::ranges::adjacent_find(order, {}, id_of) != order.end()) return std::nullopt;
    Array<std::int32_t> ranks(ids.size());
    for (std::size_t i = 0; i < order.size(); ++i)
        ranks[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i);
    return ranks;
}

bool are_sizes(const json::Images& images, const ImageLimits& limits) {
    for (std::size_t i = 0; i < images.count; ++i) {
        const std::int64_t width = images.width_of(i), height = images.height_of(i);
        if (std::min(width, height) < 0 || std::max(width, height) > limits.side_px) return false;
        if (width * height > limits.pixels || (width == 0) != (height == 0)) return false;
    }
    return true;
}

template <class Table>
bool every(const Table& table, unsigned field) {
    return (table.presence.every & json::field_bit(field)) != 0;
}

template <class Table>
bool every_or_none(const Table& table, unsigned field) {
    return every(table, field) || (table.presence.some & json::field_bit(field)) == 0;
}

}  // namespace

std::optional<Ranks> ranks_of(const json::Document& truth, const ImageLimits& limits) {
    const auto has = [&](const char* section) { return truth.keys.contains(section); };
    if (truth.is_results || !has("images") || !has("annotations") || !has("categories")) return std::nullopt;
    constexpr std::int64_t longest = std::int64_t{1} << 31;  // products of two sides are numbers, whatever is allowed
    if (truth.images.count == 0 || truth.categories.count == 0 || limits.side_px >= longest) return std::nullopt;
    if (truth.images.ids.kind != Ids::Kind::numbers || !every(truth.categories, json::Categories::name) ||
        !are_sizes(truth.images, limits))
        return std::nullopt;
    auto image = ranked(truth.images.ids.numbers.values()), label = ranked(truth.categories.ids.values());
    if (!image || !label) return std::nullopt;
    return Ranks{std::move(*image), std::move(*label)};
}

std::optional<Positions> positions_of(const json::Document& objects, const json::Document& truth, unsigned threads) {
    using json::Annotations;
    const Annotations& table = objects.annotations;
    if (table.count == 0 || table.image_ids.kind != Ids::Kind::numbers) return std::nullopt;
    if (!every(table, Annotations::bbox) || !every_or_none(table, Annotations::score)) return std::nullopt;
    if (!every_or_none(table, Annotations::id) || table.ids.kind == Ids::Kind::text) return std::nullopt;
    Positions found{Array<std::int32_t>(table.count), Array<std::int32_t>(table.count)};
    if (find_positions(table.image_ids.numbers.values(), truth.images.ids.numbers.values(), found.image, threads) ||
        find_positions(table.category_ids.values(), truth.categories.ids.values(), found.label, threads))
        return std::nullopt;
    return found;
}

}  // namespace verite
