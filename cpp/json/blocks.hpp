// SIMD scanning of text, 16 bytes at a time: SSE2 (every x86-64 has it) with a portable equivalent.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__) && !defined(VERITE_PORTABLE)
#define VERITE_SSE2 1
#include <emmintrin.h>
#endif

namespace verite::json {

static_assert(std::endian::native == std::endian::little, "byte masks below assume a little-endian machine");

inline std::uint64_t load_word(const char* at) {
    std::uint64_t word;
    std::memcpy(&word, at, sizeof word);
    return word;
}

inline constexpr std::uint64_t every_byte = 0x0101010101010101;
inline constexpr std::uint64_t zero_digits = every_byte * '0';

// The value of eight digits (0 to 9, not '0' to '9'), the first in the lowest byte: pairs first, then fours, then all.
inline std::uint64_t eight_digits(std::uint64_t word) {
    word = word * 10 + (word >> 8);
    return ((word & 0x000000FF000000FF) * (100 + (std::uint64_t{1000000} << 32)) +
            (word >> 16 & 0x000000FF000000FF) * (1 + (std::uint64_t{10000} << 32))) >>
           32;
}

namespace detail {

// The sixteen bytes from the n-th on have ones in the last n.
inline constexpr auto zeros_then_ones = [] {
    std::array<char, 32> bytes{};
    for (std::size_t i = 16; i < 32; ++i) bytes[i] = static_cast<char>(0xFF);
    return bytes;
}();

}  // namespace detail

#if VERITE_SSE2

inline __m128i load_block(const char* at) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)); }

inline std::uint32_t bits_of(__m128i truth) { return static_cast<std::uint32_t>(_mm_movemask_epi8(truth)); }

// Adding 70 moves '0'..'9' to the top of the signed range, where one comparison finds them.
inline __m128i are_digits(__m128i block) {
    return _mm_cmpgt_epi8(_mm_add_epi8(block, _mm_set1_epi8(70)), _mm_set1_epi8(117));
}

// Bit i is set if byte i of the 16 at `at` is not a digit.
inline std::uint32_t non_digits(const char* at) { return bits_of(are_digits(load_block(at))) ^ 0xFFFF; }

// Bit i is set if byte i of the 16 at `at` ends plain text: a quote, a backslash, a control character, or not ASCII.
inline std::uint32_t text_stops(const char* at) {
    const __m128i block = load_block(at);
    const __m128i quote = _mm_cmpeq_epi8(block, _mm_set1_epi8('"'));
    const __m128i backslash = _mm_cmpeq_epi8(block, _mm_set1_epi8('\\'));
    const __m128i odd = _mm_cmplt_epi8(block, _mm_set1_epi8(' '));  // signed: bytes from 0x80 up are below zero
    return bits_of(_mm_or_si128(_mm_or_si128(quote, backslash), odd));
}

// One bit per byte of the 64 at some place, for each kind of byte that lists of numbers are made of.
struct NumberBytes {
    std::uint64_t digits = 0, zeros = 0, points = 0, commas = 0, minuses = 0, blanks = 0;

    explicit NumberBytes(const char* at) {
        for (int i = 0; i < 64; i += 16) {
            const __m128i block = load_block(at + i);
            const auto where = [&](char c) {
                return std::uint64_t{bits_of(_mm_cmpeq_epi8(block, _mm_set1_epi8(c)))} << i;
            };
            digits |= std::uint64_t{bits_of(are_digits(block))} << i;
            zeros |= where('0');
            points |= where('.');
            commas |= where(',');
            minuses |= where('-');
            blanks |= where(' ');
        }
    }
};

// Bit i is set if byte i of the 64 at `at` is a comma.
inline std::uint64_t find_commas(const char* at) {
    std::uint64_t found = 0;
    for (int i = 0; i < 64; i += 16)
        found |= std::uint64_t{bits_of(_mm_cmpeq_epi8(load_block(at + i), _mm_set1_epi8(',')))} << i;
    return found;
}

