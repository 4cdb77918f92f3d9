#include "columns/lookup.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "columns/memory.hpp"
#include "columns/parallel.hpp"

namespace verite {
namespace {

// Ids that lie close together: one place for each number between the lowest and the highest.
class DenseTable {
  public:
    DenseTable(std::span<const std::int64_t> table, std::int64_t lowest, std::uint64_t span)
        : lowest_(static_cast<std::uint64_t>(lowest)), places_(span, -1) {
        for (std::size_t i = 0; i < table.size(); ++i)
            places_[static_cast<std::uint64_t>(table[i]) - lowest_] = static_cast<std::int32_t>(i);
    }

    std::int32_t find(std::int64_t id) const {
        const std::uint64_t place = static_cast<std::uint64_t>(id) - lowest_;
        return place < places_.size() ? places_[place] : -1;
    }

  private:
    std::uint64_t lowest_;
    Array<std::int32_t> places_;
};

class HashTable {
  public:
    explicit HashTable(std::span<const std::int64_t> table)
        : table_(table),
          places_(std::bit_ceil(2 * table.size() + 1), -1),
          shift_(64 - std::countr_zero(places_.size())) {
        for (std::size_t i = 0; i < table.size(); ++i) {
            std::size_t place = start_of(table[i]);
            while (places_[place] >= 0) place = (place + 1) & (places_.size() - 1);
            places_[place] = static_cast<std::int32_t>(i);
        }
    }

    std::int32_t find(std::int64_t id) const {
        std::size_t place = start_of(id);
        while (places_[place] >= 0 && table_[places_[place]] != id) place = (place + 1) & (places_.size() - 1);
        return places_[place];
    }

  private:
    std::size_t start_of(std::int64_t id) const {
        const std::uint64_t mixed = static_cast<std::uint64_t>(id) * 0x9E3779B97F4A7C15;
        return shift_ == 64 ? 0 : mixed >> shift_;
    }

    std::span<const std::int64_t> table_;
    Array<std::int32_t> places_;
    int shift_;
};

// Neighbours that speak of the same id are found at once.
template <class Table>
std::size_t find_all(std::span<const std::int64_t> ids, const Table& table, std::span<std::int32_t> positions) {
    std::size_t unknown = 0;
    std::int64_t last = 0;
    std::int32_t found = table.find(0);
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] != last) {
            last = ids[i];
            found = table.find(last);
        }
        positions[i] = found;
        unknown += found < 0;
    }
    return unknown;
}

// Where looking is quicker than remembering.
std::size_t find_each(std::span<const std::int64_t> ids, const DenseTable& table, std::span<std::int32_t> positions) {
    std::size_t unknown = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        positions[i] = table.find(ids[i]);
        unknown += positions[i] < 0;
    }
    return unknown;
}

}  // namespace

std::size_t find_positions(std::span<const std::int64_t> ids, std::span<const std::int64_t> table,
                           std::span<std::int32_t> positions, unsigned threads) {
    if (positions.size() != ids.size()) throw std::invalid_argument("expected room for every id");
    if (table.empty()) {
        std::fill(positions.begin(), positions.end(), -1);
        return ids.size();
    }
    std::atomic<std::size_t> unknown{0};
    const auto find = [&](const auto& known, auto find_some) {
        in_stretches(ids.size(), threads, [&](std::size_t first, std::size_t last) {
            unknown += find_some(ids.subspan(first, last - first), known, positions.subspan(first, last - first));
        });
        return unknown.load();
    };
    const auto [lowest, highest] = std::minmax_element(table.begin(), table.end());
    const std::uint64_t span = static_cast<std::uint64_t>(*highest) - static_cast<std::uint64_t>(*lowest);
    constexpr std::uint64_t small = 1 << 12, spread = 32;
    if (span < small) return find(DenseTable(table, *lowest, span + 1), find_each);
    if (span / spread < table.size()) return find(DenseTable(table, *lowest, span + 1), find_all<DenseTable>);
    return find(HashTable(table), find_all<HashTable>);
}

std::vector<std::int32_t> rows_by_id(std::span<const std::int64_t> ids) {
    std::vector<std::int32_t> rows(ids.size()), sorted(ids.size());
    std::iota(rows.begin(), rows.end(), 0);
    if (std::ranges::is_sorted(ids)) return rows;
    // A radix sort by as many digits as the ids span: an id is read once for each, not twenty times.
    constexpr int digit_bits = 11;
    constexpr std::uint64_t bins = std::uint64_t{1} << digit_bits;
    const auto [lowest, highest] = std::ranges::minmax(ids);
    const auto id_of = [&, low = static_cast<std::uint64_t>(lowest)](std::int32_t row) {
        return static_cast<std::uint64_t>(ids[static_cast<std::size_t>(row)]) - low;
    };
    const std::uint64_t span = static_cast<std::uint64_t>(highest) - static_cast<std::uint64_t>(lowest);
    for (int shift = 0; shift < 64 && span >> shift; shift += digit_bits) {
        std::array<std::size_t, bins> next{};
        for (const std::int32_t row : rows) ++next[id_of(row) >> shift & (bins - 1)];
        std::exclusive_scan(next.begin(), next.end(), next.begin(), std::size_t{0});
        for (const std::int32_t row : rows) sorted[next[id_of(row) >> shift & (bins - 1)]++] = row;
        rows.swap(sorted);
    }
    return rows;
}

namespace {

void check_position(std::int32_t position, std::size_t rows) {
    if (static_cast<std::uint32_t>(position) >= rows)
        throw std::invalid_argument("a position outside its table: " + std::to_string(position));
}

}  // namespace

void mark_used(std::span<const std::int32_t> positions, std::span<bool> used) {
    std::fill(used.begin(), used.end(), false);
    for (const std::int32_t position : positions) {
        check_position(position, used.size());
        used[static_cast<std::size_t>(position)] = true;
    }
}

std::vector<std::int64_t> rows_at(std::span<const std::int32_t> positions, std::span<const std::uint8_t> wanted) {
    std::vector<std::int64_t> rows;
    for (std::size_t row = 0; row < positions.size(); ++row) {
        check_position(positions[row], wanted.size());
        if (wanted[static_cast<std::size_t>(positions[row])]) rows.push_back(static_cast<std::int64_t>(row));
    }
    return rows;
}

}  // namespace verite
