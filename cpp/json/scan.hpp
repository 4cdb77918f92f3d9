// JSON scanner: whitespace, strings, numbers, and whole values to be skipped. Strict: what RFC 8259 forbids is refused.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "columns/columns.hpp"
#include "json/blocks.hpp"
#include "json/content.hpp"
#include "json/error.hpp"
#include "json/numbers.hpp"

namespace verite::json {

inline constexpr int usual_deepest = 64;

enum class Constants { refused, allowed };  // NaN, Infinity, -Infinity, as Python writes them

// Thrown behind the horizon.
struct TooFar {};

class Scanner {
  public:
    explicit Scanner(const Stretch& text) { look_at(text, text.first); }

    // Goes to a byte of the whole, in another stretch of it.
    void look_at(const Stretch& text, std::size_t byte) {
        first_ = text.first;
        is_last_ = text.is_last;
        begin_ = text.bytes.data();
        end_ = horizon_ = begin_ + text.bytes.size();
        at = at_byte(byte);
    }

    const char* at = nullptr;
    int depth = 0;  // containers around `at`, for the limit on what is skipped
    int deepest = usual_deepest;

    // Where to give up skipping a value. Set where the position is only a guess: else each guess at a level of a
    // deeply nested value could go on to the end of the file.
    void set_horizon(std::size_t byte) {
        horizon_ = begin_ + std::min(byte - first_, static_cast<std::size_t>(end_ - begin_));
    }
    void check_horizon() const {
        if (at > horizon_) [[unlikely]]
            give_up();
    }

    const char* begin() const { return begin_; }
    const char* end() const { return end_; }
    // Where in the whole a place is, and the other way round.
    std::size_t byte_at(const char* place) const { return first_ + static_cast<std::size_t>(place - begin_); }
    const char* at_byte(std::size_t byte) const { return begin_ + (byte - first_); }
    // Does the text end where this stretch of it ends?
    bool is_last() const { return is_last_; }

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

    const char* begin_ = nullptr;
    const char* end_ = nullptr;
    const char* horizon_ = nullptr;
    std::size_t first_ = 0;
    bool is_last_ = true;
};

}  // namespace verite::json
