#include "evaluation/matching.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "columns/parallel.hpp"

namespace verite {
namespace {

class Matcher {
  public:
    Matcher(const CandidateView& candidates, const MatchFlags& standing, const Rules& rules,
            std::span<const double> thresholds, std::span<Thresholds> matched)
        : candidates_(candidates),
          standing_(standing),
          rules_(rules),
          thresholds_(thresholds),
          ranges_(rules.range_count()),
          matched_(matched),
          all_(static_cast<Thresholds>((std::uint32_t{1} << thresholds.size()) - 1)) {}

    // The truths of the next predictions have the slots first .. last.
    void start_image(std::int64_t first, std::int64_t last) {
        first_truth_ = first;
        taken_.assign(static_cast<std::size_t>(last - first) * ranges_, 0);
    }

    void match(std::int64_t pred) {
        const std::int64_t first = candidates_.offsets[pred], last = candidates_.offsets[pred + 1];
        if (first == last) return;
        is_grasping_ = !standing_.keeps_truth_free.empty() && standing_.keeps_truth_free[pred];
        if (rules_.wants == Wants::best) return match_best(first, last);
        if (rules_.wants == Wants::nearest) return match_nearest(first, last);
        if (last - first == 1) return match_only(first);
        if (!rank(first, last)) return match_word_by_word(first, last);
        for (std::size_t range = 0; range < ranges_; ++range) {
            Thresholds open = all_;
            for (const bool is_second_round : {false, true})
                for (const Choice& choice : choices_) {
                    if (is_ignored(choice.candidate, range) != is_second_round) continue;
                    open &= static_cast<Thresholds>(~take(choice.candidate, range, open & choice.reached));
                }
        }
    }

  private:
    struct Choice {
        std::int64_t candidate;
        double overlap;
        Thresholds reached;
    };

    void match_only(std::int64_t candidate) {
        const Thresholds wanted = reached(candidate);
        for (std::size_t range = 0; range < ranges_; ++range) take(candidate, range, wanted);
    }

    // Pascal VOC's rule. What is not a number is never the best.
    void match_best(std::int64_t first, std::int64_t last) {
        std::int64_t best = first;
        const auto is_better = [&](double overlap, double than) {
            return rules_.equal == Equal::first ? overlap > than : overlap >= than;
        };
        for (std::int64_t c = first + 1; c < last; ++c)
            if (is_better(candidates_.overlap[c], candidates_.overlap[best]) || std::isnan(candidates_.overlap[best]))
                best = c;
        const Thresholds wanted = reached(best);
        for (std::size_t range = 0; range < ranges_; ++range) {
            if (is_ignored(best, range))
                matched_[static_cast<std::size_t>(best) * ranges_ + range] |= wanted;
            else
                take(best, range, wanted);
        }
    }

    // What is not a number is never the nearest.
    void match_nearest(std::int64_t first, std::int64_t last) {
        rank(first, last);
        for (std::size_t range = 0; range < ranges_; ++range) {
            Thresholds open = all_;
            for (const Choice& choice : choices_) {
                const Thresholds wanted = open & choice.reached;
                if (!is_ignored(choice.candidate, range)) {
                    open &= static_cast<Thresholds>(~take(choice.candidate, range, wanted));
                    continue;
                }
                matched_[static_cast<std::size_t>(choice.candidate) * ranges_ + range] |= wanted;
                open &= static_cast<Thresholds>(~wanted);
            }
        }
    }

    // The pairs of a prediction from the best to the worst. Of equal ones the later truth comes first in the reference,
    // where a truth that is as good as the best so far replaces it. An overlap that is not a number is left out; false
    // where there is one.
    bool rank(std::int64_t first, std::int64_t last) {
        choices_.clear();
        bool are_numbers = true;
        const bool is_later_first = rules_.equal == Equal::later;
        for (std::int64_t i = 0; i < last - first; ++i) {
            const std::int64_t c = is_later_first ? last - 1 - i : first + i;
            const double overlap = candidates_.overlap[c];
            if (std::isnan(overlap)) {
                are_numbers = false;
                continue;
            }
            Choice choice{c, overlap, reached(c)};
            auto place = choices_.end();
            while (place != choices_.begin() && (place - 1)->overlap < overlap) --place;
            choices_.insert(place, choice);
        }
        return are_numbers;
    }

    Thresholds reached(std::int64_t candidate) const {
        const double overlap = candidates_.overlap[candidate];
        if (!standing_.least.empty() && overlap < standing_.least[candidates_.truth[candidate]]) return 0;
        std::uint32_t bits = 0;
        if (rules_.is_strict)
            for (std::size_t t = 0; t < thresholds_.size(); ++t) bits |= std::uint32_t{overlap > thresholds_[t]} << t;
        else
            for (std::size_t t = 0; t < thresholds_.size(); ++t)
                bits |= std::uint32_t{!(overlap < thresholds_[t])} << t;
        return static_cast<Thresholds>(bits);
    }

