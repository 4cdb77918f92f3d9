// Matching of tracks for Python.
#include <vector>

#include "bind/arrays.hpp"
#include "tracking/clear.hpp"

namespace verite {
namespace {

using namespace nb::literals;

using RowArray = Column1<std::int32_t>;

ArrayOf<bool> clear_matches(const Column1<std::int64_t>& offsets, const RowArray& truth, const RowArray& pred,
                            const RowArray& truth_track, const RowArray& pred_track, const Column1<double>& similarity,
                            const Column1<bool>& keeps, std::int64_t tracks) {
    const std::size_t count = truth.size();
    expect(
        pred.size() == count && truth_track.size() == count && pred_track.size() == count && similarity.size() == count,
        "a row, a track and a similarity on both sides of each pair");
    check_offsets(span_of(offsets), count, "offsets that rise from 0 to the number of pairs");
    expect(keeps.size() + 1 == offsets.size(), "a flag for each frame");
    expect(tracks >= 0, "a number of tracks");
    check_below(span_of(truth_track), static_cast<std::size_t>(tracks), "tracks below their number");
    auto* chosen = new std::uint8_t[count + 1]();
    nb::capsule owner(chosen, [](void* p) noexcept { delete[] static_cast<std::uint8_t*>(p); });
    {
        nb::gil_scoped_release released;
        match_clear({span_of(offsets), span_of(truth), span_of(pred), span_of(truth_track), span_of(pred_track),
                     span_of(similarity)},
                    flags_of(keeps), tracks, {chosen, count});
    }
    return nb::cast(nb::ndarray<nb::numpy, bool>(chosen, {count}, owner));
}

}  // namespace

void register_tracking(nb::module_& module) {
    module.def("clear_matches", &clear_matches, "offsets"_a, "truth"_a, "pred"_a, "truth_track"_a, "pred_track"_a,
               "similarity"_a, "keeps"_a, "tracks"_a,
               "Which pairs CLEAR MOT matches, frame by frame: continued ones first, the others optimally.");
}

}  // namespace verite
