#include "json_regions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "json_error.hpp"
#include "json_layout.hpp"
#include "json_scan.hpp"

namespace verite::json {

namespace {

std::string between(std::int64_t least, std::int64_t most, std::int64_t found) {
    return std::string("from ")
        .append(std::to_string(least))
        .append(" to ")
        .append(std::to_string(most))
        .append(", found ")
        .append(std::to_string(found));
}

// Reads rings of polygons, object by object.
class PolygonReader {
  public:
    static constexpr std::string_view kind = "polygons";
    static bool takes(RegionKind found) { return found == RegionKind::polygons || found == RegionKind::empty; }

    explicit PolygonReader(const RegionLimits& limits) : limits_(limits) {
        out.ring_starts.push(0);
        out.object_starts.push(0);
    }

    void reserve(std::size_t bytes) { out.points.reserve(bytes / 12); }  // a point is rarely shorter

    void read(Scanner& in) {
        const std::size_t first_point = out.points.rows();
        in.expect('[', "polygons");
        in.skip_blanks();
        if (!in.skip_if(']')) {
            do {
                in.skip_blanks();
                read_ring(in, first_point);
                in.skip_blanks();
            } while (in.skip_if(','));
            in.expect(']', "',' or ']'");
        }
        out.object_starts.push(static_cast<std::int64_t>(out.ring_starts.rows()) - 1);
    }

    void append(const PolygonReader& next) {
        const auto points = static_cast<std::int64_t>(out.points.rows()),
                   rings = static_cast<std::int64_t>(out.ring_starts.rows()) - 1;
        out.points.append(next.out.points.values());
        for (const std::int64_t start : next.out.ring_starts.values().subspan(1)) out.ring_starts.push(points + start);
        for (const std::int64_t start : next.out.object_starts.values().subspan(1))
            out.object_starts.push(rings + start);
    }

    Polygons out;

  private:
    void read_ring(Scanner& in, std::size_t first_point) {
        const char* start = in.at;
        if (*in.at != '[') in.fail_expected(Fault::type, "a ring as an array of numbers");
        ++in.at;
        in.skip_blanks();
        std::int64_t count = 0;
        double x = 0;
        if (!in.skip_if(']')) {
            do {
                in.skip_blanks();
                const double coordinate = read_coordinate(in);
                if (count++ % 2 == 0)
                    x = coordinate;
                else
                    add_point(in, x, coordinate, first_point);
                in.skip_blanks();
            } while (in.skip_if(','));
            in.expect(']', "',' or ']'");
        }
        if (count % 2 == 0 && (count >= 6 || !limits_.is_strict)) {
            out.ring_starts.push(static_cast<std::int64_t>(out.points.rows()));
            return;
        }
        in.at = start;
        in.fail(Fault::ring_points,
                "expected a ring of 3 points or more as pairs of numbers, found " + std::to_string(count) + " numbers");
    }

    double read_coordinate(Scanner& in) const {
        const char* start = in.at;
        const double value = in.read_double(Constants::refused);
        if (std::abs(value) <= limits_.coordinate_px) [[likely]]
            return value;
        in.at = start;
        in.fail(Fault::limit, "expected coordinates up to " +
                                  std::to_string(static_cast<std::int64_t>(limits_.coordinate_px)) +
                                  ", found a larger one");
    }

    void add_point(Scanner& in, double x, double y, std::size_t first_point) {
        const std::size_t row = out.points.rows();
        if (static_cast<std::int64_t>(row - first_point) >= limits_.points)
            in.fail(Fault::limit, "more than " + std::to_string(limits_.points) + " points in one object");
        double* point = out.points.place(row);
        point[0] = x;
        point[1] = y;
        out.points.keep(row);
    }

    RegionLimits limits_;
};

// Reads run-length masks: {"size": [height, width], "counts": [runs] or "runs packed as text"}.
class RunReader {
  public:
    static constexpr std::string_view kind = "runs";
    static bool takes(RegionKind found) { return found == RegionKind::runs; }

    explicit RunReader(const RegionLimits& limits) : limits_(limits) {
        limits_.side_px = std::min<std::int64_t>(limits.side_px, std::numeric_limits<std::int32_t>::max());
        limits_.pixels = std::min<std::int64_t>(limits.pixels, std::numeric_limits<std::uint32_t>::max());
        out.starts.push(0);
    }

    void reserve(std::size_t bytes) { out.lengths.reserve(bytes); }  // a run takes a byte at least

