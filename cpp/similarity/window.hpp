// A spatial index of the boxes of a large group: those that can intersect a given box, found without looking at the
// rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace verite {

// Left, top, right and bottom of the boxes of a group, in columns.
struct Edges {
    std::span<const double> left, top, right, bottom;
};

// Boxes of about the same size form a layer; a layer is cut into stripes of that size from top to bottom, and a stripe
// is sorted by left edges.
class Window {
  public:
    // The number of boxes from which an index pays.
    static constexpr std::size_t fewest = 64;

    // False where an edge is not finite: then every box must be looked at.
    bool build(const Edges& edges);

    // Ascending positions of all boxes that share a point with this one, and of few others.
    std::span<const std::int32_t> find(double left, double top, double right, double bottom);

  private:
    struct Stripe {
        double row;         // of stripes of this size
        std::size_t first;  // of its boxes
    };
    struct Layer {
        double size;              // no box is wider or higher
        std::size_t first, last;  // of its stripes
    };

    std::vector<Layer> layers_;
    std::vector<Stripe> stripes_;  // and one more at the end
    std::vector<double> left_;     // stripe by stripe, ascending
    std::vector<std::int32_t> box_, found_;
    double slack_ = 0;  // for rounding
};

}  // namespace verite
