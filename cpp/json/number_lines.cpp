#include "json/number_lines.hpp"

#include <limits>

#include "columns/pause.hpp"
#include "json/numbers.hpp"

namespace verite {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

bool is_line_end(char c) { return c == '\n' || c == '\r'; }

// Reads one number and the blanks around it, and returns where it ends; null where there is none.
const char* read_number(const char* at, const char* end, double& value) {
    while (at < end && is_blank(*at)) ++at;
    const char* last = json::quick_double(at, value);
    if (!last) {
        const json::NumberEnd found = json::end_of_number(at);
        if (!found.is_number) return nullptr;
        last = found.at;
        if (last <= end) value = json::exact_double(at, last);
    }
    if (last > end) return nullptr;
    while (last < end && is_blank(*last)) ++last;
    return last;
}

}  // namespace

NumberLines read_number_lines(const std::string& padded, char separator, std::size_t columns) {
    NumberLines found;
    if (padded.size() < 2 * number_padding) return found;
    const char* at = padded.data() + number_padding;
    const char* const text_end = padded.data() + padded.size() - number_padding;
    std::vector<double> row(columns);
    std::int64_t number = 0;
    Pause pause(1024);
    while (at < text_end) {
        pause();
        ++number;
        const char* end = at;
        bool is_empty = true;
        for (; end < text_end && !is_line_end(*end); ++end) is_empty = is_empty && is_blank(*end);
        const char* next = end;
        if (next < text_end) next += (*next == '\r' && next + 1 < text_end && next[1] == '\n') ? 2 : 1;
        if (!is_empty) {
            std::size_t count = 0;
            const char* place = at;
            bool is_row = true;
            while (is_row) {
                if (count == columns || !(place = read_number(place, end, row[count]))) {
                    is_row = false;
                    break;
                }
                ++count;
                if (place == end) break;
                is_row = *place++ == separator;
            }
            if (is_row) {
                for (std::size_t i = count; i < columns; ++i) row[i] = std::numeric_limits<double>::quiet_NaN();
                found.values.insert(found.values.end(), row.begin(), row.end());
                found.line.push_back(number);
                found.count.push_back(static_cast<std::int32_t>(count));
            } else {
                found.other.push_back(number);
            }
        }
        at = next;
    }
    return found;
}

}  // namespace verite
