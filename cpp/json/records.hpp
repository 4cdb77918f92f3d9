// Images, categories and annotations of a COCO file, each a table of columns that parses its own fields.
//
// A table says which keys it knows (`names`), which of them every record needs (`needed`), and reads the value of one
// key into the row being built: `read` takes every value there is (false means that it counts as absent),
// `read_quickly` only the most common spellings, and answers null for the others. Null counts as absent.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "columns/columns.hpp"
#include "json/layout.hpp"
#include "json/scan.hpp"

namespace verite::json {

using FieldSet = std::uint16_t;  // one bit per field, in the order of a table's names

constexpr FieldSet field_bit(unsigned field) { return static_cast<FieldSet>(1u << field); }

// Which fields the records of a table have.
struct Presence {
    Column<FieldSet> fields;  // by record
    FieldSet every = static_cast<FieldSet>(~0u), some = 0;

    void add(std::size_t record, FieldSet present) {
        fields.put(record, present);
        every &= present;
        some |= present;
    }
    void append(const Presence& other);
    void clear();
};

inline const char* read_integer_quickly(const char* at, Column<std::int64_t>& column, std::size_t record) {
    std::int64_t value;
    const char* end = quick_integer(at, value);
    if (end) column.put(record, value);
    return end;
}

inline const char* read_double_quickly(const char* at, Column<double>& column, std::size_t record) {
    double value;
    const char* end = quick_double(at, value);
    if (end) column.put(record, value);
    return end;
}

// 0 or 1, as a comma or the end of the record shows.
inline const char* read_digit_quickly(const char* at, Column<std::uint8_t>& column, std::size_t record) {
    if ((*at != '0' && *at != '1') || (at[1] != ',' && at[1] != '}')) return nullptr;
    column.put(record, static_cast<std::uint8_t>(*at - '0'));
    return at + 1;
}

// Identifiers: all numbers or all text.
class Ids {
  public:
    enum class Kind : std::uint8_t { none, numbers, text };

    Kind kind = Kind::none;
    Column<std::int64_t> numbers;
    RaggedColumn<char> text;

    void read(Scanner& in, std::size_t record);
    const char* read_quickly(const char* at, std::size_t record) {
        return kind == Kind::numbers ? read_integer_quickly(at, numbers, record) : nullptr;
    }
    bool agrees_with(const Ids& other) const {
        return kind == other.kind || kind == Kind::none || other.kind == Kind::none;
    }
    void append(const Ids& other, std::size_t first_record);
    void finish(std::size_t records);
    void clear();

  private:
    void settle(Kind found, const char* start, const Scanner& in);
};

enum class SegmentationKind : std::uint8_t { absent, empty, polygons, runs };

// Objects: annotations or results.
struct Annotations {
    enum Field : unsigned {
        image_id,
        category_id,
        bbox,
        score,
        area,
        iscrowd,
        ignore,
        id,
        segmentation,
        keypoints,
        num_keypoints,
        obb,
        rotated
    };
    static constexpr std::array<std::string_view, 13> names{
        "image_id", "category_id",  "bbox",      "score",         "area", "iscrowd", "ignore",
        "id",       "segmentation", "keypoints", "num_keypoints", "obb",  "rotated"};
    static constexpr FieldSet needed = field_bit(image_id) | field_bit(category_id);

    std::size_t count = 0;
    Presence presence;
    Ids image_ids, ids;
    Column<std::int64_t> category_ids;
    Column<double, 4> boxes;  // x, y, width, height, as written
    Column<double> angles;    // the fifth number of those that have five, in bbox, obb or rotated
    Column<double> scores, areas;
    Column<std::uint8_t> crowds, ignores;
    Column<SegmentationKind> region_kinds;
    Column<std::uint64_t> region_bytes, region_lengths;  // where in the file each segmentation is
    RaggedColumn<double> points;                         // x, y and visibility of each keypoint, as written
    Column<std::int64_t> labelled;                       // how many of them are labelled, as the file says

    bool read(Scanner& in, unsigned field);
    const char* read_quickly(const char* at, unsigned field);
    // Makes room for this number of records in the columns that are in use.
    void reserve(std::size_t records);

    template <class Visit>
    static void visit_columns(Visit&& visit) {
        visit(&Annotations::category_ids);
        visit(&Annotations::boxes);
        visit(&Annotations::scores);
        visit(&Annotations::areas);
        visit(&Annotations::crowds);
        visit(&Annotations::ignores);
        visit(&Annotations::region_kinds);
        visit(&Annotations::region_bytes);
        visit(&Annotations::region_lengths);
        visit(&Annotations::labelled);
        visit(&Annotations::angles);
    }
    template <class Visit>
    static void visit_ids(Visit&& visit) {
        visit(&Annotations::image_ids);
        visit(&Annotations::ids);
    }
    template <class Visit>
    static void visit_ragged(Visit&& visit) {
        visit(&Annotations::points);
    }

