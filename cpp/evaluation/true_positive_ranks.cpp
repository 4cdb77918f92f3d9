#include "evaluation/true_positive_ranks.hpp"

#include <algorithm>
#include <bit>

#include "columns/two.hpp"
#include "evaluation/constants.hpp"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(VERITE_PORTABLE)
#include <immintrin.h>
#define VERITE_COMPRESSES
#endif

namespace verite {
namespace {

constexpr std::size_t rank_lanes = 4;

#ifdef VERITE_COMPRESSES

bool can_compress() {
    static const bool can = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vpopcntdq");
    return can;
}

// Lists the ranks of true positives at `width` thresholds from this one on, sixteen predictions at a time; the numbers
// of true positives are written to `found`. Three times as fast as one prediction at a time.
__attribute__((target("avx512f,avx512vpopcntdq"))) void compress_ranks(std::span<const OutcomeWord> words,
                                                                       const std::int32_t* all, std::size_t threshold,
                                                                       std::size_t width, std::int32_t* const* lists,
                                                                       std::size_t* found) {
    const __m512i below = _mm512_setr_epi32(0, 0x1, 0x3, 0x7, 0xF, 0x1F, 0x3F, 0x7F, 0xFF, 0x1FF, 0x3FF, 0x7FF, 0xFFF,
                                            0x1FFF, 0x3FFF, 0x7FFF);
    const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(threshold));
    std::int32_t ignored[rank_lanes] = {};
    for (std::size_t i = 0; i < words.size(); i += 16) {
        const std::size_t rest = words.size() - i;
        const auto inside = static_cast<__mmask16>(rest < 16 ? (1u << rest) - 1 : 0xFFFFu);
        const __m512i word = _mm512_maskz_srl_epi32(inside, _mm512_maskz_loadu_epi32(inside, words.data() + i), shift);
        const __m512i at = _mm512_maskz_loadu_epi32(inside, all + i);
        const bool has_ignored = _mm512_test_epi32_mask(word, _mm512_set1_epi32(0xF << 16)) != 0;
        for (std::size_t lane = 0; lane < width; ++lane) {
            const __mmask16 is_tp = _mm512_test_epi32_mask(word, _mm512_set1_epi32(1 << lane));
            __m512i rank = _mm512_sub_epi32(at, _mm512_set1_epi32(ignored[lane]));
            if (has_ignored) {
                const __mmask16 is_ignored = _mm512_test_epi32_mask(word, _mm512_set1_epi32(1 << 16 << lane));
                const __m512i before = _mm512_and_epi32(_mm512_set1_epi32(is_ignored), below);
                rank = _mm512_sub_epi32(rank, _mm512_popcnt_epi32(before));
                ignored[lane] += std::popcount(static_cast<unsigned>(is_ignored));
            }
            _mm512_storeu_si512(lists[lane] + found[lane], _mm512_maskz_compress_epi32(is_tp, rank));
            found[lane] += static_cast<std::size_t>(std::popcount(static_cast<unsigned>(is_tp)));
        }
    }
}

// Interleaves four lists: [element][list].
void interleave(std::int32_t* const* lists, std::size_t count, std::int32_t* out) {
    const auto load = [](const std::int32_t* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); };
    const auto store = [](std::int32_t* to, __m128i value) { _mm_storeu_si128(reinterpret_cast<__m128i*>(to), value); };
    for (std::size_t k = 0; k < count; k += 4, out += 16) {
        const __m128i a = load(lists[0] + k), b = load(lists[1] + k), c = load(lists[2] + k), d = load(lists[3] + k);
        const __m128i ab = _mm_unpacklo_epi32(a, b), cd = _mm_unpacklo_epi32(c, d);
        const __m128i more_ab = _mm_unpackhi_epi32(a, b), more_cd = _mm_unpackhi_epi32(c, d);
        store(out, _mm_unpacklo_epi64(ab, cd));
        store(out + 4, _mm_unpackhi_epi64(ab, cd));
        store(out + 8, _mm_unpacklo_epi64(more_ab, more_cd));
        store(out + 12, _mm_unpackhi_epi64(more_ab, more_cd));
    }
}

#endif

}  // namespace

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
    ranks_.resize(lanes * (room + 4));
#ifdef VERITE_COMPRESSES
    if (can_compress()) lists_.resize(lanes * (room + 16));
#endif
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
#ifdef VERITE_COMPRESSES
    if (can_compress()) return compress<width>(threshold);
#endif
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

#ifdef VERITE_COMPRESSES

// The same, a list for each threshold first.
template <std::size_t width>
std::size_t TruePositiveRanks::compress(std::size_t threshold) {
    static_assert(lanes == rank_lanes);
    const std::size_t room = lists_.size() / lanes;
    std::int32_t* const first = lists_.data();
    std::int32_t* const lists[] = {first, first + room, first + 2 * room, first + 3 * room};
    std::size_t found[lanes] = {};
    compress_ranks(std::span(words_).first(count_), at_.data(), threshold, width, lists, found);
    const std::size_t most = *std::max_element(found, found + width);
    for (std::size_t lane = 0; lane < width; ++lane) std::fill(lists[lane] + found[lane], lists[lane] + most, -1);
    interleave(lists, most, ranks_.data());
    return most;
}

#endif

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
