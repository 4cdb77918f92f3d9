// Parser of COCO RLE masks: {"size": [height, width], "counts": runs}, where runs are an array of integers
// or packed into text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "json/layout.hpp"
#include "json/regions.hpp"
#include "json/scan.hpp"

namespace verite::json {

class RunReader {
  public:
    static constexpr std::string_view kind = "runs";
    static bool takes(SegmentationKind found) { return found == SegmentationKind::runs; }

    explicit RunReader(const RegionLimits& limits);

    // Makes room for what this number of bytes of text is likely to hold.
    void reserve(std::size_t bytes);
    // Reads the mask that starts at in.at.
    void read(Scanner& in);
    void append(const RunReader& next);
    RLEMasks take();

  private:
    void read_fields(Scanner& in);
    void read_size(Scanner& in);
    std::int64_t read_side(Scanner& in) const;
    void read_counts(Scanner& in);
    void read_packed_counts(Scanner& in);
    std::uint32_t check_length(std::int64_t length, const char* where, const Scanner& in);
    void check_sum(const char* where, const Scanner& in) const;

    RegionLimits limits_;
    RLEMasks runs_;
    Layout layout_;
    Column<char> packed_;
    std::int64_t height_ = 0, width_ = 0;  // of the mask being read
    std::uint64_t sum_ = 0;                // of its runs
};

}  // namespace verite::json
