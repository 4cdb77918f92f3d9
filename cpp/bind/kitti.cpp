// KITTI's matching for Python.
#include "evaluation/kitti.hpp"

#include <nanobind/stl/vector.h>

#include "bind/arrays.hpp"
#include "bind/views.hpp"

namespace verite {
namespace {

using namespace nb::literals;

using KittiArrays = ArraysOf<double, std::int64_t, double, double, double, std::int64_t>;

}  // namespace

void register_kitti(nb::module_& module) {
    module.def(
        "kitti_steps",
        [](const Buffer& offsets, const Buffer& pred, const Buffer& iou, const Buffer& role, const Buffer& label,
           std::int32_t own_label, const Buffer& height, const Buffer& region_share, const Buffer& confidence,
           const Buffer& order, const Buffer& image, double least, const std::vector<Buffer>& is_beyond,
           const std::vector<double>& least_heights) -> std::vector<KittiArrays> {
            const auto of_offsets = to_view<std::int64_t>(offsets, "offsets");
            const auto of_pred = to_view<std::int64_t>(pred, "pred");
            const auto of_iou = to_view<double>(iou, "iou");
            const auto of_role = to_view<std::int8_t>(role, "role");
            const auto of_label = to_view<std::int32_t>(label, "label");
            const auto of_height = to_view<double>(height, "height");
            const auto of_share = to_view<double>(region_share, "region_share");
            const auto of_confidence = to_view<double>(confidence, "confidence");
            const auto of_order = to_view<std::int64_t>(order, "order");
            const auto of_image = to_view<std::int32_t>(image, "image");
            if (is_beyond.size() != least_heights.size())
                throw std::invalid_argument("least_heights: expected one for each of is_beyond");
            std::vector<View<std::uint8_t>> beyond;
            std::vector<KittiDifficulty> difficulties;
            for (std::size_t i = 0; i < is_beyond.size(); ++i) {
                beyond.push_back(to_view<std::uint8_t>(is_beyond[i], "is_beyond"));
                difficulties.push_back({beyond.back().values, least_heights[i]});
            }
            std::vector<KittiSteps> found;
            {
                const nb::gil_scoped_release released;
                found = kitti_steps({of_offsets.values, of_pred.values, of_iou.values},
                                    {of_role.values, of_label.values, own_label, of_height.values, of_share.values,
                                     of_confidence.values, of_order.values, of_image.values, least},
                                    difficulties);
            }
            std::vector<KittiArrays> arrays;
            for (KittiSteps& one : found)
                arrays.emplace_back(nb::make_tuple(to_numpy(std::move(one.confidence)), to_numpy(std::move(one.image)),
                                                   to_numpy(std::move(one.tp)), to_numpy(std::move(one.fp)),
                                                   to_numpy(std::move(one.hit_confidence)),
                                                   to_numpy(std::move(one.hit_image))));
            return arrays;
        },
        nb::kw_only(), "offsets"_a, "pred"_a, "iou"_a, "role"_a, "label"_a, "own_label"_a, "height"_a, "region_share"_a,
        "confidence"_a, "order"_a, "image"_a, "least"_a, "is_beyond"_a, "least_heights"_a,
        "For each difficulty, changes of the numbers of true and false positives where the confidence threshold falls "
        "to a value: confidence, image, tp, fp; and confidence and image of the true positives that set thresholds.");
}

}  // namespace verite
