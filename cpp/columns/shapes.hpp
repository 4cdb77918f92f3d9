// The polygons and masks of all objects of one side, object by object; made when they are first asked for.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "columns/view.hpp"

namespace verite {

struct Shapes {
    // Polygons: object i has the rings ring_objects[i] .. ring_objects[i + 1], ring r the points rings[r] .. rings[r +
    // 1]; absent where nobody has one.
    View<double> points;  // x, y
    View<std::int64_t> rings, ring_objects;
    // Run-length masks: object i has the runs run_objects[i] .. run_objects[i + 1]; absent where nobody has one.
    View<std::uint32_t> counts;
    View<std::int64_t> run_objects;
    View<std::int32_t> sizes;  // height and width of each object's mask, zeros where it has none

    bool has_polygons() const { return rings.size() > 1; }
    bool has_runs() const { return counts.size() > 0; }
};

// Call get() without holding the interpreter: making them may take long, and others may wait for it.
class LazyShapes {
  public:
    using Make = std::function<Shapes()>;

    explicit LazyShapes(Make make) : make_(std::move(make)) {}
    explicit LazyShapes(Shapes shapes) : shapes_(std::move(shapes)) {}

    // Throws what making them throws; who asks again tries again.
    const Shapes& get() const {
        Make done;  // what they were made of is let go of behind the lock
        const std::lock_guard lock(making_);
        if (!shapes_) {
            shapes_ = make_();
            std::swap(done, make_);
        }
        return *shapes_;
    }

  private:
    mutable std::mutex making_;
    mutable Make make_;
    mutable std::optional<Shapes> shapes_;
};

}  // namespace verite
