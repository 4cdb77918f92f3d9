#include "evaluation/accumulate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "columns/parallel.hpp"

namespace verite {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();
constexpr double never = std::numeric_limits<double>::infinity();

// How many truths must be found until recall reaches a level: the least n with n / positives >= level, as floating
// point divides.
double needed(double level, std::int64_t positives) {
    if (!(level > 0)) return 0;
    if (!(level <= 1)) return never;
    const auto whole = static_cast<double>(positives);
    double n = std::floor(level * whole);
    while (n > 0 && (n - 1) / whole >= level) --n;
    while (n / whole < level) ++n;
    return n;
}

// Every byte as eight numbers, 1 where a bit is set: what sets of thresholds are turned into to be counted side by
// side.
constexpr auto lanes_of_byte = [] {
    std::array<std::array<double, 8>, 256> table{};
    for (std::size_t byte = 0; byte < 256; ++byte)
        for (std::size_t bit = 0; bit < 8; ++bit) table[byte][bit] = byte >> bit & 1;
    return table;
}();

// The thresholds at which a prediction took a truth to be found, and those at which it took an ignored one.
template <class Bits>
struct Outcome {
    Bits hits, spared;
};

// What a walk needs of a prediction. Walks go by confidence, which is anywhere in memory, so it is kept close together.
struct Brief {
    static constexpr std::uint32_t counts = std::uint32_t{1} << 31;

    std::uint32_t flags;   // ranges it is outside of, the lowest limit it is within (bits 24 to 30), whether it counts
    std::int32_t outcome;  // where the outcomes of its ranges are; -1 for those that took nothing
};

template <class Bits>
struct Summary {
    Array<Brief> briefs;             // by slot
    Column<Outcome<Bits>> outcomes;  // of all ranges, one prediction after the other
};

// Of the slots first .. last. Outcomes are counted from 0 for this stretch.
template <class Bits>
void summarise(const Matched<Bits>& given, const Asked& asked, std::size_t first_slot, std::size_t last_slot,
               std::span<Brief> briefs, Column<Outcome<Bits>>& kept) {
    std::vector<Outcome<Bits>> outcomes(given.ranges);
    for (std::size_t slot = first_slot; slot < last_slot; ++slot) {
        const std::int64_t rank = given.ranks[slot];
        std::uint32_t limit = 0;
        while (limit < asked.limits.size() && rank >= asked.limits[limit]) ++limit;
        Brief& brief = briefs[slot];
        brief = {given.outside[slot] | limit << most_ranges | (rank < asked.most ? Brief::counts : 0), -1};
        const std::int64_t first = given.candidates.offsets[slot], last = given.candidates.offsets[slot + 1];
        if (first == last) continue;
        Bits any = 0;
        std::fill(outcomes.begin(), outcomes.end(), Outcome<Bits>{0, 0});
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
        brief.outcome = static_cast<std::int32_t>(kept.rows() / given.ranges);
        kept.append(outcomes);
    }
}

template <class Bits>
Summary<Bits> summarise(const Matched<Bits>& given, const Asked& asked, unsigned threads) {
    const std::size_t slots = given.ranks.size(), pieces = threads > 1 ? std::size_t{4} * threads : 1;
    const auto first_of = [&](std::size_t piece) { return slots * piece / pieces; };
    Summary<Bits> found;
    found.briefs.resize(slots);
    std::vector<Column<Outcome<Bits>>> parts(pieces);
    in_parallel(pieces, threads, [&](std::size_t piece) {
        summarise<Bits>(given, asked, first_of(piece), first_of(piece + 1), found.briefs, parts[piece]);
    });
    found.outcomes = std::move(parts[0]);
    for (std::size_t piece = 1; piece < pieces; ++piece) {
        const auto base = static_cast<std::int32_t>(found.outcomes.rows() / std::max<std::size_t>(given.ranges, 1));
        found.outcomes.append(parts[piece].values());
        for (std::size_t slot = first_of(piece); slot < first_of(piece + 1); ++slot)
            if (found.briefs[slot].outcome >= 0) found.briefs[slot].outcome += base;
    }
    return found;
}

// Classes that are neighbours in the output are walked together and written together: a cache line holds eight.
constexpr std::size_t together = 8;

// Walks the predictions of a class once, with the counts of all ranges and thresholds side by side. Counts are doubles:
// they are exact, and one instruction adds or divides several.
template <class Bits>
class Walk {
  public:
    Walk(const Matched<Bits>& given, const Summary<Bits>& summary, const Asked& asked, const Curves& out)
        : given_(given),
          summary_(summary),
          asked_(asked),
          out_(out),
          levels_(asked.recalls.size()),
          curves_(given.ranges * width),
          found_(curves_),
          ignored_(curves_),
          next_(curves_),
          best_now_(curves_),
          level_(curves_),
          needed_(given.ranges * (levels_ + 1)),
          outside_(given.ranges),
          best_(together * given.ranges * given.thresholds * levels_),
          reached_at_(out.confidence.empty() ? 0 : best_.size()),
          within_((asked.limits.size() + 1) * curves_),
          recall_(together * asked.limits.size() * given.ranges * given.thresholds) {}

