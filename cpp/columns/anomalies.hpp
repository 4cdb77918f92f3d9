// Anomalies in the objects of one side (ground truth or predictions): boxes, areas, confidences and ids that look
// wrong. One pass counts every kind and keeps the first few rows of each, so that clean files need no second look.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace verite {

// How many rows, and the first few of them.
struct Tally {
    static constexpr std::size_t most = 5;

    std::size_t count = 0;
    std::vector<std::int64_t> rows{};

    void add(std::size_t row) {
        if (count++ < most) rows.push_back(static_cast<std::int64_t>(row));
    }
    void append(const Tally& later);
};

// Objects of one side, row by row. An absent column is empty.
struct Surveyed {
    std::span<const std::int32_t> image, label;
    std::span<const double> numbers;  // four a box
    bool is_corners;                  // x1, y1, x2, y2; otherwise left, top, width, height
    std::span<const double> confidence{}, area{};
    std::span<const std::uint8_t> crowd{};
    std::span<const std::int64_t> ids{};
    std::span<const std::int32_t> sizes{};  // width and height of each image, 0 where unknown

    std::size_t count() const { return image.size(); }
};

struct Corners {
    double left, top, right, bottom;

    double area() const { return (right - left) * (bottom - top); }
};

inline Corners corners_of(const Surveyed& side, std::size_t row) {
    const double* at = &side.numbers[4 * row];
    if (side.is_corners) return {at[0], at[1], at[2], at[3]};
    return {at[0], at[1], at[0] + at[2], at[1] + at[3]};
}

// IoU; 0 where the boxes are apart.
inline double box_iou_of(const Corners& a, const Corners& b) {
    const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
    const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
    if (!(width > 0) || !(height > 0)) return 0;
    const double shared = width * height;
    return shared / (a.area() + b.area() - shared);
}

struct AnomalyRules {
    double most_area = 1e300;  // of a box; the areas of larger ones overflow where they are added
    double rounding = 1e-6;    // a width this far below zero is rounding
    double leaves = 0.1;       // a box is outside when it leaves its image by more than this part of the side
    double fraction = 1.5;     // a box that ends before this many pixels may be in fractions of its image
    double small_area = 0.01;  // a stated area below this part of the box is no area of the object ...
    double least_box = 100;    // ... in boxes of at least this area in square pixels
    double large_area = 1.01;  // a stated area above this multiple of the box, one pixel wider and higher, is no area
    double cut_above = 0.1;    // lowest confidence from which a detector's threshold may have cut predictions ...
    double edge = 0.2;         // ... by two windows above it, each this part of its distance to 0 or 1 wide
    std::size_t fewest_at_edge = 10;  // predictions in the first window that make an edge
    double near = 0.98;               // IoU from which two objects of a class are duplicates
    std::size_t neighbours = 64;      // boxes after a box, from left to right, that are compared with it
    std::size_t sampled = 128;        // images in which repeated predictions are looked for
    std::size_t fewest_equal = 20;    // number of predictions from which one confidence for all is an anomaly
};

struct AnomalyCounts {
    Tally not_finite, negative, zero_size, outside;  // boxes
    Tally beyond;                                    // boxes that lie entirely outside of their image
    Tally fractions;  // boxes whose numbers are all at most 1.5, with sides below one pixel, in images of pixels
    Tally crowd;      // ground truth that stands for a crowd
    Tally no_area, small_area, large_area;                       // stated areas of ground truth
    Tally unscored, confidence_not_finite, above_one, constant;  // confidences
    Tally cut;  // predictions just above a confidence below which there is suddenly none
    Tally repeated_ids;
    Tally twins;              // duplicates: ground truth that nearly coincides with an earlier object of its class
    Tally repeated;           // predictions that occur twice, in a sample of the images ...
    std::size_t sampled = 0;  // ... which have this number of predictions

    template <class Visit>
    static void visit(Visit&& visit) {
        visit("not_finite", &AnomalyCounts::not_finite);
        visit("negative", &AnomalyCounts::negative);
        visit("zero_size", &AnomalyCounts::zero_size);
        visit("outside", &AnomalyCounts::outside);
        visit("beyond", &AnomalyCounts::beyond);
        visit("fractions", &AnomalyCounts::fractions);
        visit("crowd", &AnomalyCounts::crowd);
        visit("no_area", &AnomalyCounts::no_area);
        visit("small_area", &AnomalyCounts::small_area);
        visit("large_area", &AnomalyCounts::large_area);
        visit("unscored", &AnomalyCounts::unscored);
        visit("confidence_not_finite", &AnomalyCounts::confidence_not_finite);
        visit("above_one", &AnomalyCounts::above_one);
        visit("constant", &AnomalyCounts::constant);
        visit("cut", &AnomalyCounts::cut);
        visit("repeated_ids", &AnomalyCounts::repeated_ids);
        visit("twins", &AnomalyCounts::twins);
        visit("repeated", &AnomalyCounts::repeated);
    }
};

// Throws std::invalid_argument where columns differ in length or an object is in no image.
void check_columns(const Surveyed& side, std::size_t images);

// `images` is the number of images; side.sizes are in pixels. The same for any number of threads. Throws as
// check_columns does.
AnomalyCounts count_anomalies(const Surveyed& side, std::size_t images, bool is_truth, unsigned threads = 1,
                              const AnomalyRules& rules = {});

}  // namespace verite
