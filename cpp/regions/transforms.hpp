// Exact Euclidean distance transform (Felzenszwalb & Huttenlocher 2012), and the difference of two (Baddeley's metric).
#pragma once

#include <vector>

#include "regions/shapes.hpp"

namespace verite {

// Distance between neighbouring pixels.
struct Spacing {
    double down = 1, across = 1;
};

// The lower envelope of parabolas, one per place.
class Envelope {
  public:
    // The least of heights[v] + (step (y - v))² over all v, for every y; a height of `nothing` is none. At least one is
    // something.
    void lower(std::span<const double> heights, double step, std::span<double> least);
    static constexpr double nothing = 1e300;

  private:
    struct Corner {
        double place, lifted, height;
    };
    std::vector<Corner> lowest_;
};

// Squared distances to a set of pixels, a column of the frame at a time: distances along rows first, then the envelope.
class Transform {
  public:
    void build(std::span<const Pixel> set, const Frame& frame, Spacing spacing = {});
    std::span<const double> column(std::int32_t x);  // counted from the frame

  private:
    void pull(std::int32_t to, std::int32_t from);

    std::int32_t height_ = 0;
    Spacing spacing_;
    std::vector<std::int32_t> reach_;
    std::vector<double> heights_, squared_;
    Envelope envelope_;
};

// Sum over all pixels of the image of |min(d to truth, cutoff) - min(d to pred, cutoff)| ^ power, one
// number per pair and power; 0 where either contour is empty. Distances are exact.
void distance_differences(const Side& truth, const Side& pred, std::span<const double> powers, double cutoff,
                          Spacing spacing, std::span<double> out);

}  // namespace verite
