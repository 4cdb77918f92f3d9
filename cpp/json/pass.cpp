#include "json/pass.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

namespace verite::json {

namespace {

std::string say_twice(std::string_view key) {
    constexpr std::size_t most_shown = 60;
    return std::string("\"")
        .append(key.substr(0, most_shown))
        .append(key.size() > most_shown ? "...\"" : "\"")
        .append(" twice");
}

template <class Table>
std::string list_names(unsigned fields) {
    std::string text;
    for (unsigned i = 0; i < Table::names.size(); ++i)
        if (fields & field_bit(i)) text.append(text.empty() ? "" : ", ").append(Table::names[i]);
    return text;
}

DocumentSection section_named(std::string_view key) {
    if (key == "images") return DocumentSection::images;
    if (key == "categories") return DocumentSection::categories;
    if (key == "annotations") return DocumentSection::annotations;
    return DocumentSection::none;
}

// Whether the byte before `at`, blanks aside, is one that stands before an element of an array.
bool is_element(const char* at, const char* begin) {
    constexpr std::string_view blanks = " \t\r\n";
    while (at > begin && blanks.find(at[-1]) != std::string_view::npos) --at;
    return at > begin && (at[-1] == ',' || at[-1] == '[');
}

}  // namespace

void Pass::open(Document& into) {
    open_at({}, into);
    until_defect([&] { read_opening(); });
}

void Pass::open_at(const Position& position, Document& into) {
    out_ = &into;
    in_.at = in_.at_byte(position.byte);
    in_.depth = depth_of_records();
    section_ = position.section;
    is_at_end_ = position.is_at_end;
    is_in_record_ = false;
    field_ = {};
    stop_.reset();
}

bool Pass::guess(std::size_t first, std::size_t last, Document& into) {
    const char* limit = std::min(in_.at_byte(last), in_.end());
    const char* at = in_.at_byte(first);
    while (at < limit) {
        at = static_cast<const char*>(std::memchr(at, '{', static_cast<std::size_t>(limit - at)));
        if (!at) return false;
        if (!is_element(at, in_.begin())) {
            ++at;
            continue;
        }
        open_at({in_.byte_at(at), DocumentSection::none, false}, into);
        const char* end = at;
        if (reads_as(DocumentSection::annotations, at, end) ||
            (!into.is_results && reads_as(DocumentSection::images, at, end)))
            return true;
        at = end;  // what is inside a wrong one is no better, and trying it would take long
    }
    return false;
}

// Reads a record on trial and leaves no trace but the section. `end` is where it ends or fails.
bool Pass::reads_as(DocumentSection section, const char* record, const char*& end) {
    section_ = section;
    until_defect([&] {
        if (section == DocumentSection::images)
            read_record(out_->images, image_layout_);
        else
            read_record(out_->annotations, annotation_layout_);
    });
    // Any object with an id would pass for an image.
    constexpr FieldSet typical = field_bit(Images::file_name) | field_bit(Images::width) | field_bit(Images::height);
    const bool is_likely = section == DocumentSection::annotations || (out_->images.presence.some & typical);
    const bool has_read = !stop_ && is_likely;
    end = std::max(in_.at, record + 1);
    out_->clear();
    open_at({in_.byte_at(record), section, false}, *out_);
    return has_read;
}

void Pass::run(std::size_t limit) {
    const std::size_t end = in_.byte_at(in_.end());
    const char* stop_at = in_.at_byte(std::min(limit, end + 1));  // beyond the end, nothing but the end stops
    until_defect([&] {
        while (!is_at_end_ && in_.at < stop_at) {
            read_section(stop_at);
            if (section_ == DocumentSection::none && !is_at_end_) read_up_to_section();
        }
    });
}

template <class Function>
void Pass::until_defect(Function&& function) {
    try {
        function();
    } catch (const Defect& defect) {
        stop_ = Halt{in_.is_last(), defect, section_, current_record(), field_};
    }
}

std::int64_t Pass::current_record() const {
    std::size_t count = 0;
    switch (section_) {
        case DocumentSection::none:
            return -1;
        case DocumentSection::images:
            count = out_->images.count;
            break;
        case DocumentSection::categories:
            count = out_->categories.count;
            break;
        case DocumentSection::annotations:
            count = out_->annotations.count;
            break;
    }
    return static_cast<std::int64_t>(count) - !is_in_record_;
}

void Pass::read_opening() {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    if (std::string_view(in_.at, in_.end()).starts_with(byte_order_mark)) in_.at += byte_order_mark.size();
    in_.skip_blanks();
    if (in_.at == in_.end()) throw Defect{Fault::empty, 0, "a whole JSON document", "the file is empty"};
    in_.depth = 1;
    if (in_.skip_if('[')) {
        out_->is_results = true;
        return enter_section(DocumentSection::annotations);
    }
    if (*in_.at != '{') in_.fail_expected(Fault::type, "an object with sections or an array of results");
    ++in_.at;
    in_.skip_blanks();
    if (in_.skip_if('}')) return finish_document();
    read_member();
    read_up_to_section();
}

// Starts behind a member of the top-level object.
void Pass::read_up_to_section() {
    while (section_ == DocumentSection::none && !is_at_end_) {
        in_.skip_blanks();
        if (in_.skip_if('}')) return finish_document();
        in_.expect(',', "',' or '}'");
        in_.skip_blanks();
        read_member();
    }
}

// Reads a key of the top-level object, and its value unless that is a section with records.
void Pass::read_member() {
    const char* start = in_.at;
    const std::string key = in_.read_key();
    if (!out_->keys.insert(key).second) {
        in_.fail_at(start, Fault::repeated_key, "each key once", say_twice(key));
    }
    const DocumentSection section = section_named(key);
    if (section == DocumentSection::none) return in_.skip_value();
    if (*in_.at != '[') in_.fail_expected(Fault::type, "an array of " + key);
    ++in_.at;
    enter_section(section);
}

// Starts behind the '[' of a section.
void Pass::enter_section(DocumentSection section) {
    section_ = section;
    in_.depth = depth_of_records();
    in_.skip_blanks();
    if (in_.skip_if(']')) leave_section();
}

void Pass::leave_section() {
    section_ = DocumentSection::none;
    in_.depth = 1;
    if (out_->is_results) finish_document();
}

void Pass::finish_document() {
    in_.skip_blanks();
    if (in_.at < in_.end() || !in_.is_last()) in_.fail_expected(Fault::syntax, "nothing after the end of the document");
    is_at_end_ = true;
}

void Pass::read_section(const char* limit) {
    switch (section_) {
        case DocumentSection::none:
            return;
        case DocumentSection::images:
            return read_records(out_->images, image_layout_, limit);
        case DocumentSection::categories:
            return read_records(out_->categories, category_layout_, limit);
        case DocumentSection::annotations:
            return read_records(out_->annotations, annotation_layout_, limit);
    }
}

template <class Table>
void Pass::read_records(Table& table, Layout& layout, const char* limit) {
    while (in_.at < limit) {
        read_record(table, layout);
        in_.skip_blanks();
        if (in_.skip_if(']')) return leave_section();
        in_.expect(',', "',' or ']' after a record");
        in_.skip_blanks();
    }
}

template <class Table>
void Pass::read_record(Table& table, Layout& layout) {
    is_in_record_ = true;
    const char* start = in_.at;
    const char* at = start;  // in a register, while in_.at lags behind unless something slow happens
    const bool may_be_quick = in_.has_room_before();
    unsigned seen = 0, present = 0;
    for (std::size_t step = 0;; ++step) {
        Layout::Field field;
        if (const char* value = layout.match(step, at, field)) [[likely]] {
            at = value;
        } else {
            in_.at = at;
            field = layout.learn(step, in_, Table::names, &other_keys_);
            at = in_.at;
        }
        if (field == Layout::end_of_object) break;
        if (field == Layout::unknown) {
            in_.at = at;
            skip_unknown();
            at = in_.at;
            continue;
        }
        const unsigned bit = field_bit(field);
        if (seen & bit) [[unlikely]]
            in_.fail_at(at, Fault::repeated_key, "each key once", say_twice(Table::names[field]));
        seen |= bit;
        const char* end = may_be_quick ? table.read_quickly(at, field) : nullptr;
        if (end) [[likely]] {
            present |= bit;
            at = end;
        } else {
            in_.at = at;
            field_ = Table::names[field];
            if (read_value(table, field)) present |= bit;
            field_ = {};
            at = in_.at;
        }
    }
    in_.at = at;
    if (const unsigned missing = Table::needed & ~present) [[unlikely]] {
        in_.fail_at(start, Fault::missing_key, "the key " + list_names<Table>(missing), "none");
    }
    table.presence.add(table.count, static_cast<FieldSet>(present));
    ++table.count;
    is_in_record_ = false;
}

void Pass::skip_unknown() {
    in_.skip_blanks();
    in_.skip_value();
    in_.check_horizon();
}

// Reads any value of a known field. False if it is as good as absent.
template <class Table>
bool Pass::read_value(Table& table, unsigned field) {
    in_.skip_blanks();
    if (*in_.at != 'n') return table.read(in_, field);
    in_.expect_word("null");
    return false;
}

}  // namespace verite::json
