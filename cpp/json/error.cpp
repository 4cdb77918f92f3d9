#include "json/error.hpp"

#include <algorithm>

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

namespace {

std::size_t line_of(std::size_t byte, std::span<const char> text) {
    const auto before = text.first(std::min(byte, text.size()));
    return static_cast<std::size_t>(1 + std::count(before.begin(), before.end(), '\n'));
}

std::string path_of(const Location& where) {
    std::string path = where.section;
    if (where.record >= 0) path.append("[").append(std::to_string(where.record)).append("]");
    if (!where.field.empty()) path.append(".").append(where.field);
    return path;
}

std::string sentence_of(const Defect& defect, const Location& where, std::size_t line) {
    const std::string path = path_of(where), byte = std::to_string(defect.byte);
    std::string sentence;
    if (defect.fault == Fault::truncated)
        return sentence.append("the file ends at byte ")
            .append(byte)
            .append(" inside ")
            .append(path.empty() ? "the document" : path);
    if (!path.empty()) sentence.append(path).append(": ");
    return sentence.append(defect.message)
        .append(" (byte ")
        .append(byte)
        .append(", line ")
        .append(std::to_string(line))
        .append(")");
}

}  // namespace

ParseError::ParseError(const Defect& defect, Location where, std::span<const char> text)
    : std::invalid_argument(sentence_of(defect, where, line_of(defect.byte, text))),
      fault_(defect.fault),
      byte_(defect.byte),
      line_(line_of(defect.byte, text)),
      where_(std::move(where)) {}

}  // namespace verite::json
