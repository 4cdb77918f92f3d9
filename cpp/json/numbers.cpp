#include "json/numbers.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>
#include <system_error>

#if !defined(__cpp_lib_to_chars)
#include <clocale>
#include <cstdlib>
#include <string>
#if defined(__APPLE__)
#include <xlocale.h>
#endif
#endif

namespace verite::json {

namespace {

const char* skip_digits(const char* at) {
    while (is_digit(*at)) ++at;
    return at;
}

// A number taken apart as it is written.
struct Decimal {
    bool is_negative = false;
    std::string_view whole, fraction;  // digits on either side of the point
    std::int64_t exponent = 0;         // as written behind the 'e', held within ±10^17
};

std::int64_t clamped_exponent(const char* first, const char* last) {
    const bool is_negative = *first == '-';
    if (*first == '-' || *first == '+') ++first;
    std::int64_t exponent = 0;
    for (; first < last; ++first) exponent = std::min(exponent * 10 + (*first - '0'), std::int64_t{100000000000000000});
    return is_negative ? -exponent : exponent;
}

Decimal take_apart(const char* first, const char* last) {
    Decimal number;
    number.is_negative = *first == '-';
    if (number.is_negative) ++first;
    const char* end = std::find_if_not(first, last, is_digit);
    number.whole = {first, end};
    if (end < last && *end == '.') {
        const char* start = end + 1;
        end = std::find_if_not(start, last, is_digit);
        number.fraction = {start, end};
    }
    if (end < last) number.exponent = clamped_exponent(end + 1, last);
    return number;
}

// The power of ten just above the number: 3 for 123.4, -1 for 0.0123. Nothing for zero.
std::optional<std::int64_t> magnitude_of(const Decimal& number) {
    if (const auto first = number.whole.find_first_not_of('0'); first != std::string_view::npos)
        return static_cast<std::int64_t>(number.whole.size() - first) + number.exponent;
    if (const auto first = number.fraction.find_first_not_of('0'); first != std::string_view::npos)
        return number.exponent - static_cast<std::int64_t>(first);
    return std::nullopt;
}

// Beyond the doubles: infinite above, zero below.
double out_of_range(const char* first, const char* last) {
    const Decimal number = take_apart(first, last);
    const auto magnitude = magnitude_of(number);
    const double value = magnitude && *magnitude > 0 ? std::numeric_limits<double>::infinity() : 0.0;
    return number.is_negative ? -value : value;
}

}  // namespace

NumberEnd end_of_number(const char* at) {
    if (*at == '-') ++at;
    if (!is_digit(*at)) return {at, false};
    at = *at == '0' ? at + 1 : skip_digits(at);
    if (*at == '.') {
        if (!is_digit(*++at)) return {at, false};
        at = skip_digits(at);
    }
    if (*at == 'e' || *at == 'E') {
        ++at;
        if (*at == '-' || *at == '+') ++at;
        if (!is_digit(*at)) return {at, false};
        at = skip_digits(at);
    }
    return {at, true};
}

double exact_double(const char* first, const char* last) {
#if defined(__cpp_lib_to_chars)
    double value = 0;
    const auto [end, problem] = std::from_chars(first, last, value);
    return problem == std::errc::result_out_of_range ? out_of_range(first, last) : value;
#else
    // Older libc++ reads no doubles with from_chars. strtod obeys the locale, hence the copy of the C locale.
    static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", nullptr);
    return strtod_l(std::string(first, last).c_str(), nullptr, c_locale);
#endif
}

std::optional<std::int64_t> exact_integer(const char* first, const char* last) {
    const Decimal number = take_apart(first, last);
    const auto magnitude = magnitude_of(number);
    if (!magnitude) return 0;
    constexpr std::int64_t digits_of_int64 = 19;
    if (*magnitude < 1 || *magnitude > digits_of_int64) return std::nullopt;
    // Walks all written digits; those beyond the point must be zeros.
    std::int64_t wanted = *magnitude;
    std::uint64_t value = 0;
    bool has_begun = false;
    for (const std::string_view part : {number.whole, number.fraction}) {
        for (const char c : part) {
            has_begun = has_begun || c != '0';
            if (!has_begun) continue;
            if (wanted > 0) {
                value = value * 10 + static_cast<std::uint64_t>(c - '0');
                --wanted;
            } else if (c != '0') {
                return std::nullopt;
            }
        }
    }
    for (; wanted > 0; --wanted) value *= 10;
    constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (value > largest + number.is_negative) return std::nullopt;
    return static_cast<std::int64_t>(number.is_negative ? 0 - value : value);
}

}  // namespace verite::json
