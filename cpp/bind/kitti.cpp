// KITTI's matching for Python.
#include "evaluation/kitti.hpp"

#include <nanobind/stl/vector.h>

#include "bind/arrays.hpp"
#include "bind/views.hpp"

namespace verite {
namespace {

using namespace nb::literals;

// The columns of both calls, and the memory behind them.
class Held {
  public:
    Held(const Buffer& offsets, const Buffer& pred, const Buffer& iou, const Buffer& truth, const Buffer& state,
         const Buffer& in_region, const Buffer& confidence)
        : offsets_(to_view<std::int64_t>(offsets, "offsets")),
          pred_(to_view<std::int32_t>(pred, "pred")),
          iou_(to_view<double>(iou, "iou")),
          truth_(to_view<std::int8_t>(truth, "truth")),
          state_(to_view<std::int8_t>(state, "state")),
          in_region_(to_view<std::uint8_t>(in_region, "in_region")),
          confidence_(to_view<double>(confidence, "confidence")) {}

    KittiObjects objects() const {
        return {offsets_.values, pred_.values,      iou_.values,       truth_.values,
                state_.values,   in_region_.values, confidence_.values};
    }

  private:
    View<std::int64_t> offsets_;
    View<std::int32_t> pred_;
    View<double> iou_;
    View<std::int8_t> truth_, state_;
    View<std::uint8_t> in_region_;
    View<double> confidence_;
};

}  // namespace

void register_kitti(nb::module_& module) {
    module.def(
        "kitti_true_positives",
        [](const Buffer& offsets, const Buffer& pred, const Buffer& iou, const Buffer& truth, const Buffer& state,
           const Buffer& in_region, const Buffer& confidence) {
            const Held held(offsets, pred, iou, truth, state, in_region, confidence);
            const nb::gil_scoped_release released;
            return kitti_true_positives(held.objects());
        },
        nb::kw_only(), "offsets"_a, "pred"_a, "iou"_a, "truth"_a, "state"_a, "in_region"_a, "confidence"_a,
        "The predictions that are true positives if each object takes the one of highest confidence.");
    module.def(
        "kitti_steps",
        [](const Buffer& offsets, const Buffer& pred, const Buffer& iou, const Buffer& truth, const Buffer& state,
           const Buffer& in_region, const Buffer& confidence,
           const Buffer& images) -> ArraysOf<double, std::int32_t, std::int32_t, std::int32_t> {
            const Held held(offsets, pred, iou, truth, state, in_region, confidence);
            const auto image = to_view<std::int32_t>(images, "images");
            KittiSteps steps;
            {
                const nb::gil_scoped_release released;
                steps = kitti_steps(held.objects(), image.values);
            }
            return nb::make_tuple(to_numpy(std::move(steps.confidence)), to_numpy(std::move(steps.image)),
                                  to_numpy(std::move(steps.tp)), to_numpy(std::move(steps.fp)));
        },
        nb::kw_only(), "offsets"_a, "pred"_a, "iou"_a, "truth"_a, "state"_a, "in_region"_a, "confidence"_a, "images"_a,
        "Changes of the numbers of true and false positives of each image where the confidence threshold falls to a "
        "value: confidence, image, tp, fp.");
}

}  // namespace verite
