#include "evaluation/order_range.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <tuple>

#include "columns/pause.hpp"

namespace verite {

namespace {

using NodeSet = std::uint32_t;
constexpr std::size_t most_nodes = 16;     // predictions and objects of a component that is searched
constexpr std::size_t most_states = 4096;  // of one search

struct OrderPair {
    std::size_t pred, truth;  // within the image
    double iou;
    std::size_t candidate;
};

// The search of one component at one threshold: preferences[p] are the objects of prediction p, best first.
class ComponentSearch {
  public:
    // Adds the component to `counts`. `spared` predictions are ignored where they match nothing.
    void run(const std::vector<std::vector<std::size_t>>& preferences, const std::vector<std::uint8_t>& spared,
             std::size_t truths, OrderCounts& counts) {
        const std::size_t preds = preferences.size();
        if (preds == 1 || truths == 1) {  // the first one matches, all others are false positives
            return add_star(static_cast<std::int64_t>(preds), std::ranges::count(spared, 0), counts);
        }
        if (preds > most_nodes || truths > most_nodes || !search(preferences, spared)) {
            bound(preferences, spared, truths, counts);
            return;
        }
        counts.least += static_cast<std::int64_t>(fewest_);
        bool is_concave = is_reached_;
        for (std::size_t m = 2; m < released_.size(); ++m)
            is_concave &= released_[m] - released_[m - 1] <= released_[m - 1] - released_[m - 2];
        if (is_concave) {
            for (std::size_t m = 1; m < released_.size(); ++m) release(counts, released_[m] - released_[m - 1]);
        } else if (released_.back() > 0) {
            ++counts.late[{static_cast<std::int64_t>(fewest_), released_.back()}];
            counts.is_exact &= last_released_ == released_.back();
        }
    }

    // Predictions on one object, of which `counted` are false positives if they do not match.
    static void add_star(std::int64_t preds, std::int64_t counted, OrderCounts& counts) {
        ++counts.least;
        release(counts, counted - (counted == preds));
    }

  private:
    struct State {
        NodeSet matched, taken;  // predictions that are true positives, objects that they took
        bool is_reached;         // by an order that had the most false positives all the way

        bool operator<(const State& other) const {
            return std::tie(matched, taken, other.is_reached) < std::tie(other.matched, other.taken, is_reached);
        }
        bool operator==(const State& other) const { return matched == other.matched && taken == other.taken; }
    };

    static void release(OrderCounts& counts, std::int64_t step) {
        if (step > 0) ++counts.released[step];
    }

    // Every reachable set of true positives and taken objects, by number of true positives. False if there are too
    // many.
    bool search(const std::vector<std::vector<std::size_t>>& preferences, const std::vector<std::uint8_t>& spared) {
        std::vector<NodeSet> wanted;
        for (const auto& own : preferences) {
            wanted.push_back(0);
            for (const std::size_t truth : own) wanted.back() |= NodeSet{1} << truth;
        }
        std::vector<State> states{{0, 0, true}}, next;
        released_.assign(1, 0);
        fewest_ = 0;
        last_released_ = 0;
        is_reached_ = false;
        for (std::size_t count = 0, m = 0; !states.empty(); ++m) {
            count += states.size();
            if (count > most_states) return false;
            next.clear();
            for (const State& state : states) {
                bool is_last = true;
                for (std::size_t pred = 0; pred < preferences.size(); ++pred) {
                    if (state.matched >> pred & 1 || !(wanted[pred] & ~state.taken)) continue;
                    is_last = false;
                    const auto truth = std::ranges::find_if(preferences[pred],
                                                            [&](std::size_t one) { return !(state.taken >> one & 1); });
                    next.push_back(
                        {state.matched | NodeSet{1} << pred, state.taken | NodeSet{1} << *truth, state.is_reached});
                }
                if (!is_last) continue;
                if (!fewest_) fewest_ = m;
                if (m > fewest_) continue;
                is_reached_ |= state.is_reached;
                last_released_ = std::max(last_released_, count_false_positives(state, wanted, spared));
            }
            std::ranges::sort(next, std::less{});
            next.erase(std::ranges::unique(next).begin(), next.end());
            std::int64_t best = 0;
            for (const State& state : next) best = std::max(best, count_false_positives(state, wanted, spared));
            for (State& state : next) state.is_reached &= count_false_positives(state, wanted, spared) == best;
            if (!next.empty()) released_.push_back(std::max(best, released_.back()));
            states.swap(next);
        }
        if (released_.back() > released_[fewest_]) is_reached_ = false;  // more true and more false positives
        return true;
    }

