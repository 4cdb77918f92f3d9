#include "similarity/window.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace verite {

bool Window::build(const Edges& edges) {
    const std::size_t count = edges.left.size();
    double largest = 0;
    for (const auto side : {edges.left, edges.top, edges.right, edges.bottom})
        for (const double edge : side) {
            if (!std::isfinite(edge)) return false;
            largest = std::max(largest, std::abs(edge));
        }
    slack_ = 1e-9 * largest;
    if (!std::isfinite(2 * largest)) return false;
    struct Place {
        int power;
        double row, left;
        std::int32_t box;
    };
    std::vector<Place> places(count);
    for (std::size_t i = 0; i < count; ++i) {
        const double side = std::max(edges.right[i] - edges.left[i], edges.bottom[i] - edges.top[i]);
        int power = -20;  // sizes are rounded up to powers of two; what is smaller than a millionth is alike
        if (side > 0) std::frexp(side, &power);
        power = std::max(power, -20);
        places[i] = {power, std::floor(std::ldexp(edges.top[i], -power)), edges.left[i], static_cast<std::int32_t>(i)};
    }
    std::ranges::sort(places, [](const Place& a, const Place& b) {
        return a.power != b.power ? a.power < b.power : a.row != b.row ? a.row < b.row : a.left < b.left;
    });
    layers_.clear();
    stripes_.clear();
    left_.resize(count);
    box_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        const Place& place = places[i];
        const bool is_new_layer = i == 0 || place.power != places[i - 1].power;
        if (is_new_layer) layers_.push_back({std::ldexp(1.0, place.power), stripes_.size(), stripes_.size()});
        if (is_new_layer || place.row != places[i - 1].row) {
            stripes_.push_back({place.row, i});
            layers_.back().last = stripes_.size();
        }
        left_[i] = place.left;
        box_[i] = place.box;
    }
    stripes_.push_back({0, count});
    return true;
}

std::span<const std::int32_t> Window::find(double left, double top, double right, double bottom) {
    found_.clear();
    for (const Layer& layer : layers_) {
        const double reach = layer.size + slack_;
        const double first_row = std::floor((top - reach) / layer.size), last_row = (bottom + slack_) / layer.size;
        auto stripe = std::partition_point(stripes_.begin() + layer.first, stripes_.begin() + layer.last,
                                           [&](const Stripe& s) { return s.row < first_row; });
        for (; stripe != stripes_.begin() + layer.last && stripe->row <= last_row; ++stripe) {
            const auto first = left_.begin() + stripe->first, last = left_.begin() + (stripe + 1)->first;
            auto at = std::partition_point(first, last, [&](double edge) { return edge < left - reach; });
            for (; at != last && *at <= right + slack_; ++at) found_.push_back(box_[at - left_.begin()]);
        }
    }
    std::ranges::sort(found_);
    return found_;
}

}  // namespace verite
