#include "evaluation/assignment.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace verite {
namespace {

// Gains compare by their first number, then by their second; they add up like numbers, which is all the method needs.
struct Gain {
    std::int64_t first = 0, second = 0;

    friend Gain operator+(Gain a, Gain b) { return {a.first + b.first, a.second + b.second}; }
    friend Gain operator-(Gain a, Gain b) { return {a.first - b.first, a.second - b.second}; }
    friend bool operator<(Gain a, Gain b) { return a.first != b.first ? a.first < b.first : a.second < b.second; }
};

constexpr Gain endless{std::numeric_limits<std::int64_t>::max() / 4, 0};

// Which pairs hang together: a forest over rows and columns.
class Groups {
  public:
    explicit Groups(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), std::size_t{0}); }

    std::size_t find(std::size_t i) {
        while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
        return i;
    }
    void join(std::size_t a, std::size_t b) { parent_[find(a)] = find(b); }

  private:
    std::vector<std::size_t> parent_;
};

// One group: the rows one after the other, each by the cheapest chain of exchanges (Kuhn, Munkres; potentials after
// Edmonds and Karp). WeightedPairs that do not exist gain nothing. There must be at least as many columns as rows.
class Group {
  public:
    struct WeightedPair {
        std::size_t column;
        Gain gain;
        std::size_t at;  // among all pairs
    };

    Group(std::size_t rows, std::size_t columns)
        : pairs_(rows), row_price_(rows + 1), column_price_(columns + 1), holder_(columns + 1), way_(columns + 1) {}

    void add(std::size_t row, const WeightedPair& pair) { pairs_[row].push_back(pair); }

    void solve(std::span<std::uint8_t> chosen) {
        for (std::size_t row = 1; row <= pairs_.size(); ++row) place(row);
        for (std::size_t column = 1; column < holder_.size(); ++column) {
            if (!holder_[column]) continue;
            for (const WeightedPair& pair : pairs_[holder_[column] - 1])
                if (pair.column + 1 == column) chosen[pair.at] = 1;
        }
    }

  private:
    // Rows and columns are counted from 1; holder_[0] is the row that looks for a place.
    void place(std::size_t row) {
        const std::size_t columns = holder_.size() - 1;
        std::vector<Gain> least(columns + 1, endless), cost(columns + 1);
        std::vector<std::uint8_t> seen(columns + 1, 0);
        holder_[0] = row;
        std::size_t at = 0;
        do {
            seen[at] = 1;
            const std::size_t asking = holder_[at];
            std::fill(cost.begin(), cost.end(), Gain{});
            for (const WeightedPair& pair : pairs_[asking - 1]) cost[pair.column + 1] = Gain{} - pair.gain;
            Gain step = endless;
            std::size_t next = 0;
            for (std::size_t column = 1; column <= columns; ++column) {
                if (seen[column]) continue;
                const Gain reduced = cost[column] - row_price_[asking] - column_price_[column];
                if (reduced < least[column]) least[column] = reduced, way_[column] = at;
                if (least[column] < step) step = least[column], next = column;
            }
            for (std::size_t column = 0; column <= columns; ++column) {
                if (seen[column]) {
                    row_price_[holder_[column]] = row_price_[holder_[column]] + step;
                    column_price_[column] = column_price_[column] - step;
                } else {
                    least[column] = least[column] - step;
                }
            }
            at = next;
        } while (holder_[at]);
        for (; at; at = way_[at]) holder_[at] = holder_[way_[at]];
    }

    std::vector<std::vector<WeightedPair>> pairs_;
    std::vector<Gain> row_price_, column_price_;
    std::vector<std::size_t> holder_, way_;
};

}  // namespace

void assign(const WeightedPairs& pairs, std::int64_t row_count, std::int64_t column_count,
            std::span<std::uint8_t> chosen) {
    Groups groups(static_cast<std::size_t>(row_count + column_count));
    for (std::size_t i = 0; i < pairs.size(); ++i)
        groups.join(pairs.rows[i], static_cast<std::size_t>(row_count + pairs.columns[i]));
    std::vector<std::size_t> order(pairs.size()), group(pairs.size());
    for (std::size_t i = 0; i < pairs.size(); ++i) group[i] = groups.find(pairs.rows[i]);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return group[a] < group[b]; });
    std::vector<std::int64_t> rows, columns;
    for (std::size_t first = 0, last; first < order.size(); first = last) {
        for (last = first; last < order.size() && group[order[last]] == group[order[first]];) ++last;
        if (last == first + 1) {  // most pairs have no rival
            chosen[order[first]] = 1;
            continue;
        }
        rows.clear(), columns.clear();
        for (std::size_t i = first; i < last; ++i) {
            rows.push_back(pairs.rows[order[i]]);
            columns.push_back(pairs.columns[order[i]]);
        }
        for (auto* side : {&rows, &columns}) {
            std::sort(side->begin(), side->end());
            side->erase(std::unique(side->begin(), side->end()), side->end());
        }
        const bool turned = rows.size() > columns.size();
        Group problem(turned ? columns.size() : rows.size(), turned ? rows.size() : columns.size());
        for (std::size_t i = first; i < last; ++i) {
            const std::size_t at = order[i];
            const auto place = [](const std::vector<std::int64_t>& side, std::int64_t value) {
                return static_cast<std::size_t>(std::lower_bound(side.begin(), side.end(), value) - side.begin());
            };
            const std::size_t row = place(rows, pairs.rows[at]), column = place(columns, pairs.columns[at]);
            problem.add(turned ? column : row, {turned ? row : column, {pairs.first[at], pairs.second[at]}, at});
        }
        problem.solve(chosen);
    }
}

}  // namespace verite
