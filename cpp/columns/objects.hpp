// The objects of one side of an evaluation (ground truth or predictions) and its images: immutable columns, whether
// they come from a file, from numpy or from a pickle.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "columns/shapes.hpp"
#include "columns/view.hpp"

namespace verite {

// The four numbers of a bounding box: x1, y1, x2, y2 or left, top, width, height.
enum class BoxLayout : std::uint8_t { corners, sizes };

inline constexpr std::string_view name_of(BoxLayout layout) { return layout == BoxLayout::corners ? "xyxy" : "xywh"; }

// The most precise region of an object.
enum class RegionKind : std::uint8_t { box, polygon, mask };

struct Regions {
    View<double> boxes;  // four numbers each, as they were given
    BoxLayout layout = BoxLayout::corners;
    View<std::uint8_t> kinds;                  // a RegionKind each; absent: all are boxes
    View<std::uint8_t> boxed;                  // whether a box was given; absent: all were
    std::shared_ptr<const LazyShapes> shapes;  // null: all are boxes
    RaggedView<double> keypoints;              // x, y and visibility of each point; absent: no object has any

    std::size_t count() const { return boxes.size() / 4; }
    RegionKind kind(std::size_t i) const { return kinds ? static_cast<RegionKind>(kinds[i]) : RegionKind::box; }
    bool has_keypoints(std::size_t i) const { return keypoints && !keypoints[i].empty(); }
};

// Flags of an object, as files state them. `unscored`: a prediction without a confidence among others that have one;
// `ignore_region`: a region in which predictions of every class are ignored.
enum class Flag : std::uint8_t {
    ignore,
    crowd,
    difficult,
    group_of,
    truncated,
    occluded,
    depiction,
    inside,
    unscored,
    ignore_region
};
inline constexpr std::array<std::string_view, 10> flag_names{"ignore",    "crowd",        "difficult", "group_of",
                                                             "truncated", "occluded",     "depiction", "inside",
                                                             "unscored",  "ignore_region"};

struct Columns {
    Regions regions;
    View<std::int32_t> image, label;                          // positions in the tables of images and classes
    View<double> confidence, area;                            // the area as stated; NaN where it is not
    View<std::int64_t> ids;                                   // of objects
    std::array<View<std::uint8_t>, flag_names.size()> flags;  // absent where no object carries it
    View<std::int32_t> labelled;  // number of labelled keypoints as stated; -1 where it is not
    View<std::int64_t> track;     // id of the object's track within its sequence (video); absent: no tracks

    std::size_t count() const { return image.size(); }
    const View<std::uint8_t>& flag(Flag which) const { return flags[static_cast<std::size_t>(which)]; }
};

// Images: names or ids may be absent, not both; sizes in pixels, 0 x 0 where unknown.
struct Images {
    View<std::int64_t> ids;
    RaggedView<char> names;  // UTF-8
    View<std::int32_t> widths, heights;

    std::size_t count() const { return widths.size(); }
};

// Whether the size of every image is known.
bool is_sized(const Images& images);

// These objects, in this order. Throws std::out_of_range for a row that does not exist.
Regions take(const Regions& regions, View<std::int64_t> rows);
Columns take(const Columns& columns, View<std::int64_t> rows);

// Boxes and polygons of object i scaled by factors[2 i] (x) and factors[2 i + 1] (y). Masks stay as they are.
Regions scale(const Regions& regions, View<double> factors);

// With bounding boxes of polygon, mask or keypoints for objects without a box; zeros for an empty mask.
Regions bound(const Regions& regions, unsigned threads);

// Positions of images and classes replaced by those that a table has at them; an absent table changes nothing. Throws
// std::out_of_range for a position beyond the table.
Columns move(const Columns& columns, const View<std::int32_t>& images, const View<std::int32_t>& labels);

// The objects of some classes: `labels` has the new position of each class, -1 for classes that are dropped.
Columns only(const Columns& columns, const View<std::int32_t>& labels);

// Boxes in this layout, converted where they were given in the other.
View<double> boxes_as(const Regions& regions, BoxLayout layout);

// The largest number of keypoints of an object of each class.
std::vector<std::int64_t> count_keypoints(const Columns& columns, std::size_t labels);

// The RegionKind of each object of these shapes; absent where all are boxes.
View<std::uint8_t> kinds_of(const Shapes& shapes, std::size_t count);

// The rank of each image by its id, or else by its name, equal ones in order; absent where they are sorted already.
View<std::int32_t> rank(const Images& images);

}  // namespace verite
