#include "json/records.hpp"

#include <algorithm>
#include <string>

namespace verite::json {

void Presence::append(const Presence& other) {
    fields.append(other.fields.values());
    every &= other.every;
    some |= other.some;
}

void Presence::clear() {
    fields.clear();
    every = static_cast<FieldSet>(~0u);
    some = 0;
}

void Ids::settle(Kind found, const char* start, const Scanner& in) {
    if (kind != Kind::none && kind != found)
        in.fail_at(start, Fault::mixed_ids,
                   found == Kind::text ? "a number as in the records before" : "text as in the records before",
                   found == Kind::text ? "text" : "a number");
    kind = found;
}

void Ids::read(Scanner& in, std::size_t record) {
    const char* start = in.at;
    if (*start == '"') {
        settle(Kind::text, start, in);
        text.pad(record);
        in.read_string(text.values);
        text.end_row();
    } else {
        const std::int64_t number = in.read_integer();
        settle(Kind::numbers, start, in);
        numbers.put(record, number);
    }
}

void Ids::append(const Ids& other, std::size_t first_record) {
    if (other.kind == Kind::none) return;
    kind = other.kind;
    if (kind == Kind::text) {
        text.append(other.text, first_record);
    } else {
        numbers.pad(first_record);
        numbers.append(other.numbers.values());
    }
}

void Ids::finish(std::size_t records) {
    if (kind == Kind::numbers) numbers.pad(records);
    if (kind == Kind::text) text.pad(records);
    numbers.shrink();
    text.shrink();
}

void Ids::clear() {
    kind = Kind::none;
    numbers.clear();
    text.clear();
}

bool Annotations::read(Scanner& in, unsigned field) {
    switch (field) {
        case image_id:
            image_ids.read(in, count);
            return true;
        case category_id:
            category_ids.put(count, in.read_integer());
            return true;
        case bbox:
            return read_box(in);
        case score:
            scores.put(count, in.read_double(Constants::allowed));
            return true;
        case area:
            areas.put(count, in.read_double(Constants::allowed));
            return true;
        case iscrowd:
            crowds.put(count, in.read_flag());
            return true;
        case ignore:
            ignores.put(count, in.read_flag());
            return true;
        case id:
            ids.read(in, count);
            return true;
        case keypoints:
            return read_keypoints(in);
        case num_keypoints:
            labelled.put(count, in.read_integer());
            return true;
        case obb:
            return read_turned_box(in, "obb");
        case rotated:
            return read_turned_box(in, "rotated");
        default:
            read_region(in);
            return true;
    }
}

void Annotations::reserve(std::size_t records) {
    const auto visit_used = [this](auto&& visit) {
        const auto visit_if_used = [&](auto& column) {
            if (column.rows() > 0) visit(column);
        };
        visit_columns([&](auto column) { visit_if_used(this->*column); });
        visit_ids([&](auto column) { visit_if_used((this->*column).numbers); });
        visit_if_used(presence.fields);
    };
    std::size_t bytes = 0;
    visit_used([&](auto& column) { bytes += column.bytes_for(records); });
    constexpr std::size_t most_shared = std::size_t{16} << 20;  // large columns can better be freed one by one
    if (bytes > most_shared) return visit_used([&](auto& column) { column.reserve(records); });
    const auto block = make_shared_block(bytes);
    char* room = block.get();
    visit_used([&](auto& column) {
        column.move_to(block, room, records);
        room += column.bytes_for(records);
    });
}

// An empty list is what pycocotools takes for "no box".
bool Annotations::read_box(Scanner& in) {
    if (*in.at != '[') in.fail_expected(Fault::type, "an array of 4 numbers");
    ++in.at;
    in.skip_blanks();
    if (in.skip_if(']')) return false;
    double upright[4];
    double* box = angles.rows() > count ? upright : boxes.place(count);  // the one with an angle stays
    for (int i = 0; i < 4; ++i) {
        if (i > 0) {
            if (*in.at == ']') in.fail(Fault::type, "4 numbers in bbox", std::to_string(i));
            in.expect(',', "','");
            in.skip_blanks();
        }
        box[i] = in.read_double(Constants::allowed);
        in.skip_blanks();
    }
    if (in.skip_if(',')) {
        in.skip_blanks();
        const double angle = in.read_double(Constants::allowed);
        if (box != upright) angles.put(count, angle);
        in.skip_blanks();
        if (*in.at == ',') in.fail(Fault::type, "4 numbers in bbox, or 5 of a rotated box", "more");
    }
    in.expect(']', "']'");
    boxes.extend_to(count);
    return true;
}

// Centre, width, height and angle; whatever bbox says besides.
bool Annotations::read_turned_box(Scanner& in, const char* key) {
    const char* start = in.at;
    if (*in.at != '[') in.fail_expected(Fault::type, "an array of 5 numbers");
    ++in.at;
    in.skip_blanks();
    if (in.skip_if(']')) return false;
    double numbers[5];
    int found = 0;
    do {
        in.skip_blanks();
        const double number = in.read_double(Constants::allowed);
        if (found < 5) numbers[found] = number;
        ++found;
        in.skip_blanks();
    } while (in.skip_if(','));
    in.expect(']', "',' or ']'");
    if (found != 5) in.fail_at(start, Fault::type, std::string("5 numbers in ") + key, std::to_string(found));
    std::copy_n(numbers, 4, boxes.place(count));
    boxes.extend_to(count);
    angles.put(count, numbers[4]);
    return true;
}

// Numbers in threes with at most one blank behind each comma; null, and nothing kept, for any other. Commas are found
// for many numbers at once, so that no number waits until the one before has ended.
const char* Annotations::read_keypoints_quickly(const char* at) {
    constexpr std::size_t most_numbers = 33;  // before and behind the commas of 64 bytes
    if (*at != '[') return nullptr;
    points.pad(count);
    const std::size_t before = points.values.rows();
    const auto behind_blank = [](const char* place) { return *place == ' ' ? place + 1 : place; };
    const char* start = behind_blank(at + 1);
    const char* end = nullptr;
    do {
        double* room = points.values.extend(most_numbers);
        std::size_t found = 0;
        const char* window = start;
        for (std::uint64_t commas = find_commas(window);; commas &= commas - 1) {
            const char* comma = window + std::countr_zero(commas);
            const auto length = static_cast<std::size_t>(comma - start);
            if (commas && length - 1 < 8 && read_short_magnitude(start, static_cast<unsigned>(length), room[found])) {
                end = comma;
            } else {
                end = quick_double(start, room[found]);
                if (end != comma || !commas) break;
            }
            ++found;
            start = behind_blank(comma + 1);
        }
        points.values.keep_more(found + (end && *end == ']'));
    } while (end && *end == ',');
    if (!end || *end != ']' || (points.values.rows() - before) % 3 != 0) {
        points.values.cut(before);
        return nullptr;
    }
    points.end_row();
    return end + 1;
}

bool Annotations::read_keypoints(Scanner& in) {
    const char* start = in.at;
    if (*in.at != '[') in.fail_expected(Fault::type, "an array of numbers");
    ++in.at;
    in.skip_blanks();
    if (in.skip_if(']')) return false;
    points.pad(count);
    std::size_t found = 0;
    do {
        in.skip_blanks();
        points.values.push(in.read_double(Constants::allowed));
        ++found;
        in.skip_blanks();
    } while (in.skip_if(','));
    in.expect(']', "',' or ']'");
    if (found % 3 != 0)
        in.fail_at(start, Fault::type, "x, y and visibility of each keypoint", std::to_string(found) + " numbers");
    points.end_row();
    return true;
}

// Only notes what and where it is: most readers never ask for it.
void Annotations::read_region(Scanner& in) {
    const char* start = in.at;
    auto kind = SegmentationKind::runs;
    if (*in.at == '[') {
        ++in.at;
        in.skip_blanks();
        if (*in.at != ']' && *in.at != '[') in.fail_expected(Fault::type, "polygons as an array of arrays");
        kind = *in.at == ']' ? SegmentationKind::empty : SegmentationKind::polygons;
        in.at = start;
    } else if (*in.at != '{') {
        in.fail_expected(Fault::type, "polygons (an array) or runs (an object)");
    }
    in.skip_value();
    region_kinds.put(count, kind);
    region_bytes.put(count, in.byte_at(start));
    region_lengths.put(count, static_cast<std::uint64_t>(in.at - start));
}

bool Images::read(Scanner& in, unsigned field) {
    switch (field) {
        case id:
            ids.read(in, count);
            return true;
        case file_name:
            file_names.pad(count);
            in.read_string(file_names.values);
            file_names.end_row();
            return true;
        case width:
            widths.put(count, in.read_integer());
            return true;
        case height:
            heights.put(count, in.read_integer());
            return true;
        case neg_category_ids:
            read_classes(in, negatives);
            return true;
        default:
            read_classes(in, not_exhaustives);
            return true;
    }
}

void Images::read_classes(Scanner& in, RaggedColumn<std::int64_t>& classes) {
    if (*in.at != '[') in.fail_expected(Fault::type, "an array of category ids");
    ++in.at;
    classes.pad(count);
    in.skip_blanks();
    if (!in.skip_if(']')) {
        for (;;) {
            classes.values.push(in.read_integer());
            in.skip_blanks();
            if (in.skip_if(']')) break;
            in.expect(',', "',' or ']'");
            in.skip_blanks();
        }
    }
    classes.end_row();
}

bool Categories::read(Scanner& in, unsigned field) {
    const auto read_text = [&](RaggedColumn<char>& column) {
        column.pad(count);
        in.read_string(column.values);
        column.end_row();
    };
    const auto keep_value = [&](RaggedColumn<char>& column) {
        const char* start = in.at;
        in.skip_value();
        column.pad(count);
        column.values.append({start, static_cast<std::size_t>(in.at - start)});
        column.end_row();
    };
    switch (field) {
        case id:
            ids.put(count, in.read_integer());
            return true;
        case name:
            read_text(labels);
            return true;
        case supercategory:
            read_text(supercategories);
            return true;
        case keypoints:
            keep_value(keypoint_names);
            return true;
        case skeleton:
            keep_value(bones);
            return true;
        case sigmas:
            keep_value(spreads);
            return true;
        default: {
            const char* start = in.at;
            const std::string text = in.read_string();
            if (text != "r" && text != "c" && text != "f")
                in.fail_at(start, Fault::type, "frequency \"r\", \"c\" or \"f\"", "\"" + text.substr(0, 20) + "\"");
            frequencies.put(count, text[0]);
            return true;
        }
    }
}

}  // namespace verite::json
