#include "regions/volumes.hpp"

#include <algorithm>

#include "columns/pause.hpp"
#include "regions/transforms.hpp"

namespace verite {
namespace {

struct Voxel {
    std::int32_t z, x, y;
};

// The part of a volume in which either object lies.
struct Block {
    std::array<std::int64_t, 3> low{}, high{};  // half-open

    std::int32_t size(int axis) const { return static_cast<std::int32_t>(high[axis] - low[axis]); }
};

Block find_block(const std::uint8_t* truth, const std::uint8_t* pred, std::array<std::int64_t, 3> shape) {
    Block block{shape, {0, 0, 0}};
    for (std::int64_t z = 0; z < shape[0]; ++z)
        for (std::int64_t y = 0; y < shape[1]; ++y) {
            const std::int64_t row = (z * shape[1] + y) * shape[2];
            const auto is_object = [&](std::int64_t x) { return truth[row + x] || pred[row + x]; };
            std::int64_t first = 0, last = shape[2];
            while (first < last && !is_object(first)) ++first;
            if (first == last) continue;
            while (!is_object(last - 1)) --last;
            block.low = {std::min(block.low[0], z), std::min(block.low[1], y), std::min(block.low[2], first)};
            block.high = {std::max(block.high[0], z + 1), std::max(block.high[1], y + 1),
                          std::max(block.high[2], last)};
        }
    return block;
}

// The voxels of an object's surface within the block, plane by plane, in each column by column, downwards.
std::vector<Voxel> find_surface(const std::uint8_t* object, std::array<std::int64_t, 3> shape, const Block& block) {
    const std::int64_t row = shape[2], plane = shape[1] * shape[2];
    std::vector<Voxel> found;
    std::vector<std::vector<std::int32_t>> columns(block.size(2));
    for (std::int64_t z = block.low[0]; z < block.high[0]; ++z) {
        for (std::int64_t y = block.low[1]; y < block.high[1]; ++y)
            for (std::int64_t x = block.low[2]; x < block.high[2]; ++x) {
                const std::uint8_t* at = object + z * plane + y * row + x;
                if (!*at) continue;
                const bool inside = z > 0 && z + 1 < shape[0] && y > 0 && y + 1 < shape[1] && x > 0 &&
                                    x + 1 < shape[2] && at[-plane] && at[plane] && at[-row] && at[row] && at[-1] &&
                                    at[1];
                if (!inside) columns[x - block.low[2]].push_back(static_cast<std::int32_t>(y - block.low[1]));
            }
        for (std::size_t x = 0; x < columns.size(); ++x) {
            for (const std::int32_t y : columns[x])
                found.push_back({static_cast<std::int32_t>(z - block.low[0]), static_cast<std::int32_t>(x), y});
            columns[x].clear();
        }
    }
    return found;
}

// Squared distances of some voxels to a set that is not empty: in each plane first, then across planes, only along the
// lines on which somebody asks.
class Reach {
  public:
    Reach(const Block& block, std::array<double, 3> spacing)
        : planes_(block.size(0)), height_(block.size(1)), width_(block.size(2)), spacing_(spacing) {}

    void distances(const std::vector<Voxel>& set, const std::vector<Voxel>& from, std::vector<double>& squared) {
        fill(set);
        squared.resize(from.size());
        order(from);
        std::vector<double> heights(planes_), least(planes_);
        Pause pause;
        for (std::size_t i = 0; i < order_.size();) {
            pause();
            const std::size_t line = line_of(from[order_[i]]);
            for (std::int32_t z = 0; z < planes_; ++z)
                heights[z] = used_[z] ? within_[static_cast<std::size_t>(z) * lines() + line] : Envelope::nothing;
            envelope_.lower(heights, spacing_[0], least);
            for (; i < order_.size() && line_of(from[order_[i]]) == line; ++i)
                squared[order_[i]] = least[from[order_[i]].z];
        }
    }

  private:
    std::size_t lines() const { return static_cast<std::size_t>(width_) * height_; }
    std::size_t line_of(const Voxel& voxel) const { return static_cast<std::size_t>(voxel.x) * height_ + voxel.y; }

    // Squared distances within each plane that has something of the set.
    void fill(const std::vector<Voxel>& set) {
        within_.resize(static_cast<std::size_t>(planes_) * lines());
        used_.assign(planes_, false);
        std::vector<Pixel> pixels;
        Pause pause;
        for (std::size_t i = 0; i < set.size();) {
            pause();
            const std::int32_t z = set[i].z;
            pixels.clear();
            for (; i < set.size() && set[i].z == z; ++i) pixels.push_back({set[i].x, set[i].y});
            transform_.build(pixels, {0, 0, width_, height_}, {spacing_[1], spacing_[2]});
            used_[z] = true;
            double* plane = within_.data() + static_cast<std::size_t>(z) * lines();
            for (std::int32_t x = 0; x < width_; ++x) {
                const auto column = transform_.column(x);
                std::copy(column.begin(), column.end(), plane + static_cast<std::size_t>(x) * height_);
            }
        }
    }

    // Who asks, line by line.
    void order(const std::vector<Voxel>& from) {
        std::vector<std::size_t> ends(lines() + 1, 0);
        for (const Voxel& voxel : from) ++ends[line_of(voxel) + 1];
        for (std::size_t i = 1; i < ends.size(); ++i) ends[i] += ends[i - 1];
        order_.resize(from.size());
        for (std::size_t i = 0; i < from.size(); ++i) order_[ends[line_of(from[i])]++] = i;
    }

    std::int32_t planes_, height_, width_;
    std::array<double, 3> spacing_;
    Transform transform_;
    Envelope envelope_;
    std::vector<double> within_;
    std::vector<char> used_;
    std::vector<std::size_t> order_;
};

}  // namespace

Surfaces compare_volumes(const std::uint8_t* truth, const std::uint8_t* pred, std::array<std::int64_t, 3> shape,
                         std::array<double, 3> spacing) {
    Surfaces found;
    const std::int64_t count = shape[0] * shape[1] * shape[2];
    std::int64_t mine_count = 0, their_count = 0, both = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        const int one = truth[i] != 0, other = pred[i] != 0;
        mine_count += one;
        their_count += other;
        both += one & other;
    }
    found.voxels = {mine_count, their_count, both};
    if (!found.voxels[0] && !found.voxels[1]) return found;
    const Block block = find_block(truth, pred, shape);
    const std::vector<Voxel> mine = find_surface(truth, shape, block), theirs = find_surface(pred, shape, block);
    found.surfaces = {static_cast<std::int64_t>(mine.size()), static_cast<std::int64_t>(theirs.size()), 0};
    if (mine.empty() || theirs.empty()) return found;
    Reach reach(block, spacing);
    reach.distances(mine, theirs, found.to_truth);
    reach.distances(theirs, mine, found.to_pred);
    found.surfaces[2] = std::count(found.to_truth.begin(), found.to_truth.end(), 0.);
    return found;
}

}  // namespace verite
