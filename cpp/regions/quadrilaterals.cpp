#include "regions/quadrilaterals.hpp"

#include <algorithm>
#include <cmath>

namespace verite {
namespace {

// Twice the area of a triangle, positive if counterclockwise.
double cross(Point a, Point b, Point c) { return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x); }

// Relative to the first corner: far from the origin, coordinates have few digits left for a small shape.
double area_of(const Point* corners, std::size_t count) {
    double twice = 0;
    for (std::size_t i = 1; i + 1 < count; ++i) twice += cross(corners[0], corners[i], corners[i + 1]);
    return twice / 2;
}

// What of a convex polygon lies to the left of the line from one point to another (Sutherland and Hodgman, 1974).
std::size_t clip(const Point* corners, std::size_t count, Point from, Point to, Point* out) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const Point here = corners[i], next = corners[i + 1 < count ? i + 1 : 0];
        const double mine = cross(from, to, here), theirs = cross(from, to, next);
        if (mine >= 0) out[kept++] = here;
        if ((mine > 0 && theirs < 0) || (mine < 0 && theirs > 0)) {
            const double part = mine / (mine - theirs);
            out[kept++] = {here.x + part * (next.x - here.x), here.y + part * (next.y - here.y)};
        }
    }
    return kept;
}

double shared_area(const Convex& a, const Convex& b) {
    // Each of up to four lines adds at most one corner.
    std::array<Point, 9> first, second;
    Point *now = first.data(), *next = second.data();
    std::copy_n(a.corners.begin(), a.count, now);
    std::size_t count = a.count;
    for (std::size_t i = 0; i < b.count && count >= 3; ++i) {
        count = clip(now, count, b.corners[i], b.corners[i + 1 < b.count ? i + 1 : 0], next);
        std::swap(now, next);
    }
    return count < 3 ? 0 : std::max(area_of(now, count), 0.0);
}

// Where the lines through two pairs of points meet.
Point meet(Point a, Point b, Point c, Point d) {
    const double from = cross(c, d, a), to = cross(c, d, b), part = from / (from - to);
    return {a.x + part * (b.x - a.x), a.y + part * (b.y - a.y)};
}

bool are_crossed(Point a, Point b, Point c, Point d) {
    const auto is_between = [](double one, double other) { return (one > 0 && other < 0) || (one < 0 && other > 0); };
    return is_between(cross(a, b, c), cross(a, b, d)) && is_between(cross(c, d, a), cross(c, d, b));
}

}  // namespace

Quadrilateral::Quadrilateral(const double* corners) {
    Point p[4];
    for (std::size_t i = 0; i < 4; ++i) p[i] = {corners[2 * i], corners[2 * i + 1]};
    const auto [left, right] = std::minmax({p[0].x, p[1].x, p[2].x, p[3].x});
    const auto [top, bottom] = std::minmax({p[0].y, p[1].y, p[2].y, p[3].y});
    left_ = left, right_ = right, top_ = top, bottom_ = bottom;
    for (std::size_t i = 0; i < 2; ++i) {
        const Point a = p[i], b = p[i + 1], c = p[i + 2], d = p[(i + 3) % 4];
        if (!are_crossed(a, b, c, d)) continue;
        const Point middle = meet(a, b, c, d);
        const Point one[3] = {middle, b, c}, other[3] = {middle, d, a};
        add(one, 3);
        add(other, 3);
        return;
    }
    if (area_of(p, 4) < 0) std::swap(p[1], p[3]);
    for (std::size_t i = 0; i < 4; ++i) {
        if (cross(p[(i + 3) % 4], p[i], p[(i + 1) % 4]) >= 0) continue;
        const Point one[3] = {p[i], p[(i + 1) % 4], p[(i + 2) % 4]}, other[3] = {p[i], p[(i + 2) % 4], p[(i + 3) % 4]};
        add(one, 3);
        add(other, 3);
        return;
    }
    add(p, 4);
}

void Quadrilateral::add(const Point* corners, std::size_t count) {
    const double area = area_of(corners, count);
    if (area == 0) return;
    Convex& piece = pieces_[count_++];
    piece.count = count;
    if (area > 0)
        std::copy_n(corners, count, piece.corners.begin());
    else
        std::reverse_copy(corners, corners + count, piece.corners.begin());
    area_ += std::abs(area);
}

double Quadrilateral::shared_with(const Quadrilateral& other) const {
    double shared = 0;
    for (std::size_t i = 0; i < count_; ++i)
        for (std::size_t k = 0; k < other.count_; ++k) shared += shared_area(pieces_[i], other.pieces_[k]);
    return shared;
}

double quad_iou(const Quadrilateral& truth, const Quadrilateral& pred, bool is_crowd) {
    const double shared = pred.shared_with(truth);
    const double all = is_crowd ? pred.area() : pred.area() + truth.area() - shared;
    return shared > 0 ? std::min(shared / all, 1.0) : std::isnan(all) ? all : 0.0;
}

}  // namespace verite
