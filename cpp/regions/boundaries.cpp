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

void boundary_masks(const RLEMasks& masks, std::span<const std::int64_t> widths, std::vector<std::uint32_t>& counts,
                    std::vector<std::int64_t>& offsets) {
    Raster boundary;
    Pause pause;
    std::vector<std::uint32_t> own;
    offsets.assign(1, 0);
    for (std::size_t i = 0; i < masks.size(); ++i) {
        pause();
        boundary.rim(masks.counts[i], masks.size_of(i), widths[i]);
        own.clear();
        boundary.runs(masks.size_of(i), own);
        counts.insert(counts.end(), own.begin(), own.end());
        offsets.push_back(static_cast<std::int64_t>(counts.size()));
    }
}

}  // namespace verite
