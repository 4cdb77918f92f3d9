#include "ranking/simulation.hpp"

#include <bit>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "columns/pause.hpp"

namespace verite {
namespace {

// xoshiro256++ of Blackman and Vigna, seeded through splitmix64, a stream for every draw.
class Random {
  public:
    Random(std::uint64_t seed, std::uint64_t stream) {
        std::uint64_t x = seed;
        x = mix(x) ^ stream;
        for (auto& word : state_) word = mix(x);
    }

    std::uint64_t bits() {
        const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
        const std::uint64_t shifted = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= shifted;
        state_[3] = std::rotl(state_[3], 45);
        return result;
    }

    // In (0, 1]: its logarithm is finite.
    double unit() { return static_cast<double>((bits() >> 11) + 1) * 0x1p-53; }

    std::uint64_t below(std::uint64_t bound) {
        // Whole numbers that would favour small results are thrown away.
        const std::uint64_t most = ~std::uint64_t{0} - ~std::uint64_t{0} % bound;
        for (;;)
            if (const std::uint64_t x = bits(); x < most) return x % bound;
    }

  private:
    static std::uint64_t mix(std::uint64_t& x) {
        std::uint64_t z = (x += 0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }

    std::uint64_t state_[4];
};

void add_wrong(const ItemRecords& records, std::size_t item, Random& random, double* scores) {
    const std::size_t kind = static_cast<std::size_t>(records.kind[item]);
    std::size_t way = 0;
    if (records.way_count > 1) {
        const double* cumulative = records.ways.data() + kind * records.way_count;
        const double u = random.unit();
        while (way + 1 < records.way_count && u > cumulative[way]) ++way;
    }
    const double* change = records.change.data() + (kind * records.way_count + way) * records.score_count;
    for (std::size_t j = 0; j < records.score_count; ++j) scores[j] += change[j];
}

}  // namespace

void add_independent(const ItemRecords& records, double rate, std::span<const double> share, const Draws& draws,
                     std::span<double> scores) {
    if (!(rate > 0)) return;
    // The number of right records before the next wrong one is geometric: only wrong ones cost time.
    const double scale = rate < 1 ? 1 / std::log1p(-rate) : 0.0;
    const std::int64_t end = static_cast<std::int64_t>(records.kind.size());
    Pause pause(8);
    for (std::size_t draw = 0; draw < draws.count; ++draw) {
        pause();
        Random random(draws.seed, draws.first + draw);
        double* row = scores.data() + draw * records.score_count;
        for (std::int64_t item = 0;; ++item) {
            const double skipped = std::log(random.unit()) * scale;
            if (!(skipped < static_cast<double>(end - item))) break;
            item += static_cast<std::int64_t>(skipped);
            if (item >= end) break;
            if (!share.empty() && random.unit() > share[static_cast<std::size_t>(item)]) continue;
            add_wrong(records, static_cast<std::size_t>(item), random, row);
        }
    }
}

void add_chosen(const ItemRecords& records, std::span<const std::int64_t> offsets, std::span<const std::int32_t> wrong,
                const Draws& draws, std::span<double> scores) {
    const std::size_t groups = offsets.size() - 1;
    std::vector<std::int32_t> place(records.kind.size());
    std::iota(place.begin(), place.end(), std::int32_t{0});
    std::vector<std::size_t> swapped;
    Pause pause(8);
    for (std::size_t draw = 0; draw < draws.count; ++draw) {
        pause();
        Random random(draws.seed, draws.first + draw);
        double* row = scores.data() + draw * records.score_count;
        for (std::size_t group = 0; group < groups; ++group) {
            const std::size_t begin = static_cast<std::size_t>(offsets[group]);
            const std::size_t size = static_cast<std::size_t>(offsets[group + 1]) - begin;
            const std::int32_t many = wrong[draw * groups + group];
            if (many < 0 || static_cast<std::size_t>(many) > size)
                throw std::invalid_argument("wrong: expected at most the number of items in the group");
            // The first steps of a shuffle, undone afterwards so that a draw does not depend on those before it.
            swapped.clear();
            for (std::size_t k = 0; k < static_cast<std::size_t>(many); ++k) {
                const std::size_t other = k + static_cast<std::size_t>(random.below(size - k));
                std::swap(place[begin + k], place[begin + other]);
                swapped.push_back(other);
                add_wrong(records, static_cast<std::size_t>(place[begin + k]), random, row);
            }
            for (std::size_t k = swapped.size(); k-- > 0;) std::swap(place[begin + k], place[begin + swapped[k]]);
        }
    }
}

}  // namespace verite