// The value of the `count` <= 16 digits that end at `end`. Reads the 16 bytes before it.
inline std::uint64_t digits_before(const char* end, unsigned count) {
    const __m128i kept = load_block(detail::zeros_then_ones.data() + count);
    const __m128i digits = _mm_and_si128(_mm_sub_epi8(load_block(end - 16), _mm_set1_epi8('0')), kept);
    const __m128i tens = _mm_mullo_epi16(_mm_and_si128(digits, _mm_set1_epi16(0xFF)), _mm_set1_epi16(10));
    const __m128i pairs = _mm_add_epi16(tens, _mm_srli_epi16(digits, 8));
    const __m128i fours = _mm_madd_epi16(pairs, _mm_set1_epi32(1 << 16 | 100));
    const __m128i eights = _mm_madd_epi16(_mm_packs_epi32(fours, fours), _mm_set1_epi32(1 << 16 | 10000));
    const auto both = static_cast<std::uint64_t>(_mm_cvtsi128_si64(eights));
    return (both & 0xFFFFFFFF) * 100000000 + (both >> 32);
}

// Whether the first `length` <= 48 bytes at `at` and at `text` are the same. Reads 48 bytes of both.
inline bool starts_equal(const char* at, const char* text, std::size_t length) {
    const auto equal = [&](int i) {
        return std::uint64_t{bits_of(_mm_cmpeq_epi8(load_block(at + i), load_block(text + i)))};
    };
    std::uint64_t same = equal(0) | equal(16) << 16;
    if (length > 32) same |= equal(32) << 32;
    return static_cast<std::size_t>(std::countr_one(same)) >= length;
}

#else

// Gathers the top bit of each byte into the low eight bits.
inline std::uint32_t top_bits(std::uint64_t word) {
    return static_cast<std::uint32_t>(((word & every_byte * 0x80) >> 7) * 0x0102040810204080 >> 56);
}

// Sets the top bit of each byte that is at least `limit`; the top bits of `word` must be clear.
inline std::uint64_t at_least(std::uint64_t word, std::uint64_t limit) { return word + (0x80 - limit) * every_byte; }

inline std::uint32_t non_digits(const char* at) {
    const auto in_word = [](std::uint64_t word) {
        const std::uint64_t low = word & every_byte * 0x7F;
        return top_bits(word | ~at_least(low, '0') | at_least(low, '9' + 1));
    };
    return in_word(load_word(at)) | in_word(load_word(at + 8)) << 8;
}

inline std::uint32_t text_stops(const char* at) {
    const auto in_word = [](std::uint64_t word) {
        const std::uint64_t low = word & every_byte * 0x7F;
        const std::uint64_t is_no_quote = at_least(low ^ every_byte * '"', 1);
        const std::uint64_t is_no_backslash = at_least(low ^ every_byte * '\\', 1);
        return top_bits(word | ~(is_no_quote & is_no_backslash & at_least(low, ' ')));
    };
    return in_word(load_word(at)) | in_word(load_word(at + 8)) << 8;
}

inline std::uint64_t find_commas(const char* at) {
    std::uint64_t found = 0;
    for (int i = 0; i < 64; i += 8) {
        const std::uint64_t word = load_word(at + i);
        const std::uint64_t low = word & every_byte * 0x7F;
        found |= std::uint64_t{top_bits(~(word | at_least(low ^ every_byte * ',', 1)))} << i;
    }
    return found;
}

inline std::uint64_t digits_before(const char* end, unsigned count) {
    const char* kept = detail::zeros_then_ones.data() + count;
    const std::uint64_t high = (load_word(end - 16) ^ zero_digits) & load_word(kept);
    const std::uint64_t low = (load_word(end - 8) ^ zero_digits) & load_word(kept + 8);
    return eight_digits(high) * 100000000 + eight_digits(low);
}

inline bool starts_equal(const char* at, const char* text, std::size_t length) {
    return std::memcmp(at, text, length) == 0;
}

#endif

}  // namespace verite::json
