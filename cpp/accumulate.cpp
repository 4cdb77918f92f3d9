#include "accumulate.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "parallel.hpp"

namespace verite {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

template <class Visit>
void each_bit(Bits bits, Visit visit) {
    for (; bits; bits &= bits - 1) visit(static_cast<std::size_t>(std::countr_zero(bits)));
}

// How many truths must be found until recall reaches a level: the least n with n / positives >= level, as floating
// point divides.
std::int64_t needed(double level, std::int64_t positives) {
    if (!(level > 0)) return 0;
    const auto whole = static_cast<double>(positives);
    if (!(level <= 1)) return std::numeric_limits<std::int64_t>::max();
    auto n = static_cast<std::int64_t>(level * whole);
    while (n > 0 && static_cast<double>(n - 1) / whole >= level) --n;
    while (static_cast<double>(n) / whole < level) ++n;
    return n;
}

// The thresholds at which a prediction took a truth to be found, and those at which it took an ignored one.
struct Outcome {
    Bits hits = 0, spared = 0;
};

// What a walk needs of a prediction. Walks go by confidence, which is anywhere in memory, so it is kept close together.
struct Brief {
    std::int32_t rank;
    Ranges outside;
    std::int32_t outcome;  // where the outcomes of its ranges are; -1 for those that took nothing
};

struct Summary {
    Array<Brief> briefs;      // by slot
    Array<Outcome> outcomes;  // of all ranges, one prediction after the other
};

Summary summarise(const Matched& given) {
    Summary found;
    found.briefs.resize(given.ranks.size());
    std::vector<Outcome> outcomes(given.ranges);
    for (std::size_t slot = 0; slot < found.briefs.size(); ++slot) {
        found.briefs[slot] = {given.ranks[slot], given.outside[slot], -1};
        const std::int64_t first = given.candidates.offsets[slot], last = given.candidates.offsets[slot + 1];
        if (first == last) continue;
        Bits any = 0;
        std::fill(outcomes.begin(), outcomes.end(), Outcome{});
        for (std::int64_t c = first; c < last; ++c) {
            const std::int32_t truth = given.candidates.truth[c];
            const bool is_void = !given.is_void.empty() && given.is_void[truth];
            for (std::size_t range = 0; range < given.ranges; ++range) {
                const Bits bits = given.matched[static_cast<std::size_t>(c) * given.ranges + range];
                if (given.ignored[truth] >> range & 1)
                    outcomes[range].spared |= bits;
                else if (!is_void)
                    outcomes[range].hits |= bits;
                any |= bits;
            }
        }
        if (!any) continue;
        found.briefs[slot].outcome = static_cast<std::int32_t>(found.outcomes.size() / given.ranges);
        found.outcomes.insert(found.outcomes.end(), outcomes.begin(), outcomes.end());
    }
    return found;
}

// Classes that are neighbours in the output are walked together and written together: a cache line holds eight.
constexpr std::size_t together = 8;

// Walks the predictions of a class once, with the counts of all ranges and thresholds side by side.
class Walk {
  public:
    Walk(const Matched& given, const Summary& summary, const Asked& asked, const Curves& out)
        : given_(given),
          summary_(summary),
          asked_(asked),
          out_(out),
          levels_(asked.recalls.size()),
          states_(given.ranges * given.thresholds),
          needed_(given.ranges * (levels_ + 1)),
          outside_(given.ranges),
          best_(together * states_.size() * levels_),
          reached_at_(out.confidence.empty() ? 0 : best_.size()),
          found_(together * asked.limits.size() * states_.size()) {}

    void run(std::size_t first_label, std::size_t last_label) {
        std::fill(best_.begin(), best_.end(), 0.0);
        std::fill(reached_at_.begin(), reached_at_.end(), 0.0);
        std::fill(found_.begin(), found_.end(), 0);
        for (std::size_t label = first_label; label < last_label; ++label) {
            start(label, label - first_label);
            const std::int64_t last = given_.label_offsets[label + 1];
            for (std::int64_t i = given_.label_offsets[label]; i < last; ++i) {
                constexpr std::int64_t ahead = 24;
                prefetch(&summary_.briefs[given_.by_label[std::min(i + ahead, last - 1)]]);
                step(given_.by_label[i]);
            }
            finish();
        }
        write(first_label, last_label);
    }

  private:
    struct State {
        std::int64_t found;    // truths found so far
        std::int64_t ignored;  // predictions that count for nothing, beyond those in outside_
        std::int64_t next;     // truths to be found until the next level of recall
        std::size_t level;     // levels reached
        double best;           // precision since the last level
    };

