// One pass of the COCO reader over a piece of a file: from its start or from a record up to a record beyond a limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "json/document.hpp"
#include "json/layout.hpp"
#include "json/scan.hpp"

namespace verite::json {

enum class DocumentSection : std::uint8_t { none, images, categories, annotations };

// Where a reading stands: at the first byte of a record of some section, or at the end of the document.
struct Position {
    std::size_t byte = 0;
    DocumentSection section = DocumentSection::none;
    bool is_at_end = false;

    bool operator==(const Position&) const = default;
};

// What stopped a pass, and where. The record is counted within the document that the pass wrote to.
struct Halt {
    bool is_certain;  // not if the stretch of the text was too short to tell
    Defect defect;
    DocumentSection section;
    std::int64_t record;
    std::string_view field;
};

class Pass {
  public:
    explicit Pass(int deepest = usual_deepest) : in_({}) { in_.deepest = deepest; }

    // Goes to this byte of this stretch, which is what the pass sees from now on.
    void look_at(const Stretch& text, std::size_t byte) { in_.look_at(text, byte); }

    // Each of these three ends at a record, at the end of the document, or stopped.
    // Reads all that comes before the first record.
    void open(Document& into);
    // Goes to a place that another pass over the same text has reached.
    void open_at(const Position& position, Document& into);
    // Goes to something in [first, last) that looks like a record. False if there is none.
    bool guess(std::size_t first, std::size_t last, Document& into);

    // From now on, throws TooFar if a record goes on behind `byte`.
    void look_no_further_than(std::size_t byte) { in_.set_horizon(byte); }

    // Reads until a record starts at or behind `limit`, the document ends, or a defect is met. With a limit beyond the
    // end of the stretch, one of the last two.
    void run(std::size_t limit);

    Position position() const { return {in_.byte_at(in_.at), section_, is_at_end_}; }
    const std::optional<Halt>& stop() const { return stop_; }
    // Keys that no table knows, of all records that this pass has read, also on trial.
    const std::set<std::string>& other_keys() const { return other_keys_; }

  private:
    template <class Function>
    void until_defect(Function&& function);
    std::int64_t current_record() const;
    int depth_of_records() const { return out_->is_results ? 2 : 3; }
    bool reads_as(DocumentSection section, const char* record, const char*& end);

    void read_opening();
    void read_up_to_section();
    void read_member();
    void enter_section(DocumentSection section);
    void leave_section();
    void finish_document();

    void read_section(const char* limit);
    template <class Table>
    void read_records(Table& table, Layout& layout, const char* limit);
    template <class Table>
    void read_record(Table& table, Layout& layout);
    template <class Table>
    bool read_value(Table& table, unsigned field);
    void skip_unknown();

    Scanner in_;
    Document* out_ = nullptr;
    DocumentSection section_ = DocumentSection::none;
    bool is_in_record_ = false;
    std::string_view field_;
    bool is_at_end_ = false;
    std::optional<Halt> stop_;
    Layout image_layout_, category_layout_, annotation_layout_;
    std::set<std::string> other_keys_;
};

}  // namespace verite::json
