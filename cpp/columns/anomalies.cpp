#include "columns/anomalies.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <tuple>

#include "columns/memory.hpp"
#include "columns/parallel.hpp"

namespace verite {
namespace {

void look_at_box(const Surveyed& side, std::size_t row, const AnomalyRules& rules, AnomalyCounts& found) {
    const double* at = &side.numbers[4 * row];
    const double width = side.is_corners ? at[2] - at[0] : at[2], height = side.is_corners ? at[3] - at[1] : at[3];
    if (!std::isfinite(at[0] + at[1] + at[2] + at[3]) || !(std::abs(width * height) <= rules.most_area)) [[unlikely]] {
        found.not_finite.add(row);
        return;
    }
    if (!(width > 0) || !(height > 0)) [[unlikely]] {
        if (width < -rules.rounding || height < -rules.rounding)
            found.negative.add(row);
        else
            found.zero_size.add(row);
    }
    if (width < 1 && height < 1 && width > 0 && height > 0 && at[0] >= 0 && at[1] >= 0 &&
        at[0] + width <= rules.fraction && at[1] + height <= rules.fraction) [[unlikely]]
        found.fractions.add(row);
    if (!side.crowd.empty() && side.crowd[row]) [[unlikely]]
        found.crowd.add(row);
    if (!side.sizes.empty()) {
        const auto image = static_cast<std::size_t>(side.image[row]);
        const double across = side.sizes[2 * image], down = side.sizes[2 * image + 1];
        if (across > 0 && down > 0 &&
            (at[0] < -rules.leaves * across || at[1] < -rules.leaves * down ||
             at[0] + width > (1 + rules.leaves) * across || at[1] + height > (1 + rules.leaves) * down)) [[unlikely]] {
            found.outside.add(row);
            if (at[0] >= across || at[1] >= down || at[0] + width <= 0 || at[1] + height <= 0) found.beyond.add(row);
        }
    }
    if (!side.area.empty() && side.area[row] < rules.small_area * width * height) [[unlikely]] {
        if (!(side.area[row] > 0))
            found.no_area.add(row);
        else if (width * height >= rules.least_box)
            found.small_area.add(row);
    } else if (!side.area.empty() && side.area[row] <= 0) {
        found.no_area.add(row);
    } else if (!side.area.empty() && width >= 0 && height >= 0 &&
               side.area[row] > rules.large_area * (width + 1) * (height + 1)) [[unlikely]] {
        found.large_area.add(row);
    }
}

void look_at_confidence(const Surveyed& side, std::size_t row, AnomalyCounts& found) {
    const double value = side.confidence[row];
    if (!std::isfinite(value)) [[unlikely]]
        found.confidence_not_finite.add(row);
    else if (value > 1) [[unlikely]]
        found.above_one.add(row);
}

// Predictions at the lower end of the confidences, if these end in an edge: detectors write the more predictions the
// lower the confidence, so that as many in the first window above the lowest one as (half of) the second mean that
// others below were left out. A distribution that ends by itself thins out before.
Tally cut_of(std::span<const double> confidence, const AnomalyRules& rules) {
    double lowest = INFINITY, highest = -INFINITY;
    for (const double value : confidence)
        if (std::isfinite(value)) {
            lowest = std::min(lowest, value);
            highest = std::max(highest, value);
        }
    if (!(lowest >= rules.cut_above) || !(highest <= 1) || lowest == highest) return {};
    const double width = rules.edge * std::min(lowest, 1 - lowest);
    Tally first;
    std::size_t second = 0;
    for (std::size_t row = 0; row < confidence.size(); ++row) {
        if (confidence[row] < lowest + width)
            first.add(row);
        else if (confidence[row] < lowest + 2 * width)
            ++second;
    }
    return first.count >= rules.fewest_at_edge && 2 * first.count >= second ? first : Tally{};
}

// Rows of each image, in their order.
struct RowsByImage {
    std::vector<std::size_t> starts, rows;

    RowsByImage(const Surveyed& side, std::size_t images, std::span<const std::uint8_t> is_wanted)
        : starts(images + 1, 0) {
        const auto takes = [&](std::size_t row) {
            return is_wanted.empty() || is_wanted[static_cast<std::size_t>(side.image[row])];
        };
        for (std::size_t row = 0; row < side.count(); ++row)
            if (takes(row)) ++starts[static_cast<std::size_t>(side.image[row]) + 1];
        std::partial_sum(starts.begin(), starts.end(), starts.begin());
        rows.resize(starts.back());
        std::vector<std::size_t> next(starts.begin(), starts.end() - 1);
        for (std::size_t row = 0; row < side.count(); ++row)
            if (takes(row)) rows[next[static_cast<std::size_t>(side.image[row])]++] = row;
    }

