#include "regions/volumes.hpp"

#include <algorithm>

#include "columns/parallel.hpp"
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
// lines with queries. Planes do not need each other, nor do lines: the same numbers for any number of
// threads.
class Reach {
  public:
    Reach(const Block& block, std::array<double, 3> spacing, unsigned threads)
        : planes_(block.size(0)),
          height_(block.size(1)),
          width_(block.size(2)),
          threads_(threads),
          spacing_(spacing),
          within_(static_cast<std::size_t>(planes_) * lines()) {}

    void distances(const std::vector<Voxel>& set, const std::vector<Voxel>& from, std::vector<double>& squared) {
        fill(set);
        order(from);
        squared.resize(from.size());
        in_stretches(lines(), threads_, [&](std::size_t first, std::size_t last) {
            std::vector<double> heights(planes_), least(planes_);
            Envelope envelope;
            Pause pause;
            for (std::size_t line = first; line < last; ++line) {
                if (starts_[line] == starts_[line + 1]) continue;
                pause();
                for (std::int32_t z = 0; z < planes_; ++z)
                    heights[z] = used_[z] ? within_[static_cast<std::size_t>(z) * lines() + line] : Envelope::nothing;
                envelope.lower(heights, spacing_[0], least);
                for (std::size_t i = starts_[line]; i < starts_[line + 1]; ++i)
                    squared[order_[i]] = least[from[order_[i]].z];
            }
        });
    }

  private:
    std::size_t lines() const { return static_cast<std::size_t>(width_) * height_; }
    std::size_t line_of(const Voxel& voxel) const { return static_cast<std::size_t>(voxel.x) * height_ + voxel.y; }

    // Squared distances within each plane that has something of the set.
    void fill(const std::vector<Voxel>& set) {
        used_.assign(planes_, false);
        std::vector<std::size_t> starts;
        for (std::size_t i = 0; i < set.size(); ++i)
            if (i == 0 || set[i].z != set[i - 1].z) {
                starts.push_back(i);
                used_[set[i].z] = true;
            }
        starts.push_back(set.size());
        in_stretches(starts.size() - 1, threads_, [&](std::size_t first, std::size_t last) {
            std::vector<Pixel> pixels;
            Transform transform;
            Pause pause;
            for (std::size_t k = first; k < last; ++k) {
                pause();
                pixels.clear();
                for (std::size_t i = starts[k]; i < starts[k + 1]; ++i) pixels.push_back({set[i].x, set[i].y});
                transform.build(pixels, {0, 0, width_, height_}, {spacing_[1], spacing_[2]});
                double* plane = within_.data() + static_cast<std::size_t>(set[starts[k]].z) * lines();
                for (std::int32_t x = 0; x < width_; ++x) {
                    const auto column = transform.column(x);
                    std::copy(column.begin(), column.end(), plane + static_cast<std::size_t>(x) * height_);
                }
            }
        });
    }

    // Who asks, line by line.
    void order(const std::vector<Voxel>& from) {
        starts_.assign(lines() + 1, 0);
        for (const Voxel& voxel : from) ++starts_[line_of(voxel) + 1];
        for (std::size_t i = 1; i < starts_.size(); ++i) starts_[i] += starts_[i - 1];
        order_.resize(from.size());
        std::vector<std::size_t> next(starts_.begin(), starts_.end() - 1);
        for (std::size_t i = 0; i < from.size(); ++i) order_[next[line_of(from[i])]++] = i;
    }

    std::int32_t planes_, height_, width_;
    unsigned threads_;
    std::array<double, 3> spacing_;
    std::vector<double> within_;
    std::vector<char> used_;
    std::vector<std::size_t> starts_, order_;
};

}  // namespace

Surfaces compare_volumes(const std::uint8_t* truth, const std::uint8_t* pred, std::array<std::int64_t, 3> shape,
                         std::array<double, 3> spacing, unsigned threads) {
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
    std::vector<Voxel> mine, theirs;
    in_parallel(2, threads,
                [&](std::size_t side) { (side ? theirs : mine) = find_surface(side ? pred : truth, shape, block); });
    found.surfaces = {static_cast<std::int64_t>(mine.size()), static_cast<std::int64_t>(theirs.size()), 0};
    if (mine.empty() || theirs.empty()) return found;
    Reach reach(block, spacing, threads);
    reach.distances(mine, theirs, found.to_truth);
    reach.distances(theirs, mine, found.to_pred);
    found.surfaces[2] = std::count(found.to_truth.begin(), found.to_truth.end(), 0.);
    return found;
}

}  // namespace verite
