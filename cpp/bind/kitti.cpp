// KITTI's matching for Python.
#include "evaluation/kitti.hpp"

#include <nanobind/stl/pair.h>
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
        "kitti_confidences",
        [](const Buffer& offsets, const Buffer& pred, const Buffer& iou, const Buffer& truth, const Buffer& state,
           const Buffer& in_region, const Buffer& confidence) {
            const Held held(offsets, pred, iou, truth, state, in_region, confidence);
            const nb::gil_scoped_release released;
            return kitti_confidences(held.objects());
        },
        nb::kw_only(), "offsets"_a, "pred"_a, "iou"_a, "truth"_a, "state"_a, "in_region"_a, "confidence"_a,
        "Confidences of true positives, each object with the prediction of highest confidence.");
    module.def(
        "kitti_counts",
        [](const Buffer& offsets, const Buffer& pred, const Buffer& iou, const Buffer& truth, const Buffer& state,
           const Buffer& in_region, const Buffer& confidence, const std::vector<double>& thresholds) {
            const Held held(offsets, pred, iou, truth, state, in_region, confidence);
            const nb::gil_scoped_release released;
            KittiCounts counts = kitti_counts(held.objects(), thresholds);
            return std::pair(std::move(counts.tp), std::move(counts.fp));
        },
        nb::kw_only(), "offsets"_a, "pred"_a, "iou"_a, "truth"_a, "state"_a, "in_region"_a, "confidence"_a,
        "thresholds"_a, "True and false positives at each confidence threshold, by KITTI's rules.");
}

}  // namespace verite
