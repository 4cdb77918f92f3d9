#include "evaluation/kitti.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "columns/pause.hpp"

namespace verite {
namespace {

bool is_order(std::span<const std::int64_t> order) {
    std::vector<std::uint8_t> is_met(order.size(), 0);
    for (const std::int64_t row : order) {
        if (row < 0 || static_cast<std::size_t>(row) >= order.size() || is_met[static_cast<std::size_t>(row)])
            return false;
        is_met[static_cast<std::size_t>(row)] = 1;
    }
    return true;
}

void check(const KittiPairs& pairs, const KittiClass& own, std::span<const KittiDifficulty> difficulties) {
    const std::size_t truths = own.role.size(), preds = own.label.size();
    const bool fits =
        pairs.offsets.size() == truths + 1 && pairs.pred.size() == pairs.iou.size() && own.height.size() == preds &&
        own.region_share.size() == preds && own.confidence.size() == preds && own.image.size() == preds &&
        own.order.size() == preds && is_order(own.order) && pairs.offsets.front() == 0 &&
        std::ranges::is_sorted(pairs.offsets) && pairs.offsets.back() == static_cast<std::int64_t>(pairs.pred.size()) &&
        std::ranges::all_of(pairs.pred,
                            [&](std::int64_t row) { return row >= 0 && static_cast<std::size_t>(row) < preds; }) &&
        std::ranges::all_of(difficulties, [&](const KittiDifficulty& one) { return one.is_beyond.size() == truths; });
    if (!fits) throw std::invalid_argument("pairs: expected columns that fit together");
}

// A pair of an object, with the rank of its prediction and its place among the object's pairs.
struct RankedPair {
    std::int32_t rank, place;
    double iou;
};

// The objects of a class with their pairs, in groups. Objects that share predictions, directly or through others, are
// matched together; whatever else is in the image changes nothing. Predictions are numbered by falling confidence.
class KittiGroups {
  public:
    KittiGroups(const KittiPairs& pairs, const KittiClass& own) {
        rank_predictions(pairs, own);
        const std::vector<std::int32_t> parent = join();
        const auto objects = parent.size();
        std::vector<std::size_t> place(objects + 1, 0);
        for (const std::int32_t root : parent) ++place[static_cast<std::size_t>(root) + 1];
        for (std::size_t i = 0; i < objects; ++i) {
            if (place[i + 1] != 0) group_first_.push_back(place[i]);
            place[i + 1] += place[i];
        }
        group_first_.push_back(objects);
        by_group_.resize(objects);
        for (std::size_t i = 0; i < objects; ++i) by_group_[place[static_cast<std::size_t>(parent[i])]++] = i;
    }

    KittiSteps steps(const KittiClass& own, const KittiDifficulty& difficulty) {
        const std::size_t count = row_.size();
        state_.resize(count);
        counts_if_free_.resize(count);
        tp_.assign(count, 0);
        fp_.assign(count, 0);
        is_hit_.assign(count, 0);
        is_taken_.assign(count, 0);
        for (std::size_t rank = 0; rank < count; ++rank) {
            state_[rank] = height_[rank] < difficulty.height ? 1 : is_own_[rank] ? 0 : -1;
            counts_if_free_[rank] = state_[rank] == 0 && !in_region_[rank];
            if (!has_pair_[rank]) fp_[rank] = counts_if_free_[rank];  // whatever the threshold
        }
        const auto counts = [&](std::size_t i) {
            const auto object = static_cast<std::size_t>(object_[i]);
            return own.role[object] == 0 && !difficulty.is_beyond[object];
        };
        Pause pause(1024);
        for (std::size_t group = 0; group + 1 < group_first_.size(); ++group) {
            pause();
            const std::span members(by_group_.data() + group_first_[group], by_group_.data() + group_first_[group + 1]);
            find_hits(members, counts);
            if (members.size() == 1)
                match_one(pairs_of(members[0]), counts(members[0]));
            else
                match_group(members, counts, pause);
        }

        KittiSteps found;
        for (auto* column : {&found.confidence, &found.tp, &found.fp}) column->reserve(count);
        found.image.reserve(count);
        for (std::size_t rank = 0; rank < count; ++rank) {
            if (tp_[rank] != 0 || fp_[rank] != 0) {
                found.confidence.push_back(confidence_[rank]);
                found.image.push_back(own.image[static_cast<std::size_t>(row_[rank])]);
                found.tp.push_back(tp_[rank]);
                found.fp.push_back(fp_[rank]);
            }
            if (is_hit_[rank]) {
                found.hit_confidence.push_back(confidence_[rank]);
                found.hit_image.push_back(own.image[static_cast<std::size_t>(row_[rank])]);
            }
        }
        return found;
    }

