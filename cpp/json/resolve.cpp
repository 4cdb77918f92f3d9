#include "json/resolve.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "columns/lookup.hpp"
#include "columns/memory.hpp"

namespace verite::json {
namespace {

class Faults {
  public:
    explicit Faults(std::size_t most) : most_(most) {}

    bool is_full() const { return found.size() >= most_; }
    void add(RecordFault fault) {
        if (!is_full()) found.push_back(std::move(fault));
    }

    std::vector<RecordFault> found;

  private:
    std::size_t most_;
};

std::string_view text_of(const RaggedColumn<char>& texts, std::size_t row) {
    const auto letters = texts[row];
    return {letters.data(), letters.size()};
}

// Ids that a record before has, too, in the order of records; `order` has the records by id.
template <class IdAt>
void find_repeated(std::string_view section, std::span<const std::int32_t> order, IdAt&& id_at, Faults& faults) {
    std::vector<std::pair<std::size_t, std::size_t>> repeated;
    for (std::size_t first = 0, i = 1; i < order.size(); ++i) {
        if (id_at(order[i]) != id_at(order[first])) first = i;
        if (i != first) repeated.emplace_back(order[i], order[first]);
    }
    std::ranges::sort(repeated);
    for (const auto& [record, other] : repeated)
        faults.add({"repeated_id", section, record, "id", static_cast<std::int64_t>(other)});
}

void find_repeated(std::string_view section, std::span<const std::int64_t> ids, Faults& faults) {
    if (std::ranges::adjacent_find(ids, std::greater_equal()) == ids.end()) return;
    find_repeated(section, rows_by_id(ids), [&](std::int32_t i) { return ids[static_cast<std::size_t>(i)]; }, faults);
}

void find_repeated(std::string_view section, const RaggedColumn<char>& ids, std::size_t count, Faults& faults) {
    const auto id_at = [&](std::int32_t i) { return text_of(ids, static_cast<std::size_t>(i)); };
    std::vector<std::int32_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, id_at);
    find_repeated(section, order, id_at, faults);
}

bool is_size(std::int64_t width, std::int64_t height, const SizeLimits& limits) {
    if (std::min(width, height) < 0 || std::max(width, height) > limits.side_px) return false;
    if (std::max(width, height) > std::numeric_limits<std::int32_t>::max())
        return false;  // so that products are numbers
    return width * height <= limits.pixels && (width == 0) == (height == 0);
}

constexpr std::string_view name_of(Annotations::Field field) { return Annotations::names[field]; }

View<std::int32_t> find(const Ids& ids, const IdTables& tables, unsigned threads, std::string_view section,
                        Faults& faults) {
    const std::size_t count =
        ids.kind == Ids::Kind::text ? ids.text.rows() : static_cast<std::size_t>(ids.numbers.rows());
    Array<std::int32_t> positions(count, -1);
    const auto say = [&](std::size_t record) {
        faults.add({"unknown_id", section, record, name_of(Annotations::image_id)});
    };
    if (ids.kind == Ids::Kind::text) {
        std::unordered_map<std::string_view, std::int32_t> places;
        for (std::size_t i = 0; i < tables.image_names.size(); ++i) {
            const auto name = tables.image_names[i];
            places.emplace(std::string_view(name.data(), name.size()), static_cast<std::int32_t>(i));
        }
        for (std::size_t i = 0; i < count; ++i) {
            const auto at = places.find(text_of(ids.text, i));
            if (at == places.end())
                say(i);
            else
                positions[i] = at->second;
        }
    } else if (find_positions(ids.numbers.values(), tables.image_ids, positions, threads) > 0) {
        for (std::size_t i = 0; i < count && !faults.is_full(); ++i)
            if (positions[i] < 0) say(i);
    }
    return keep(std::move(positions));
}

View<std::int32_t> find_labels(const Column<std::int64_t>& ids, std::span<const std::int64_t> table, unsigned threads,
                               std::string_view section, Faults& faults) {
    Array<std::int32_t> positions(ids.rows());
    if (find_positions(ids.values(), table, positions, threads) > 0)
        for (std::size_t i = 0; i < ids.rows() && !faults.is_full(); ++i)
            if (positions[i] < 0) faults.add({"unknown_id", section, i, name_of(Annotations::category_id)});
    return keep(std::move(positions));
}

bool has(const Annotations& table, std::size_t record, Annotations::Field field) {
    return (table.presence.fields[record] & field_bit(field)) != 0;
}

bool all_have(const Annotations& table, Annotations::Field field) {
    return table.count == 0 || (table.presence.every & field_bit(field)) != 0;
}

bool some_have(const Annotations& table, Annotations::Field field) {
    return table.count > 0 && (table.presence.some & field_bit(field)) != 0;
}

View<std::uint8_t> kinds_of(const View<SegmentationKind>& read) {
    using Kind = verite::RegionKind;
    Array<std::uint8_t> kinds(read.size(), static_cast<std::uint8_t>(Kind::box));
    bool has_other = false;
    for (std::size_t i = 0; i < read.size(); ++i) {
        const SegmentationKind found = read[i];
        if (found != SegmentationKind::polygons && found != SegmentationKind::runs) continue;
        kinds[i] = static_cast<std::uint8_t>(found == SegmentationKind::polygons ? Kind::polygon : Kind::mask);
        has_other = true;
    }
    return has_other ? keep(std::move(kinds)) : View<std::uint8_t>();
}

// Room for missing boxes, and flags of the objects without one; an object without any region is a fault.
void mark_boxed(const Annotations& table, std::string_view section, Regions& regions, Faults& faults) {
    Array<double> boxes(4 * table.count, 0);
    std::ranges::copy(regions.boxes.values, boxes.begin());
    Array<std::uint8_t> boxed(table.count);
    constexpr FieldSet with_box =
        field_bit(Annotations::bbox) | field_bit(Annotations::obb) | field_bit(Annotations::rotated);
    for (std::size_t i = 0; i < table.count; ++i) {
        boxed[i] = (table.presence.fields[i] & with_box) != 0;
        if (!boxed[i] && regions.kind(i) == verite::RegionKind::box && !regions.has_keypoints(i))
            faults.add({"no_region", section, i});
    }
    regions.boxes = keep(std::move(boxes));
    regions.boxed = keep(std::move(boxed));
}

View<std::uint8_t> if_any(const View<std::uint8_t>& flags) {
    return std::ranges::find(flags.values, 1) != flags.end() ? flags : View<std::uint8_t>();
}

View<std::uint8_t> flag_unscored(const Annotations& table) {
    if (all_have(table, Annotations::score) || !some_have(table, Annotations::score)) return {};
    Array<std::uint8_t> flags(table.count);
    for (std::size_t i = 0; i < table.count; ++i) flags[i] = !has(table, i, Annotations::score);
    return keep(std::move(flags));
}

View<std::int32_t> labelled_of(const Annotations& table, const View<std::int64_t>& stated) {
    if (!stated) return {};
    Array<std::int32_t> counts(table.count);
    for (std::size_t i = 0; i < table.count; ++i)
        counts[i] = has(table, i, Annotations::num_keypoints)
                        ? static_cast<std::int32_t>(std::clamp<std::int64_t>(stated[i], 0, 1 << 30))
                        : -1;
    return keep(std::move(counts));
}

}  // namespace

