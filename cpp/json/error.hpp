// Errors in COCO JSON files: their kind, the byte, and the record and field they are in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace verite::json {

enum class Fault : std::uint8_t {
    empty,         // no document at all
    truncated,     // the file ends inside the document
    syntax,        // not JSON
    encoding,      // not UTF-8, or half of a surrogate pair
    depth,         // nested too deeply
    number,        // a number that its field cannot hold
    type,          // a value of another kind than its field wants
    missing_key,   // a needed key is absent or null
    repeated_key,  // a key twice in one object
    mixed_ids,     // numbers and text in one column of ids
    limit,         // larger than the limits of the reader
    run_sum,       // runs that do not fill their image
    ring_points,   // a polygon ring with too few or an odd number of coordinates
};

std::string_view name_of(Fault fault);

// A fault as the scanner meets it, before its record is known.
struct Defect {
    Fault fault;
    std::size_t byte;
    std::string expected, found;
};

// Which record it belongs to.
struct Location {
    std::string section;       // "images", "categories", "annotations", "results", or "" between them
    std::int64_t record = -1;  // counted from 0; -1 outside of records
    std::string_view field;    // "" outside of known fields
};

// A fault with all that is known of it, in fields: the message is worded by the caller, who also knows the file.
class ParseError : public std::invalid_argument {
  public:
    ParseError(Defect defect, Location where)
        : std::invalid_argument("not a COCO file"), defect(std::move(defect)), where(std::move(where)) {}

    Defect defect;
    Location where;
    std::size_t line = 0;  // counted from 1; set by the caller, who has the text
    std::string path;      // of the file, where it is read once more

    // `annotations[17].bbox: expected 4 numbers, found 3 (byte 1234, line 1)`.
    std::string sentence() const;
};

// `annotations[17].bbox`; empty outside of records.
std::string path_of(const Location& where);

}  // namespace verite::json
