#include "evaluation/accumulate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "columns/parallel.hpp"
#include "evaluation/constants.hpp"

namespace verite {
namespace {

// Every byte as eight doubles, 1 where a bit is set: sets of thresholds become vectors that are added at once.
constexpr auto lanes_of_byte = [] {
    std::array<std::array<double, 8>, 256> table{};
    for (std::size_t byte = 0; byte < 256; ++byte)
        for (std::size_t bit = 0; bit < 8; ++bit) table[byte][bit] = byte >> bit & 1;
    return table;
}();

// Classes that are neighbours in the output are accumulated together and written together: a cache line holds
// eight.
constexpr std::size_t together = 8;

// Walks through the predictions of a class once, with the counts of all area ranges and thresholds in vectors. Counts
// are doubles: they are exact, and one instruction adds or divides several.
template <bool is_weighted>
class Accumulator {
  public:
    // Questions may follow that are as large as the first.
    Accumulator(const AccumulationInput& given, const CurveTask& first, const Weighting& weighting)
        : given_(given),
          request_(first.request),
          weighting_(weighting),
          out_(first.out),
          ranges_(request_.ranges),
          levels_(request_.recalls.size()),
          curves_(ranges_ * width),
          lanes_((given.thresholds + 3) / 4 * 4),
          tp_(curves_),
          ignored_(curves_),
          next_(curves_),
          best_now_(curves_),
          level_(curves_),
          needed_(ranges_ * (levels_ + 1)),
          outside_(ranges_),
          best_(together * ranges_ * given.thresholds * levels_),
          reached_at_(out_.confidence.empty() ? 0 : best_.size()),
          within_((request_.max_dets + 1) * curves_),
          recall_(together * request_.max_dets * ranges_ * given.thresholds) {}

    void run(const CurveTask& task, std::size_t first_label, std::size_t last_label) {
        request_ = task.request;
        out_ = task.out;
        max_dets_ = out_.recall.empty() ? 0 : request_.max_dets;
        std::fill(best_.begin(), best_.end(), 0.0);
        std::fill(reached_at_.begin(), reached_at_.end(), 0.0);
        for (std::size_t label = first_label; label < last_label; ++label) {
            start(label, label - first_label);
            walk(static_cast<std::size_t>(given_.offsets[label]), static_cast<std::size_t>(given_.offsets[label + 1]));
            finish();
        }
        interpolate();
        write(first_label, last_label);
    }

  private:
    // Room for the thresholds of a range, a whole number of bytes of bits.
    static constexpr std::size_t width = most_thresholds;

    void start(std::size_t label, std::size_t lane) {
        lane_ = lane;
        seen_ = 0;
        positives_ = given_.positives.subspan(label * given_.ranges, ranges_);
        for (auto* counts : {&tp_, &ignored_, &best_now_, &outside_, &within_})
            std::fill(counts->begin(), counts->end(), 0.0);
        std::fill(level_.begin(), level_.end(), 0);
        std::fill(next_.begin(), next_.end(), never);
        for (std::size_t range = 0; range < ranges_; ++range) {
            double* levels = &needed_[range * (levels_ + 1)];
            for (std::size_t r = 0; r < levels_ && positives_[range] > 0; ++r) levels[r] = needed(r, positives_[range]);
            levels[levels_] = never;
            if (positives_[range] > 0) std::fill_n(&next_[range * width], given_.thresholds, levels[0]);
        }
    }

    // Sums of weights that are not whole depend on their order by a few bits.
    double needed(std::size_t r, double positives) const {
        const double level = request_.recalls[r];
        if (is_weighted && !weighting_.is_whole) return level <= 1 ? level * positives * (1 - 1e-12) : never;
        return true_positives_needed(level, positives);
    }

    void walk(std::size_t first, std::size_t last) {
        constexpr std::size_t far = 32, near = 12;
        for (std::size_t i = first; i < last; ++i) {
            prefetch(&given_.predictions[given_.order[std::min(i + far, last - 1)]]);
            const std::int32_t soon = given_.predictions[given_.order[std::min(i + near, last - 1)]].outcome;
            if (soon >= 0) prefetch(&given_.outcomes[static_cast<std::size_t>(soon) * given_.ranges]);
            if constexpr (is_weighted)
                i += walk_weighted(i) - 1;
            else
                step(given_.order[i], 1);
        }
    }

