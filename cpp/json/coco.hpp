// Strict parallel reader of COCO JSON (annotations with sections, or an array of results) into columns.
#pragma once

#include <cstddef>

#include "json/content.hpp"
#include "json/document.hpp"
#include "json/error.hpp"

namespace verite::json {

struct ReadOptions {
    unsigned threads = 1;
    int deepest = 64;  // levels of nesting
    // A thread reads this much at a time. Small enough for the text of a piece and its columns to stay in cache until
    // they are joined.
    std::size_t piece_bytes = std::size_t{1} << 20;
};

// Throws ParseError for the first defect in the file, whatever the number of threads; columns do not depend on it
// either.
Document read_coco(const Content& content, ReadOptions options = {});

}  // namespace verite::json