    void start(std::size_t label, std::size_t lane) {
        positives_ = given_.positives.subspan(label * given_.ranges, given_.ranges);
        for (std::size_t range = 0; range < given_.ranges; ++range) {
            std::int64_t* levels = &needed_[range * (levels_ + 1)];
            for (std::size_t r = 0; r < levels_ && positives_[range]; ++r)
                levels[r] = needed(asked_.recalls[r], positives_[range]);
            levels[levels_] = std::numeric_limits<std::int64_t>::max();
            for (std::size_t t = 0; t < given_.thresholds; ++t)
                states_[range * given_.thresholds + t] = {0, 0, levels[0], 0, 0.0};
        }
        std::fill(outside_.begin(), outside_.end(), 0);
        seen_ = 0;
        lane_ = lane;
    }

    void step(std::int32_t slot) {
        const auto [rank, outside, outcome] = summary_.briefs[slot];
        const bool counts = rank < asked_.most;
        if (counts) {
            if (++seen_ == 1) begin(slot);
            for (std::size_t range = 0; range < given_.ranges; ++range) outside_[range] += outside >> range & 1;
        }
        if (outcome < 0) return;
        // A prediction within a limit is within all higher ones: it is counted at the lowest, and added up at the end.
        std::size_t limit = 0;
        while (limit < asked_.limits.size() && rank >= asked_.limits[limit]) ++limit;
        for (std::size_t range = 0; range < given_.ranges; ++range) {
            if (positives_[range] == 0) continue;
            const auto [hits, spared] = summary_.outcomes[static_cast<std::size_t>(outcome) * given_.ranges + range];
            const bool is_outside = outside >> range & 1;
            const std::size_t first = range * given_.thresholds;
            if (limit < asked_.limits.size())
                each_bit(hits, [&](std::size_t t) { ++found_[limit_place(limit, first + t)]; });
            if (!counts) continue;
            if (!is_outside) each_bit(spared, [&](std::size_t t) { ++states_[first + t].ignored; });
            const std::int64_t seen = seen_ - outside_[range];
            each_bit(hits, [&](std::size_t t) {
                State& state = states_[first + t];
                // Those outside the range were counted as ignored before it was known that they hit.
                state.ignored -= is_outside;
                if (++state.found >= state.next) reach(range, t, slot);
                const auto counted = static_cast<double>(seen - state.ignored);
                state.best = std::max(state.best, static_cast<double>(state.found) / (counted + epsilon));
            });
        }
    }

    // The first prediction already reaches a recall of 0.
    void begin(std::int32_t slot) {
        for (std::size_t range = 0; range < given_.ranges; ++range)
            for (std::size_t t = 0; t < given_.thresholds && positives_[range] && levels_; ++t)
                if (states_[range * given_.thresholds + t].next == 0) reach(range, t, slot);
    }

    // Keeps the best precision up to here, and goes on to the level of recall that is reached now.
    void reach(std::size_t range, std::size_t t, std::int32_t slot) {
        State& state = states_[range * given_.thresholds + t];
        const std::int64_t* levels = &needed_[range * (levels_ + 1)];
        keep(state, range * given_.thresholds + t);
        for (; levels[state.level] <= state.found; ++state.level)
            if (!reached_at_.empty())
                reached_at_[place(range * given_.thresholds + t, state.level)] = given_.confidence[slot];
        state.next = levels[state.level];
        state.best = 0;
    }

    void keep(const State& state, std::size_t curve) {
        if (state.level > 0) best_[place(curve, state.level - 1)] = state.best;
    }

    // From the right, so that each level has the best precision at its own or a higher recall.
    void finish() {
        for (std::size_t curve = 0; curve < states_.size(); ++curve) {
            keep(states_[curve], curve);
            for (std::size_t r = states_[curve].level; r-- > 1;)
                best_[place(curve, r - 1)] = std::max(best_[place(curve, r - 1)], best_[place(curve, r)]);
            for (std::size_t m = 1; m < asked_.limits.size(); ++m)
                found_[limit_place(m, curve)] += found_[limit_place(m - 1, curve)];
        }
    }

    std::size_t place(std::size_t curve, std::size_t level) const {
        return (curve * levels_ + level) * together + lane_;
    }

    std::size_t limit_place(std::size_t limit, std::size_t curve) const {
        return (limit * states_.size() + curve) * together + lane_;
    }