    // Copies of an image follow each other, so that equal confidences of one image are repeated as a whole for each
    // copy. One step of weight w equals w steps: precision cannot fall between true positives of one confidence.
    // Returns how many predictions were visited.
    std::size_t walk_weighted(std::size_t i) {
        const double weight = weighting_.weights[static_cast<std::size_t>(weighting_.image[i])];
        const std::size_t run = weighting_.runs[i];
        if (!(weight > 0)) return run;
        if (run == 1 || weight == 1 || !weighting_.is_whole) {
            for (std::size_t k = 0; k < run; ++k) step(given_.order[i + k], weight);
            return run;
        }
        for (double copy = 0; copy < weight; ++copy)
            for (std::size_t k = 0; k < run; ++k) step(given_.order[i + k], 1);
        return run;
    }

    void step(std::int32_t index, double given_weight) {
        const double weight = is_weighted ? given_weight : 1.0;
        const PredictionFlags prediction = given_.predictions[index];
        const std::size_t limit = prediction.limit();
        const bool counts = limit <= request_.precision_limit;
        if (counts) {
            if (seen_ == 0) begin(index);
            seen_ += weight;
            // No branch: it would be unpredictable which ranges a prediction is in.
            for (std::size_t range = 0; range < ranges_; ++range)
                outside_[range] += weight * static_cast<double>(prediction.flags >> range & 1);
        }
        if (prediction.outcome < 0) return;
        const Outcome* outcomes = &given_.outcomes[static_cast<std::size_t>(prediction.outcome) * given_.ranges];
        for (std::size_t range = 0; range < ranges_; ++range) {
            const auto [tp, ignored] = outcomes[range];
            alignas(16) double lanes[width];
            if (counts && !prediction.is_outside(range) && ignored) {
                spread(ignored, lanes);
                add(&ignored_[range * width], lanes, weight);
            }
            if (!tp) continue;
            spread(tp, lanes);
            // A prediction within a limit is within all higher ones: it is counted at the lowest.
            add(&within_[limit * curves_ + range * width], lanes, weight);
            if (!counts) continue;
            // Those outside the range were counted as ignored above, before their outcome was known.
            if (prediction.is_outside(range)) add(&ignored_[range * width], lanes, -weight);
            add_true_positives(range, lanes, index, weight);
        }
    }

    static void spread(ThresholdSet bits, double* lanes) {
        for (std::size_t byte = 0; byte < sizeof(ThresholdSet); ++byte)
            std::copy_n(lanes_of_byte[bits >> (8 * byte) & 0xFF].data(), 8, lanes + 8 * byte);
    }

    void add(double* counts, const double* lanes, double weight) const {
        const std::size_t count = lanes_ / 4 * 4;  // the compiler sees that nothing is left over
        for (std::size_t t = 0; t < count; ++t) counts[t] += weight * lanes[t];
    }

    void add_true_positives(std::size_t range, const double* lanes, std::int32_t index, double weight) {
        double *own_tp = &tp_[range * width], *best = &best_now_[range * width];
        const double *ignored = &ignored_[range * width], *next = &next_[range * width];
        const std::size_t count = lanes_ / 4 * 4;
        double reached = 0;
        for (std::size_t t = 0; t < count; ++t) {
            own_tp[t] += is_weighted ? weight * lanes[t] : lanes[t];
            reached += own_tp[t] >= next[t] ? 1.0 : 0.0;
        }
        if (reached > 0) reach(range, index);
        const double seen = seen_ - outside_[range];
        for (std::size_t t = 0; t < count; ++t) {
            const double precision = own_tp[t] / ((seen - ignored[t]) + epsilon) * lanes[t];
            best[t] = precision > best[t] ? precision : best[t];
        }
    }

    // The first prediction already reaches a recall of 0.
    void begin(std::int32_t index) {
        for (std::size_t range = 0; range < ranges_; ++range)
            if (positives_[range] > 0) reach(range, index);
    }

    // Keeps the best precision up to here, and goes on to the level of recall that is reached now.
    void reach(std::size_t range, std::int32_t index) {
        const double* levels = &needed_[range * (levels_ + 1)];
        for (std::size_t t = 0; t < given_.thresholds; ++t) {
            const std::size_t curve = range * width + t;
            if (tp_[curve] < next_[curve]) continue;
            store(range, t);
            std::size_t& level = level_[curve];
            for (; levels[level] <= tp_[curve]; ++level)
                if (!reached_at_.empty()) reached_at_[place(range, t, level)] = given_.confidence[index];
            next_[curve] = levels[level];
            best_now_[curve] = 0;
        }
    }

    void store(std::size_t range, std::size_t t) {
        const std::size_t curve = range * width + t;
        if (level_[curve] > 0) best_[place(range, t, level_[curve] - 1)] = best_now_[curve];
    }

    void finish() {
        for (std::size_t range = 0; range < ranges_; ++range)
            for (std::size_t t = 0; t < given_.thresholds; ++t) {
                store(range, t);
                double sum = 0;
                for (std::size_t m = 0; m < max_dets_; ++m) {
                    sum += within_[m * curves_ + range * width + t];
                    recall_[limit_place(m, range, t)] = sum / positives_[range];
                }
            }
    }