    void read(Scanner& in) {
        enum : unsigned { size, counts };
        static constexpr std::array<std::string_view, 2> names{"size", "counts"};
        const char* start = in.at;
        sum_ = 0;
        bool has_size = false, has_counts = false;
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
            bool& has_it = field == size ? has_size : has_counts;
            if (has_it)
                in.fail(Fault::repeated_key, field == size ? "expected each key once, found \"size\" twice"
                                                           : "expected each key once, found \"counts\" twice");
            has_it = true;
            if (field == size)
                read_size(in);
            else if (*in.at == '"')
                read_packed_counts(in);
            else
                read_counts(in);
        }
        in.at = start;
        if (!has_size || !has_counts)
            in.fail(Fault::missing_key,
                    has_size ? "expected the key counts, found none" : "expected the key size, found none");
        check_sum(in);
        const std::size_t row = out.sizes.rows();
        std::int32_t* place = out.sizes.place(row);
        place[0] = static_cast<std::int32_t>(height_);
        place[1] = static_cast<std::int32_t>(width_);
        out.sizes.keep(row);
        out.starts.push(static_cast<std::int64_t>(out.lengths.rows()));
    }

    void append(const RunReader& next) {
        const auto base = static_cast<std::int64_t>(out.lengths.rows());
        out.lengths.append(next.out.lengths.values());
        for (const std::int64_t start : next.out.starts.values().subspan(1)) out.starts.push(base + start);
        out.sizes.append(next.out.sizes.values());
    }

    Runs out;

  private:
    std::int64_t read_side(Scanner& in) const {
        const char* start = in.at;
        const std::int64_t side = in.read_integer();
        if (side >= 1 && side <= limits_.side_px) return side;
        in.at = start;
        in.fail(Fault::limit, "expected sides " + between(1, limits_.side_px, side));
    }

    void read_size(Scanner& in) {
        const char* start = in.at;
        if (*in.at != '[') in.fail_expected(Fault::type, "size as [height, width]");
        ++in.at;
        in.skip_blanks();
        height_ = read_side(in);
        in.skip_blanks();
        in.expect(',', "','");
        in.skip_blanks();
        width_ = read_side(in);
        in.skip_blanks();
        in.expect(']', "']'");
        if (height_ * width_ <= limits_.pixels) return;
        in.at = start;
        in.fail(Fault::limit, "expected at most " + std::to_string(limits_.pixels) + " pixels, found " +
                                  std::to_string(height_ * width_));
    }

    // The size may still be unknown here, so only the limits hold; check_sum knows the rest.
    void add_run(std::int64_t length, const Scanner& in) {
        if (length < 0 || length > limits_.pixels)
            in.fail(Fault::limit, "expected runs " + between(0, limits_.pixels, length));
        out.lengths.push(static_cast<std::uint32_t>(length));
        sum_ += static_cast<std::uint64_t>(length);
    }

    void read_counts(Scanner& in) {
        if (*in.at != '[') in.fail_expected(Fault::type, "counts as an array or a string");
        ++in.at;
        in.skip_blanks();
        if (in.skip_if(']')) return;
        do {
            in.skip_blanks();
            const std::int64_t length = in.read_integer();
            add_run(length, in);
            in.skip_blanks();
        } while (in.skip_if(','));
        in.expect(']', "',' or ']'");
    }

    void read_packed_counts(Scanner& in) {
        const char* start = in.at;
        packed_.clear();
        in.read_string(packed_);
        const char* behind = in.at;
        in.at = start;  // where a fault is reported
        const std::size_t first_run = out.lengths.rows();
        std::span<const char> rest = packed_.values();
        while (!rest.empty()) {
            std::int64_t length = unpack(rest, in);
            const std::size_t run = out.lengths.rows();
            if (run > first_run + 2) length += out.lengths[run - 2];
            add_run(length, in);
        }
        in.at = behind;
    }

    // COCO's packing: five bits a character, the lowest first, and one that says that more follow; the top bit of the
    // last is the sign. From the fourth run on, the difference to the run two before is packed.
    static std::int64_t unpack(std::span<const char>& text, const Scanner& in) {
        std::int64_t value = 0;
        std::size_t used = 0;
        for (int shift = 0;; shift += 5) {
            if (used == text.size()) in.fail(Fault::number, "counts break off inside a run");
            if (shift > 30) in.fail(Fault::number, "a run in counts of more than 35 bits");
            const unsigned bits = static_cast<unsigned char>(text[used++]) - unsigned{'0'};
            if (bits > 63) in.fail(Fault::number, "expected characters from '0' to 'o' in counts, found another");
            value |= static_cast<std::int64_t>(bits & 31) << shift;
            if (bits & 32) continue;
            if (bits & 16) value -= std::int64_t{32} << shift;
            text = text.subspan(used);
            return value;
        }
    }

