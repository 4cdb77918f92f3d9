#include "columns/sums.hpp"

#include <algorithm>

namespace verite {

double sum_pairwise(std::span<const double> values) {
    constexpr std::size_t lanes = 8, block = 128;
    if (values.size() > block) {
        const std::size_t half = values.size() / 2 / lanes * lanes;
        return sum_pairwise(values.first(half)) + sum_pairwise(values.subspan(half));
    }
    double sum = 0;
    std::size_t i = 0;
    if (values.size() >= lanes) {
        double lane[lanes];
        std::copy_n(values.begin(), lanes, lane);
        for (i = lanes; i + lanes <= values.size(); i += lanes)
            for (std::size_t k = 0; k < lanes; ++k) lane[k] += values[i + k];
        sum = ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
    }
    for (; i < values.size(); ++i) sum += values[i];
    return sum;
}

}  // namespace verite