    void run(std::size_t first_label, std::size_t last_label) {
        std::fill(best_.begin(), best_.end(), 0.0);
        std::fill(reached_at_.begin(), reached_at_.end(), 0.0);
        for (std::size_t label = first_label; label < last_label; ++label) {
            start(label, label - first_label);
            walk(given_.by_label.subspan(static_cast<std::size_t>(given_.label_offsets[label]),
                                         static_cast<std::size_t>(given_.label_offsets[label + 1]) -
                                             static_cast<std::size_t>(given_.label_offsets[label])));
            finish();
        }
        write(first_label, last_label);
    }

  private:
    // Room for the thresholds of a range, a whole number of bytes of bits.
    static constexpr std::size_t width = most_thresholds<Bits>;

    void start(std::size_t label, std::size_t lane) {
        lane_ = lane;
        seen_ = 0;
        positives_ = given_.positives.subspan(label * given_.ranges, given_.ranges);
        for (auto* counts : {&found_, &ignored_, &best_now_, &outside_, &within_})
            std::fill(counts->begin(), counts->end(), 0.0);
        std::fill(level_.begin(), level_.end(), 0);
        std::fill(next_.begin(), next_.end(), never);
        for (std::size_t range = 0; range < given_.ranges; ++range) {
            double* levels = &needed_[range * (levels_ + 1)];
            for (std::size_t r = 0; r < levels_ && positives_[range]; ++r)
                levels[r] = needed(asked_.recalls[r], positives_[range]);
            levels[levels_] = never;
            if (positives_[range]) std::fill_n(&next_[range * width], given_.thresholds, levels[0]);
        }
    }

    void walk(std::span<const std::int32_t> slots) {
        constexpr std::size_t far = 32, near = 12;
        const std::size_t last = slots.size() - !slots.empty();
        for (std::size_t i = 0; i < slots.size(); ++i) {
            prefetch(&summary_.briefs[slots[std::min(i + far, last)]]);
            const std::int32_t soon = summary_.briefs[slots[std::min(i + near, last)]].outcome;
            if (soon >= 0) prefetch(&summary_.outcomes[static_cast<std::size_t>(soon) * given_.ranges]);
            step(slots[i]);
        }
    }

