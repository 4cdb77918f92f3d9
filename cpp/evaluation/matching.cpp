#include "evaluation/matching.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "columns/parallel.hpp"
#include "evaluation/one_to_one.hpp"

namespace verite {
namespace {

class Matcher {
  public:
    Matcher(const CandidateView& candidates, const MatchFlags& match_flags, const Rules& rules,
            std::span<const double> thresholds, std::span<ThresholdSet> matched)
        : candidates_(candidates),
          flags_(match_flags),
          rules_(rules),
          thresholds_(thresholds),
          ranges_(rules.range_count()),
          matched_(matched),
          all_(static_cast<ThresholdSet>((std::uint32_t{1} << thresholds.size()) - 1)) {}

    // The ground-truth objects of the next predictions have the indices first .. last.
    void start_image(std::int64_t first, std::int64_t last) {
        first_truth_ = first;
        matched_so_far_.assign(static_cast<std::size_t>(last - first) * ranges_, 0);
    }

    void match(std::int64_t pred) {
        const std::int64_t first = candidates_.offsets[pred], last = candidates_.offsets[pred + 1];
        if (first == last) return;
        keeps_truth_free_ = !flags_.keeps_truth_free.empty() && flags_.keeps_truth_free[pred];
        if (rules_.match == Match::argmax) return match_argmax(first, last);
        if (rules_.match == Match::nearest) return match_nearest(first, last);
        if (last - first == 1) return match_single(first);
        if (!rank(first, last)) return match_as_reference(first, last);
        for (std::size_t range = 0; range < ranges_; ++range) {
            ThresholdSet open = all_;
            for (const bool is_second_round : {false, true})
                for (const RankedCandidate& one : ranked_) {
                    if (is_ignored(one.candidate, range) != is_second_round) continue;
                    open &= static_cast<ThresholdSet>(~match_at(one.candidate, range, open & one.reached));
                }
        }
    }

  private:
    struct RankedCandidate {
        std::int64_t candidate;
        double iou;
        ThresholdSet reached;
    };

    void match_single(std::int64_t candidate) {
        const ThresholdSet wanted = reached(candidate);
        for (std::size_t range = 0; range < ranges_; ++range) match_at(candidate, range, wanted);
    }

    // Pascal VOC's rule. NaN is never the highest.
    void match_argmax(std::int64_t first, std::int64_t last) {
        std::int64_t best = first;
        const auto is_better = [&](double iou, double than) {
            return rules_.equal == EqualIoU::first ? iou > than : iou >= than;
        };
        for (std::int64_t c = first + 1; c < last; ++c)
            if (is_better(candidates_.iou[c], candidates_.iou[best]) || std::isnan(candidates_.iou[best])) best = c;
        const ThresholdSet wanted = reached(best);
        for (std::size_t range = 0; range < ranges_; ++range) {
            if (is_ignored(best, range))
                matched_[static_cast<std::size_t>(best) * ranges_ + range] |= wanted;
            else
                match_at(best, range, wanted);
        }
    }

    // NaN is never the highest.
    void match_nearest(std::int64_t first, std::int64_t last) {
        rank(first, last);
        for (std::size_t range = 0; range < ranges_; ++range) {
            ThresholdSet open = all_;
            for (const RankedCandidate& one : ranked_) {
                const ThresholdSet wanted = open & one.reached;
                if (!is_ignored(one.candidate, range)) {
                    open &= static_cast<ThresholdSet>(~match_at(one.candidate, range, wanted));
                    continue;
                }
                matched_[static_cast<std::size_t>(one.candidate) * ranges_ + range] |= wanted;
                open &= static_cast<ThresholdSet>(~wanted);
            }
        }
    }

    // The candidates of a prediction by descending IoU. Of equal ones the later object comes first in pycocotools,
    // where an object as good as the best so far replaces it. NaN is left out; false where there is one.
    bool rank(std::int64_t first, std::int64_t last) {
        ranked_.clear();
        bool are_numbers = true;
        const bool is_later_first = rules_.equal == EqualIoU::later;
        for (std::int64_t i = 0; i < last - first; ++i) {
            const std::int64_t c = is_later_first ? last - 1 - i : first + i;
            const double iou = candidates_.iou[c];
            if (std::isnan(iou)) {
                are_numbers = false;
                continue;
            }
            RankedCandidate one{c, iou, reached(c)};
            auto place = ranked_.end();
            while (place != ranked_.begin() && (place - 1)->iou < iou) --place;
            ranked_.insert(place, one);
        }
        return are_numbers;
    }

    ThresholdSet reached(std::int64_t candidate) const {
        const double iou = candidates_.iou[candidate];
        if (!flags_.min_iou.empty() && iou < flags_.min_iou[candidates_.truth[candidate]]) return 0;
        std::uint32_t bits = 0;
        if (rules_.is_strict)
            for (std::size_t t = 0; t < thresholds_.size(); ++t) bits |= std::uint32_t{iou > thresholds_[t]} << t;
        else
            for (std::size_t t = 0; t < thresholds_.size(); ++t) bits |= std::uint32_t{!(iou < thresholds_[t])} << t;
        return static_cast<ThresholdSet>(bits);
    }

    // pycocotools' own loop. NaN compares with nothing, so that the result depends on the order of the comparisons.
    void match_as_reference(std::int64_t first, std::int64_t last) {
        for (std::size_t range = 0; range < ranges_; ++range)
            for (std::size_t t = 0; t < thresholds_.size(); ++t) {
                double best = thresholds_[t];
                std::int64_t found = -1;
                for (const bool is_second_round : {false, true}) {
                    if (found >= 0) break;
                    for (std::int64_t c = first; c < last; ++c) {
                        if (is_ignored(c, range) != is_second_round || !(free(c, range) >> t & 1)) continue;
                        if (candidates_.iou[c] < best) continue;
                        best = candidates_.iou[c];
                        found = c;
                    }
                }
                if (found >= 0) match_at(found, range, static_cast<ThresholdSet>(1u << t));
            }
    }

