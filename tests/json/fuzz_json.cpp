// libFuzzer target: whatever the bytes, reading them ends in columns or in a ParseError, the same for any number of
// threads, and so does converting every region. Without libFuzzer (VERITE_FUZZ_MAIN) a small driver mutates the files
// of a corpus:
//   fuzz_json RUNS SEED FILE...
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "json/coco.hpp"
#include "json/regions.hpp"
#include "json/scan.hpp"

namespace {

using namespace verite;
using namespace verite::json;

struct Digest {
    std::uint64_t value = 0xcbf29ce484222325;

    template <class T>
    void add(std::span<const T> values) {
        for (const std::byte byte : std::as_bytes(values))
            value = (value ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3;
        value ^= values.size();
    }
    void add(const Ids& ids) {
        add(ids.numbers.values());
        add(ids.text.values.values());
        add(ids.text.starts().values());
    }
    template <class Table>
    void add(const Table& table) {
        Table::visit_columns([&](auto column) { add((table.*column).values()); });
        Table::visit_ids([&](auto ids) { add(table.*ids); });
        Table::visit_ragged([&](auto ragged) {
            add((table.*ragged).values.values());
            add((table.*ragged).starts().values());
        });
        add(table.presence.fields.values());
    }
};

template <class Read>
std::string outcome_of(Read&& read) {
    try {
        return read();
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
}

std::string convert_regions(const Content& content, const Document& document, unsigned threads) {
    std::string outcomes;
    const auto& kinds = document.annotations.region_kinds;
    for (std::int64_t record = 0; record < static_cast<std::int64_t>(kinds.rows()); ++record) {
        for (const bool is_strict : {true, false}) {
            RegionLimits limits;
            limits.is_strict = is_strict;
            outcomes += outcome_of([&] {
                Digest digest;
                if (kinds[static_cast<std::size_t>(record)] == SegmentationKind::runs) {
                    const RLEMasks runs = read_runs(content, document, {&record, 1}, limits, threads);
                    digest.add(runs.lengths.values());
                } else {
                    const Polygons polygons = read_polygons(content, document, {&record, 1}, limits, threads);
                    digest.add(polygons.points.values());
                    digest.add(polygons.ring_starts.values());
                }
                return std::to_string(digest.value);
            });
        }
    }
    return outcomes;
}

std::string read_everything(const Content& content, unsigned threads, std::size_t piece_bytes) {
    ReadOptions options;
    options.threads = threads;
    options.piece_bytes = piece_bytes;
    return outcome_of([&] {
        const Document document = read_coco(content, options);
        Digest digest;
        digest.add(document.images);
        digest.add(document.categories);
        digest.add(document.annotations);
        return std::to_string(digest.value) + convert_regions(content, document, threads);
    });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    // A copy with exactly as many zeros as promised, so that a sanitizer sees a byte too many.
    const Content text(std::span(reinterpret_cast<const char*>(data), size));
    const std::string expected = read_everything(text, 1, std::size_t{1} << 20);
    for (const auto& [threads, piece_bytes] :
         {std::pair{1u, std::size_t{37}}, {2u, size / 3 + 1}, {3u, std::size_t{64}}}) {
        const std::string found = read_everything(text, threads, piece_bytes);
        if (found != expected) {
            std::fprintf(stderr, "%u threads, pieces of %zu: %s\n1 thread: %s\n", threads, piece_bytes, found.c_str(),
                         expected.c_str());
            std::abort();
        }
    }
    return 0;
}

#if defined(VERITE_FUZZ_MAIN)

namespace {

std::string mutated(std::string text, const std::vector<std::string>& corpus, std::mt19937_64& random) {
    static constexpr std::string_view tokens[] = {"\"image_id\":",
                                                  "\"category_id\":",
                                                  "\"bbox\":[1,2,3,4]",
                                                  "\"score\":",
                                                  "\"segmentation\":",
                                                  "\"counts\":",
                                                  "\"size\":[2,3]",
                                                  "{",
                                                  "}",
                                                  "[",
                                                  "]",
                                                  ",",
                                                  ":",
                                                  "null",
                                                  "true",
                                                  "NaN",
                                                  "-Infinity",
                                                  "1e999",
                                                  "-0.0",
                                                  "0.1234567890123456789",
                                                  "9223372036854775808",
                                                  "\\u0000",
                                                  "\\ud83d\\ude00",
                                                  "\"",
                                                  "\\",
                                                  "},{",
                                                  "\"id\":",
                                                  "\xEF\xBB\xBF",
                                                  "\xF0\x9F\x98\x80",
                                                  "\"images\":[",
                                                  "\"annotations\":[",
                                                  "\"categories\":[",
                                                  "oooo",
                                                  "00000000"};
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % std::max<std::size_t>(n, 1)); };
    for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
        const std::size_t at = below(text.size() + 1);
        switch (below(7)) {
            case 0:
                if (at < text.size()) text[at] = static_cast<char>(random());
                break;
            case 1:
                if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
                break;
            case 2:
                text.insert(at, tokens[below(std::size(tokens))]);
                break;
            case 3:
                text.erase(at, 1 + below(8));
                break;
            case 4:
                text.resize(at);
                break;
            case 5:
                text.insert(at, text.substr(below(text.size()), below(80)));
                break;
            case 6: {
                const std::string& other = corpus[below(corpus.size())];
                const std::size_t first = below(other.size());
                text.insert(at, other.substr(first, below(120)));
                break;
            }
        }
    }
    return text;
}

void run(const std::string& text) {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 4) {
        std::fprintf(stderr, "usage: fuzz_json RUNS SEED FILE...\n");
        return 2;
    }
    std::vector<std::string> corpus;
    for (int i = 3; i < count; ++i) {
        std::ifstream file(arguments[i], std::ios::binary);
        corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
        run(corpus.back());
    }
    std::mt19937_64 random(std::strtoull(arguments[2], nullptr, 10));
    for (long left = std::strtol(arguments[1], nullptr, 10); left > 0; --left)
        run(mutated(corpus[random() % corpus.size()], corpus, random));
    std::printf("%zu files and %s mutations, nothing found\n", corpus.size(), arguments[1]);
}

#endif