    std::span<std::size_t> of(std::size_t image) {
        return {rows.data() + starts[image], starts[image + 1] - starts[image]};
    }
};

// Of few objects, each is compared with each.
void find_duplicates_of_few(const Surveyed& side, std::span<const std::size_t> rows, const AnomalyRules& rules,
                            std::vector<std::uint8_t>& is_duplicate) {
    for (std::size_t i = 1; i < rows.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (side.label[rows[i]] == side.label[rows[j]] &&
                box_iou_of(corners_of(side, rows[i]), corners_of(side, rows[j])) >= rules.near)
                is_duplicate[std::max(rows[i], rows[j])] = 1;
}

struct PlacedRow {
    std::int32_t label;
    double left;
    std::size_t row;

    auto operator<=>(const PlacedRow&) const = default;
};

// Truths of an image from left to right, class by class. Boxes that overlap by `near` begin within 1 - `near` of a
// width of each other.
void find_duplicates(const Surveyed& side, std::span<std::size_t> rows, const AnomalyRules& rules,
                     std::vector<PlacedRow>& placed, std::vector<std::uint8_t>& is_duplicate) {
    placed.clear();
    for (const std::size_t row : rows) placed.push_back({side.label[row], side.numbers[4 * row], row});
    std::ranges::sort(placed, [](const PlacedRow& a, const PlacedRow& b) { return a < b; });
    std::ranges::transform(placed, rows.begin(), &PlacedRow::row);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const Corners box = corners_of(side, rows[i]);
        const double reach = box.left + (1 - rules.near) * (box.right - box.left);
        for (std::size_t j = i + 1; j < std::min(rows.size(), i + 1 + rules.neighbours); ++j) {
            if (side.label[rows[j]] != side.label[rows[i]] || side.numbers[4 * rows[j]] > reach) break;
            if (box_iou_of(box, corners_of(side, rows[j])) >= rules.near) is_duplicate[std::max(rows[i], rows[j])] = 1;
        }
    }
}

Tally duplicates_of(const Surveyed& side, std::size_t images, unsigned threads, const AnomalyRules& rules) {
    RowsByImage by_image(side, images, {});
    std::vector<std::uint8_t> is_duplicate(side.count(), 0);
    constexpr std::size_t images_ahead = 4, few = 24;
    in_stretches(images, threads, [&](std::size_t first, std::size_t last) {
        std::vector<PlacedRow> placed;
        for (std::size_t image = first; image < last; ++image) {
            // Objects of one image are often far from each other in a file.
            if (image + images_ahead < last)
                for (const std::size_t row : by_image.of(image + images_ahead)) prefetch(&side.numbers[4 * row]);
            auto rows = by_image.of(image);
            // Crowds may lie on each other, and what is not finite has no order.
            const auto kept = std::remove_if(rows.begin(), rows.end(), [&](std::size_t row) {
                const Corners box = corners_of(side, row);
                return (!side.crowd.empty() && side.crowd[row]) || !std::isfinite(box.left + box.right);
            });
            rows = rows.first(static_cast<std::size_t>(kept - rows.begin()));
            if (rows.size() <= few)
                find_duplicates_of_few(side, rows, rules, is_duplicate);
            else
                find_duplicates(side, rows, rules, placed, is_duplicate);
        }
    });
    Tally found;
    for (std::size_t row = 0; row < is_duplicate.size(); ++row)
        if (is_duplicate[row]) found.add(row);
    return found;
}

// Predictions that agree in everything with an earlier one, in evenly spaced images.
void find_repeated(const Surveyed& side, std::size_t images, const AnomalyRules& rules, AnomalyCounts& found) {
    std::vector<std::uint8_t> has(images, 0), is_wanted(images, 0);
    for (const std::int32_t image : side.image) has[static_cast<std::size_t>(image)] = 1;
    std::vector<std::size_t> used;
    for (std::size_t image = 0; image < images; ++image)
        if (has[image]) used.push_back(image);
    const std::size_t count = std::min(rules.sampled, used.size());
    for (std::size_t i = 0; i < count; ++i) is_wanted[used[count > 1 ? i * (used.size() - 1) / (count - 1) : 0]] = 1;
    RowsByImage by_image(side, images, is_wanted);
    found.sampled = by_image.rows.size();
    const auto key = [&](std::size_t row) {
        const double* at = &side.numbers[4 * row];
        return std::tuple(side.label[row], at[0], at[1], at[2], at[3],
                          side.confidence.empty() ? 0.0 : side.confidence[row]);
    };
    std::vector<std::size_t> repeated;
    for (const std::size_t image : used) {
        auto rows = by_image.of(image);
        const auto end = std::remove_if(rows.begin(), rows.end(), [&](std::size_t row) {
            const double* at = &side.numbers[4 * row];
            return !std::isfinite(at[0] + at[1] + at[2] + at[3]) ||
                   (!side.confidence.empty() && std::isnan(side.confidence[row]));
        });
        rows = rows.first(static_cast<std::size_t>(end - rows.begin()));
        std::ranges::sort(rows, [&](std::size_t a, std::size_t b) {
            const auto one = key(a), other = key(b);
            return one != other ? one < other : a < b;
        });
        for (std::size_t i = 1; i < rows.size(); ++i)
            if (key(rows[i - 1]) == key(rows[i])) repeated.push_back(rows[i]);
    }
    std::ranges::sort(repeated);
    for (const std::size_t row : repeated) found.repeated.add(row);
}

// Rows whose id an earlier one has, too, by sorting.
Tally repeated_by_order(std::span<const std::int64_t> ids) {
    std::vector<std::size_t> rows(ids.size()), later;
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    std::ranges::stable_sort(rows, {}, [&](std::size_t row) { return ids[row]; });
    for (std::size_t i = 1; i < rows.size(); ++i)
        if (ids[rows[i - 1]] == ids[rows[i]]) later.push_back(rows[i]);
    std::ranges::sort(later);
    Tally found;
    for (const std::size_t row : later) found.add(row);
    return found;
}

// The same by a hash table, which is faster unless ids were chosen to collide.
Tally repeated_in(std::span<const std::int64_t> ids) {
    constexpr std::size_t most_steps = 256;
    if (std::ranges::adjacent_find(ids, std::greater_equal()) == ids.end()) return {};
    const std::size_t indices = std::bit_ceil(2 * ids.size() + 2);
    const int shift = 64 - std::countr_zero(indices);
    std::vector<std::uint32_t> first(indices, 0);  // 1 + row, 0 where it is free
    Tally found;
    for (std::size_t row = 0; row < ids.size(); ++row) {
        auto index = static_cast<std::size_t>((static_cast<std::uint64_t>(ids[row]) * 0x9E3779B97F4A7C15u) >> shift);
        std::size_t steps = 0;
        for (; first[index] && ids[first[index] - 1] != ids[row]; ++steps) {
            if (steps == most_steps) return repeated_by_order(ids);
            index = (index + 1) & (indices - 1);
        }
        if (first[index])
            found.add(row);
        else
            first[index] = static_cast<std::uint32_t>(row + 1);
    }
    return found;
}

}  // namespace

void check_columns(const Surveyed& side, std::size_t images) {
    const std::size_t count = side.count();
    const auto fits = [&](std::size_t size) { return size == 0 || size == count; };
    if (side.label.size() != count || side.numbers.size() != 4 * count || !fits(side.confidence.size()) ||
        !fits(side.area.size()) || !fits(side.crowd.size()) || !fits(side.ids.size()))
        throw std::invalid_argument("expected columns of one length");
    if (!side.sizes.empty() && side.sizes.size() != 2 * images)
        throw std::invalid_argument("expected a width and a height for every image");
    for (const std::int32_t image : side.image)
        if (static_cast<std::size_t>(image) >= images) throw std::invalid_argument("an object outside the images");
}

void Tally::append(const Tally& later) {
    for (std::size_t i = 0; i < later.rows.size() && rows.size() < most; ++i) rows.push_back(later.rows[i]);
    count += later.count;
}

AnomalyCounts count_anomalies(const Surveyed& side, std::size_t images, bool is_truth, unsigned threads,
                              const AnomalyRules& rules) {
    check_columns(side, images);
    const std::size_t count = side.count(), pieces = threads > 1 ? std::size_t{4} * threads : 1;
    Surveyed seen = side;
    if (!is_truth) seen.area = {};
    std::vector<AnomalyCounts> parts(pieces);
    in_parallel(pieces, threads, [&](std::size_t piece) {
        for (std::size_t row = count * piece / pieces; row < count * (piece + 1) / pieces; ++row) {
            look_at_box(seen, row, rules, parts[piece]);
            if (!seen.confidence.empty()) look_at_confidence(seen, row, parts[piece]);
        }
    });
    AnomalyCounts found;
    AnomalyCounts::visit([&](const char*, Tally AnomalyCounts::* tally) {
        for (const AnomalyCounts& part : parts) (found.*tally).append(part.*tally);
    });
    if (is_truth) {
        found.twins = duplicates_of(side, images, threads, rules);
        found.repeated_ids = repeated_in(side.ids);
        return found;
    }
    if (side.confidence.empty()) {
        for (std::size_t row = 0; row < count; ++row) found.unscored.add(row);
    } else if (count >= rules.fewest_equal &&
               std::ranges::adjacent_find(side.confidence, std::not_equal_to()) == side.confidence.end()) {
        for (std::size_t row = 0; row < count; ++row) found.constant.add(row);
    }
    found.cut = cut_of(side.confidence, rules);
    find_repeated(side, images, rules, found);
    return found;
}

}  // namespace verite
