#include "evaluation/one_to_one.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "columns/parallel.hpp"
#include "evaluation/assignment.hpp"

namespace verite {

std::int64_t whole_iou(double iou) { return std::llround(std::clamp(iou, 0.0, 1.0) / iou_unit); }

namespace {

// A candidate pair that reaches the lowest threshold; nodes are numbered within an image, predictions first.
struct Pair {
    std::int32_t pred, truth;
    double iou;
    ThresholdSet reached;
    std::size_t candidate;
};

// Rank-maximal matching of one connected component: pairs level by level of equal IoU, from the highest.
class RankMaximal {
  public:
    // Adds to `matched` the thresholds at which each pair is chosen. `pairs` are sorted by descending IoU.
    void solve(std::span<const Pair> pairs, std::span<ThresholdSet> matched, std::size_t stride) {
        pairs_ = pairs;
        number_nodes();
        is_tied_ = false;
        for (std::size_t first = 0, last; first < pairs.size(); first = last) {
            for (last = first; last < pairs.size() && pairs[last].iou == pairs[first].iou;) ++last;
            add_level(first, last);
            const ThresholdSet later = last < pairs.size() ? pairs[last].reached : ThresholdSet{0};
            const auto settled = static_cast<ThresholdSet>(pairs[first].reached & ~later);
            if (!settled) continue;
            for (const std::int32_t at : mate_of_pred_)
                if (at >= 0) matched[pairs[static_cast<std::size_t>(at)].candidate * stride] |= settled;
        }
    }

  private:
    enum Parity : std::uint8_t { unreachable, even, odd };

    void number_nodes() {
        ends_.resize(pairs_.size());
        preds_.clear(), truths_.clear();
        for (const Pair& pair : pairs_) preds_.push_back(pair.pred), truths_.push_back(pair.truth);
        for (auto* side : {&preds_, &truths_}) {
            std::ranges::sort(*side);
            side->erase(std::ranges::unique(*side).begin(), side->end());
        }
        const auto place = [](const std::vector<std::int32_t>& side, std::int32_t node) {
            return static_cast<std::size_t>(std::ranges::lower_bound(side, node) - side.begin());
        };
        for (std::size_t i = 0; i < pairs_.size(); ++i)
            ends_[i] = {place(preds_, pairs_[i].pred), place(truths_, pairs_[i].truth)};
        mate_of_pred_.assign(preds_.size(), -1);
        mate_of_truth_.assign(truths_.size(), -1);
        of_pred_.assign(preds_.size(), {});
        of_truth_.assign(truths_.size(), {});
        is_closed_pred_.assign(preds_.size(), 0);
        is_closed_truth_.assign(truths_.size(), 0);
    }

    // Until two pairs of one level share an object, every pair of free objects belongs to every rank-maximal matching.
    void add_level(std::size_t first, std::size_t last) {
        if (!is_tied_) {
            level_.clear();
            for (std::size_t i = first; i < last; ++i)
                if (mate_of_pred_[ends_[i].first] < 0 && mate_of_truth_[ends_[i].second] < 0) level_.push_back(i);
            if (!share_an_object()) {
                for (const std::size_t i : level_) choose(i);
                return;
            }
            is_tied_ = true;
            for (std::size_t pred = 0; pred < preds_.size(); ++pred) is_closed_pred_[pred] = mate_of_pred_[pred] >= 0;
            for (std::size_t truth = 0; truth < truths_.size(); ++truth)
                is_closed_truth_[truth] = mate_of_truth_[truth] >= 0;
        }
        for (std::size_t i = first; i < last; ++i) {
            const auto [pred, truth] = ends_[i];
            if (is_closed_pred_[pred] || is_closed_truth_[truth]) continue;
            of_pred_[pred].push_back(i);
            of_truth_[truth].push_back(i);
        }
        for (std::size_t pred = 0; pred < preds_.size(); ++pred) {
            if (mate_of_pred_[pred] >= 0) continue;
            is_visited_.assign(truths_.size(), 0);
            augment(pred);
        }
        close();
    }

    bool share_an_object() {
        seen_pred_.assign(preds_.size(), 0);
        seen_truth_.assign(truths_.size(), 0);
        for (const std::size_t i : level_) {
            const auto [pred, truth] = ends_[i];
            if (seen_pred_[pred]++ || seen_truth_[truth]++) return true;
        }
        return false;
    }

