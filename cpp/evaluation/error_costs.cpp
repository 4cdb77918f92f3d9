#include "evaluation/error_costs.hpp"

#include <algorithm>
#include <array>
#include <compare>
#include <vector>

#include "columns/parallel.hpp"

namespace verite {
namespace {

constexpr std::size_t wrong_types = 5;
constexpr std::size_t missed_bit = std::size_t{1} << wrong_types;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// A true positive, or a prediction that becomes one if errors of one type are fixed.
struct TruePositive {
    std::int8_t fixed_by;  // -1: it is a true positive
    std::array<std::int64_t, wrong_types>
        wrong{};  // errors of each type among the more confident predictions of the class
};

// A classification error that is fixed: a true positive among the predictions of another class.
struct FixedElsewhere {
    std::int32_t label;
    std::int64_t place;
    auto operator<=>(const FixedElsewhere&) const = default;
};

// The true positives of one class, accumulated with every set of error types fixed.
class ClassErrors {
  public:
    ClassErrors(const FixInput& given, std::size_t label, std::span<const FixedElsewhere> fixed_elsewhere)
        : slack_(given.slack) {
        auto next_fixed = fixed_elsewhere.begin();
        const auto add_fixed_before = [&](std::int64_t place) {
            for (; next_fixed != fixed_elsewhere.end() && next_fixed->place < place; ++next_fixed)
                true_positives_.push_back({0, wrong_});
        };
        for (auto i = at(given.offsets[label]); i < at(given.offsets[label + 1]); ++i) {
            const std::size_t row = at(given.rows[i]);
            add_fixed_before(given.places[row]);
            if (given.state[row] == 1) {
                true_positives_.push_back({-1, wrong_});
            } else if (given.kind[row] >= 0) {
                const auto kind = static_cast<std::int8_t>(given.kind[row]);
                if (kind == static_cast<std::int8_t>(ErrorType::localization) && given.is_fixed[row])
                    true_positives_.push_back({kind, wrong_});
                ++wrong_[static_cast<std::size_t>(kind)];
            }
        }
        for (; next_fixed != fixed_elsewhere.end(); ++next_fixed) true_positives_.push_back({0, wrong_});
    }

    // Average precision with these types fixed; without ground truth, 1 if no error is left, else 0.
    double value(std::size_t fixed, std::int64_t truths, std::span<const std::int64_t> needed) {
        if (truths == 0) return left(wrong_, fixed) == 0 ? 1.0 : 0.0;
        best_.clear();
        for (const TruePositive& one : true_positives_)
            if (one.fixed_by < 0 || fixed >> one.fixed_by & 1) {
                const auto right = static_cast<double>(best_.size() + 1);
                best_.push_back(right / (right + static_cast<double>(left(one.wrong, fixed)) + slack_));
            }
        return read(needed);
    }

    double first(std::int64_t truths, std::span<const std::int64_t> needed) {
        if (truths == 0) return 0.0;
        best_.clear();
        for (const TruePositive& one : true_positives_)
            if (one.fixed_by < 0) {
                const auto right = static_cast<double>(best_.size() + 1);
                best_.push_back(right / (right + slack_));
            }
        return read(needed);
    }

    std::int64_t found() const {
        return std::ranges::count_if(true_positives_, [](const TruePositive& one) { return one.fixed_by < 0; });
    }

  private:
    static std::int64_t left(const std::array<std::int64_t, wrong_types>& wrong, std::size_t fixed) {
        std::int64_t sum = 0;
        for (std::size_t type = 0; type < wrong_types; ++type)
            if (!(fixed >> type & 1)) sum += wrong[type];
        return sum;
    }

    // The mean of interpolated precision over all recall levels.
    double read(std::span<const std::int64_t> needed) {
        for (std::size_t i = best_.size(); i-- > 1;) best_[i - 1] = std::max(best_[i - 1], best_[i]);
        double sum = 0;
        for (const std::int64_t count : needed)
            if (at(count) <= best_.size()) sum += best_[at(count) - 1];
        return needed.empty() ? 0.0 : sum / static_cast<double>(needed.size());
    }

    double slack_;
    std::vector<TruePositive> true_positives_;
    std::array<std::int64_t, wrong_types> wrong_{};
    std::vector<double> best_;
};

}  // namespace

void find_error_types(const ErrorInput& given, const ErrorOutput& out) {
    const std::size_t preds = given.state.size(), truths = given.is_matched.size();
    std::vector<std::uint8_t> repeats(preds, 0);
    for (std::size_t i = 0; i < given.pair_pred.size(); ++i)
        if (given.pair_iou[i] >= given.iou && given.is_matched[at(given.pair_truth[i])])
            repeats[at(given.pair_pred[i])] = 1;
    for (std::size_t i = 0; i < truths; ++i) out.is_missed[i] = given.counted_truth[i] && !given.is_matched[i];
    std::vector<std::int32_t> best(truths, -1);
    for (std::size_t i = 0; i < preds; ++i) {
        out.kind[i] = static_cast<std::int8_t>(ErrorType::none);
        out.target[i] = -1;
        out.is_fixed[i] = 0;
        if (given.state[i] != 0) continue;
        const double same = given.same[i], other = given.other[i];
        ErrorType type = ErrorType::both;
        if (same >= given.background && same <= given.iou) {
            type = ErrorType::localization;
            out.target[i] = given.same_truth[i];
        } else if (other >= given.iou) {
            type = ErrorType::classification;
            out.target[i] = given.other_truth[i];
        } else if (repeats[i]) {
            type = ErrorType::duplicate;
        } else if (std::max(same, other) <= given.background) {
            type = ErrorType::background;
        }
        out.kind[i] = static_cast<std::int8_t>(type);
        if (out.target[i] < 0) continue;
        const std::size_t target = at(out.target[i]);
        out.is_missed[target] = 0;
        if (given.is_matched[target]) continue;
        if (best[target] < 0 || given.places[i] < given.places[at(best[target])])
            best[target] = static_cast<std::int32_t>(i);
    }
    for (const std::int32_t row : best)
        if (row >= 0) out.is_fixed[at(row)] = 1;
}

void fix_errors(const FixInput& given, unsigned threads, std::span<double> values, std::span<double> specials) {
    std::vector<FixedElsewhere> fixed_elsewhere;
    for (std::size_t i = 0; i < given.kind.size(); ++i)
        if (given.is_fixed[i] && given.kind[i] == static_cast<std::int8_t>(ErrorType::classification))
            fixed_elsewhere.push_back({given.truth_label[at(given.target[i])], given.places[i]});
    std::ranges::sort(fixed_elsewhere);
    in_parallel(given.labels(), threads, [&](std::size_t label) {
        if (given.truths[label] == 0) return;
        const auto own =
            std::ranges::equal_range(fixed_elsewhere, static_cast<std::int32_t>(label), {}, &FixedElsewhere::label);
        ClassErrors walk(given, label, {own.begin(), own.end()});
        const auto needed = [&](std::size_t which) {
            const auto first = at(given.needed_offsets[3 * label + which]);
            return given.needed.subspan(first, at(given.needed_offsets[3 * label + which + 1]) - first);
        };
        for (std::size_t fixed = 0; fixed < missed_bit; ++fixed) {
            values[label * error_sets + fixed] = walk.value(fixed, given.truths[label], needed(0));
            values[label * error_sets + (fixed | missed_bit)] = walk.value(fixed, given.not_missed[label], needed(1));
        }
        specials[2 * label] = walk.first(given.truths[label], needed(0));
        specials[2 * label + 1] = walk.value(0, walk.found(), needed(2));
    });
}

}  // namespace verite
