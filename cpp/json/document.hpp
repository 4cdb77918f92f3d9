// The content of a COCO file as columns.
#pragma once

#include <set>
#include <string>

#include "json/records.hpp"

namespace verite::json {

struct Document {
    bool is_results = false;     // an array of results, not an object with sections
    std::set<std::string> keys;  // of the top-level object
    // Keys of records that no table knows; also of what looked like a record while reading in parallel.
    std::set<std::string> other_keys;
    Images images;
    Categories categories;
    Annotations annotations;

    std::string section_of_annotations() const { return is_results ? "results" : "annotations"; }

    // Whether `next`, read on its own from further down the same file, can be added without a contradiction.
    bool agrees_with(const Document& next) const;
    void append(const Document& next);

    // Makes all columns in use equally long and gives unused memory back.
    void finish();
    void clear();
};

}  // namespace verite::json