    void choose(std::size_t i) {
        mate_of_pred_[ends_[i].first] = static_cast<std::int32_t>(i);
        mate_of_truth_[ends_[i].second] = static_cast<std::int32_t>(i);
    }

    bool augment(std::size_t pred) {
        for (const std::size_t i : of_pred_[pred]) {
            const std::size_t truth = ends_[i].second;
            if (is_visited_[truth]) continue;
            is_visited_[truth] = 1;
            const std::int32_t mate = mate_of_truth_[truth];
            if (mate >= 0 && !augment(ends_[static_cast<std::size_t>(mate)].first)) continue;
            choose(i);
            return true;
        }
        return false;
    }

    // Objects at odd distance from a free one on alternating paths, and those that no path reaches, are matched by this
    // level or above in every rank-maximal matching: no later pair may use them, and no pair that would leave them.
    void close() {
        parity_pred_.assign(preds_.size(), unreachable);
        parity_truth_.assign(truths_.size(), unreachable);
        std::vector<std::size_t> queue;
        for (std::size_t pred = 0; pred < preds_.size(); ++pred)
            if (mate_of_pred_[pred] < 0 && !is_closed_pred_[pred]) parity_pred_[pred] = even, queue.push_back(pred);
        while (!queue.empty()) {
            const std::size_t pred = queue.back();
            queue.pop_back();
            for (const std::size_t i : of_pred_[pred]) {
                const std::size_t truth = ends_[i].second;
                if (parity_truth_[truth] != unreachable) continue;
                parity_truth_[truth] = odd;
                const std::size_t next = ends_[static_cast<std::size_t>(mate_of_truth_[truth])].first;
                if (parity_pred_[next] == unreachable) parity_pred_[next] = even, queue.push_back(next);
            }
        }
        for (std::size_t truth = 0; truth < truths_.size(); ++truth)
            if (mate_of_truth_[truth] < 0 && !is_closed_truth_[truth])
                parity_truth_[truth] = even, queue.push_back(truth);
        while (!queue.empty()) {
            const std::size_t truth = queue.back();
            queue.pop_back();
            for (const std::size_t i : of_truth_[truth]) {
                const std::size_t pred = ends_[i].first;
                if (parity_pred_[pred] != unreachable) continue;
                parity_pred_[pred] = odd;
                const std::size_t next = ends_[static_cast<std::size_t>(mate_of_pred_[pred])].second;
                if (parity_truth_[next] == unreachable) parity_truth_[next] = even, queue.push_back(next);
            }
        }
        const auto is_useless = [&](std::size_t i) {
            const Parity one = parity_pred_[ends_[i].first], two = parity_truth_[ends_[i].second];
            return (one == odd && two != even) || (two == odd && one != even);
        };
        for (auto* side : {&of_pred_, &of_truth_})
            for (auto& edges : *side) std::erase_if(edges, is_useless);
        for (std::size_t pred = 0; pred < preds_.size(); ++pred) is_closed_pred_[pred] |= parity_pred_[pred] != even;
        for (std::size_t truth = 0; truth < truths_.size(); ++truth)
            is_closed_truth_[truth] |= parity_truth_[truth] != even;
    }

    std::span<const Pair> pairs_;
    bool is_tied_ = false;
    std::vector<std::int32_t> preds_, truths_;
    std::vector<std::pair<std::size_t, std::size_t>> ends_;
    std::vector<std::int32_t> mate_of_pred_, mate_of_truth_;  // the chosen pair, -1 for none
    std::vector<std::vector<std::size_t>> of_pred_, of_truth_;
    std::vector<std::uint8_t> is_closed_pred_, is_closed_truth_, is_visited_, seen_pred_, seen_truth_;
    std::vector<Parity> parity_pred_, parity_truth_;
    std::vector<std::size_t> level_;
};

// Matches image by image; each thread has its own.
class OneToOne {
  public:
    OneToOne(const CandidateView& candidates, const MatchFlags& flags, const Rules& rules,
             std::span<const double> thresholds, std::span<ThresholdSet> matched)
        : candidates_(candidates),
          flags_(flags),
          rules_(rules),
          thresholds_(thresholds),
          ranges_(rules.range_count()),
          matched_(matched) {}

