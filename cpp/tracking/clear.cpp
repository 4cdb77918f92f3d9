#include "tracking/clear.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "evaluation/assignment.hpp"

namespace verite {
namespace {

// Similarities as whole numbers, so that sums of them are exact.
constexpr double scale = 1099511627776.0;  // 2^40

// The rows of some pairs, numbered from 0 in rising order.
class Numbering {
  public:
    void assign(std::span<const std::int32_t> rows, std::vector<std::int64_t>& numbers) {
        sorted_.assign(rows.begin(), rows.end());
        std::sort(sorted_.begin(), sorted_.end());
        sorted_.erase(std::unique(sorted_.begin(), sorted_.end()), sorted_.end());
        numbers.clear();
        for (const std::int32_t row : rows)
            numbers.push_back(std::lower_bound(sorted_.begin(), sorted_.end(), row) - sorted_.begin());
    }
    std::int64_t size() const { return static_cast<std::int64_t>(sorted_.size()); }

  private:
    std::vector<std::int32_t> sorted_;
};

}  // namespace

void match_clear(const TrackPairs& pairs, std::span<const std::uint8_t> keeps, std::int64_t tracks,
                 std::span<std::uint8_t> chosen) {
    std::vector<std::int32_t> last(static_cast<std::size_t>(tracks), -1);  // the predicted track of each track
    std::vector<std::int32_t> active, truth_rows, pred_rows;
    std::vector<std::size_t> open;
    std::vector<std::int64_t> rows, columns, gains, ties;
    std::vector<std::uint8_t> found;
    Numbering truths, preds;
    for (std::size_t frame = 0; frame + 1 < pairs.offsets.size(); ++frame) {
        if (!keeps[frame]) continue;
        const auto first = static_cast<std::size_t>(pairs.offsets[frame]);
        const auto end = static_cast<std::size_t>(pairs.offsets[frame + 1]);
        open.clear(), truth_rows.clear(), pred_rows.clear();
        // Continued pairs come first: matches are one-to-one, so no two of them share an object.
        for (std::size_t i = first; i < end; ++i) {
            if (last[static_cast<std::size_t>(pairs.truth_track[i])] != pairs.pred_track[i]) continue;
            chosen[i] = 1;
            truth_rows.push_back(pairs.truth[i]);
            pred_rows.push_back(pairs.pred[i]);
        }
        std::sort(truth_rows.begin(), truth_rows.end());
        std::sort(pred_rows.begin(), pred_rows.end());
        for (std::size_t i = first; i < end; ++i)
            if (!std::binary_search(truth_rows.begin(), truth_rows.end(), pairs.truth[i]) &&
                !std::binary_search(pred_rows.begin(), pred_rows.end(), pairs.pred[i]))
                open.push_back(i);
        if (!open.empty()) {
            truth_rows.clear(), pred_rows.clear(), gains.clear();
            for (const std::size_t i : open) {
                truth_rows.push_back(pairs.truth[i]);
                pred_rows.push_back(pairs.pred[i]);
                gains.push_back(std::llround(pairs.similarity[i] * scale));
            }
            truths.assign(truth_rows, rows);
            preds.assign(pred_rows, columns);
            ties.assign(open.size(), 0);
            found.assign(open.size(), 0);
            assign({rows, columns, gains, ties}, truths.size(), preds.size(), found);
            for (std::size_t k = 0; k < open.size(); ++k) chosen[open[k]] = found[k];
        }
        for (const std::int32_t track : active) last[static_cast<std::size_t>(track)] = -1;
        active.clear();
        for (std::size_t i = first; i < end; ++i) {
            if (!chosen[i]) continue;
            last[static_cast<std::size_t>(pairs.truth_track[i])] = pairs.pred_track[i];
            active.push_back(pairs.truth_track[i]);
        }
    }
}

}  // namespace verite