    // From the right, so that each level has the best precision at its own or a higher recall; all classes at once.
    void interpolate() {
        for (std::size_t curve = 0; curve < ranges_ * given_.thresholds; ++curve)
            for (std::size_t r = levels_; r-- > 1;) {
                const double* higher = &best_[(curve * levels_ + r) * together];
                double* own = &best_[(curve * levels_ + r - 1) * together];
                for (std::size_t lane = 0; lane < together; ++lane) own[lane] = std::max(own[lane], higher[lane]);
            }
    }

    std::size_t place(std::size_t range, std::size_t t, std::size_t level) const {
        return ((range * given_.thresholds + t) * levels_ + level) * together + lane_;
    }

    std::size_t limit_place(std::size_t limit, std::size_t range, std::size_t t) const {
        return ((limit * ranges_ + range) * given_.thresholds + t) * together + lane_;
    }

    // Which classes have ground truth in each area range, and their columns.
    void find_columns(std::size_t first_label, std::size_t last_label) {
        written_.resize(ranges_);
        are_all_.resize(ranges_);
        for (std::size_t range = 0; range < ranges_; ++range) {
            written_[range].clear();
            for (std::size_t label = first_label; label < last_label; ++label)
                if (given_.positives[label * given_.ranges + range] > 0)
                    written_[range].push_back({label - first_label, out_.columns->column_of(range, label)});
            are_all_[range] = written_[range].size() == together;
        }
    }

    // Classes and area ranges without ground truth are not written. Neighbours in memory are written one after the
    // other.
    void write(std::size_t first_label, std::size_t last_label) {
        const auto copy = [&](std::span<const double> from, std::size_t row, std::span<double> to, std::size_t range,
                              std::size_t at, std::size_t stride) {
            for (std::size_t label = first_label; label < last_label; ++label)
                if (given_.positives[label * given_.ranges + range] > 0)
                    to[at + label * stride] = from[row * together + label - first_label];
        };
        const Strides &step = out_.strides, &by_limit = out_.recall_strides;
        if (out_.columns) find_columns(first_label, last_label);
        for (std::size_t t = 0; t < given_.thresholds; ++t) {
            for (std::size_t r = 0; r < levels_; ++r)
                for (std::size_t range = 0; range < ranges_; ++range) {
                    const std::size_t row = (range * given_.thresholds + t) * levels_ + r;
                    if (out_.columns) {
                        const double* from = &best_[row * together];
                        double* to = out_.precision.data() + out_.columns->row(range, t, r);
                        if (are_all_[range])
                            std::memcpy(to + written_[range].front().column, from, together * sizeof(double));
                        else
                            for (const auto& [lane, column] : written_[range]) to[column] = from[lane];
                        continue;
                    }
                    const std::size_t at = range * step.range + t * step.threshold + r * step.recall;
                    copy(best_, row, out_.precision, range, at, step.label);
                    if (!reached_at_.empty()) copy(reached_at_, row, out_.confidence, range, at, step.label);
                }
            for (std::size_t m = 0; m < max_dets_; ++m)
                for (std::size_t range = 0; range < ranges_; ++range)
                    copy(recall_, (m * ranges_ + range) * given_.thresholds + t, out_.recall, range,
                         range * by_limit.range + t * by_limit.threshold + m * by_limit.limit, by_limit.label);
        }
    }

