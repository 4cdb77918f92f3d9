#include "regions/warps.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "regions/fills.hpp"
#include "regions/masks.hpp"

namespace verite {
namespace {

struct Place {
    double x, y;
};

Place move_place(const double* warp, double u, double v) {
    return {warp[0] + (warp[1] * u + warp[2] * v + warp[3] * (u * v)),
            warp[4] + (warp[5] * u + warp[6] * v + warp[7] * (u * v))};
}

// Where edges cross the middles of columns, kept apart column by column: most columns are crossed twice.
class Crossings {
  public:
    explicit Crossings(std::int64_t columns) : rows_(columns) {}

    void add(Place a, Place b, Size size) {
        // The same edge is cut at the same places whichever way it runs.
        if (b.x < a.x) std::swap(a, b);
        const std::int64_t first = first_pixel(a.x, size.width), last = first_pixel(b.x, size.width);
        for (std::int64_t x = first; x < last; ++x) {
            const double middle = static_cast<double>(x) + .5;
            rows_[x].push_back(a.y + (middle - a.x) / (b.x - a.x) * (b.y - a.y));
        }
    }

    void add(Size size, RunWriter& writer) {
        for (std::int64_t x = 0; x < size.width; ++x) {
            std::vector<double>& rows = rows_[x];
            if (rows.empty()) continue;
            std::sort(rows.begin(), rows.end());
            for (std::size_t i = 0; i + 1 < rows.size(); i += 2)
                writer.add(x, first_pixel(rows[i], size.height), first_pixel(rows[i + 1], size.height));
            rows.clear();
        }
    }

  private:
    std::vector<std::vector<double>> rows_;
};

}  // namespace

void warp_runs(std::span<const double> edges, std::span<const double> warps, Size size,
               std::vector<std::uint32_t>& counts, std::vector<std::int64_t>& objects) {
    Crossings crossings(size.width);
    for (std::size_t i = 0; i + 8 <= warps.size(); i += 8) {
        for (std::size_t e = 0; e + 4 <= edges.size(); e += 4) {
            const Place a = move_place(&warps[i], edges[e], edges[e + 1]),
                        b = move_place(&warps[i], edges[e + 2], edges[e + 3]);
            if (!std::isfinite(a.x + a.y + b.x + b.y))
                throw std::invalid_argument("a moved outline: expected finite numbers, found one that is not");
            crossings.add(a, b, size);
        }
        RunWriter writer(size, counts);
        crossings.add(size, writer);
        writer.close();
        objects.push_back(static_cast<std::int64_t>(counts.size()));
    }
}

}  // namespace verite