  private:
    void rank_predictions(const KittiPairs& pairs, const KittiClass& own) {
        const std::size_t preds = own.label.size();
        std::vector<std::int32_t> rank_of(preds, -1);  // 0: takes part
        for (std::size_t row = 0; row < preds; ++row)
            if (own.label[row] == own.own_label) rank_of[row] = 0;
        Pause pause(1024);
        pair_first_.push_back(0);
        for (std::size_t i = 0; i < own.role.size(); ++i) {
            pause();
            if (own.role[i] < 0) continue;
            for (std::int64_t at = pairs.offsets[i]; at < pairs.offsets[i + 1]; ++at) {
                if (!(pairs.iou[at] > own.least)) continue;
                const auto place = static_cast<std::int32_t>(pairs_.size() - pair_first_.back());
                pairs_.push_back({static_cast<std::int32_t>(pairs.pred[at]), place, pairs.iou[at]});
                rank_of[static_cast<std::size_t>(pairs.pred[at])] = 0;
            }
            if (pairs_.size() == pair_first_.back()) continue;
            object_.push_back(static_cast<std::int32_t>(i));
            pair_first_.push_back(pairs_.size());
        }
        std::size_t count = 0;
        for (const std::int32_t rank : rank_of) count += rank == 0;
        row_.reserve(count);
        for (const std::int64_t row : own.order)
            if (rank_of[static_cast<std::size_t>(row)] == 0) row_.push_back(static_cast<std::int32_t>(row));
        const auto confidence_of = [&](std::int32_t row) { return own.confidence[static_cast<std::size_t>(row)]; };
        for (std::size_t first = 0, last = 0; first < row_.size(); first = last) {  // equal ones in their order
            while (last < row_.size() && confidence_of(row_[last]) == confidence_of(row_[first])) ++last;
            if (last - first > 1)
                std::sort(row_.begin() + static_cast<std::ptrdiff_t>(first),
                          row_.begin() + static_cast<std::ptrdiff_t>(last));
        }
        confidence_.resize(row_.size());
        height_.resize(row_.size());
        is_own_.resize(row_.size());
        in_region_.resize(row_.size());
        for (std::size_t rank = 0; rank < row_.size(); ++rank) {
            const auto at = static_cast<std::size_t>(row_[rank]);
            rank_of[at] = static_cast<std::int32_t>(rank);
            confidence_[rank] = own.confidence[at];
            height_[rank] = own.height[at];
            is_own_[rank] = own.label[at] == own.own_label;
            in_region_[rank] = own.region_share[at] > own.least;
        }
        for (RankedPair& pair : pairs_) pair.rank = rank_of[static_cast<std::size_t>(pair.rank)];
        for (std::size_t i = 0; i < object_.size(); ++i)
            std::ranges::sort(pairs_.begin() + static_cast<std::ptrdiff_t>(pair_first_[i]),
                              pairs_.begin() + static_cast<std::ptrdiff_t>(pair_first_[i + 1]), {}, &RankedPair::rank);
    }

    // Of each object with pairs, the first one of its group.
    std::vector<std::int32_t> join() {
        has_pair_.assign(row_.size(), 0);
        std::vector<std::int32_t> parent(object_.size()), owner(row_.size(), -1);
        std::iota(parent.begin(), parent.end(), 0);
        const auto root_of = [&](std::int32_t i) {
            for (auto at = static_cast<std::size_t>(i); parent[at] != i; at = static_cast<std::size_t>(i))
                i = parent[at] = parent[static_cast<std::size_t>(parent[at])];
            return i;
        };
        for (std::size_t i = 0; i < object_.size(); ++i)
            for (const RankedPair& pair : pairs_of(i)) {
                const auto rank = static_cast<std::size_t>(pair.rank);
                has_pair_[rank] = 1;
                if (owner[rank] < 0) {
                    owner[rank] = static_cast<std::int32_t>(i);
                    continue;
                }
                const std::int32_t one = root_of(owner[rank]), two = root_of(static_cast<std::int32_t>(i));
                parent[static_cast<std::size_t>(std::max(one, two))] = std::min(one, two);
            }
        for (std::size_t i = 0; i < object_.size(); ++i) parent[i] = root_of(static_cast<std::int32_t>(i));
        return parent;
    }

    std::span<const RankedPair> pairs_of(std::size_t i) const {
        return {pairs_.data() + pair_first_[i], pairs_.data() + pair_first_[i + 1]};
    }

    // Objects take the free prediction of highest confidence, the first of equal ones.
    template <class Counts>
    void find_hits(std::span<const std::size_t> members, const Counts& counts) {
        for (const std::size_t i : members)
            for (const RankedPair& pair : pairs_of(i)) {
                const auto rank = static_cast<std::size_t>(pair.rank);
                if (state_[rank] < 0 || is_taken_[rank]) continue;
                is_taken_[rank] = 1;
                is_hit_[rank] = counts(i) && state_[rank] == 0;
                break;
            }
    }

