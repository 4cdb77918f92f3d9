// Pairs that overlap enough to matter. Nothing here knows of boxes or masks; each brings its own measure.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "columns/cells.hpp"
#include "columns/memory.hpp"
#include "columns/parallel.hpp"
#include "columns/pause.hpp"

namespace verite {

// Pairs prediction by prediction, truths in their order within a prediction. Both sides are slots where predictions
// are laid out in cells, else objects as given.
struct Candidates {
    Array<std::int64_t> offsets;  // prediction i has the candidates offsets[i] .. offsets[i + 1]
    Column<std::int32_t> truth;
    Column<double> overlap;
};

// The same in the caller's memory.
struct CandidateView {
    std::span<const std::int64_t> offsets;
    std::span<const std::int32_t> truth;
    std::span<const double> overlap;
};

// Calls meet(first, last of the truth's slots, first, last of the predictions') for every cell of an image in which
// both sides have objects.
template <class Meet>
void each_meeting(const Cells& truth, const Cells& pred, std::size_t image, Meet&& meet) {
    std::int64_t t = truth.images[image], p = pred.images[image];
    const std::int64_t last_t = truth.images[image + 1], last_p = pred.images[image + 1];
    const auto end_of_cell = [](const Cells& side, std::int64_t at, std::int64_t last) {
        const std::int32_t label = side.labels[at];
        while (++at < last && side.labels[at] == label) continue;
        return at;
    };
    while (t < last_t && p < last_p) {
        if (truth.labels[t] < pred.labels[p]) {
            ++t;
        } else if (truth.labels[t] > pred.labels[p]) {
            ++p;
        } else {
            const std::int64_t next_t = end_of_cell(truth, t, last_t), next_p = end_of_cell(pred, p, last_p);
            meet(t, next_t, p, next_p);
            t = next_t;
            p = next_p;
        }
    }
}

// Adds the pairs of one prediction with the truths a measure has met, by add(t, overlap); `found` is what it adds to.
template <class Measure, class Add>
void add_candidates(Measure& measure, std::int32_t pred, std::size_t truths, double floor, Candidates& found,
                    Add&& add) {
    measure.start(pred);
    const std::size_t before = found.truth.rows();
    bool has_nan = false;
    measure.each_possible([&](std::size_t t) {
        const double overlap = measure.overlap(t);
        if (overlap < floor) return;
        has_nan |= std::isnan(overlap);
        add(t, overlap);
    });
    if (!has_nan) return;
    found.truth.cut(before);
    found.overlap.cut(before);
    for (std::size_t t = 0; t < truths; ++t) add(t, measure.overlap(t));
}

// Tells a measure that wants to know which prediction comes soon.
template <class Measure>
[[gnu::always_inline]] inline void expect(const Measure& measure, std::int32_t pred) {
    if constexpr (requires { measure.expect(pred); }) measure.expect(pred);
}

// Tells a measure that wants to know which truths come soon: those of an image, in files often far from each other.
template <class Measure>
[[gnu::always_inline]] inline void expect_truths(const Measure& measure, const Cells& truth, std::size_t image) {
    if constexpr (requires { measure.expect_truth(0); })
        if (image < truth.image_count())
            for (std::int64_t slot = truth.images[image]; slot < truth.images[image + 1]; ++slot)
                measure.expect_truth(truth.rows[slot]);
}

// Refuses more pairs than fit into memory.
class PairCounter {
  public:
    explicit PairCounter(std::size_t most) : most_(most) {}

    void check(std::size_t pairs) const {
        if (pairs > most_)
            throw std::length_error("predictions: expected at most " + std::to_string(most_) +
                                    " pairs of objects that overlap, found more; raise the limit with "
                                    "VERITE_LIMIT_OVERLAPS if this is right, with 100 bytes of memory for each");
    }
    void add(std::size_t pairs) { check(all_ += pairs); }

  private:
    std::size_t most_;
    std::atomic<std::size_t> all_ = 0;
};

// All pairs of a cell whose overlap is not below `floor`. A measure is told the truths of a cell by meet(rows) and a
// prediction by start(row). each_possible(visit) then calls visit(t) for every t-th truth whose overlap may reach the
// floor, and overlap(t) is asked for. An overlap that is not a number compares with nothing: then all truths of the
// cell are candidates. `make_measure()` is called for each piece of work, so that a measure may keep scratch memory.
// Throws std::length_error where there are more than `most_pairs`.
template <class MakeMeasure>
Candidates find_candidates(const Cells& truth, const Cells& pred, double floor, std::size_t most_pairs,
                           unsigned threads, MakeMeasure&& make_measure) {
    if (truth.image_count() != pred.image_count())
        throw std::invalid_argument("cells: expected as many images on both sides");
    const auto cuts = cut_images(pred.images, threads > 1 ? std::size_t{8} * threads : 1);
    const std::size_t pieces = cuts.size() - 1;
    std::vector<Candidates> parts(pieces);
    PairCounter counter(most_pairs);
    Candidates found;
    found.offsets.resize(pred.rows.size() + 1);
    constexpr std::int64_t ahead = 8;
    constexpr std::size_t images_ahead = 4;
    const auto slots = static_cast<std::int64_t>(pred.rows.size());
    in_parallel(pieces, threads, [&](std::size_t piece) {
        auto measure = make_measure();
        Pause pause(64);
        Candidates& part = parts[piece];
        std::int64_t done = pred.images[cuts[piece]];
        const auto end_slots = [&](std::int64_t last) {
            for (; done < last; ++done) found.offsets[done + 1] = static_cast<std::int64_t>(part.truth.rows());
        };
        for (std::size_t image = cuts[piece]; image < cuts[piece + 1]; ++image) {
            expect_truths(measure, truth, image + images_ahead);
            each_meeting(truth, pred, image, [&](std::int64_t t1, std::int64_t t2, std::int64_t p1, std::int64_t p2) {
                end_slots(p1);
                const auto count = static_cast<std::size_t>(t2 - t1);
                measure.meet(truth.rows.subspan(t1, count));
                const auto add = [&](std::size_t t, double overlap) {
                    part.truth.push(static_cast<std::int32_t>(t1 + static_cast<std::int64_t>(t)));
                    part.overlap.push(overlap);
                };
                for (std::int64_t p = p1; p < p2; ++p) {
                    pause();
                    if (p + ahead < slots) expect(measure, pred.rows[p + ahead]);
                    add_candidates(measure, pred.rows[p], count, floor, part, add);
                    counter.check(part.truth.rows());
                    end_slots(p + 1);
                }
            });
        }
        end_slots(pred.images[cuts[piece + 1]]);
        counter.add(part.truth.rows());
    });
    found.offsets[0] = 0;
    if (pieces == 1) {
        found.truth = std::move(parts[0].truth);
        found.overlap = std::move(parts[0].overlap);
        return found;
    }
    for (std::size_t i = 0; i < pieces; ++i) {
        const auto start = static_cast<std::int64_t>(found.truth.rows());
        found.truth.append(parts[i].truth.values());
        found.overlap.append(parts[i].overlap.values());
        parts[i] = {};
        for (std::int64_t slot = pred.images[cuts[i]]; slot < pred.images[cuts[i + 1]]; ++slot)
            found.offsets[slot + 1] += start;
    }
    return found;
}

}  // namespace verite