    bool is_ignored(std::int64_t candidate, std::size_t range) const {
        return flags_.ignored[candidates_.truth[candidate]] >> range & 1;
    }

    ThresholdSet& matched_at(std::int64_t candidate, std::size_t range) {
        return matched_so_far_[static_cast<std::size_t>(candidates_.truth[candidate] - first_truth_) * ranges_ + range];
    }

    // The thresholds at which the object of a candidate is still unmatched.
    ThresholdSet free(std::int64_t candidate, std::size_t range) {
        return flags_.multi_match[candidates_.truth[candidate]]
                   ? all_
                   : static_cast<ThresholdSet>(all_ & ~matched_at(candidate, range));
    }

    // Matches the prediction with the object of this candidate at those of the wanted thresholds at which it is
    // unmatched, and returns them.
    ThresholdSet match_at(std::int64_t candidate, std::size_t range, ThresholdSet wanted) {
        const ThresholdSet newly_matched = wanted & free(candidate, range);
        matched_[static_cast<std::size_t>(candidate) * ranges_ + range] |= newly_matched;
        if (!keeps_truth_free_) matched_at(candidate, range) |= newly_matched;
        return newly_matched;
    }

    const CandidateView& candidates_;
    const MatchFlags& flags_;
    const Rules& rules_;
    std::span<const double> thresholds_;
    const std::size_t ranges_;
    std::span<ThresholdSet> matched_;
    bool keeps_truth_free_ = false;
    const ThresholdSet all_;
    std::int64_t first_truth_ = 0;
    std::vector<ThresholdSet> matched_so_far_;
    std::vector<RankedCandidate> ranked_;
};

void check(const Cells& truth, const Cells& pred, const CandidateView& candidates, const MatchFlags& match_flags,
           const Rules& rules, std::span<const double> thresholds, std::span<ThresholdSet> matched) {
    const auto expect = [](bool holds, const char* what) {
        if (!holds) throw std::invalid_argument(std::string("matching: expected ") + what);
    };
    expect(thresholds.size() <= most_thresholds, "at most 16 thresholds at a time");
    expect(rules.range_count() <= most_ranges, "at most 24 area ranges");
    expect(truth.image_count() == pred.image_count(), "as many images on both sides");
    expect(candidates.offsets.size() == pred.rows.size() + 1, "candidates for every prediction");
    expect(match_flags.ignored.size() == truth.rows.size() && match_flags.multi_match.size() == truth.rows.size(),
           "flags for every ground-truth object");
    expect(match_flags.min_iou.empty() || match_flags.min_iou.size() == truth.rows.size(),
           "an IoU for every ground-truth object");
    expect(match_flags.keeps_truth_free.empty() || match_flags.keeps_truth_free.size() == pred.rows.size(),
           "a flag for every prediction");
    expect(matched.size() == rules.range_count() * candidates.truth.size(), "room for every candidate and range");
}

}  // namespace

void match_greedily(const Cells& truth, const Cells& pred, const CandidateView& candidates,
                    const MatchFlags& match_flags, const Rules& rules, std::span<const double> thresholds,
                    unsigned threads, std::span<ThresholdSet> matched) {
    check(truth, pred, candidates, match_flags, rules, thresholds, matched);
    std::fill(matched.begin(), matched.end(), ThresholdSet{0});
    if (is_one_to_one(rules.match))
        return match_one_to_one(truth, pred, candidates, match_flags, rules, thresholds, threads, matched);
    const auto cuts = cut_images(pred.images, threads > 1 ? std::size_t{8} * threads : 1);
    in_parallel(cuts.size() - 1, threads, [&](std::size_t piece) {
        Matcher matcher(candidates, match_flags, rules, thresholds, matched);
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
            for (std::int64_t index = first; index < last; ++index) matcher.match(index);
        }
    });
}

void outside_ranges(std::span<const std::int32_t> rows, std::span<const double> areas,
                    std::span<const std::uint8_t> left_out, std::span<const AreaRange> ranges, unsigned threads,
                    std::span<AreaRangeSet> out) {
    const std::size_t count = ranges.size();
    if (count > most_ranges) throw std::invalid_argument("area ranges: expected at most 24");
    const AreaRangeSet all = (AreaRangeSet{1} << count) - 1;
    constexpr std::size_t ahead = 32;
    // Filled up to a whole number of fours with ranges that hold every area, so that four are compared at once.
    constexpr double endless = std::numeric_limits<double>::infinity();
    std::array<double, most_ranges> low, high;
    low.fill(-endless);
    high.fill(endless);
    for (std::size_t r = 0; r < count; ++r) low[r] = ranges[r].low, high[r] = ranges[r].high;
    in_stretches(rows.size(), threads, [&](std::size_t first, std::size_t last) {
        for (std::size_t index = first; index < last; ++index) {
            if (index + ahead < last && !areas.empty()) prefetch(&areas[rows[index + ahead]]);
            const double area = areas.empty() ? std::numeric_limits<double>::quiet_NaN() : areas[rows[index]];
            AreaRangeSet bits = !left_out.empty() && left_out[rows[index]] ? all : 0;
            for (std::size_t four = 0; four < count; four += 4)
                for (std::size_t r = four; r < four + 4; ++r)
                    bits |= static_cast<AreaRangeSet>((area < low[r]) | (area > high[r])) << r;
            out[index] = bits;
        }
    });
}

}  // namespace verite