    void step(std::int32_t slot) {
        const auto [flags, outcome] = summary_.briefs[slot];
        const bool counts = flags & Brief::counts;
        if (counts) {
            if (++seen_ == 1) begin(slot);
            for (std::size_t range = 0; range < given_.ranges; ++range) outside_[range] += flags >> range & 1;
        }
        if (outcome < 0) return;
        const std::size_t limit = flags >> most_ranges & 0x7F;
        const Outcome<Bits>* outcomes = &summary_.outcomes[static_cast<std::size_t>(outcome) * given_.ranges];
        for (std::size_t range = 0; range < given_.ranges; ++range) {
            const auto [hits, spared] = outcomes[range];
            const bool is_outside = flags >> range & 1;
            alignas(16) double lanes[width];
            if (counts && !is_outside && spared) {
                spread(spared, lanes);
                add(&ignored_[range * width], lanes, 1.0);
            }
            if (!hits) continue;
            spread(hits, lanes);
            // A prediction within a limit is within all higher ones: it is counted at the lowest.
            add(&within_[limit * curves_ + range * width], lanes, 1.0);
            if (!counts) continue;
            // Those outside the range were counted as ignored before it was known that they hit.
            if (is_outside) add(&ignored_[range * width], lanes, -1.0);
            hit(range, lanes, slot);
        }
    }

    static void spread(Bits bits, double* lanes) {
        for (std::size_t byte = 0; byte < sizeof(Bits); ++byte)
            std::copy_n(lanes_of_byte[bits >> (8 * byte) & 0xFF].data(), 8, lanes + 8 * byte);
    }

    void add(double* counts, const double* lanes, double sign) const {
        for (std::size_t t = 0; t < given_.thresholds; ++t) counts[t] += sign * lanes[t];
    }

    void hit(std::size_t range, const double* lanes, std::int32_t slot) {
        double *found = &found_[range * width], *best = &best_now_[range * width];
        const double *ignored = &ignored_[range * width], *next = &next_[range * width];
        double reached = 0;
        for (std::size_t t = 0; t < given_.thresholds; ++t) {
            found[t] += lanes[t];
            reached += found[t] >= next[t] ? 1.0 : 0.0;
        }
        if (reached > 0) reach(range, slot);
        const double seen = static_cast<double>(seen_) - outside_[range];
        for (std::size_t t = 0; t < given_.thresholds; ++t) {
            const double precision = found[t] / ((seen - ignored[t]) + epsilon) * lanes[t];
            best[t] = precision > best[t] ? precision : best[t];
        }
    }

    // The first prediction already reaches a recall of 0.
    void begin(std::int32_t slot) {
        for (std::size_t range = 0; range < given_.ranges; ++range)
            if (positives_[range]) reach(range, slot);
    }

    // Keeps the best precision up to here, and goes on to the level of recall that is reached now.
    void reach(std::size_t range, std::int32_t slot) {
        const double* levels = &needed_[range * (levels_ + 1)];
        for (std::size_t t = 0; t < given_.thresholds; ++t) {
            const std::size_t curve = range * width + t;
            if (found_[curve] < next_[curve]) continue;
            keep(range, t);
            std::size_t& level = level_[curve];
            for (; levels[level] <= found_[curve]; ++level)
                if (!reached_at_.empty()) reached_at_[place(range, t, level)] = given_.confidence[slot];
            next_[curve] = levels[level];
            best_now_[curve] = 0;
        }
    }

    void keep(std::size_t range, std::size_t t) {
        const std::size_t curve = range * width + t;
        if (level_[curve] > 0) best_[place(range, t, level_[curve] - 1)] = best_now_[curve];
    }

    // From the right, so that each level has the best precision at its own or a higher recall.
    void finish() {
        for (std::size_t range = 0; range < given_.ranges; ++range)
            for (std::size_t t = 0; t < given_.thresholds; ++t) {
                keep(range, t);
                for (std::size_t r = level_[range * width + t]; r-- > 1;) {
                    double& before = best_[place(range, t, r - 1)];
                    before = std::max(before, best_[place(range, t, r)]);
                }
                double sum = 0;
                for (std::size_t m = 0; m < asked_.limits.size(); ++m) {
                    sum += within_[m * curves_ + range * width + t];
                    recall_[limit_place(m, range, t)] = sum / static_cast<double>(positives_[range]);
                }
            }
    }

