// Matching of CLEAR MOT (Bernardin and Stiefelhagen 2008) as TrackEval does it: frame by frame, a track keeps the
// prediction it was matched to in the last frame as long as the two still overlap; the rest is matched optimally.
#pragma once

#include <cstdint>
#include <span>

namespace verite {

// Pairs of a ground-truth object and a prediction of the same frame whose similarity reaches the threshold. Frames are
// consecutive ranges of pairs: those of frame f are offsets[f] .. offsets[f + 1].
struct TrackPairs {
    std::span<const std::int64_t> offsets;
    std::span<const std::int32_t> truth, pred;              // rows of both sides
    std::span<const std::int32_t> truth_track, pred_track;  // tracks of both rows, numbered from 0
    std::span<const double> similarity;
};

// Sets chosen[i] to 1 for the matched pairs. `keeps[f]` is 0 for a frame in which one side is empty: such a frame
// leaves what was matched last as it is; in any other frame a track that is not matched has no last match any more.
// Tracks are below `tracks`. `chosen` must be zero before.
void match_clear(const TrackPairs& pairs, std::span<const std::uint8_t> keeps, std::int64_t tracks,
                 std::span<std::uint8_t> chosen);

}  // namespace verite
