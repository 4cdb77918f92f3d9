// Images are independent until their predictions are walked: what became of some of them can be merged with others.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "evaluation/evaluation.hpp"

namespace verite {

// The flags of some images, without boxes and masks. Rows come class by class, by falling confidence, then by image id
// and by rank within the group: a total order, so that however parts are merged the same rows come out.
struct Part {
    std::string about;  // what must be the same of parts that are merged
    Rules rules;
    Array<std::int64_t> images;   // ids, rising
    Array<std::int64_t> offsets;  // class k has the rows offsets[k] .. offsets[k + 1]
    Array<double> confidence;
    Array<std::int64_t> image;  // id
    Array<std::int32_t> rank;
    Array<double> positives;  // [label][range]
    // Sixteen thresholds each.
    struct Block {
        std::uint64_t thresholds;
        Array<Brief> briefs;  // by row
        Array<Outcome> outcomes;
    };
    std::vector<Block> blocks;

    std::size_t labels() const { return offsets.size() - 1; }
};

// `ids` of images by rank, rising.
Part make_part(const Evaluation& evaluation, std::span<const std::int64_t> ids, std::string about);

// Any number of parts in any order. Throws std::invalid_argument where they do not belong together, or an image is in
// two of them.
Part merge_parts(std::span<const Part* const> parts);

// To the last bit the numbers of all images at once.
Numbers number_part(const Part& part, unsigned threads);

}  // namespace verite
