#include "json/layout.hpp"

#include <algorithm>
#include <string>

namespace verite::json {

namespace {

constexpr std::size_t most_others = 1000, longest_other = 64;  // keys kept, of any file

Layout::Field read_key(bool is_first, Scanner& in, std::span<const std::string_view> names,
                       std::set<std::string>* others) {
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
    if (found != names.end()) return static_cast<Layout::Field>(found - names.begin());
    if (others && others->size() < most_others && key.size() <= longest_other) others->insert(key);
    return Layout::unknown;
}

}  // namespace

Layout::Field Layout::learn(std::size_t step, Scanner& in, std::span<const std::string_view> names,
                            std::set<std::string>* others) {
    const char* start = in.at;
    const Field field = read_key(step == 0, in, names, others);
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
