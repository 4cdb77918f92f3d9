#include "json/words.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace verite::json {

namespace {

constexpr std::size_t ending = 4;  // bytes of a word that are looked up together; keys have fewer endings in common

std::uint32_t load_ending(const char* at) {
    std::uint32_t bytes;
    std::memcpy(&bytes, at, sizeof bytes);
    return bytes;
}

// Four bytes as one of 65,536 places: a word may end where the place of its ending is marked.
class Endings {
  public:
    void mark(std::uint32_t bytes) { marked_[place_of(bytes) / 64] |= std::uint64_t{1} << place_of(bytes) % 64; }

    // The first of the places from `at` to `last` where a word may end.
    const char* find(const char* at, const char* last) const {
        while (at < last && !is_marked(load_ending(at))) ++at;
        return at;
    }

  private:
    static std::uint32_t place_of(std::uint32_t bytes) { return bytes * 2654435769u >> 16; }
    bool is_marked(std::uint32_t bytes) const { return marked_[place_of(bytes) / 64] >> place_of(bytes) % 64 & 1; }

    std::array<std::uint64_t, 1024> marked_{};
};

struct Wanted {
    std::uint32_t ending;
    std::size_t word;
};

}  // namespace

std::vector<bool> find_words(std::string_view text, std::span<const std::string_view> words) {
    std::vector<bool> found(words.size());
    std::vector<Wanted> wanted;
    Endings endings;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i].size() < ending) throw std::invalid_argument("words: expected at least four bytes each");
        wanted.push_back({load_ending(words[i].data() + words[i].size() - ending), i});
        endings.mark(wanted.back().ending);
    }
    if (text.size() < ending) return found;
    const char* last = text.data() + text.size() - ending + 1;
    for (const char* at = text.data(); (at = endings.find(at, last)) < last; ++at) {
        const std::uint32_t bytes = load_ending(at);
        const std::string_view before(text.data(), static_cast<std::size_t>(at - text.data()) + ending);
        for (const auto& [own, word] : wanted)
            if (own == bytes && before.ends_with(words[word])) found[word] = true;
    }
    return found;
}

}  // namespace verite::json