    void match(std::int64_t first_pred, std::int64_t last_pred, std::int64_t first_truth, std::int64_t last_truth) {
        preds_ = static_cast<std::size_t>(last_pred - first_pred);
        truths_ = static_cast<std::size_t>(last_truth - first_truth);
        for (std::size_t range = 0; range < ranges_; ++range) {
            list_pairs(first_pred, last_pred, first_truth, range);
            split();
            for (std::size_t first = 0, last; first < order_.size(); first = last) {
                for (last = first; last < order_.size() && root(order_[last]) == root(order_[first]);) ++last;
                solve(std::span(order_).subspan(first, last - first), range);
            }
            ignore_rest(first_pred, last_pred, range);
        }
    }

  private:
    ThresholdSet reached(std::size_t candidate) const {
        const double iou = candidates_.iou[candidate];
        if (std::isnan(iou)) return 0;
        const auto truth = static_cast<std::size_t>(candidates_.truth[candidate]);
        if (!flags_.min_iou.empty() && iou < flags_.min_iou[truth]) return 0;
        std::uint32_t bits = 0;
        for (std::size_t t = 0; t < thresholds_.size(); ++t)
            bits |= std::uint32_t{rules_.is_strict ? iou > thresholds_[t] : iou >= thresholds_[t]} << t;
        return static_cast<ThresholdSet>(bits);
    }

    bool is_ignored(std::size_t candidate, std::size_t range) const {
        return flags_.ignored[static_cast<std::size_t>(candidates_.truth[candidate])] >> range & 1;
    }

    void list_pairs(std::int64_t first_pred, std::int64_t last_pred, std::int64_t first_truth, std::size_t range) {
        pairs_.clear();
        for (std::int64_t pred = first_pred; pred < last_pred; ++pred)
            for (auto c = static_cast<std::size_t>(candidates_.offsets[pred]);
                 c < static_cast<std::size_t>(candidates_.offsets[pred + 1]); ++c) {
                if (is_ignored(c, range)) continue;
                const ThresholdSet bits = reached(c);
                if (bits)
                    pairs_.push_back({static_cast<std::int32_t>(pred - first_pred),
                                      static_cast<std::int32_t>(candidates_.truth[c] - first_truth), candidates_.iou[c],
                                      bits, c});
            }
    }

    std::size_t find(std::size_t node) {
        while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
        return node;
    }

    std::size_t root(std::size_t pair) { return find(static_cast<std::size_t>(pairs_[pair].pred)); }

    // Pairs component by component, in order_.
    void split() {
        parent_.resize(preds_ + truths_);
        std::iota(parent_.begin(), parent_.end(), std::size_t{0});
        for (const Pair& pair : pairs_)
            parent_[find(static_cast<std::size_t>(pair.pred))] = find(preds_ + static_cast<std::size_t>(pair.truth));
        starts_.assign(preds_ + truths_ + 1, 0);
        for (std::size_t i = 0; i < pairs_.size(); ++i) ++starts_[root(i) + 1];
        std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
        order_.resize(pairs_.size());
        for (std::size_t i = 0; i < pairs_.size(); ++i) order_[starts_[root(i)]++] = i;
    }

    void add(const Pair& pair, std::size_t range, ThresholdSet bits) {
        matched_[pair.candidate * ranges_ + range] |= bits;
    }

    void solve(std::span<const std::size_t> component, std::size_t range) {
        const Pair& first = pairs_[component[0]];
        if (component.size() == 1) return add(first, range, first.reached);
        const bool has_one_pred =
            std::ranges::all_of(component, [&](std::size_t i) { return pairs_[i].pred == first.pred; });
        const bool has_one_truth =
            std::ranges::all_of(component, [&](std::size_t i) { return pairs_[i].truth == first.truth; });
        if (has_one_pred || has_one_truth) {
            const auto best = std::ranges::max_element(component, {}, [&](std::size_t i) { return pairs_[i].iou; });
            return add(pairs_[*best], range, pairs_[*best].reached);
        }
        component_.clear();
        for (const std::size_t i : component) component_.push_back(pairs_[i]);
        std::ranges::stable_sort(component_, std::ranges::greater{}, &Pair::iou);
        if (rules_.match == Match::falling_iou)
            rank_maximal_.solve(component_, matched_.subspan(range), ranges_);
        else
            assign_component(range);
    }

