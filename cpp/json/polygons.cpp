#include "json/polygons.hpp"

#include <cmath>
#include <string>
#include <utility>

namespace verite::json {

PolygonReader::PolygonReader(const RegionLimits& limits) : limits_(limits) {
    polygons_.ring_starts.push(0);
    polygons_.object_starts.push(0);
}

void PolygonReader::reserve(std::size_t bytes) {
    constexpr std::size_t bytes_per_point = 12;  // rarely fewer
    polygons_.points.reserve(bytes / bytes_per_point);
}

void PolygonReader::read(Scanner& in) {
    const std::size_t first_point = polygons_.points.rows();
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
    polygons_.object_starts.push(static_cast<std::int64_t>(polygons_.ring_starts.rows()) - 1);
}

void PolygonReader::read_ring(Scanner& in, std::size_t first_point) {
    const char* start = in.at;
    if (*start != '[') in.fail_expected(Fault::type, "a ring as an array of numbers");
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
                add_point(x, coordinate);
            in.skip_blanks();
        } while (in.skip_if(','));
        in.expect(']', "',' or ']'");
    }
    if (count % 2 != 0 || (count < 6 && limits_.is_strict))
        in.fail_at(start, Fault::ring_points, "a ring of 3 points or more as pairs of numbers",
                   std::to_string(count) + " numbers");
    if (static_cast<std::int64_t>(polygons_.points.rows() - first_point) > limits_.points)
        in.fail_at(start, Fault::limit, "at most " + std::to_string(limits_.points) + " points",
                   "more than " + std::to_string(limits_.points) + " points in one object");
    polygons_.ring_starts.push(static_cast<std::int64_t>(polygons_.points.rows()));
}

double PolygonReader::read_coordinate(Scanner& in) const {
    const char* start = in.at;
    const double value = in.read_double(Constants::refused);
    if (std::abs(value) <= limits_.coordinate_px) [[likely]]
        return value;
    in.fail_at(start, Fault::limit,
               "coordinates up to " + std::to_string(static_cast<std::int64_t>(limits_.coordinate_px)), "a larger one");
}

void PolygonReader::add_point(double x, double y) {
    const std::size_t row = polygons_.points.rows();
    double* point = polygons_.points.place(row);
    point[0] = x;
    point[1] = y;
    polygons_.points.extend_to(row);
}

void PolygonReader::append(const PolygonReader& next) {
    const auto points = static_cast<std::int64_t>(polygons_.points.rows());
    const auto rings = static_cast<std::int64_t>(polygons_.ring_starts.rows()) - 1;
    polygons_.points.append(next.polygons_.points.values());
    for (const auto start : next.polygons_.ring_starts.values().subspan(1)) polygons_.ring_starts.push(points + start);
    for (const auto start : next.polygons_.object_starts.values().subspan(1))
        polygons_.object_starts.push(rings + start);
}

Polygons PolygonReader::take() {
    polygons_.points.shrink();
    return std::move(polygons_);
}

}  // namespace verite::json
