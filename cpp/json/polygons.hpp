// Parser of COCO polygons: an array of rings, each an array x, y, x, y, …
#pragma once

#include <cstddef>
#include <string_view>

#include "json/regions.hpp"
#include "json/scan.hpp"

namespace verite::json {

class PolygonReader {
  public:
    static constexpr std::string_view kind = "polygons";
    static bool takes(SegmentationKind found) {
        return found == SegmentationKind::polygons || found == SegmentationKind::empty;
    }

    explicit PolygonReader(const RegionLimits& limits);

    // Makes room for what this number of bytes of text is likely to hold.
    void reserve(std::size_t bytes);
    // Reads the object that starts at in.at.
    void read(Scanner& in);
    void append(const PolygonReader& next);
    Polygons take();

  private:
    void read_ring(Scanner& in, std::size_t first_point);
    double read_coordinate(Scanner& in) const;
    void add_point(double x, double y);

    RegionLimits limits_;
    Polygons polygons_;
};

}  // namespace verite::json