    std::size_t place(std::size_t range, std::size_t t, std::size_t level) const {
        return ((range * given_.thresholds + t) * levels_ + level) * together + lane_;
    }

    std::size_t limit_place(std::size_t limit, std::size_t range, std::size_t t) const {
        return ((limit * given_.ranges + range) * given_.thresholds + t) * together + lane_;
    }

    // What belongs to classes and ranges without a truth stays as it is.
    void write(std::size_t first_label, std::size_t last_label) {
        const std::size_t cells = given_.thresholds * levels_;
        for (std::size_t range = 0; range < given_.ranges; ++range) {
            const auto copy = [&](const std::vector<double>& from, std::span<double> to, std::size_t i) {
                for (std::size_t label = first_label; label < last_label; ++label)
                    if (given_.positives[label * given_.ranges + range] > 0)
                        to[i * given_.labels() + label] = from[i * together + label - first_label];
            };
            for (std::size_t i = range * cells; i < (range + 1) * cells; ++i) {
                copy(best_, out_.precision, i);
                if (!reached_at_.empty()) copy(reached_at_, out_.confidence, i);
            }
            for (std::size_t m = 0; m < asked_.limits.size(); ++m)
                for (std::size_t t = 0; t < given_.thresholds; ++t)
                    copy(recall_, out_.recall, (m * given_.ranges + range) * given_.thresholds + t);
        }
    }

    const Matched<Bits>& given_;
    const Summary<Bits>& summary_;
    const Asked& asked_;
    const Curves& out_;
    const std::size_t levels_, curves_;
    // Of the class being walked, [range][threshold]
    std::vector<double> found_;       // truths found so far
    std::vector<double> ignored_;     // predictions that count for nothing, beyond those in outside_
    std::vector<double> next_;        // truths to be found until the next level of recall
    std::vector<double> best_now_;    // precision since the last level
    std::vector<std::size_t> level_;  // levels reached
    std::vector<double> needed_;      // [range][recall] truths to be found until that recall is reached
    std::vector<double> outside_;     // [range] predictions outside it so far
    // What is written in the end, [...][lane]
    std::vector<double> best_;        // [range][threshold][recall] the best precision at this level or a higher one
    std::vector<double> reached_at_;  // the same shape: the confidence at which the level is reached
    std::vector<double> within_;      // [limit][range][threshold] truths found within each limit and not a lower one
    std::vector<double> recall_;      // [limit][range][threshold]
    std::span<const std::int64_t> positives_;
    std::int64_t seen_ = 0;
    std::size_t lane_ = 0;
};

template <class Bits>
void check(const Matched<Bits>& given, const Asked& asked, const Curves& out) {
    const auto expect = [](bool holds, const char* what) {
        if (!holds) throw std::invalid_argument(std::string("accumulate: expected ") + what);
    };
    const std::size_t slots = given.ranks.size(), cells = given.ranges * given.thresholds * given.labels();
    expect(given.thresholds <= most_thresholds<Bits> && given.ranges <= most_ranges,
           "no more thresholds than bits and at most 24 ranges");
    expect(asked.limits.size() < 128, "at most 127 limits");
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

template <class Bits>
void accumulate(const Matched<Bits>& given, const Asked& asked, unsigned threads, const Curves& out) {
    check(given, asked, out);
    const Summary<Bits> summary = summarise(given, asked, threads);
    in_parallel((given.labels() + together - 1) / together, threads, [&](std::size_t piece) {
        Walk<Bits> walk(given, summary, asked, out);
        walk.run(piece * together, std::min(given.labels(), (piece + 1) * together));
    });
}

template void accumulate(const Matched<std::uint16_t>&, const Asked&, unsigned, const Curves&);
template void accumulate(const Matched<std::uint64_t>&, const Asked&, unsigned, const Curves&);

}  // namespace verite
