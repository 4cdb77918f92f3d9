// Key prediction: records of one file look alike, so that the bytes between two values (`,"bbox": `) are those of the
// record before. A layout remembers them, and finding the next field is one comparison instead of parsing a key.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "json/blocks.hpp"
#include "json/scan.hpp"

namespace verite::json {

class Layout {
  public:
    using Field = std::uint8_t;  // which of the known names
    static constexpr Field unknown = 0xFE, end_of_object = 0xFF;

    // Compares the text at `at` with the `step`-th of the object before. Returns where it ends and what field follows,
    // or null if it is another text. There may be blanks before the value. Reads `longest` bytes.
    const char* match(std::size_t step, const char* at, Field& field) const {
        if (step >= steps_.size()) return nullptr;
        const Step& seen = steps_[step];
        if (seen.length == 0 || !starts_equal(at, seen.text.data(), seen.length)) return nullptr;
        field = seen.field;
        return at + seen.length;
    }

    // Reads from the end of a value (at step 0: from the '{') to the start of the next value or past the '}', and
    // remembers it. Keys that are no name are added to `others`, if it is given.
    Field learn(std::size_t step, Scanner& in, std::span<const std::string_view> names,
                std::set<std::string>* others = nullptr);

  private:
    static constexpr std::size_t longest = 48;  // what starts_equal compares

    struct Step {
        std::array<char, longest> text;
        std::size_t length;
        Field field;
    };

    std::array<Step, 24> steps_{};
};

}  // namespace verite::json
