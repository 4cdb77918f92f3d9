#include "regions/boundaries.hpp"

#include "columns/pause.hpp"

namespace verite {

void boundary_areas(const Side& truths, const Side& preds, std::span<const std::int64_t> widths,
                    std::span<double> out) {
    Raster truth, pred;
    Pause pause;
    for (std::size_t i = 0; i < truths.rows.size(); ++i) {
        pause();
        const std::int64_t t = truths.rows[i], p = preds.rows[i];
        truth.rim(truths.masks.counts[t], truths.masks.size_of(t), widths[i]);
        pred.rim(preds.masks.counts[p], preds.masks.size_of(p), widths[i]);
        out[3 * i] = static_cast<double>(truth.count());
        out[3 * i + 1] = static_cast<double>(pred.count());
        out[3 * i + 2] = static_cast<double>(count_common(truth, pred));
    }
}

}  // namespace verite
