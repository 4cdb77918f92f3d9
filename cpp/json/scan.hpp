// Tokens of a JSON text: blanks, strings, numbers, and whole values to be skipped. Strict: what RFC 8259 forbids is
// refused.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "columns/columns.hpp"
#include "json/blocks.hpp"
#include "json/error.hpp"
#include "json/numbers.hpp"

namespace verite::json {

// The scanner looks ahead without asking where the text ends: a zero byte, which JSON forbids everywhere, ends every
// token.
inline constexpr std::size_t zeros_behind_text = 64;

inline constexpr int usual_deepest = 64;

enum class Constants { refused, allowed };  // NaN, Infinity, -Infinity, as Python writes them

// Thrown behind the horizon.
struct TooFar {};

class Scanner {
  public:
    // `text` must be followed by `zeros_behind_text` zero bytes.
    explicit Scanner(std::span<const char> text)
        : at(text.data()), begin_(text.data()), end_(text.data() + text.size()), horizon_(end_) {}

    const char* at;
    int depth = 0;  // containers around `at`, for the limit on what is skipped
    int deepest = usual_deepest;

    // Where to give up skipping a value. Set by those who only guess where they are: else each guess at a level of a
    // deeply nested value could go on to the end of the file.
    void set_horizon(std::size_t byte) { horizon_ = begin_ + std::min(byte, static_cast<std::size_t>(end_ - begin_)); }
    void check_horizon() const {
        if (at > horizon_) [[unlikely]]
            give_up();
    }

    const char* begin() const { return begin_; }
    const char* end() const { return end_; }
    std::size_t byte() const { return static_cast<std::size_t>(at - begin_); }

    // Reports a fault; at the end of the text, every fault is that the text ends.
    [[noreturn]] void fail_at(const char* where, Fault fault, std::string expected, std::string found) const;
    [[noreturn]] void fail(Fault fault, std::string expected, std::string found) const {
        fail_at(at, fault, std::move(expected), std::move(found));
    }
    // What is found is at hand.
    [[noreturn]] void fail_expected(Fault fault, std::string_view expected) const;

    // Whether the quick functions may look at the bytes before `at`.
    bool has_room_before() const { return at - begin_ >= 16; }

    void skip_blanks() {
        if (static_cast<unsigned char>(*at) <= ' ') skip_more_blanks();
    }

    bool skip_if(char c) {
        if (*at != c) return false;
        ++at;
        return true;
    }

    void expect(char c, std::string_view expected) {
        if (*at != c) [[unlikely]]
            fail_expected(Fault::syntax, expected);
        ++at;
    }

    void expect_word(std::string_view word);

    double read_double(Constants constants) {
        double value;
        if (has_room_before()) [[likely]] {
            if (const char* end = quick_double(at, value)) [[likely]] {
                at = end;
                return value;
            }
        }
        return read_double_slowly(constants);
    }

    std::int64_t read_integer() {
        std::int64_t value;
        if (has_room_before()) [[likely]] {
            if (const char* end = quick_integer(at, value)) [[likely]] {
                at = end;
                return value;
            }
        }
        return read_integer_slowly();
    }

    // 0, 1, false or true.
    bool read_flag();

    // Adds the text of a string, decoded to UTF-8.
    void read_string(Column<char>& text);
    std::string read_string();

    // Reads a key and the colon behind it.
    std::string read_key();

    void skip_string();

    void skip_value();

  private:
    [[noreturn]] static void give_up();
    void skip_more_blanks();
    double read_double_slowly(Constants constants);
    std::int64_t read_integer_slowly();
    const char* find_number_end();
    void skip_number();
    void skip_numbers();
    void skip_array();
    void skip_object();
    template <class Sink>
    void scan_string(Sink&& sink);
    char32_t read_escape();
    char32_t read_four_hex_digits();
    std::size_t measure_sequence() const;

    const char* begin_;
    const char* end_;
    const char* horizon_;
};

}  // namespace verite::json
