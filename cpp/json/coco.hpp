// Reads a COCO file (a truth with sections, or an array of results) into columns, on several threads if asked.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "json/document.hpp"
#include "json/error.hpp"

namespace verite::json {

struct ReadOptions {
    unsigned threads = 1;
    int deepest = 64;  // levels of nesting
    // A thread reads this much at a time. Small enough for the columns of a piece to stay in cache until they are
    // joined.
    std::size_t piece_bytes = std::size_t{1} << 20;
    // All bytes up to here are read, and will not be looked at again. Called from any thread, one at a time.
    std::function<void(std::size_t last)> on_joined = [](std::size_t) {};
    // Called between pieces on the calling thread; may throw to give up.
    std::function<void()> on_pause = [] {};
};

// `text` must be followed by `zeros_behind_text` (64) zero bytes. Throws ParseError for the first defect in the file,
// whatever the number of threads; columns do not depend on it either.
Document read_coco(std::span<const char> text, const ReadOptions& options = {});

}  // namespace verite::json
