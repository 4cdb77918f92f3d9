#include "json/error.hpp"

namespace verite::json {

std::string_view name_of(Fault fault) {
    switch (fault) {
        case Fault::empty:
            return "empty";
        case Fault::truncated:
            return "truncated";
        case Fault::syntax:
            return "syntax";
        case Fault::encoding:
            return "encoding";
        case Fault::depth:
            return "depth";
        case Fault::number:
            return "number";
        case Fault::type:
            return "type";
        case Fault::missing_key:
            return "missing_key";
        case Fault::repeated_key:
            return "repeated_key";
        case Fault::mixed_ids:
            return "mixed_ids";
        case Fault::limit:
            return "limit";
        case Fault::run_sum:
            return "run_sum";
        case Fault::ring_points:
            return "ring_points";
    }
    return "unknown";
}

std::string path_of(const Location& where) {
    std::string path = where.section;
    if (where.record >= 0) path.append("[").append(std::to_string(where.record)).append("]");
    if (!where.field.empty()) path.append(".").append(where.field);
    return path;
}

std::string ParseError::sentence() const {
    const std::string place = path_of(where), byte = std::to_string(defect.byte);
    if (defect.fault == Fault::truncated)
        return "the file ends at byte " + byte + " inside " + (place.empty() ? "the document" : place);
    return (place.empty() ? "" : place + ": ") + "expected " + defect.expected + ", found " + defect.found + " (byte " +
           byte + ", line " + std::to_string(line) + ")";
}

}  // namespace verite::json