    // An object that shares no prediction with another: the best so far is kept as the threshold falls.
    void match_one(std::span<const RankedPair> pairs, bool is_counted) {
        const RankedPair* best = nullptr;  // of the predictions that count
        std::int32_t free = 0, tp_before = 0, fp_before = 0;
        for (std::size_t at = 0; at < pairs.size();) {
            const auto first = static_cast<std::size_t>(pairs[at].rank);
            for (; at < pairs.size(); ++at) {
                const auto rank = static_cast<std::size_t>(pairs[at].rank);
                if (confidence_[rank] != confidence_[first]) break;
                if (state_[rank] != 0) continue;
                free += counts_if_free_[rank];
                if (!best || pairs[at].iou > best->iou || (pairs[at].iou == best->iou && pairs[at].place < best->place))
                    best = &pairs[at];
            }
            const std::int32_t tp = is_counted && best;
            const std::int32_t fp = free - (best && counts_if_free_[static_cast<std::size_t>(best->rank)]);
            tp_[first] = tp - tp_before;
            fp_[first] = fp - fp_before;
            tp_before = tp;
            fp_before = fp;
        }
    }

    // Objects that share predictions are matched again at each confidence.
    template <class Counts>
    void match_group(std::span<const std::size_t> members, const Counts& counts, Pause& pause) {
        ranks_.clear();
        for (const std::size_t i : members)
            for (const RankedPair& pair : pairs_of(i))
                if (state_[static_cast<std::size_t>(pair.rank)] >= 0) ranks_.push_back(pair.rank);
        std::ranges::sort(ranks_);
        ranks_.erase(std::ranges::unique(ranks_).begin(), ranks_.end());
        std::int32_t tp_before = 0, fp_before = 0;
        for (std::size_t upto = 0; upto < ranks_.size();) {
            pause();
            const auto first = static_cast<std::size_t>(ranks_[upto]);
            while (upto < ranks_.size() && confidence_[static_cast<std::size_t>(ranks_[upto])] == confidence_[first])
                ++upto;
            const std::int32_t lowest = ranks_[upto - 1];
            for (std::size_t k = 0; k < upto; ++k) is_taken_[static_cast<std::size_t>(ranks_[k])] = 0;
            std::int32_t tp = 0, fp = 0;
            for (const std::size_t i : members) {
                const RankedPair *best = nullptr, *ignored = nullptr;  // predictions that count come first
                for (const RankedPair& pair : pairs_of(i)) {
                    if (pair.rank > lowest) break;
                    const auto rank = static_cast<std::size_t>(pair.rank);
                    if (state_[rank] < 0 || is_taken_[rank]) continue;
                    if (state_[rank] == 1) {
                        if (!ignored || pair.place < ignored->place) ignored = &pair;
                    } else if (!best || pair.iou > best->iou || (pair.iou == best->iou && pair.place < best->place)) {
                        best = &pair;
                    }
                }
                if (const RankedPair* chosen = best ? best : ignored) {
                    is_taken_[static_cast<std::size_t>(chosen->rank)] = 1;
                    tp += best && counts(i);
                }
            }
            for (std::size_t k = 0; k < upto; ++k) {
                const auto rank = static_cast<std::size_t>(ranks_[k]);
                fp += counts_if_free_[rank] && !is_taken_[rank];
            }
            tp_[first] = tp - tp_before;
            fp_[first] = fp - fp_before;
            tp_before = tp;
            fp_before = fp;
        }
    }

    // By object with pairs.
    std::vector<std::int32_t> object_;
    std::vector<std::size_t> pair_first_;
    std::vector<RankedPair> pairs_;  // of each object by rank
    // The objects by group, and the first of each group among them.
    std::vector<std::size_t> by_group_, group_first_;
    // By rank.
    std::vector<std::int32_t> row_, tp_, fp_;  // tp and fp: changes at its confidence
    std::vector<double> confidence_, height_;
    std::vector<std::uint8_t> is_own_, in_region_, has_pair_;
    std::vector<std::int8_t> state_;            // 0: counted, 1: ignored, -1: takes no part
    std::vector<std::uint8_t> counts_if_free_;  // whether it is a false positive if unmatched
    std::vector<std::uint8_t> is_hit_, is_taken_;
    std::vector<std::int32_t> ranks_;  // of a group
};

}  // namespace

std::vector<KittiSteps> kitti_steps(const KittiPairs& pairs, const KittiClass& own,
                                    std::span<const KittiDifficulty> difficulties) {
    check(pairs, own, difficulties);
    KittiGroups groups(pairs, own);
    std::vector<KittiSteps> found;
    for (const KittiDifficulty& one : difficulties) found.push_back(groups.steps(own, one));
    return found;
}

}  // namespace verite
