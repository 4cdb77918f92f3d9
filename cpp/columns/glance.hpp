// Do predictions fit their truth so well, at first glance, that nobody need look for mistakes?
#pragma once

#include <cstdint>
#include <span>

namespace verite {

// Objects of one side, row by row.
struct Glimpsed {
    std::span<const std::int32_t> image, label;
    std::span<const double> numbers;  // four a box
    bool is_corners;                  // x1, y1, x2, y2; otherwise left, top, width, height
};

// How much of the truth must be found.
struct GlanceRules {
    std::size_t images = 128,
                per_image = 100;           // what is looked at: evenly spaced images, the most confident predictions
    double found = 0.5, precise = 0.75;    // overlaps from which a truth is found, and found precisely
    double share = 0.5;                    // of the truths that can be found: to be found precisely
    double pixels = 2, most_small = 0.05;  // numbers up to so many pixels may be fractions; share of them that may be
    std::size_t fewest = 6;                // truths found from which their classes say something
};

// True if all predictions are numbers and no width is negative, and in a sample of the images most truths are found
// precisely, by predictions most of which have their class, with numbers too large to be fractions. False says nothing.
// Truths that are left out do not count; `images` is the number of images.
bool looks_sound(const Glimpsed& truth, std::span<const std::uint8_t> left_out, const Glimpsed& pred,
                 std::span<const double> confidence, std::size_t images, const GlanceRules& rules = {});

}  // namespace verite
