// Exact parsing of JSON numbers: doubles correctly rounded, integers without a detour through doubles.
//
// The quick functions take the spellings that fill files (few enough digits, no exponent) and answer null for every
// other, which goes to the exact functions. They read up to 16 bytes before `at` and 32 behind.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "json/blocks.hpp"

namespace verite::json {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct NumberEnd {
    const char* at;  // behind the number, or where it stops being one
    bool is_number;
};

// Where the number that starts at `at` ends by JSON's grammar. Stops at the zero byte behind the text at the latest.
NumberEnd end_of_number(const char* at);

// The double nearest to the JSON number in [first, last); infinite beyond the largest.
double exact_double(const char* first, const char* last);

// The JSON number in [first, last) if it is an integer in value (42, 42.0, 4.2e1) and fits; nothing otherwise.
std::optional<std::int64_t> exact_integer(const char* first, const char* last);

struct Wide {
    std::uint64_t high, low;
};

inline Wide multiply(std::uint64_t a, std::uint64_t b) {
#if defined(__SIZEOF_INT128__)
    __extension__ using Whole = unsigned __int128;
    const Whole product = static_cast<Whole>(a) * b;
    return {static_cast<std::uint64_t>(product >> 64), static_cast<std::uint64_t>(product)};
#else
    const std::uint64_t a_low = a & 0xFFFFFFFF, a_high = a >> 32, b_low = b & 0xFFFFFFFF, b_high = b >> 32;
    const std::uint64_t low = a_low * b_low;
    const std::uint64_t middle = a_high * b_low + (low >> 32);
    const std::uint64_t other = a_low * b_high + (middle & 0xFFFFFFFF);
    return {a_high * b_high + (middle >> 32) + (other >> 32), other << 32 | (low & 0xFFFFFFFF)};
#endif
}

inline constexpr unsigned most_digits = 19;  // of a number that is read quickly; 10^19 < 2^64
inline constexpr unsigned most_places = most_digits - 1;

namespace detail {

// 2^b / 5^n rounded up to 128 bits, where b makes the top bit one.
constexpr Wide reciprocal_of_power_of_five(unsigned n) {
    std::uint64_t divisor = 1;
    for (unsigned i = 0; i < n; ++i) divisor *= 5;
    std::uint64_t remainder = std::bit_floor(divisor);
    Wide quotient{0, 0};
    for (int bit = 0; bit < 128; ++bit) {
        remainder *= 2;
        quotient = {quotient.high << 1 | quotient.low >> 63, quotient.low << 1};
        if (remainder >= divisor) {
            remainder -= divisor;
            quotient.low |= 1;
        }
    }
    return {quotient.high + (quotient.low == ~std::uint64_t{0}), quotient.low + 1};
}

constexpr std::uint64_t power_of_ten(unsigned n) { return n == 0 ? 1 : 10 * power_of_ten(n - 1); }

template <class Value, std::size_t size, class Function>
constexpr std::array<Value, size> tabulate(Function function) {
    std::array<Value, size> table{};
    for (unsigned i = 0; i < size; ++i) table[i] = static_cast<Value>(function(i));
    return table;
}

inline constexpr auto reciprocals_of_powers_of_five = tabulate<Wide, most_places + 1>(reciprocal_of_power_of_five);
inline constexpr auto integer_powers_of_ten = tabulate<std::uint64_t, 17>(power_of_ten);
inline constexpr auto powers_of_ten = tabulate<double, 8>(power_of_ten);

}  // namespace detail

// The double nearest to digits / 10^places, for places from 1 to 18 and a quotient below 10^8.
// This is the algorithm of D. Lemire, "Number parsing at a gigabyte per second", 2021, without what this range does not
// need: the result is never subnormal or infinite, 128 bits of the reciprocal settle the rounding, and no quotient lies
// halfway between two doubles (it would have 27 or more binary places, and so as many decimal ones).
inline double scale_down(std::uint64_t digits, unsigned places) {
    if (digits == 0) return 0.0;
    const int shift = std::countl_zero(digits);
    const std::uint64_t normal = digits << shift;
    const Wide reciprocal = detail::reciprocals_of_powers_of_five[places];
    Wide product = multiply(normal, reciprocal.high);
    // The paper skips this where it cannot matter. Numbers that were 32-bit floats make that a coin toss, so we never
    // skip it.
    const std::uint64_t carried = multiply(normal, reciprocal.low).high;
    product.high += product.low + carried < carried;
    const int top = static_cast<int>(product.high >> 63);
    const std::uint64_t mantissa = ((product.high >> (top + 9)) + 1) >> 1;  // 54 bits, rounded to 53
    // 217706 / 65536 is close enough to log2(10) for the whole part of its multiples here.
    const int exponent = (-static_cast<int>(places) * 217706 >> 16) + 63 + top - shift;
    // Added, not or-ed: the mantissa's top bit counts one, and rounding up to a power of two carries.
    return std::bit_cast<double>((static_cast<std::uint64_t>(exponent + 1022) << 52) + mantissa);
}

inline bool is_exponent(char c) { return (c | 0x20) == 'e'; }

// The value of the `count` digits at `at`, 1 <= count <= 8.
inline std::uint64_t digits_at(const char* at, unsigned count) {
    return eight_digits((load_word(at) ^ zero_digits) << (64 - 8 * count));
}

// A number of at most eight characters: `whole` digits, a point, `places` digits.
inline double short_number(const char* at, unsigned whole, unsigned places) {
    const std::uint64_t word = load_word(at) ^ zero_digits;
    const std::uint64_t is_whole = (std::uint64_t{1} << 8 * whole) - 1;
    const std::uint64_t digits = (word & is_whole) | (word >> 8 & ~is_whole);
    // Both operands are exact, so the quotient is rounded once.
    return static_cast<double>(eight_digits(digits << (64 - 8 * (whole + places)))) / detail::powers_of_ten[places];
}

// A number that ends at `end`: at most eight digits, a point, and at most 16 places, or "0." and at most 18 places.
inline double long_number(const char* at, const char* end, unsigned whole, unsigned places) {
    const bool is_deep = places > 16;  // then the first of the places stand in for the zero before them
    const char* first = is_deep ? at + 2 : at;
    const unsigned first_count = is_deep ? places - 16 : whole;
    const unsigned last_count = is_deep ? 16 : places;
    const std::uint64_t digits =
        digits_at(first, first_count) * detail::integer_powers_of_ten[last_count] + digits_before(end, last_count);
    return scale_down(digits, places);
}

// Reads a number without a sign.
inline const char* quick_magnitude(const char* at, double& value) {
    const std::uint32_t stops = non_digits(at) | non_digits(at + 16) << 16;
    const auto whole = static_cast<unsigned>(std::countr_zero(stops));
    if (whole - 1 > 7 || (*at == '0' && whole > 1)) [[unlikely]]
        return nullptr;
    if (at[whole] != '.') [[unlikely]] {
        value = static_cast<double>(digits_at(at, whole));
        return is_exponent(at[whole]) ? nullptr : at + whole;
    }
    const auto length = static_cast<unsigned>(std::countr_zero(stops & (stops - 1)));
    const unsigned places = length - whole - 1;
    const char* end = at + length;
    const bool is_too_long = places - 1 > most_digits - 1 - whole || (places > 16 && *at != '0');
    if (is_too_long || is_exponent(*end)) [[unlikely]]
        return nullptr;
    value = length <= 8 ? short_number(at, whole, places) : long_number(at, end, whole, places);
    return end;
}

// Reads a double of a common spelling and returns where it ends, or null.
inline const char* quick_double(const char* at, double& value) {
    if (*at != '-') [[likely]]
        return quick_magnitude(at, value);  // a branch: adding the sign's length would make all wait for it
    const char* end = quick_magnitude(at + 1, value);
    if (end) value = -value;
    return end;
}

// Reads a number without a sign that is known to have 1 to 8 characters. False for any other.
inline bool read_short_magnitude(const char* at, unsigned length, double& value) {
    constexpr std::uint64_t tops = every_byte * 0x80;
    const std::uint64_t word = load_word(at) ^ zero_digits;
    const auto first_bytes = [](unsigned count) { return ~std::uint64_t{0} >> (64 - 8 * count); };
    const std::uint64_t inside = first_bytes(length);
    const std::uint64_t stops = (((word & ~tops) + every_byte * (0x80 - 10)) | word) & tops & inside;  // no digits
    const auto whole = static_cast<unsigned>(std::countr_zero(stops | (tops & ~inside))) / 8;
    const bool has_point = whole < length;
    const unsigned places = length - whole - has_point;
    const bool is_odd = whole == 0 || (stops & (stops - 1)) != 0 || (whole > 1 && *at == '0') ||
                        (has_point && (at[whole] != '.' || places == 0));
    if (is_odd) [[unlikely]]
        return false;
    const std::uint64_t is_whole = first_bytes(whole);
    const std::uint64_t digits = (word & is_whole) | (word >> 8 & ~is_whole);
    // Both operands are exact, so the quotient is rounded once.
    value = static_cast<double>(eight_digits(digits << (64 - 8 * (whole + places)))) / detail::powers_of_ten[places];
    return true;
}

// Reads an integer of a common spelling and returns where it ends, or null.
inline const char* quick_integer(const char* at, std::int64_t& value) {
    const auto count = static_cast<unsigned>(std::countr_zero(non_digits(at) | 1u << 16));
    const char* end = at + count;
    const bool has_more = *end == '.' || is_exponent(*end);
    if (count - 1 > 14 || (*at == '0' && count > 1) || has_more) [[unlikely]]
        return nullptr;
    value = static_cast<std::int64_t>(count <= 8 ? digits_at(at, count) : digits_before(end, count));
    return end;
}

}  // namespace verite::json
