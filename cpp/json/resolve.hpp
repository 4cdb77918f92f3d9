// Resolution of ids: the image and class of each record of a COCO file, and the records whose ids or sizes are wrong.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "columns/objects.hpp"
#include "json/document.hpp"

namespace verite::json {

// A record with impossible content. All are collected, up to a limit; the caller words them.
struct RecordFault {
    std::string_view code;  // repeated_id size unknown_id mixed_ids no_region
    std::string_view section;
    std::size_t record;
    std::string_view field = {};
    std::int64_t other = -1;  // another record that is involved
};

struct SizeLimits {
    std::int64_t side_px, pixels;
};

// Faults of the tables of images and classes: repeated ids, impossible image sizes. At most `most` of them.
std::vector<RecordFault> faults_of(const Images& images, std::span<const std::int64_t> image_ids,
                                   const Categories& categories, const SizeLimits& limits, std::size_t most);

// The tables in which ids are looked up: ids of images are numbers or texts.
struct IdTables {
    std::span<const std::int64_t> image_ids;
    RaggedView<char> image_names;
    std::span<const std::int64_t> label_ids;
};

// The columns of a file that objects share; the others are read once and left behind.
struct SharedColumns {
    View<double> boxes, scores, areas;
    View<std::uint8_t> crowds, ignores;
    View<std::int64_t> ids;
    View<SegmentationKind> kinds;
    RaggedView<double> keypoints;
    View<std::int64_t> labelled;
    View<double> angles;  // of rotated boxes
};

struct ResolvedObjects {
    Columns columns;
    std::vector<RecordFault> faults;  // where there are some, the columns are of no use
};

// The objects of a document; `shapes` are those of its segmentations. Objects without a box of their own are not
// bounded yet.
ResolvedObjects resolve(const Document& document, const SharedColumns& shared, const IdTables& tables,
                        const std::shared_ptr<const LazyShapes>& shapes, BoxLayout layout, unsigned threads,
                        std::size_t most);

// Ids that occur, ascending, each once.
std::vector<std::int64_t> distinct(std::span<const std::int64_t> ids);
std::vector<std::string> distinct(const RaggedColumn<char>& texts);

}  // namespace verite::json