    void check_sum(const Scanner& in) const {
        const auto pixels = static_cast<std::uint64_t>(height_ * width_);
        const auto count = out.lengths.rows() - static_cast<std::size_t>(out.starts[out.starts.rows() - 1]);
        if (count > pixels + 1)
            in.fail(Fault::limit,
                    "expected at most " + std::to_string(pixels + 1) + " runs, found " + std::to_string(count));
        if (sum_ == pixels || (sum_ < pixels && !limits_.is_strict)) return;
        const auto size = std::to_string(height_) + " x " + std::to_string(width_) + " = " + std::to_string(pixels);
        in.fail(Fault::run_sum, "expected runs of " + size + " pixels, found " + std::to_string(sum_));
    }

    RegionLimits limits_;
    Layout layout_;
    Column<char> packed_;
    std::int64_t height_ = 0, width_ = 0;
    std::uint64_t sum_ = 0;
};

template <class Reader>
void check_records(const Annotations& annotations, std::span<const std::int64_t> records) {
    for (const std::int64_t record : records) {
        if (record < 0 || static_cast<std::size_t>(record) >= annotations.count)
            throw std::invalid_argument("expected records " +
                                        between(0, static_cast<std::int64_t>(annotations.count) - 1, record));
        const RegionKind kind = annotations.region_kinds.rows() == 0
                                    ? RegionKind::absent
                                    : annotations.region_kinds[static_cast<std::size_t>(record)];
        if (!Reader::takes(kind))
            throw std::invalid_argument(std::string("the segmentation of record ")
                                            .append(std::to_string(record))
                                            .append(" is not ")
                                            .append(Reader::kind));
    }
}

template <class Reader>
void read_some(std::span<const char> text, const Document& document, std::span<const std::int64_t> records,
               Reader& reader) {
    const Annotations& annotations = document.annotations;
    std::size_t bytes = 0;
    for (const std::int64_t record : records) bytes += annotations.region_lengths[static_cast<std::size_t>(record)];
    reader.reserve(bytes);
    Scanner in(text);
    for (const std::int64_t record : records) {
        try {
            in.at = in.begin() + annotations.region_bytes[static_cast<std::size_t>(record)];
            reader.read(in);
        } catch (const Defect& defect) {
            throw ParseError(defect, {document.section_of_annotations(), record, "segmentation"}, text);
        }
    }
}

// Shares the records out in equal parts. The first part that fails has the first error.
template <class Reader>
auto read_regions(std::span<const char> text, const Document& document, std::span<const std::int64_t> records,
                  const RegionLimits& limits, unsigned threads) {
    check_records<Reader>(document.annotations, records);
    constexpr std::size_t least_records = 256;  // a thread for fewer costs more than it brings
    const std::size_t parts = std::clamp<std::size_t>(records.size() / least_records, 1, std::max(threads, 1u));
    std::vector<Reader> readers;
    for (std::size_t part = 0; part < parts; ++part) readers.emplace_back(limits);
    std::vector<std::exception_ptr> failures(parts);
    const auto read_part = [&](std::size_t part) {
        const std::size_t first = records.size() * part / parts, last = records.size() * (part + 1) / parts;
        try {
            read_some(text, document, records.subspan(first, last - first), readers[part]);
        } catch (...) {
            failures[part] = std::current_exception();
        }
    };
    std::vector<std::thread> helpers;
    for (std::size_t part = 1; part < parts; ++part) helpers.emplace_back(read_part, part);
    read_part(0);
    for (auto& helper : helpers) helper.join();
    for (const auto& failure : failures)
        if (failure) std::rethrow_exception(failure);
    for (std::size_t part = 1; part < parts; ++part) readers[0].append(readers[part]);
    return std::move(readers[0].out);
}

}  // namespace

Polygons read_polygons(std::span<const char> text, const Document& document, std::span<const std::int64_t> records,
                       const RegionLimits& limits, unsigned threads) {
    Polygons polygons = read_regions<PolygonReader>(text, document, records, limits, threads);
    polygons.points.shrink();
    return polygons;
}

Runs read_runs(std::span<const char> text, const Document& document, std::span<const std::int64_t> records,
               const RegionLimits& limits, unsigned threads) {
    Runs runs = read_regions<RunReader>(text, document, records, limits, threads);
    runs.lengths.shrink();
    return runs;
}

}  // namespace verite::json
