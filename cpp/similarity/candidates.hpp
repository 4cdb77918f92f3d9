// Candidate pairs: predictions and ground-truth objects of one image and class whose similarity (IoU, OKS) may reach a
// threshold. Nothing here knows of boxes or masks; each similarity brings its own formula.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <concepts>
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

// A similarity of one prediction with the ground-truth objects of its image and class, called in this order:
// set_truths(rows) names the objects, set_pred(row) the prediction; each_candidate(visit) then calls visit(t) for every
// t-th object whose similarity may reach the floor of the comparison, and value(t) is that similarity. It may be NaN,
// which compares with nothing, or negative, which is no pair at any threshold. An object may keep scratch memory: every
// thread has its own.
template <class T>
concept Similarity = requires(T similarity, std::span<const std::int32_t> rows, std::int32_t row, std::size_t t) {
    similarity.set_truths(rows);
    similarity.set_pred(row);
    similarity.each_candidate([](std::size_t) {});
    { similarity.value(t) } -> std::same_as<double>;
};

// Pairs prediction by prediction, objects in their order within a prediction. Both sides are indices of cells where
// they are laid out in cells, else rows as given.
struct Candidates {
    Array<std::int64_t> offsets;  // prediction i has the candidates offsets[i] .. offsets[i + 1]
    Column<std::int32_t> truth;
    Column<double> iou;  // or another similarity
};

// The same in the caller's memory.
struct CandidateView {
    std::span<const std::int64_t> offsets;
    std::span<const std::int32_t> truth;
    std::span<const double> iou;
};

// Calls visit(first, last of the objects' indices, first, last of the predictions') for every cell of an image in which
// both sides have objects.
template <class Visit>
void each_shared_cell(const Cells& truth, const Cells& pred, std::size_t image, Visit&& visit) {
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
            visit(t, next_t, p, next_p);
            t = next_t;
            p = next_p;
        }
    }
}

// Adds the candidates of one prediction by add(t, iou); `truths` is how many objects the similarity was given. Where
// one value is NaN, all objects are candidates.
template <Similarity Compare, class Add>
void add_candidates(Compare& similarity, std::int32_t pred, std::size_t truths, double floor, Candidates& found,
                    Add&& add) {
    similarity.set_pred(pred);
    const std::size_t before = found.truth.rows();
    bool has_nan = false;
    similarity.each_candidate([&](std::size_t t) {
        const double iou = similarity.value(t);
        if (iou < floor) return;
        has_nan |= std::isnan(iou);
        add(t, iou);
    });
    if (!has_nan) return;
    found.truth.cut(before);
    found.iou.cut(before);
    for (std::size_t t = 0; t < truths; ++t) add(t, similarity.value(t));
}

// Announces a prediction that comes soon to a similarity that prefetches.
template <class Compare>
[[gnu::always_inline]] inline void announce(const Compare& similarity, std::int32_t pred) {
    if constexpr (requires { similarity.prefetch_pred(pred); }) similarity.prefetch_pred(pred);
}

// Announces the objects of an image that comes soon, which are often far apart in memory.
template <class Compare>
[[gnu::always_inline]] inline void announce_truths(const Compare& similarity, const Cells& truth, std::size_t image) {
    if constexpr (requires { similarity.prefetch_truth(0); })
        if (image < truth.image_count())
            for (std::int64_t index = truth.images[image]; index < truth.images[image + 1]; ++index)
                similarity.prefetch_truth(truth.rows[index]);
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

// All candidates, in the order of predictions: the pairs of a cell whose similarity is not below `floor`.
// `make_similarity()` is called for each piece of work, so that threads share no scratch memory. The same for any
// number of threads. Throws std::length_error where there are more than `most_pairs`, std::invalid_argument where the
// sides have different numbers of images.
template <class MakeSimilarity>
Candidates find_candidates(const Cells& truth, const Cells& pred, double floor, std::size_t most_pairs,
                           unsigned threads, MakeSimilarity&& make_similarity) {
    if (truth.image_count() != pred.image_count())
        throw std::invalid_argument("cells: expected as many images on both sides");
    const auto cuts = cut_images(pred.images, threads > 1 ? std::size_t{8} * threads : 1);
    const std::size_t pieces = cuts.size() - 1;
    std::vector<Candidates> pieces_found(pieces);
    PairCounter counter(most_pairs);
    Candidates found;
    found.offsets.resize(pred.rows.size() + 1);
    constexpr std::int64_t ahead = 8;
    constexpr std::size_t images_ahead = 4;
    const auto indices = static_cast<std::int64_t>(pred.rows.size());
    in_parallel(pieces, threads, [&](std::size_t piece) {
        Similarity auto similarity = make_similarity();
        Pause pause(64);
        Candidates& own = pieces_found[piece];
        std::int64_t done = pred.images[cuts[piece]];
        const auto end_indices = [&](std::int64_t last) {
            for (; done < last; ++done) found.offsets[done + 1] = static_cast<std::int64_t>(own.truth.rows());
        };
        for (std::size_t image = cuts[piece]; image < cuts[piece + 1]; ++image) {
            announce_truths(similarity, truth, image + images_ahead);
            each_shared_cell(truth, pred, image,
                             [&](std::int64_t t1, std::int64_t t2, std::int64_t p1, std::int64_t p2) {
                                 end_indices(p1);
                                 const auto count = static_cast<std::size_t>(t2 - t1);
                                 similarity.set_truths(truth.rows.subspan(t1, count));
                                 const auto add = [&](std::size_t t, double iou) {
                                     own.truth.push(static_cast<std::int32_t>(t1 + static_cast<std::int64_t>(t)));
                                     own.iou.push(iou);
                                 };
                                 for (std::int64_t p = p1; p < p2; ++p) {
                                     pause();
                                     if (p + ahead < indices) announce(similarity, pred.rows[p + ahead]);
                                     add_candidates(similarity, pred.rows[p], count, floor, own, add);
                                     counter.check(own.truth.rows());
                                     end_indices(p + 1);
                                 }
                             });
        }
        end_indices(pred.images[cuts[piece + 1]]);
        counter.add(own.truth.rows());
    });
    found.offsets[0] = 0;
    if (pieces == 1) {
        found.truth = std::move(pieces_found[0].truth);
        found.iou = std::move(pieces_found[0].iou);
        return found;
    }
    for (std::size_t i = 0; i < pieces; ++i) {
        const auto start = static_cast<std::int64_t>(found.truth.rows());
        found.truth.append(pieces_found[i].truth.values());
        found.iou.append(pieces_found[i].iou.values());
        pieces_found[i] = {};
        for (std::int64_t index = pred.images[cuts[i]]; index < pred.images[cuts[i + 1]]; ++index)
            found.offsets[index + 1] += start;
    }
    return found;
}

}  // namespace verite
