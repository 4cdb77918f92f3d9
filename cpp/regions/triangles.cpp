#include "regions/triangles.hpp"

#include <stdexcept>
#include <string>

namespace verite {

std::int64_t triangle_failures(std::span<const double> values, std::int64_t reach, double slack) {
    const std::int64_t width = 4 * reach + 1, side = 2 * reach + 1;
    if (reach < 0 || values.size() != static_cast<std::size_t>(width * width))
        throw std::invalid_argument("values: expected " + std::to_string(width * width) + " for a reach of " +
                                    std::to_string(reach) + ", found " + std::to_string(values.size()));
    const double more = 1 + slack;
    const auto at = [&](std::int64_t down, std::int64_t right) { return values.data() + down * width + right; };
    std::int64_t found = 0;
    for (std::int64_t y1 = 0; y1 < side; ++y1)
        for (std::int64_t x1 = 0; x1 < side; ++x1) {
            const double first = *at(y1 + reach, x1 + reach);
            for (std::int64_t y2 = 0; y2 < side; ++y2) {
                const double* second = at(y2 + reach, reach);
                const double* between = at(y2 - y1 + 2 * reach, 2 * reach - x1);
                std::int64_t row = 0;
                for (std::int64_t x2 = 0; x2 < side; ++x2) row += second[x2] > (first + between[x2]) * more;
                found += row;
            }
        }
    return found;
}

}  // namespace verite
