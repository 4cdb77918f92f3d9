// Which boxes of a large group can meet a given one? Most cannot, and are not looked at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace verite {

// Left, top, right and bottom of the boxes of a group, side by side.
struct Edges {
    std::span<const double> left, top, right, bottom;
};

// Boxes of about the same size together, by stripes of that size from top to bottom, by left edges within a stripe.
class Window {
  public:
    // From so many boxes on it is worth the while.
    static constexpr std::size_t fewest = 64;

    // False where an edge is not a finite number: then everything has to be looked at.
    bool build(const Edges& edges);

    // Positions, rising, of all boxes that share a point with this one, and of few others.
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
    std::vector<double> left_;     // stripe by stripe, rising
    std::vector<std::int32_t> box_, found_;
    double slack_ = 0;  // for what was rounded
};

}  // namespace verite
