#include "evaluation/matching.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "columns/parallel.hpp"

namespace verite {
namespace {

template <class Bits>
class Matcher {
  public:
    Matcher(const CandidateView& candidates, const Rules& rules, std::span<Bits> matched)
        : candidates_(candidates), rules_(rules), matched_(matched) {
        const std::size_t count = rules.thresholds.size();
        all_ = static_cast<Bits>(count == most_thresholds<Bits> ? ~Bits{0} : (Bits{1} << count) - 1);
    }

    // The truths of the next predictions have the slots first .. last.
    void start_image(std::int64_t first, std::int64_t last) {
        first_truth_ = first;
        taken_.assign(static_cast<std::size_t>(last - first) * rules_.ranges, 0);
    }

    void match(std::int64_t pred) {
        const std::int64_t first = candidates_.offsets[pred], last = candidates_.offsets[pred + 1];
        if (first == last) return;
        is_grasping_ = !rules_.grasping.empty() && rules_.grasping[pred];
        if (last - first == 1) return match_only(first);
        if (!rank(first, last)) return match_word_by_word(first, last);
        for (std::size_t range = 0; range < rules_.ranges; ++range) {
            Bits open = all_;
            for (const bool is_second_round : {false, true})
                for (const Choice& choice : choices_) {
                    if (is_ignored(choice.candidate, range) != is_second_round) continue;
                    open &= static_cast<Bits>(~take(choice.candidate, range, open & choice.reached));
                }
        }
    }

  private:
    struct Choice {
        std::int64_t candidate;
        double overlap;
        Bits reached;
    };

    void match_only(std::int64_t candidate) {
        const Bits wanted = reached(candidates_.overlap[candidate]);
        for (std::size_t range = 0; range < rules_.ranges; ++range) take(candidate, range, wanted);
    }

    // The pairs of a prediction from the best to the worst; of equal ones the later truth first, as in the reference,
    // where a truth that is as good as the best so far replaces it. False where an overlap is not a number.
    bool rank(std::int64_t first, std::int64_t last) {
        choices_.clear();
        for (std::int64_t c = last; c-- > first;) {
            const double overlap = candidates_.overlap[c];
            if (std::isnan(overlap)) return false;
            Choice choice{c, overlap, reached(overlap)};
            auto place = choices_.end();
            while (place != choices_.begin() && (place - 1)->overlap < overlap) --place;
            choices_.insert(place, choice);
        }
        return true;
    }

    Bits reached(double overlap) const {
        Bits bits = 0;
        for (std::size_t t = 0; t < rules_.thresholds.size(); ++t)
            bits |= static_cast<Bits>(Bits{!(overlap < rules_.thresholds[t])} << t);
        return bits;
    }

    // The reference's own loop. What is not a number compares with nothing, so that only the loop says who wins.
    void match_word_by_word(std::int64_t first, std::int64_t last) {
        for (std::size_t range = 0; range < rules_.ranges; ++range)
            for (std::size_t t = 0; t < rules_.thresholds.size(); ++t) {
                double best = rules_.thresholds[t];
                std::int64_t found = -1;
                for (const bool is_second_round : {false, true}) {
                    if (found >= 0) break;
                    for (std::int64_t c = first; c < last; ++c) {
                        if (is_ignored(c, range) != is_second_round || !(free(c, range) >> t & 1)) continue;
                        if (candidates_.overlap[c] < best) continue;
                        best = candidates_.overlap[c];
                        found = c;
                    }
                }
                if (found >= 0) take(found, range, static_cast<Bits>(Bits{1} << t));
            }
    }

    bool is_ignored(std::int64_t candidate, std::size_t range) const {
        return rules_.ignored[candidates_.truth[candidate]] >> range & 1;
    }

    Bits& taken(std::int64_t candidate, std::size_t range) {
        return taken_[static_cast<std::size_t>(candidates_.truth[candidate] - first_truth_) * rules_.ranges + range];
    }

    // The thresholds at which the truth of a candidate may still be taken.
    Bits free(std::int64_t candidate, std::size_t range) {
        return rules_.shared[candidates_.truth[candidate]] ? all_ : static_cast<Bits>(all_ & ~taken(candidate, range));
    }

