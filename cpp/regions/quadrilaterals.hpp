// Exact areas and IoU of quadrilaterals: rotated boxes and any four corners, clockwise or not, also concave or crossed.
#pragma once

#include <array>
#include <cstddef>

namespace verite {

struct Point {
    double x, y;
};

// A convex polygon, its corners counterclockwise (as seen with y upwards).
struct Convex {
    std::array<Point, 4> corners{};
    std::size_t count = 0;
};

// Corners x1, y1, … x4, y4 as one or two convex polygons that share no area; none where there is no area at all.
class Quadrilateral {
  public:
    Quadrilateral() = default;
    explicit Quadrilateral(const double* corners);

    double area() const { return area_; }  // of a crossed one, of both its triangles
    double left() const { return left_; }
    double top() const { return top_; }
    double right() const { return right_; }
    double bottom() const { return bottom_; }

    // The area that lies in both.
    double shared_with(const Quadrilateral& other) const;

  private:
    void add(const Point* corners, std::size_t count);

    std::array<Convex, 2> pieces_;
    std::size_t count_ = 0;
    double area_ = 0, left_ = 0, top_ = 0, right_ = 0, bottom_ = 0;
};

// IoU, or intersection over the prediction's area where the ground truth is a crowd; 0 without an intersection.
double quad_iou(const Quadrilateral& truth, const Quadrilateral& pred, bool is_crowd = false);

}  // namespace verite
