#include "regions/masks.hpp"

#include <algorithm>
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

std::uint64_t decode_runs(std::span<const char> text, std::uint64_t pixels, std::vector<std::uint32_t>& counts,
                          Ending ending) {
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
    if (sum > pixels || (sum < pixels && ending == Ending::whole))
        throw std::invalid_argument("runs that add up to " + std::string(sum > pixels ? "more" : "less") + " than " +
                                    std::to_string(pixels) + " pixels");
    return sum;
}

void complete_runs(std::uint64_t rest, std::size_t first, std::vector<std::uint32_t>& counts) {
    const std::size_t runs = counts.size() - first;
    if (rest == 0 && runs > 0) return;
    if (runs % 2 == 0) counts.push_back(0);
    counts.back() += static_cast<std::uint32_t>(rest);
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

std::uint64_t run_area(std::span<const std::uint32_t> counts) {
    std::uint64_t area = 0;
    for (std::size_t i = 1; i < counts.size(); i += 2) area += counts[i];
    return area;
}

std::uint64_t run_overlap(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
    // Both as intervals [start, end) of pixels in column order.
    std::uint64_t shared = 0, end_a = 0, end_b = 0, start_a = 0, start_b = 0;
    std::size_t i = 0, j = 0;
    const auto next = [](std::span<const std::uint32_t> counts, std::size_t& at, std::uint64_t& start,
                         std::uint64_t& end) {
        if (at + 1 >= counts.size()) return false;
        start = end + counts[at];
        end = start + counts[at + 1];
        at += 2;
        return true;
    };
    bool more = next(a, i, start_a, end_a) && next(b, j, start_b, end_b);
    while (more) {
        const std::uint64_t start = std::max(start_a, start_b), end = std::min(end_a, end_b);
        if (start < end) shared += end - start;
        more = end_a < end_b ? next(a, i, start_a, end_a) : next(b, j, start_b, end_b);
    }
    return shared;
}

std::size_t first_unsound(const RLEMasks& runs) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
        std::uint64_t sum = 0;
        for (const std::uint32_t count : runs.counts[i]) sum += count;
        const Size size = runs.size_of(i);
        if (size.height < 0 || size.width < 0 || sum != size.pixels()) return i;
    }
    return runs.size();
}

}  // namespace verite