    // What belongs to classes and ranges without a truth stays as it is.
    void write(std::size_t first_label, std::size_t last_label) {
        const std::size_t curves = given_.thresholds * levels_, limits = asked_.limits.size();
        for (std::size_t range = 0; range < given_.ranges; ++range) {
            const auto each_lane = [&](auto&& visit) {
                for (std::size_t label = first_label; label < last_label; ++label) {
                    const std::int64_t positives = given_.positives[label * given_.ranges + range];
                    if (positives > 0) visit(label, label - first_label, positives);
                }
            };
            for (std::size_t i = range * curves; i < (range + 1) * curves; ++i)
                each_lane([&](std::size_t label, std::size_t lane, std::int64_t) {
                    out_.precision[i * given_.labels() + label] = best_[i * together + lane];
                    if (!reached_at_.empty())
                        out_.confidence[i * given_.labels() + label] = reached_at_[i * together + lane];
                });
            for (std::size_t m = 0; m < limits; ++m)
                for (std::size_t t = 0; t < given_.thresholds; ++t)
                    each_lane([&](std::size_t label, std::size_t lane, std::int64_t positives) {
                        const std::size_t i = m * states_.size() + range * given_.thresholds + t;
                        out_.recall[i * given_.labels() + label] =
                            static_cast<double>(found_[i * together + lane]) / static_cast<double>(positives);
                    });
        }
    }

    const Matched& given_;
    const Summary& summary_;
    const Asked& asked_;
    const Curves& out_;
    std::size_t levels_;
    std::vector<State> states_;          // [range][threshold]
    std::vector<std::int64_t> needed_;   // [range][recall] truths to find until that recall is reached
    std::vector<std::int64_t> outside_;  // [range] predictions outside it so far
    // What is written in the end, [...][lane]
    std::vector<double> best_;         // [range][threshold][recall] the best precision at this level or a higher one
    std::vector<double> reached_at_;   // the same shape: the confidence at which the level is reached
    std::vector<std::int64_t> found_;  // [limit][range][threshold]
    std::span<const std::int64_t> positives_;
    std::int64_t seen_ = 0;
    std::size_t lane_ = 0;
};

void check(const Matched& given, const Asked& asked, const Curves& out) {
    const auto expect = [](bool holds, const char* what) {
        if (!holds) throw std::invalid_argument(std::string("accumulate: expected ") + what);
    };
    const std::size_t slots = given.ranks.size(), cells = given.ranges * given.thresholds * given.labels();
    expect(given.thresholds <= most_thresholds && given.ranges <= most_ranges, "at most 64 thresholds and 31 ranges");
    expect(given.outside.size() == slots && given.candidates.offsets.size() == slots + 1,
           "columns of equal length for predictions");
    expect(out.confidence.empty() || given.confidence.size() == slots, "the confidence of every prediction");
    expect(given.matched.size() == given.ranges * given.candidates.truth.size(), "matches for every candidate");
    expect(given.is_void.empty() || given.is_void.size() == given.ignored.size(), "a flag for every truth");
    expect(given.positives.size() == given.labels() * given.ranges, "the number of truths of every class and range");
    expect(std::is_sorted(asked.limits.begin(), asked.limits.end()), "limits that rise");
    expect(std::is_sorted(asked.recalls.begin(), asked.recalls.end()), "recalls that rise");
    expect(out.precision.size() == cells * asked.recalls.size(), "room for precision");
    expect(out.confidence.empty() || out.confidence.size() == out.precision.size(), "room for confidences");
    expect(out.recall.size() == cells * asked.limits.size(), "room for recall");
}

}  // namespace

void count_positives(std::span<const std::int32_t> labels, std::span<const Ranges> ignored, std::size_t ranges,
                     std::span<std::int64_t> out) {
    std::fill(out.begin(), out.end(), 0);
    for (std::size_t slot = 0; slot < labels.size(); ++slot)
        for (std::size_t range = 0; range < ranges; ++range)
            out[static_cast<std::size_t>(labels[slot]) * ranges + range] += ~ignored[slot] >> range & 1;
}

void accumulate(const Matched& given, const Asked& asked, unsigned threads, const Curves& out) {
    check(given, asked, out);
    const Summary summary = summarise(given);
    in_parallel((given.labels() + together - 1) / together, threads, [&](std::size_t piece) {
        Walk walk(given, summary, asked, out);
        walk.run(piece * together, std::min(given.labels(), (piece + 1) * together));
    });
}

}  // namespace verite
