#include "json/runs.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>

namespace verite::json {

namespace {

enum Field : unsigned { size, counts };
constexpr std::array<std::string_view, 2> names{"size", "counts"};

std::string between(std::int64_t least, std::int64_t most) {
    return "from " + std::to_string(least) + " to " + std::to_string(most);
}

// The next run, or its difference to another, of packed text that ends with a zero byte: five bits a character, the
// lowest first, and one that says that more follow; the top bit of the last is the sign. Null if this is not such text.
const char* unpack(const char* at, std::int64_t& value) {
    value = 0;
    for (int shift = 0; shift <= 30; shift += 5) {
        const unsigned bits = static_cast<unsigned char>(*at++) - unsigned{'0'};
        if (bits > 63) return nullptr;
        value |= static_cast<std::int64_t>(bits & 31) << shift;
        if (bits & 32) continue;
        value -= static_cast<std::int64_t>(bits & 16) << (shift + 1);
        return at;
    }
    return nullptr;
}

}  // namespace

RunReader::RunReader(const RegionLimits& limits) : limits_(limits) {
    limits_.side_px = std::min<std::int64_t>(limits.side_px, std::numeric_limits<std::int32_t>::max());
    limits_.pixels = std::min<std::int64_t>(limits.pixels, std::numeric_limits<std::uint32_t>::max());
    runs_.starts.push(0);
}

void RunReader::reserve(std::size_t bytes) { runs_.lengths.reserve(bytes); }  // a run takes a byte at least

void RunReader::read(Scanner& in) {
    const char* start = in.at;
    sum_ = 0;
    read_fields(in);
    check_sum(start, in);
    const std::size_t row = runs_.sizes.rows();
    std::int32_t* place = runs_.sizes.place(row);
    place[0] = static_cast<std::int32_t>(height_);
    place[1] = static_cast<std::int32_t>(width_);
    runs_.sizes.extend_to(row);
    runs_.starts.push(static_cast<std::int64_t>(runs_.lengths.rows()));
}

void RunReader::read_fields(Scanner& in) {
    const char* start = in.at;
    std::array<bool, names.size()> has{};
    for (std::size_t step = 0;; ++step) {
        Layout::Field field;
        if (const char* value = layout_.match(step, in.at, field))
            in.at = value;
        else
            field = layout_.learn(step, in, names);
        if (field == Layout::end_of_object) break;
        in.skip_blanks();
        if (field == Layout::unknown) {
            in.skip_value();
            continue;
        }
        if (has[field]) in.fail(Fault::repeated_key, "each key once", "\"" + std::string(names[field]) + "\" twice");
        has[field] = true;
        if (field == size)
            read_size(in);
        else if (*in.at == '"')
            read_packed_counts(in);
        else
            read_counts(in);
    }
    for (const unsigned field : {size, counts})
        if (!has[field]) in.fail_at(start, Fault::missing_key, "the key " + std::string(names[field]), "none");
}

std::int64_t RunReader::read_side(Scanner& in) const {
    const char* start = in.at;
    const std::int64_t side = in.read_integer();
    if (side >= 1 && side <= limits_.side_px) return side;
    in.fail_at(start, Fault::limit, "sides " + between(1, limits_.side_px), std::to_string(side));
}

void RunReader::read_size(Scanner& in) {
    const char* start = in.at;
    if (*start != '[') in.fail_expected(Fault::type, "size as [height, width]");
    ++in.at;
    in.skip_blanks();
    height_ = read_side(in);
    in.skip_blanks();
    in.expect(',', "','");
    in.skip_blanks();
    width_ = read_side(in);
    in.skip_blanks();
    in.expect(']', "']'");
    if (height_ * width_ > limits_.pixels)
        in.fail_at(start, Fault::limit, "at most " + std::to_string(limits_.pixels) + " pixels",
                   std::to_string(height_ * width_));
}

// The size may come later, so only the limits hold here; check_sum knows the rest.
std::uint32_t RunReader::check_length(std::int64_t length, const char* where, const Scanner& in) {
    if (length < 0 || length > limits_.pixels)
        in.fail_at(where, Fault::limit, "runs " + between(0, limits_.pixels), std::to_string(length));
    sum_ += static_cast<std::uint64_t>(length);
    return static_cast<std::uint32_t>(length);
}

void RunReader::read_counts(Scanner& in) {
    if (*in.at != '[') in.fail_expected(Fault::type, "counts as an array or a string");
    ++in.at;
    in.skip_blanks();
    if (in.skip_if(']')) return;
    do {
        in.skip_blanks();
        const char* start = in.at;
        runs_.lengths.push(check_length(in.read_integer(), start, in));
        in.skip_blanks();
    } while (in.skip_if(','));
    in.expect(']', "',' or ']'");
}

void RunReader::read_packed_counts(Scanner& in) {
    const char* start = in.at;
    packed_.clear();
    in.read_string(packed_);
    packed_.push('\0');
    const char* at = packed_.data();
    const char* end = at + packed_.rows() - 1;
    std::uint32_t* const lengths = runs_.lengths.extend(packed_.rows());
    std::size_t count = 0;
    std::uint64_t sum = 0;
    const auto most = static_cast<std::uint64_t>(limits_.pixels);
    while (at < end) {
        std::int64_t length;
        at = unpack(at, length);
        if (!at) in.fail_at(start, Fault::number, "characters from '0' to 'o' in counts", "another");
        if (count > 2)
            length += lengths[count - 2];  // from the fourth on, the difference to the run two before is packed
        if (static_cast<std::uint64_t>(length) > most) check_length(length, start, in);  // fails
        sum += static_cast<std::uint64_t>(length);
        lengths[count++] = static_cast<std::uint32_t>(length);
    }
    sum_ += sum;
    runs_.lengths.keep_more(count);
}

void RunReader::check_sum(const char* where, const Scanner& in) const {
    const auto pixels = static_cast<std::uint64_t>(height_ * width_);
    const std::size_t count = runs_.lengths.rows() - static_cast<std::size_t>(runs_.starts[runs_.starts.rows() - 1]);
    if (count > pixels + 1)
        in.fail_at(where, Fault::limit, "at most " + std::to_string(pixels + 1) + " runs", std::to_string(count));
    if (sum_ == pixels || (sum_ < pixels && !limits_.is_strict)) return;
    const auto size = std::to_string(height_) + " x " + std::to_string(width_) + " = " + std::to_string(pixels);
    in.fail_at(where, Fault::run_sum, "runs of " + size + " pixels", std::to_string(sum_));
}

void RunReader::append(const RunReader& next) {
    const auto base = static_cast<std::int64_t>(runs_.lengths.rows());
    runs_.lengths.append(next.runs_.lengths.values());
    for (const auto start : next.runs_.starts.values().subspan(1)) runs_.starts.push(base + start);
    runs_.sizes.append(next.runs_.sizes.values());
}

RLEMasks RunReader::take() {
    runs_.lengths.shrink();
    return std::move(runs_);
}

}  // namespace verite::json
