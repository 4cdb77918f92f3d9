// The objects of one side of an evaluation, truth and predictions alike, and the images they are in: columns that
// nobody writes to. They come from a file, from numpy or from a pickle, and nobody can tell.
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

// What the four numbers of a box are: x1, y1, x2, y2 or left, top, width, height.
enum class BoxLayout : std::uint8_t { corners, sizes };

inline constexpr std::string_view name_of(BoxLayout layout) { return layout == BoxLayout::corners ? "xyxy" : "xywh"; }

// What an object has best.
enum class RegionKind : std::uint8_t { box, polygon, mask };

struct Regions {
    View<double> boxes;  // four numbers each, as they were given
    BoxLayout layout = BoxLayout::corners;
    View<std::uint8_t> kinds;                  // a RegionKind each; absent: boxes all
    View<std::uint8_t> boxed;                  // came with a box of its own; absent: all did
    std::shared_ptr<const LazyShapes> shapes;  // null: boxes all
    RaggedView<double> keypoints;              // x, y and visibility of each point; absent: nobody has any

    std::size_t count() const { return boxes.size() / 4; }
    RegionKind kind(std::size_t i) const { return kinds ? static_cast<RegionKind>(kinds[i]) : RegionKind::box; }
    bool has_keypoints(std::size_t i) const { return keypoints && !keypoints[i].empty(); }
};

// What a file may say about an object besides where and what it is. `unscored`: a prediction without a confidence among
// others that have one.
enum class Flag : std::uint8_t { ignore, crowd, difficult, group_of, truncated, occluded, depiction, inside, unscored };
inline constexpr std::array<std::string_view, 9> flag_names{
    "ignore", "crowd", "difficult", "group_of", "truncated", "occluded", "depiction", "inside", "unscored"};

struct Columns {
    Regions regions;
    View<std::int32_t> image, label;                          // positions in the tables of images and labels
    View<double> confidence, area;                            // the area as stated; NaN where it is not
    View<std::int64_t> ids;                                   // of objects
    std::array<View<std::uint8_t>, flag_names.size()> flags;  // absent where nobody carries it
    View<std::int32_t> labelled;  // keypoints that are said to be labelled; -1 where nobody says

    std::size_t count() const { return image.size(); }
    const View<std::uint8_t>& flag(Flag which) const { return flags[static_cast<std::size_t>(which)]; }
};

// The pictures: names or ids may be absent, not both; a size of 0 x 0 is not known.
struct Images {
    View<std::int64_t> ids;
    RaggedView<char> names;  // UTF-8
    View<std::int32_t> widths, heights;

    std::size_t count() const { return widths.size(); }

    // Is the size of every image known?
    bool is_sized() const {
        for (std::size_t i = 0; i < count(); ++i)
            if (widths[i] <= 0 || heights[i] <= 0) return false;
        return true;
    }
};

// These objects, in this order. Throws std::out_of_range for a row that is none.
Regions take(const Regions& regions, View<std::int64_t> rows);
Columns take(const Columns& columns, View<std::int64_t> rows);

// Boxes and polygons of object i stretched by factors[2 i] and factors[2 i + 1]. Masks are made of pixels and stay.
Regions scale(const Regions& regions, View<double> factors);

// With boxes around the polygon, mask or keypoints of those that came without one; zeros around an empty mask.
Regions bound(const Regions& regions, unsigned threads);

// Positions of images and labels replaced by what stands at them in a table; an absent table leaves them. Throws
// std::out_of_range where there is nothing.
Columns move(const Columns& columns, const View<std::int32_t>& images, const View<std::int32_t>& labels);

// The objects whose label has a new one in a table, with it; those of the others, -1, are left out.
Columns only(const Columns& columns, const View<std::int32_t>& labels);

// Corners or left, top, width and height, whatever was given.
View<double> boxes_as(const Regions& regions, BoxLayout layout);

// The most keypoints that an object of each label has.
std::vector<std::int64_t> count_keypoints(const Columns& columns, std::size_t labels);

// What each object of these shapes has best; absent where all are boxes.
View<std::uint8_t> kinds_of(const Shapes& shapes, std::size_t count);

// The rank of each image by its id, or else by its name, equal ones in their order; absent where they rise already.
View<std::int32_t> rank(const Images& images);

}  // namespace verite