  private:
    bool read_box(Scanner& in);
    bool read_turned_box(Scanner& in, const char* key);
    bool read_keypoints(Scanner& in);
    const char* read_keypoints_quickly(const char* at);
    void read_region(Scanner& in);
};

struct Images {
    enum Field : unsigned { id, file_name, width, height, neg_category_ids, not_exhaustive_category_ids };
    static constexpr std::array<std::string_view, 6> names{"id",     "file_name",        "width",
                                                           "height", "neg_category_ids", "not_exhaustive_category_ids"};
    static constexpr FieldSet needed = field_bit(id);

    std::size_t count = 0;
    Presence presence;
    Ids ids;
    RaggedColumn<char> file_names;
    Column<std::int64_t> widths, heights;
    RaggedColumn<std::int64_t> negatives,
        not_exhaustives;  // LVIS: classes known to be absent, classes not annotated in full

    // 0 where the file does not say.
    std::int64_t width_of(std::size_t image) const { return widths.rows() ? widths[image] : 0; }
    std::int64_t height_of(std::size_t image) const { return heights.rows() ? heights[image] : 0; }

    bool read(Scanner& in, unsigned field);
    const char* read_quickly(const char* at, unsigned field);

    template <class Visit>
    static void visit_columns(Visit&& visit) {
        visit(&Images::widths);
        visit(&Images::heights);
    }
    template <class Visit>
    static void visit_ids(Visit&& visit) {
        visit(&Images::ids);
    }
    template <class Visit>
    static void visit_ragged(Visit&& visit) {
        visit(&Images::file_names);
        visit(&Images::negatives);
        visit(&Images::not_exhaustives);
    }

  private:
    void read_classes(Scanner& in, RaggedColumn<std::int64_t>& classes);
};

struct Categories {
    enum Field : unsigned { id, name, supercategory, frequency, keypoints, skeleton, sigmas };
    static constexpr std::array<std::string_view, 7> names{"id",        "name",     "supercategory", "frequency",
                                                           "keypoints", "skeleton", "sigmas"};
    static constexpr FieldSet needed = field_bit(id);

    std::size_t count = 0;
    Presence presence;
    Column<std::int64_t> ids;
    RaggedColumn<char> labels, supercategories;
    Column<char> frequencies;                           // LVIS: 'r'are, 'c'ommon, 'f'requent
    RaggedColumn<char> keypoint_names, bones, spreads;  // keypoints, skeleton and sigmas: JSON, as written

    bool read(Scanner& in, unsigned field);
    const char* read_quickly(const char*, unsigned) { return nullptr; }

    template <class Visit>
    static void visit_columns(Visit&& visit) {
        visit(&Categories::ids);
        visit(&Categories::frequencies);
    }
    template <class Visit>
    static void visit_ids(Visit&&) {}
    template <class Visit>
    static void visit_ragged(Visit&& visit) {
        visit(&Categories::labels);
        visit(&Categories::supercategories);
        visit(&Categories::keypoint_names);
        visit(&Categories::bones);
        visit(&Categories::spreads);
    }
};

// Reads a box of four common numbers with at most one blank behind each comma; null for any other.
inline const char* quick_box(const char* at, double* box) {
    for (int i = 0; i < 4; ++i) {
        if (*at != (i == 0 ? '[' : ',')) return nullptr;
        ++at;
        if (*at == ' ') [[unlikely]]
            ++at;
        at = quick_double(at, box[i]);
        if (!at) return nullptr;
    }
    return *at == ']' ? at + 1 : nullptr;
}

inline const char* Annotations::read_quickly(const char* at, unsigned field) {
    switch (field) {
        case image_id:
            return image_ids.read_quickly(at, count);
        case category_id:
            return read_integer_quickly(at, category_ids, count);
        case score:
            return read_double_quickly(at, scores, count);
        case area:
            return read_double_quickly(at, areas, count);
        case iscrowd:
            return read_digit_quickly(at, crowds, count);
        case id:
            return ids.read_quickly(at, count);
        case bbox: {
            if (angles.rows() > count) [[unlikely]]
                return nullptr;  // the same box is there with its angle
            const char* end = quick_box(at, boxes.place(count));
            if (end) boxes.extend_to(count);
            return end;
        }
        case keypoints:
            return read_keypoints_quickly(at);
        case num_keypoints:
            return read_integer_quickly(at, labelled, count);
        default:
            return nullptr;
    }
}

inline const char* Images::read_quickly(const char* at, unsigned field) {
    switch (field) {
        case id:
            return ids.read_quickly(at, count);
        case width:
            return read_integer_quickly(at, widths, count);
        case height:
            return read_integer_quickly(at, heights, count);
        default:
            return nullptr;
    }
}

}  // namespace verite::json