    // The thresholds, out of those wanted, at which the prediction takes the truth of this candidate.
    Bits take(std::int64_t candidate, std::size_t range, Bits wanted) {
        const Bits takes = wanted & free(candidate, range);
        matched_[static_cast<std::size_t>(candidate) * rules_.ranges + range] |= takes;
        if (!is_grasping_) taken(candidate, range) |= takes;
        return takes;
    }

    const CandidateView& candidates_;
    const Rules& rules_;
    std::span<Bits> matched_;
    bool is_grasping_ = false;
    Bits all_ = 0;
    std::int64_t first_truth_ = 0;
    std::vector<Bits> taken_;
    std::vector<Choice> choices_;
};

template <class Bits>
void check(const Cells& truth, const Cells& pred, const CandidateView& candidates, const Rules& rules,
           std::span<Bits> matched) {
    const auto expect = [](bool holds, const char* what) {
        if (!holds) throw std::invalid_argument(std::string("matching: expected ") + what);
    };
    expect(rules.thresholds.size() <= most_thresholds<Bits>, "no more thresholds than bits");
    expect(rules.ranges <= most_ranges, "at most 24 area ranges");
    expect(truth.image_count() == pred.image_count(), "as many images on both sides");
    expect(candidates.offsets.size() == pred.rows.size() + 1, "candidates for every prediction");
    expect(rules.ignored.size() == truth.rows.size() && rules.shared.size() == truth.rows.size(),
           "flags for every truth");
    expect(rules.grasping.empty() || rules.grasping.size() == pred.rows.size(), "a flag for every prediction");
    expect(matched.size() == rules.ranges * candidates.truth.size(), "room for every candidate and range");
}

}  // namespace

template <class Bits>
void match_greedily(const Cells& truth, const Cells& pred, const CandidateView& candidates, const Rules& rules,
                    unsigned threads, std::span<Bits> matched) {
    check(truth, pred, candidates, rules, matched);
    std::fill(matched.begin(), matched.end(), Bits{0});
    const auto cuts = cut_images(pred.images, threads > 1 ? std::size_t{8} * threads : 1);
    in_parallel(cuts.size() - 1, threads, [&](std::size_t piece) {
        Matcher<Bits> matcher(candidates, rules, matched);
        for (std::size_t image = cuts[piece]; image < cuts[piece + 1]; ++image) {
            const std::int64_t first = pred.images[image], last = pred.images[image + 1];
            if (candidates.offsets[first] == candidates.offsets[last]) continue;
            const std::int64_t first_truth = truth.images[image], last_truth = truth.images[image + 1];
            for (std::int64_t c = candidates.offsets[first]; c < candidates.offsets[last]; ++c)
                if (candidates.truth[c] < first_truth || candidates.truth[c] >= last_truth)
                    throw std::invalid_argument("matching: expected candidates of the same image");
            matcher.start_image(first_truth, last_truth);
            for (std::int64_t slot = first; slot < last; ++slot) matcher.match(slot);
        }
    });
}

template void match_greedily(const Cells&, const Cells&, const CandidateView&, const Rules&, unsigned,
                             std::span<std::uint16_t>);
template void match_greedily(const Cells&, const Cells&, const CandidateView&, const Rules&, unsigned,
                             std::span<std::uint64_t>);

void outside_ranges(std::span<const std::int32_t> rows, std::span<const double> areas,
                    std::span<const std::uint8_t> left_out, std::span<const double> ranges, unsigned threads,
                    std::span<Ranges> out) {
    const std::size_t count = ranges.size() / 2;
    if (count > most_ranges) throw std::invalid_argument("area ranges: expected at most 24");
    const Ranges all = (Ranges{1} << count) - 1;
    in_stretches(rows.size(), threads, [&](std::size_t first, std::size_t last) {
        for (std::size_t slot = first; slot < last; ++slot) {
            const double area = areas[rows[slot]];
            Ranges bits = !left_out.empty() && left_out[rows[slot]] ? all : 0;
            for (std::size_t r = 0; r < count; ++r)
                bits |= static_cast<Ranges>((area < ranges[2 * r]) | (area > ranges[2 * r + 1])) << r;
            out[slot] = bits;
        }
    });
}

}  // namespace verite
