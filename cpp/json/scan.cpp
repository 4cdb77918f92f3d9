#include "json/scan.hpp"

#include <array>
#include <bit>
#include <cstdio>
#include <limits>

namespace verite::json {

namespace {

std::string describe(const char* at) {
    const auto byte = static_cast<unsigned char>(*at);
    if (byte == '"') return "a string";
    if (byte == '{') return "an object";
    if (byte == '[') return "an array";
    if (byte == '-' || is_digit(*at)) return "a number";
    for (const std::string_view word : {"true", "false", "null", "NaN", "Infinity"})
        if (std::string_view(at, word.size()) == word) return std::string(word);
    if (byte > ' ' && byte < 0x7F) return {'\'', *at, '\''};
    std::array<char, 16> text;
    std::snprintf(text.data(), text.size(), "byte 0x%02X", byte);
    return text.data();
}

// The first byte from `at` on that is not plain text.
const char* end_of_plain_text(const char* at) {
    for (;; at += 16)
        if (const std::uint32_t stops = text_stops(at)) return at + std::countr_zero(stops);
}

#if VERITE_SSE2

// Checks numbers and the commas behind them, 64 bytes at a time, from a place where a number must start.
// Returns a place further on where a number must start, or `at` if this takes a closer look (or is wrong).
const char* skip_some_numbers(const char* at) {
    const NumberBytes bytes(at);
    const auto& [digits, zeros, points, commas, minuses, blanks] = bytes;
    const std::uint64_t foreign = ~(digits | points | commas | minuses | blanks);
    const std::uint64_t own_commas = commas & ((foreign & (0 - foreign)) - 1);  // those before the first foreign byte
    if (own_commas == 0) return at;
    const auto length = static_cast<int>(std::bit_width(own_commas));
    const std::uint64_t own = ~std::uint64_t{0} >> (64 - length);  // all up to the last comma: whole numbers only

    const std::uint64_t behind_commas = own_commas << 1;
    const std::uint64_t lone_blanks = behind_commas & blanks;
    const std::uint64_t starts = (1 | (behind_commas & ~blanks) | lone_blanks << 1) & own;
    const std::uint64_t first_digits = (starts & ~minuses) | (starts & minuses) << 1;
    const std::uint64_t fractions = (points & own) << 1;
    const std::uint64_t behind_fractions =
        (digits + fractions) & ~digits;  // the sum carries to the end of each fraction

    const std::uint64_t wrong = (blanks & ~lone_blanks) | (minuses & ~starts) | (first_digits & ~digits) |
                                ((first_digits & zeros) << 1 & digits) | ((points | commas) & ~(digits << 1)) |
                                (fractions & ~digits) | (behind_fractions & ~commas) |
                                (digits << 1 & ~(digits | points | commas));
    return (wrong & own) == 0 ? at + length : at;
}

#else

const char* skip_some_numbers(const char* at) { return at; }

#endif

struct Utf8 {
    std::array<char, 4> bytes;
    std::size_t count;
};

Utf8 encode(char32_t c) {
    const auto tail = [c](int shift) { return static_cast<char>(0x80 | (c >> shift & 0x3F)); };
    if (c < 0x80) return {{static_cast<char>(c)}, 1};
    if (c < 0x800) return {{static_cast<char>(0xC0 | c >> 6), tail(0)}, 2};
    if (c < 0x10000) return {{static_cast<char>(0xE0 | c >> 12), tail(6), tail(0)}, 3};
    return {{static_cast<char>(0xF0 | c >> 18), tail(12), tail(6), tail(0)}, 4};
}

}  // namespace

void Scanner::fail_at(const char* where, Fault fault, std::string expected, std::string found) const {
    if (where >= end_) throw Defect{Fault::truncated, byte_at(end_), {}, {}};
    throw Defect{fault, byte_at(where), std::move(expected), std::move(found)};
}

void Scanner::fail_expected(Fault fault, std::string_view expected) const {
    fail(fault, std::string(expected), describe(at));
}

void Scanner::give_up() { throw TooFar{}; }

void Scanner::skip_more_blanks() {
    while (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r') ++at;
}

void Scanner::expect_word(std::string_view word) {
    const char* start = at;
    for (const char c : word) {
        if (*at != c) {
            if (at < end_) at = start;
            fail_expected(Fault::syntax, "a value");
        }
        ++at;
    }
}

const char* Scanner::find_number_end() {
    const NumberEnd number = end_of_number(at);
    if (number.is_number) return number.at;
    // The fault is where the spelling breaks off; a byte that cannot even start a number is not a number at all.
    if (number.at == at) fail_expected(Fault::type, "a number");
    at = number.at;
    fail_expected(Fault::syntax, "a digit");
}

double Scanner::read_double_slowly(Constants constants) {
    if (constants == Constants::allowed) {
        const bool is_negative = *at == '-';
        if (at[is_negative] == 'I') {
            at += is_negative;
            expect_word("Infinity");
            return is_negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
        }
        if (*at == 'N') {
            expect_word("NaN");
            return std::numeric_limits<double>::quiet_NaN();
        }
    }
    const char* end = find_number_end();
    const double value = exact_double(at, end);
    at = end;
    return value;
}

std::int64_t Scanner::read_integer_slowly() {
    const char* end = find_number_end();
    const auto value = exact_integer(at, end);
    if (!value) {
        constexpr std::ptrdiff_t most_shown = 40;
        const std::string shown =
            end - at <= most_shown ? std::string(at, end) : std::string(at, at + most_shown) + "...";
        fail(Fault::number, "an integer of 64 bits", shown);
    }
    at = end;
    return *value;
}

bool Scanner::read_flag() {
    if (*at == 't' || *at == 'f') {
        const bool value = *at == 't';
        expect_word(value ? "true" : "false");
        return value;
    }
    const char* start = at;
    const std::int64_t value = read_integer();
    if (value == 0 || value == 1) return value == 1;
    fail_at(start, Fault::number, "0, 1, false or true", std::to_string(value));
}

char32_t Scanner::read_four_hex_digits() {
    char32_t value = 0;
    for (int i = 0; i < 4; ++i, ++at) {
        const char c = *at;
        const char lower = static_cast<char>(c | 0x20);
        if (is_digit(c))
            value = value * 16 + static_cast<char32_t>(c - '0');
        else if (lower >= 'a' && lower <= 'f')
            value = value * 16 + static_cast<char32_t>(lower - 'a' + 10);
        else
            fail(Fault::syntax, "four hexadecimal digits after \\u", describe(at));
    }
    return value;
}

// Reads what follows a backslash.
char32_t Scanner::read_escape() {
    const char* start = at - 1;
    const char c = *at;
    if (c != 'u') {
        constexpr std::string_view names = "\"\\/bfnrt";
        constexpr std::string_view values = "\"\\/\b\f\n\r\t";
        const auto which = c == '\0' ? std::string_view::npos : names.find(c);
        if (which == std::string_view::npos) fail(Fault::syntax, "an escape such as \\n", "\\ before " + describe(at));
        ++at;
        return static_cast<char32_t>(values[which]);
    }
    ++at;
    const auto is_high = [](char32_t unit) { return unit >= 0xD800 && unit < 0xDC00; };
    const auto is_low = [](char32_t unit) { return unit >= 0xDC00 && unit < 0xE000; };
    const char32_t first = read_four_hex_digits();
    if (!is_high(first) && !is_low(first)) return first;
    if (is_high(first) && skip_if('\\') && skip_if('u')) {
        const char32_t second = read_four_hex_digits();
        if (is_low(second)) return 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
    }
    fail_at(at < end_ ? start : at, Fault::encoding, "text", "half a surrogate pair");
}

// The length of the UTF-8 sequence at `at`, which starts outside ASCII. Follows table 3-7 of the Unicode standard.
std::size_t Scanner::measure_sequence() const {
    const auto byte = [this](std::size_t i) { return static_cast<unsigned char>(at[i]); };
    const unsigned lead = byte(0);
    std::size_t count = 0;
    unsigned lowest = 0x80, highest = 0xBF;
    if (lead >= 0xC2 && lead <= 0xDF)
        count = 2;
    else if (lead >= 0xE0 && lead <= 0xEF)
        count = 3;
    else if (lead >= 0xF0 && lead <= 0xF4)
        count = 4;
    else
        fail(Fault::encoding, "UTF-8 text", describe(at));
    if (lead == 0xE0) lowest = 0xA0;
    if (lead == 0xED) highest = 0x9F;
    if (lead == 0xF0) lowest = 0x90;
    if (lead == 0xF4) highest = 0x8F;
    for (std::size_t i = 1; i < count; ++i, lowest = 0x80, highest = 0xBF) {
        if (byte(i) >= lowest && byte(i) <= highest) continue;
        fail_at(at + i, Fault::encoding, "UTF-8 text", describe(at + i) + " inside a character");
    }
    return count;
}

// Passes the decoded text of a string on, piece by piece.
template <class Sink>
void Scanner::scan_string(Sink&& sink) {
    if (*at != '"') fail_expected(Fault::type, "a string");
    ++at;
    for (;;) {
        const char* stop = end_of_plain_text(at);
        sink(std::span(at, stop));
        at = stop;
        if (*at == '"') break;
        if (*at == '\\') {
            ++at;
            const Utf8 decoded = encode(read_escape());
            sink(std::span(decoded.bytes.data(), decoded.count));
        } else if (static_cast<unsigned char>(*at) >= 0x80) {
            const std::size_t count = measure_sequence();
            sink(std::span(at, count));
            at += count;
        } else {
            fail(Fault::syntax, "control characters to be escaped",
                 "a control character (" + describe(at) + ") inside a string");
        }
    }
    ++at;
}

void Scanner::read_string(Column<char>& text) {
    scan_string([&](std::span<const char> piece) { text.append(piece); });
}

std::string Scanner::read_string() {
    std::string text;
    scan_string([&](std::span<const char> piece) { text.append(piece.data(), piece.size()); });
    return text;
}

std::string Scanner::read_key() {
    if (*at != '"') fail_expected(Fault::syntax, "a key in quotes");
    std::string key = read_string();
    skip_blanks();
    expect(':', "':'");
    skip_blanks();
    return key;
}

void Scanner::skip_string() {
    scan_string([](std::span<const char>) {});
}

void Scanner::skip_number() { at = find_number_end(); }

void Scanner::skip_array() {
    ++at;
    skip_blanks();
    if (skip_if(']')) return;
    for (int count = 1;; ++count) {
        skip_value();
        check_horizon();
        skip_blanks();
        if (skip_if(']')) return;
        expect(',', "',' or ']'");
        skip_blanks();
        if (count >= 2) skip_numbers();  // shorter arrays are sizes, not worth the effort
    }
}

void Scanner::skip_numbers() {
    for (const char* next = skip_some_numbers(at); next != at; next = skip_some_numbers(at)) {
        at = next;
        check_horizon();
        skip_blanks();
    }
}

void Scanner::skip_object() {
    ++at;
    skip_blanks();
    if (skip_if('}')) return;
    for (;;) {
        if (*at != '"') fail_expected(Fault::syntax, "a key in quotes");
        skip_string();
        skip_blanks();
        expect(':', "':'");
        skip_blanks();
        skip_value();
        check_horizon();
        skip_blanks();
        if (skip_if('}')) return;
        expect(',', "',' or '}'");
        skip_blanks();
    }
}

void Scanner::skip_value() {
    switch (*at) {
        case '"':
            return skip_string();
        case 't':
            return expect_word("true");
        case 'f':
            return expect_word("false");
        case 'n':
            return expect_word("null");
        case '[':
        case '{':
            if (depth >= deepest)
                fail(Fault::depth, "at most " + std::to_string(deepest) + " levels of nesting", "more");
            ++depth;
            *at == '[' ? skip_array() : skip_object();
            --depth;
            return;
        default:
            if (*at != '-' && !is_digit(*at)) fail_expected(Fault::syntax, "a value");
            return skip_number();
    }
}

}  // namespace verite::json
