#include "evaluation/true_positive_ranks.hpp"

#include <algorithm>
#include <bit>

#include "columns/two.hpp"
#include "evaluation/constants.hpp"

namespace verite {

void count_true_positives(const ClassWords& given, std::size_t limit, std::span<double> out) {
    for (std::size_t t = 0; t < out.size(); ++t) {
        std::uint32_t found = 0;
        for (std::size_t i = 0; i < given.words.size(); ++i) {
            const bool is_tp = given.limits[i] <= limit && (given.words[i] >> t & 1);
            const bool is_once = given.copies.empty();
            if (is_tp) found += is_once ? 1u : given.copies[static_cast<std::size_t>(given.image[i])];
        }
        out[t] = found;
    }
}

void count_false_positives(const ClassWords& given, std::span<double> out) {
    for (std::size_t t = 0; t < out.size(); ++t) {
        std::uint64_t found = 0;
        for (std::size_t i = 0; i < given.words.size(); ++i)
            if (!((given.words[i] | given.words[i] >> 16) >> t & 1))
                found += given.copies.empty() ? 1u : given.copies[static_cast<std::size_t>(given.image[i])];
        out[t] = static_cast<double>(found);
    }
}

// The least whole n with n / positives >= level: level * positives is off by less than 1, so that n is the whole number
// below it or the next.
void find_needed_true_positives(std::span<const double> recalls, double positives, std::span<double> out) {
    for (std::size_t r = 0; r < recalls.size(); ++r) {
        const auto below = static_cast<double>(static_cast<std::int64_t>(std::min(recalls[r], 1.0) * positives));
        const double n = below / positives < recalls[r] ? below + 1 : below;
        out[r] = recalls[r] <= 1 ? n : never;
    }
}

// Writes four copies whatever their number, which avoids an unpredictable branch; the next prediction overwrites what
// is too many.
void TruePositiveRanks::read(const ClassWords& given) {
    std::uint32_t seen = 0;
    std::size_t count = 0, room = words_.size();
    OutcomeWord* words = words_.data();
    std::int32_t* at = at_.data();
    const auto add = [&](OutcomeWord word, std::uint32_t times) {
        if (word == ignored_everywhere) return;
        if (word) {
            if (count + times + 4 > room) {
                grow(room = 2 * (count + times) + 64);
                words = words_.data(), at = at_.data();
            }
            for (std::uint32_t copy = 0; copy < 4; ++copy) {
                words[count + copy] = word;
                at[count + copy] = static_cast<std::int32_t>(seen + copy + 1);
            }
            for (std::uint32_t copy = 4; copy < times; ++copy) {
                words[count + copy] = word;
                at[count + copy] = static_cast<std::int32_t>(seen + copy + 1);
            }
            count += times;
        }
        seen += times;
    };
    if (given.copies.empty()) {
        for (const OutcomeWord word : given.words) add(word, 1);
    } else {
        const OutcomeWord* const all = given.words.data();
        const std::int32_t* const image = given.image.data();
        const std::uint32_t* const runs = given.runs.data();
        const std::uint8_t* const copies = given.copies.data();
        for (std::size_t i = 0; i < given.words.size(); ++i) {
            const std::uint32_t times = copies[image[i]];
            if (runs[i] == 1 || times < 2) {  // in this order: runs are predictable, weights are not
                add(all[i], times);
                continue;
            }
            // Copies of an image follow each other: its equal confidences are read again for each, all of them.
            const std::size_t last = i + runs[i] - 1;
            for (std::uint32_t copy = 0; copy < times; ++copy)
                for (std::size_t k = i; k <= last; ++k) add(all[k], 1);
            i = last;
        }
    }
    count_ = count;
}

void TruePositiveRanks::grow(std::size_t room) {
    words_.resize(room);
    at_.resize(room);
    ranks_.resize(lanes * room);
}

void TruePositiveRanks::average(ThresholdSet thresholds, double positives, std::span<double> out) {
    find_needed_true_positives(recalls_, positives, needed_);
    if (words_.empty()) grow(64);
    const double share = recalls_.empty() ? positives : static_cast<double>(recalls_.size());
    for (std::size_t first = 0; first < most_thresholds; first += lanes) {
        if (!(thresholds >> first & ((1u << lanes) - 1))) continue;
        double sums[lanes];
        if (thresholds >> first >> (lanes / 2))
            sum_up<lanes>(first, sums);
        else
            sum_up<lanes / 2>(first, sums);
        for (std::size_t lane = 0; lane < lanes; ++lane)
            if (thresholds >> first >> lane & 1) out[first + lane] = sums[lane] / share;
    }
}

template <std::size_t width>
void TruePositiveRanks::sum_up(std::size_t threshold, double* out) {
    const std::size_t most = rank<width>(threshold);
    recalls_.empty() ? sum_all<width>(most, out) : sum_levels<width>(most, out);
}

// Writes without a branch: what is no true positive is overwritten by the next one. Returns the largest number of true
// positives at any of the thresholds.
template <std::size_t width>
std::size_t TruePositiveRanks::rank(std::size_t threshold) {
    std::size_t found[width] = {};
    std::int32_t ignored[width] = {};
    std::int32_t* const out = ranks_.data();
    const OutcomeWord* const words = words_.data();
    const std::int32_t* const all = at_.data();
    for (std::size_t i = 0; i < count_; ++i) {
        const OutcomeWord word = words[i] >> threshold;
        const std::int32_t at = all[i];
        for (std::size_t lane = 0; lane < width; ++lane) {
            out[found[lane] * lanes + lane] = at - ignored[lane];
            found[lane] += word >> lane & 1;
        }
        if (word >> 16)
            for (std::size_t lane = 0; lane < width; ++lane)
                ignored[lane] += static_cast<std::int32_t>(word >> 16 >> lane & 1);
    }
    const std::size_t most = *std::max_element(found, found + width);
    for (std::size_t lane = 0; lane < width; ++lane)
        for (std::size_t k = found[lane]; k < most; ++k) out[k * lanes + lane] = -1;
    return most;
}

// From the last true positive to the first. Levels of the same precision are added with one rounding.
template <std::size_t width>
void TruePositiveRanks::sum_levels(std::size_t most, double* out) const {
    const Two none{0, 0}, one{1, 1}, more{epsilon_, epsilon_};
    Two best[width / 2]{}, level[width / 2]{}, times[width / 2]{}, sum[width / 2]{};
    auto k = static_cast<double>(most);
    const std::int32_t* at = ranks_.data() + most * lanes;
    for (std::size_t r = recalls_.size(); r-- > 0;) {
        for (const double least = std::max(needed_[r], 1.0); k >= least; --k) {
            at -= lanes;
            for (std::size_t i = 0; i < width / 2; ++i)
                best[i] = larger(best[i], Two{k, k} / (widen_two(at + 2 * i) + more));
        }
        for (std::size_t i = 0; i < width / 2; ++i) {
            sum[i] = sum[i] + choose_above(best[i], level[i], level[i] * times[i], none);
            times[i] = choose_above(best[i], level[i], none, times[i]) + one;
            level[i] = best[i];
        }
    }
    for (std::size_t i = 0; i < width / 2; ++i) store_two(sum[i] + level[i] * times[i], out + 2 * i);
}

template <std::size_t width>
void TruePositiveRanks::sum_all(std::size_t most, double* out) const {
    Two best[width / 2]{}, sum[width / 2]{};
    for (std::size_t k = most; k > 0; --k)
        for (std::size_t i = 0; i < width / 2; ++i) {
            const auto found = static_cast<double>(k);
            best[i] = larger(best[i], Two{found, found} / widen_two(&ranks_[(k - 1) * lanes + 2 * i]));
            sum[i] = sum[i] + best[i];
        }
    for (std::size_t i = 0; i < width / 2; ++i) store_two(sum[i], out + 2 * i);
}

}  // namespace verite