    static std::int64_t count_false_positives(const State& state, const std::vector<NodeSet>& wanted,
                                              const std::vector<std::uint8_t>& spared) {
        std::int64_t found = 0;
        for (std::size_t pred = 0; pred < wanted.size(); ++pred)
            found += !spared[pred] && !(state.matched >> pred & 1) && !(wanted[pred] & ~state.taken);
        return found;
    }

    // Bounds without a search: any maximal matching has at least half as many pairs as any other.
    static void bound(const std::vector<std::vector<std::size_t>>& preferences, const std::vector<std::uint8_t>& spared,
                      std::size_t truths, OrderCounts& counts) {
        std::vector<std::uint8_t> is_taken(truths, 0);
        std::int64_t pairs = 0;
        for (const auto& own : preferences)
            for (const std::size_t truth : own)
                if (!is_taken[truth]) {
                    is_taken[truth] = 1, ++pairs;
                    break;
                }
        const std::int64_t least = (pairs + 1) / 2;
        const auto free = static_cast<std::int64_t>(std::ranges::count(spared, 1));
        counts.is_exact = false;
        counts.least += least;
        release(counts, static_cast<std::int64_t>(spared.size()) - std::max(least, free));
    }

    std::vector<std::int64_t> released_;  // most false positives behind the first m true positives
    std::size_t fewest_ = 0;              // true positives of the worst order
    std::int64_t last_released_ = 0;      // its false positives
    bool is_reached_ = false;             // whether it has all of released_
};

// Goes through the components of one image after the other.
class RangeFinder {
  public:
    RangeFinder(const Evaluation& evaluation, OrderRange& found)
        : evaluation_(evaluation), pairs_(evaluation.candidates()), found_(found) {
        thresholds_ = evaluation.rules().thresholds;
        std::vector<std::size_t> order(thresholds_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::sort(order, {}, [&](std::size_t t) { return thresholds_[t]; });
        rising_ = order;
    }

    void add_image(std::size_t image) {
        const auto at = [](std::span<const std::int64_t> offsets, std::size_t i) {
            return static_cast<std::size_t>(offsets[i]);
        };
        const GroupedObjects& preds = evaluation_.preds().cells;
        first_pred_ = at(preds.images, image);
        first_truth_ = at(evaluation_.truths().images, image);
        preds_ = at(preds.images, image + 1) - first_pred_;
        truths_ = at(evaluation_.truths().images, image + 1) - first_truth_;
        if (!preds_) return;
        list_pairs();
        parent_.resize(preds_ + truths_);
        degree_.assign(preds_, 0);
        group(edges_, [](const OrderPair&) { return true; });
        for (std::size_t pred = 0; pred < preds_; ++pred)
            if (!degree_[pred]) add_background(pred);
        components_ = grouped_;
        for (std::size_t first = 0, last; first < components_.size(); first = last) {
            for (last = first + 1; last < components_.size() && components_[last].root == components_[first].root;)
                ++last;
            add_component({components_.data() + first, last - first});
        }
    }

  private:
    struct Rooted {
        std::size_t root, pair;
    };

    bool is_reached(double iou, std::size_t t) const {
        return evaluation_.rules().is_strict ? iou > thresholds_[t] : iou >= thresholds_[t];
    }

    bool is_matched(std::size_t candidate, std::size_t t) const {
        const std::size_t ranges = evaluation_.rules().range_count();
        return evaluation_.matched()[t / most_thresholds][candidate * ranges] >> t % most_thresholds & 1;
    }

    // Pairs with objects that count, and the highest IoU of each prediction with an ignored one.
    void list_pairs() {
        edges_.clear();
        spared_iou_.assign(preds_, -1.0);
        for (std::size_t pred = 0; pred < preds_; ++pred) {
            if (evaluation_.outside()[first_pred_ + pred] & 1) spared_iou_[pred] = 2.0;  // at every threshold
            const auto first = static_cast<std::size_t>(pairs_.offsets[first_pred_ + pred]);
            const auto last = static_cast<std::size_t>(pairs_.offsets[first_pred_ + pred + 1]);
            for (std::size_t c = first; c < last; ++c) {
                const auto truth = static_cast<std::size_t>(pairs_.truth[c]);
                const double iou = pairs_.iou[c];
                if (evaluation_.ignored()[truth] & 1)
                    spared_iou_[pred] = std::max(spared_iou_[pred], iou >= 0 ? iou : -1.0);
                else if (is_reached(iou, rising_[0]))
                    edges_.push_back({pred, truth - first_truth_, iou, c});
            }
        }
    }

    // Puts the chosen pairs component by component into grouped_, and the numbers of pairs of each prediction into
    // degree_.
    template <class Choose>
    void group(std::span<const OrderPair> edges, Choose&& is_chosen) {
        for (const OrderPair& pair : edges) {
            parent_[pair.pred] = pair.pred;
            parent_[preds_ + pair.truth] = preds_ + pair.truth;
            degree_[pair.pred] = 0;
        }
        for (const OrderPair& pair : edges)
            if (is_chosen(pair)) {
                ++degree_[pair.pred];
                parent_[find(preds_ + pair.truth)] = find(pair.pred);
            }
        grouped_.clear();
        for (std::size_t i = 0; i < edges.size(); ++i)
            if (is_chosen(edges[i])) grouped_.push_back({find(edges[i].pred), i});
        if (!std::ranges::is_sorted(grouped_, {}, &Rooted::root)) std::ranges::stable_sort(grouped_, {}, &Rooted::root);
    }

    std::size_t find(std::size_t node) {
        while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
        return node;
    }

    OrderCounts& counts_of(std::size_t pred, std::size_t t) {
        const auto label = static_cast<std::size_t>(evaluation_.preds().cells.labels[first_pred_ + pred]);
        return found_.counts[label * thresholds_.size() + t];
    }

    bool is_spared(std::size_t pred, std::size_t t) const { return is_reached(spared_iou_[pred], t); }

    void add_background(std::size_t pred) {
        for (std::size_t t = 0; t < thresholds_.size(); ++t) counts_of(pred, t).background += !is_spared(pred, t);
    }

    void add_component(std::span<const Rooted> rooted) {
        const std::size_t first = edges_[rooted[0].pair].pred;
        if (std::ranges::all_of(rooted, [&](const Rooted& one) { return edges_[one.pair].pred == first; })) {
            double best = 0;
            for (const Rooted& one : rooted) best = std::max(best, edges_[one.pair].iou);
            for (std::size_t t = 0; t < thresholds_.size(); ++t) {
                OrderCounts& counts = counts_of(first, t);
                if (is_reached(best, t))
                    ++counts.most, ++counts.least;
                else
                    counts.background += !is_spared(first, t);
            }
            return;
        }
        component_.clear();
        for (const Rooted& one : rooted) component_.push_back(edges_[one.pair]);
        members_.clear();
        for (const OrderPair& pair : component_) members_.push_back(pair.pred);
        std::ranges::sort(members_);
        members_.erase(std::ranges::unique(members_).begin(), members_.end());
        const auto label = static_cast<std::size_t>(evaluation_.preds().cells.labels[first_pred_ + first]);
        found_.has_worst[label] = 0;
        const auto has_truth = [&](const OrderPair& pair) { return pair.truth == component_[0].truth; };
        if (std::ranges::all_of(component_, has_truth)) return add_star();
        for (std::size_t t = 0; t < thresholds_.size(); ++t) add_at(t);
        if (found_.has_best[label] && !has_best_order()) found_.has_best[label] = 0;
    }

    // One object: the first prediction that reaches the threshold matches, the others are false positives behind it.
    // The one of highest IoU before all others is best at every threshold.
    void add_star() {
        for (std::size_t t = 0; t < thresholds_.size(); ++t) {
            std::int64_t reaching = 0, counted = 0;
            OrderCounts& counts = counts_of(component_[0].pred, t);
            for (const OrderPair& pair : component_) {
                const bool is_counted = !is_spared(pair.pred, t);
                if (is_reached(pair.iou, t))
                    ++reaching, counted += is_counted;
                else
                    counts.background += is_counted;
            }
            if (!reaching) continue;
            ++counts.most;
            ComponentSearch::add_star(reaching, counted, counts);
        }
    }

    // Splits the component into those of one threshold, and searches each.
    void add_at(std::size_t t) {
        group(component_, [&](const OrderPair& pair) { return is_reached(pair.iou, t); });
        for (const std::size_t pred : members_)
            if (!degree_[pred]) counts_of(pred, t).background += !is_spared(pred, t);
        for (const OrderPair& pair : component_) counts_of(pair.pred, t).most += is_matched(pair.candidate, t);
        for (std::size_t first = 0, last; first < grouped_.size(); first = last) {
            for (last = first + 1; last < grouped_.size() && grouped_[last].root == grouped_[first].root;) ++last;
            search_part(std::span(grouped_).subspan(first, last - first), t);
        }
    }

    void search_part(std::span<const Rooted> rooted, std::size_t t) {
        number_nodes(rooted);
        preferences_.assign(part_preds_.size(), {});
        std::vector<OrderPair> sorted;
        for (const Rooted& one : rooted) sorted.push_back(component_[one.pair]);
        std::ranges::sort(sorted, is_preferred);
        for (const OrderPair& pair : sorted)
            preferences_[place(part_preds_, pair.pred)].push_back(place(part_truths_, pair.truth));
        spared_.clear();
        for (const std::size_t pred : part_preds_) spared_.push_back(is_spared(pred, t));
        search_.run(preferences_, spared_, part_truths_.size(), counts_of(part_preds_[0], t));
    }

    void number_nodes(std::span<const Rooted> rooted) {
        part_preds_.clear(), part_truths_.clear();
        for (const Rooted& one : rooted) {
            part_preds_.push_back(component_[one.pair].pred);
            part_truths_.push_back(component_[one.pair].truth);
        }
        for (auto* side : {&part_preds_, &part_truths_}) {
            std::ranges::sort(*side);
            side->erase(std::ranges::unique(*side).begin(), side->end());
        }
    }

    static std::size_t place(const std::vector<std::size_t>& side, std::size_t node) {
        return static_cast<std::size_t>(std::ranges::lower_bound(side, node) - side.begin());
    }

    // Of equal IoUs the later object is taken, as in pycocotools.
    static bool is_preferred(const OrderPair& a, const OrderPair& b) {
        return a.iou != b.iou ? a.iou > b.iou : a.truth > b.truth;
    }

    // Whether one order of the component has the most true positives at every threshold, and those of a threshold
    // before all others: by the number of thresholds at which a prediction is matched in the optimal assignment, or in
    // the order that this gives.
    bool has_best_order() {
        if (members_.size() > 4 * most_nodes) return false;
        std::ranges::sort(component_, is_preferred);
        const std::size_t width = thresholds_.size();
        std::vector<std::size_t> most(width, 0), level(members_.size(), 0), order(members_.size());
        for (const OrderPair& pair : component_)
            for (std::size_t t = 0; t < width; ++t)
                if (is_matched(pair.candidate, t)) ++most[t], ++level[place(members_, pair.pred)];
        std::iota(order.begin(), order.end(), std::size_t{0});
        for (int attempt = 0; attempt < 2; ++attempt) {
            std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) { return level[i]; });
            std::ranges::fill(level, 0);
            bool is_best = true;
            std::vector<std::uint8_t> was_matched(members_.size(), 1);
            for (const std::size_t t : rising_) {
                std::vector<std::uint8_t> is_taken(truths_, 0), is_hit(members_.size(), 0);
                std::size_t hits = 0;
                for (const std::size_t i : order)
                    for (const OrderPair& pair : component_)
                        if (pair.pred == members_[i] && !is_taken[pair.truth] && is_reached(pair.iou, t)) {
                            is_taken[pair.truth] = 1, is_hit[i] = 1;
                            ++hits, ++level[i];
                            break;
                        }
                for (std::size_t i = 0; i < members_.size(); ++i) is_best &= !is_hit[i] || was_matched[i];
                is_best &= hits == most[t];
                was_matched.swap(is_hit);
            }
            if (is_best &&
                std::ranges::is_sorted(order, std::ranges::greater{}, [&](std::size_t i) { return level[i]; }))
                return true;
        }
        return false;
    }