    const AccumulationInput& given_;
    CurveRequest request_;
    const Weighting& weighting_;
    CurveOutput out_;
    const std::size_t ranges_, levels_, curves_;
    const std::size_t lanes_;   // thresholds, and empty ones that make them a multiple of four
    std::size_t max_dets_ = 0;  // of recall; 0 where recall is not wanted
    // Of the current class, [range][threshold]
    std::vector<double> tp_;          // true positives so far
    std::vector<double> ignored_;     // ignored predictions, beyond those in outside_
    std::vector<double> next_;        // true positives needed for the next recall level
    std::vector<double> best_now_;    // precision since the last level
    std::vector<std::size_t> level_;  // levels reached
    std::vector<double> needed_;      // [range][recall] true positives needed to reach that recall
    std::vector<double> outside_;     // [range] predictions outside it so far
    // What is written in the end, [...][lane]
    Array<double> best_;          // [range][threshold][recall] the best precision at this level or a higher one
    Array<double> reached_at_;    // the same shape: the confidence at which the level is reached
    std::vector<double> within_;  // [limit][range][threshold] true positives within each maxDets and not a smaller one
    Array<double> recall_;        // [limit][range][threshold]
    struct Written {
        std::size_t lane, column;
    };
    std::vector<std::vector<Written>> written_;  // [range] where the classes of a group go
    std::vector<bool> are_all_;                  // [range] whether all of them go there, side by side
    std::span<const double> positives_;
    double seen_ = 0;
    std::size_t lane_ = 0;
};

void check(const AccumulationInput& given, const CurveRequest& request, const Weighting* weighting,
           const CurveOutput& out) {
    const auto expect = [](bool holds, const char* what) {
        if (!holds) throw std::invalid_argument(std::string("accumulate: expected ") + what);
    };
    expect(given.thresholds <= most_thresholds && given.ranges <= most_ranges,
           "at most 16 thresholds at a time and 24 ranges");
    expect(request.ranges <= given.ranges && request.max_dets <= most_max_dets,
           "ranges that there are and at most 127 max_dets");
    expect(out.confidence.empty() || given.confidence.size() == given.predictions.size(),
           "the confidence of every prediction");
    expect(given.positives.size() == given.labels() * given.ranges,
           "the number of ground-truth objects of every class and range");
    expect(std::is_sorted(request.recalls.begin(), request.recalls.end()), "recalls that rise");
    expect(
        !weighting || (weighting->image.size() == given.order.size() && weighting->runs.size() == given.order.size()),
        "the image of every prediction");
}

}  // namespace

double true_positives_needed(double level, double positives) {
    if (!(level > 0)) return 0;
    if (!(level <= 1)) return never;
    double n = std::floor(level * positives);
    while (n > 0 && (n - 1) / positives >= level) --n;
    while (n / positives < level) ++n;
    return n;
}

namespace {

// Groups of classes first .. last, each with all tasks before the next.
template <bool is_weighted>
void walk_groups(const AccumulationInput& given, std::span<const CurveTask> tasks, const Weighting& weighting,
                 std::size_t first, std::size_t last) {
    Accumulator<is_weighted> walk(given, tasks.front(), weighting);
    Pause pause;
    for (std::size_t group = first; group < last; ++group, pause())
        for (const CurveTask& task : tasks)
            walk.run(task, group * together, std::min(given.labels(), (group + 1) * together));
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(VERITE_PORTABLE)
#define VERITE_AVX2_ACCUMULATION

// The same by instructions that take four thresholds at once; the numbers are the same bits.
template <bool is_weighted>
__attribute__((target("avx2"), flatten)) void walk_groups_by_fours(const AccumulationInput& given,
                                                                   std::span<const CurveTask> tasks,
                                                                   const Weighting& weighting, std::size_t first,
                                                                   std::size_t last) {
    walk_groups<is_weighted>(given, tasks, weighting, first, last);
}
#endif

template <bool is_weighted>
auto walk_of_machine() {
#ifdef VERITE_AVX2_ACCUMULATION
    if (__builtin_cpu_supports("avx2")) return walk_groups_by_fours<is_weighted>;
#endif
    return walk_groups<is_weighted>;
}

void accumulate_groups(const AccumulationInput& given, std::span<const CurveTask> tasks, const Weighting* weighting,
                       unsigned threads) {
    for (const auto& [request, out] : tasks) check(given, request, weighting, out);
    const std::size_t groups = (given.labels() + together - 1) / together;
    const auto walk = [&](std::size_t first, std::size_t last) {
        if (weighting)
            walk_of_machine<true>()(given, tasks, *weighting, first, last);
        else
            walk_of_machine<false>()(given, tasks, {}, first, last);
    };
    if (threads <= 1) return walk(0, groups);  // with the same memory
    in_parallel(groups, threads, [&](std::size_t group) { walk(group, group + 1); });
}

}  // namespace

void accumulate(const AccumulationInput& given, std::span<const CurveTask> tasks, unsigned threads) {
    accumulate_groups(given, tasks, nullptr, threads);
}

void accumulate(const AccumulationInput& given, const CurveRequest& request, const Weighting* weighting,
                unsigned threads, const CurveOutput& out) {
    const CurveTask task{request, out};
    accumulate_groups(given, {&task, 1}, weighting, threads);
}

void accumulate_classes(const AccumulationInput& given, const CurveRequest& request, const Weighting* weighting,
                        std::span<const std::int32_t> labels, unsigned threads, const CurveOutput& out) {
    check(given, request, weighting, out);
    const CurveTask task{request, out};
    in_parallel(labels.size(), threads, [&](std::size_t piece) {
        const auto label = static_cast<std::size_t>(labels[piece]);
        if (weighting)
            Accumulator<true>(given, task, *weighting).run(task, label, label + 1);
        else
            Accumulator<false>(given, task, {}).run(task, label, label + 1);
    });
}

}  // namespace verite