    // Thresholds at which the same pairs are possible have the same assignment.
    void assign_component(std::size_t range) {
        for (std::size_t count = component_.size(); count > 0;) {
            const ThresholdSet later = count < component_.size() ? component_[count].reached : ThresholdSet{0};
            const auto bits = static_cast<ThresholdSet>(component_[count - 1].reached & ~later);
            if (bits) assign_first(count, range, bits);
            const ThresholdSet own = component_[count - 1].reached;
            while (count > 0 && component_[count - 1].reached == own) --count;
        }
    }

    void assign_first(std::size_t count, std::size_t range, ThresholdSet bits) {
        for (auto* column : {&rows_, &columns_, &firsts_, &seconds_}) column->resize(count);
        for (std::size_t i = 0; i < count; ++i) {
            rows_[i] = component_[i].pred;
            columns_[i] = component_[i].truth;
            firsts_[i] = 1;
            seconds_[i] = whole_iou(component_[i].iou);
        }
        for (auto* side : {&rows_, &columns_}) {  // numbers without gaps
            nodes_.assign(side->begin(), side->end());
            std::ranges::sort(nodes_);
            nodes_.erase(std::ranges::unique(nodes_).begin(), nodes_.end());
            for (std::int64_t& node : *side) node = std::ranges::lower_bound(nodes_, node) - nodes_.begin();
        }
        chosen_.assign(count, 0);
        const auto most = static_cast<std::int64_t>(count);
        assign({rows_, columns_, firsts_, seconds_}, most, most, chosen_);
        for (std::size_t i = 0; i < count; ++i)
            if (chosen_[i]) add(component_[i], range, bits);
    }

    // Where a prediction matches nothing, it is ignored if it overlaps an ignored object enough.
    void ignore_rest(std::int64_t first_pred, std::int64_t last_pred, std::size_t range) {
        for (std::int64_t pred = first_pred; pred < last_pred; ++pred) {
            const auto first = static_cast<std::size_t>(candidates_.offsets[pred]);
            const auto last = static_cast<std::size_t>(candidates_.offsets[pred + 1]);
            std::size_t best = last;
            ThresholdSet taken = 0;
            for (std::size_t c = first; c < last; ++c) {
                if (!is_ignored(c, range))
                    taken |= matched_[c * ranges_ + range];
                else if (!std::isnan(candidates_.iou[c]) &&
                         (best == last || candidates_.iou[c] > candidates_.iou[best]))
                    best = c;
            }
            if (best < last) matched_[best * ranges_ + range] |= static_cast<ThresholdSet>(reached(best) & ~taken);
        }
    }

    const CandidateView& candidates_;
    const MatchFlags& flags_;
    const Rules& rules_;
    std::span<const double> thresholds_;
    const std::size_t ranges_;
    std::span<ThresholdSet> matched_;
    std::size_t preds_ = 0, truths_ = 0;
    std::vector<Pair> pairs_, component_;
    std::vector<std::size_t> parent_, starts_, order_;
    std::vector<std::int64_t> rows_, columns_, firsts_, seconds_, nodes_;
    std::vector<std::uint8_t> chosen_;
    RankMaximal rank_maximal_;
};

}  // namespace

void match_one_to_one(const Cells& truth, const Cells& pred, const CandidateView& candidates, const MatchFlags& flags,
                      const Rules& rules, std::span<const double> thresholds, unsigned threads,
                      std::span<ThresholdSet> matched) {
    const auto cuts = cut_images(pred.images, threads > 1 ? std::size_t{8} * threads : 1);
    in_parallel(cuts.size() - 1, threads, [&](std::size_t piece) {
        OneToOne matcher(candidates, flags, rules, thresholds, matched);
        Pause pause(64);
        for (std::size_t image = cuts[piece]; image < cuts[piece + 1]; ++image) {
            pause();
            const std::int64_t first = pred.images[image], last = pred.images[image + 1];
            if (candidates.offsets[first] == candidates.offsets[last]) continue;
            matcher.match(first, last, truth.images[image], truth.images[image + 1]);
        }
    });
}

}  // namespace verite
