#include "json/layout.hpp"

#include <algorithm>
#include <string>

namespace verite::json {

namespace {

Layout::Field read_key(bool is_first, Scanner& in, std::span<const std::string_view> names) {
    in.skip_blanks();
    if (is_first) {
        if (*in.at != '{') in.fail_expected(Fault::type, "an object");
        ++in.at;
        in.skip_blanks();
    }
    if (in.skip_if('}')) return Layout::end_of_object;
    if (!is_first) {
        in.expect(',', "',' or '}'");
        in.skip_blanks();
    }
    const std::string key = in.read_key();
    const auto found = std::find(names.begin(), names.end(), key);
    return found == names.end() ? Layout::unknown : static_cast<Layout::Field>(found - names.begin());
}

}  // namespace

Layout::Field Layout::learn(std::size_t step, Scanner& in, std::span<const std::string_view> names) {
    const char* start = in.at;
    const Field field = read_key(step == 0, in, names);
    if (step >= steps_.size()) return field;
    Step& seen = steps_[step];
    seen = {};
    const auto length = static_cast<std::size_t>(in.at - start);
    if (length > longest) return field;
    std::copy(start, in.at, seen.text.begin());
    seen.length = length;
    seen.field = field;
    return field;
}

}  // namespace verite::json