std::vector<RecordFault> faults_of(const Images& images, std::span<const std::int64_t> image_ids,
                                   const Categories& categories, const SizeLimits& limits, std::size_t most) {
    Faults faults(most);
    if (images.ids.kind == Ids::Kind::text)
        find_repeated("images", images.ids.text, images.count, faults);
    else
        find_repeated("images", image_ids, faults);
    for (std::size_t i = 0; i < images.count && !faults.is_full(); ++i)
        if (!is_size(images.width_of(i), images.height_of(i), limits)) faults.add({"size", "images", i});
    find_repeated("categories", categories.ids.values(), faults);
    return std::move(faults.found);
}

ResolvedObjects resolve(const Document& document, const SharedColumns& shared, const IdTables& tables,
                        const std::shared_ptr<const LazyShapes>& shapes, BoxLayout layout, unsigned threads,
                        std::size_t most) {
    const Annotations& table = document.annotations;
    const std::string_view section = document.is_results ? "results" : "annotations";
    Faults faults(most);
    Columns columns;
    const bool has_images = !tables.image_ids.empty() || tables.image_names.size() > 0;
    const bool has_texts = table.image_ids.kind == Ids::Kind::text;
    if (table.count > 0 && has_images && has_texts != static_cast<bool>(tables.image_names))
        faults.add({"mixed_ids", section, 0, name_of(Annotations::image_id)});
    else
        columns.image = find(table.image_ids, tables, threads, section, faults);
    columns.label = find_labels(table.category_ids, tables.label_ids, threads, section, faults);
    columns.confidence = shared.scores;
    columns.area = shared.areas;
    if (table.ids.kind == Ids::Kind::numbers && all_have(table, Annotations::id)) columns.ids = shared.ids;
    const auto flag = [&](Flag which) -> auto& { return columns.flags[static_cast<std::size_t>(which)]; };
    flag(Flag::crowd) = if_any(shared.crowds);
    flag(Flag::ignore) = if_any(shared.ignores);
    flag(Flag::unscored) = flag_unscored(table);
    columns.regions = {shared.boxes, layout, kinds_of(shared.kinds), {}, nullptr, shared.keypoints};
    columns.labelled = labelled_of(table, shared.labelled);
    if (columns.regions.kinds) columns.regions.shapes = shapes;
    if (!all_have(table, Annotations::bbox)) {
        mark_boxed(table, section, columns.regions, faults);
    } else if (!shared.boxes) {
        columns.regions.boxes = keep(Array<double>());
    }
    return {std::move(columns), std::move(faults.found)};
}

std::vector<std::int64_t> distinct(std::span<const std::int64_t> ids) {
    std::vector<std::int64_t> found(ids.begin(), ids.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    std::ranges::sort(found);
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
}

std::vector<std::string> distinct(const RaggedColumn<char>& texts) {
    std::set<std::string> found;
    for (std::size_t i = 0; i < texts.rows(); ++i) found.emplace(text_of(texts, i));
    return {found.begin(), found.end()};
}

}  // namespace verite::json