    // The reference's own loop. What is not a number compares with nothing, so that only the loop says who wins.
    void match_word_by_word(std::int64_t first, std::int64_t last) {
        for (std::size_t range = 0; range < ranges_; ++range)
            for (std::size_t t = 0; t < thresholds_.size(); ++t) {
                double best = thresholds_[t];
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
                if (found >= 0) take(found, range, static_cast<Thresholds>(1u << t));
            }
    }

    bool is_ignored(std::int64_t candidate, std::size_t range) const {
        return standing_.ignored[candidates_.truth[candidate]] >> range & 1;
    }

    Thresholds& taken(std::int64_t candidate, std::size_t range) {
        return taken_[static_cast<std::size_t>(candidates_.truth[candidate] - first_truth_) * ranges_ + range];
    }

    // The thresholds at which the truth of a candidate may still be taken.
    Thresholds free(std::int64_t candidate, std::size_t range) {
        return standing_.shared[candidates_.truth[candidate]]
                   ? all_
                   : static_cast<Thresholds>(all_ & ~taken(candidate, range));
    }

    // The thresholds, out of those wanted, at which the prediction takes the truth of this candidate.
    Thresholds take(std::int64_t candidate, std::size_t range, Thresholds wanted) {
        const Thresholds takes = wanted & free(candidate, range);
        matched_[static_cast<std::size_t>(candidate) * ranges_ + range] |= takes;
        if (!is_grasping_) taken(candidate, range) |= takes;
        return takes;
    }

    const CandidateView& candidates_;
    const MatchFlags& standing_;
    const Rules& rules_;
    std::span<const double> thresholds_;
    const std::size_t ranges_;
    std::span<Thresholds> matched_;
    bool is_grasping_ = false;
    const Thresholds all_;
    std::int64_t first_truth_ = 0;
    std::vector<Thresholds> taken_;
    std::vector<Choice> choices_;
};

void check(const Cells& truth, const Cells& pred, const CandidateView& candidates, const MatchFlags& standing,
           const Rules& rules, std::span<const double> thresholds, std::span<Thresholds> matched) {
    const auto expect = [](bool holds, const char* what) {
        if (!holds) throw std::invalid_argument(std::string("matching: expected ") + what);
    };
    expect(thresholds.size() <= most_thresholds, "at most 16 thresholds at a time");
    expect(rules.range_count() <= most_ranges, "at most 24 area ranges");
    expect(truth.image_count() == pred.image_count(), "as many images on both sides");
    expect(candidates.offsets.size() == pred.rows.size() + 1, "candidates for every prediction");
    expect(standing.ignored.size() == truth.rows.size() && standing.shared.size() == truth.rows.size(),
           "flags for every truth");
    expect(standing.least.empty() || standing.least.size() == truth.rows.size(), "an overlap for every truth");
    expect(standing.keeps_truth_free.empty() || standing.keeps_truth_free.size() == pred.rows.size(),
           "a flag for every prediction");
    expect(matched.size() == rules.range_count() * candidates.truth.size(), "room for every candidate and range");
}

}  // namespace

void match_greedily(const Cells& truth, const Cells& pred, const CandidateView& candidates, const MatchFlags& standing,
                    const Rules& rules, std::span<const double> thresholds, unsigned threads,
                    std::span<Thresholds> matched) {
    check(truth, pred, candidates, standing, rules, thresholds, matched);
    std::fill(matched.begin(), matched.end(), Thresholds{0});
    const auto cuts = cut_images(pred.images, threads > 1 ? std::size_t{8} * threads : 1);
    in_parallel(cuts.size() - 1, threads, [&](std::size_t piece) {
        Matcher matcher(candidates, standing, rules, thresholds, matched);
        Pause pause(64);
        for (std::size_t image = cuts[piece]; image < cuts[piece + 1]; ++image) {
            pause();
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

void outside_ranges(std::span<const std::int32_t> rows, std::span<const double> areas,
                    std::span<const std::uint8_t> left_out, std::span<const double> ranges, unsigned threads,
                    std::span<Ranges> out) {
    const std::size_t count = ranges.size() / 2;
    if (count > most_ranges) throw std::invalid_argument("area ranges: expected at most 24");
    const Ranges all = (Ranges{1} << count) - 1;
    constexpr std::size_t ahead = 32;
    in_stretches(rows.size(), threads, [&](std::size_t first, std::size_t last) {
        for (std::size_t slot = first; slot < last; ++slot) {
            if (slot + ahead < last && !areas.empty()) prefetch(&areas[rows[slot + ahead]]);
            const double area = areas.empty() ? std::numeric_limits<double>::quiet_NaN() : areas[rows[slot]];
            Ranges bits = !left_out.empty() && left_out[rows[slot]] ? all : 0;
            for (std::size_t r = 0; r < count; ++r)
                bits |= static_cast<Ranges>((area < ranges[2 * r]) | (area > ranges[2 * r + 1])) << r;
            out[slot] = bits;
        }
    });
}

}  // namespace verite
