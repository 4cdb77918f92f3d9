#include "masks.hpp"

#include <stdexcept>

namespace verite {
namespace {

constexpr int bits_per_character = 5;
constexpr int first_character = 48;
constexpr int continued = 0x20;
constexpr int negative = 0x10;
// 13 characters hold 65 bits: more than any run needs, and a shift beyond them would be undefined.
constexpr int most_characters = 12;

}  // namespace

void decode_runs(std::span<const char> text, std::uint64_t pixels, std::vector<std::uint32_t>& counts) {
    const std::size_t first = counts.size();
    std::uint64_t sum = 0;
    std::size_t at = 0;
    while (at < text.size()) {
        std::int64_t run = 0;
        int characters = 0;
        for (bool more = true; more;) {
            if (at == text.size()) throw std::invalid_argument("the text ends inside a run");
            const int code = static_cast<unsigned char>(text[at++]) - first_character;
            if (code < 0 || code > 0x3f) throw std::invalid_argument("a character outside '0'..'o'");
            if (characters == most_characters) throw std::invalid_argument("a run of too many characters");
            run |= static_cast<std::int64_t>(code & 0x1f) << (bits_per_character * characters++);
            more = code & continued;
            if (!more && (code & negative)) run |= -(std::int64_t{1} << (bits_per_character * characters));
        }
        if (counts.size() - first > 2) run += counts[counts.size() - 2];
        if (run < 0) throw std::invalid_argument("a negative run");
        sum += static_cast<std::uint64_t>(run);
        if (sum > pixels) break;
        counts.push_back(static_cast<std::uint32_t>(run));
    }
    if (sum != pixels)
        throw std::invalid_argument("runs that add up to " + std::string(sum > pixels ? "more" : "less") + " than " +
                                    std::to_string(pixels) + " pixels");
}

void encode_runs(std::span<const std::uint32_t> counts, std::string& text) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
        std::int64_t rest = counts[i];
        if (i > 2) rest -= counts[i - 2];
        for (bool more = true; more;) {
            int code = static_cast<int>(rest & 0x1f);
            rest >>= bits_per_character;
            more = (code & negative) ? rest != -1 : rest != 0;
            text.push_back(static_cast<char>((more ? code | continued : code) + first_character));
        }
    }
}

}  // namespace verite
