// The polygons and masks of all objects of one side, decoded when they are first needed.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "columns/pause.hpp"
#include "columns/view.hpp"

namespace verite {

struct Shapes {
    // Polygons: object i has the rings ring_objects[i] .. ring_objects[i + 1], ring r the points rings[r] .. rings[r +
    // 1]; absent where no object has one.
    View<double> points;  // x, y
    View<std::int64_t> rings, ring_objects;
    // Run-length masks: object i has the runs run_objects[i] .. run_objects[i + 1]; absent where no object has one.
    View<std::uint32_t> counts;
    View<std::int64_t> run_objects;
    View<std::int32_t> sizes;  // height and width of each object's mask, zeros where it has none

    bool has_polygons() const { return rings.size() > 1; }
    bool has_runs() const { return counts.size() > 0; }
};

// get() must be called without Python's lock: decoding may take long and pauses, and other threads wait for it.
class LazyShapes {
  public:
    using Make = std::function<Shapes()>;

    explicit LazyShapes(Make make) : make_(std::move(make)) {}
    explicit LazyShapes(Shapes shapes) : shapes_(std::move(shapes)) {}

    // Throws what decoding throws; the next call tries again. Throws std::logic_error where the caller holds Python's
    // lock, in builds without NDEBUG.
    const Shapes& get() const {
        expect_interpreter_released("shapes");
        Make done;  // destroyed after the lock is released
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