    const Evaluation& evaluation_;
    const CandidateView pairs_;
    OrderRange& found_;
    std::vector<double> thresholds_;
    std::vector<std::size_t> rising_;  // thresholds from the lowest
    std::size_t first_pred_ = 0, first_truth_ = 0, preds_ = 0, truths_ = 0;
    std::vector<OrderPair> edges_, component_;
    std::vector<double> spared_iou_;
    std::vector<std::size_t> parent_, degree_, members_, part_preds_, part_truths_;
    std::vector<Rooted> grouped_, components_;
    std::vector<std::vector<std::size_t>> preferences_;
    std::vector<std::uint8_t> spared_;
    ComponentSearch search_;
};

}  // namespace

OrderRange find_order_range(const Evaluation& evaluation) {
    if (evaluation.rules().match != Match::optimal)
        throw std::invalid_argument("order range: expected an optimal assignment, found another matching");
    OrderRange found;
    found.thresholds = evaluation.rules().thresholds.size();
    found.counts.resize(evaluation.labels() * found.thresholds);
    found.has_worst.assign(evaluation.labels(), 1);
    found.has_best.assign(evaluation.labels(), 1);
    RangeFinder finder(evaluation, found);
    Pause pause(64);
    for (std::size_t image = 0; image < evaluation.images(); ++image) {
        pause();
        finder.add_image(image);
    }
    return found;
}

}  // namespace verite
