#include "evaluation/parts.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace verite {
namespace {

// Appends a row's outcomes to a block, which may be another one.
void add_outcomes(const Brief& brief, std::span<const Outcome> outcomes, std::size_t ranges, Part::Block& block) {
    Brief copy = brief;
    if (brief.outcome >= 0) {
        const auto own = outcomes.subspan(static_cast<std::size_t>(brief.outcome) * ranges, ranges);
        copy.outcome = static_cast<std::int32_t>(block.outcomes.size() / ranges);
        block.outcomes.insert(block.outcomes.end(), own.begin(), own.end());
    }
    block.briefs.push_back(copy);
}

struct Row {
    std::uint64_t key;
    std::int64_t image;
    std::int32_t rank;
    std::uint32_t part;
    std::size_t row;

    bool operator<(const Row& other) const {
        return key != other.key ? key < other.key : image != other.image ? image < other.image : rank < other.rank;
    }
};

void check_alike(std::span<const Part* const> parts) {
    if (parts.empty()) throw std::invalid_argument("parts: expected at least one");
    for (const Part* part : parts)
        if (part->about != parts[0]->about || part->labels() != parts[0]->labels() ||
            part->blocks.size() != parts[0]->blocks.size())
            throw std::invalid_argument("parts: expected the same rules and classes in all of them");
}

}  // namespace

Part make_part(const Evaluation& evaluation, std::span<const std::int64_t> ids, std::string about) {
    if (ids.size() != evaluation.images()) throw std::invalid_argument("parts: expected an id for every image");
    if (!std::ranges::is_sorted(ids)) throw std::invalid_argument("parts: expected ids that rise");
    const Ordered& preds = evaluation.preds();
    const auto confidences = evaluation.confidence();
    const std::size_t ranges = evaluation.rules().range_count();
    Part part{std::move(about), evaluation.rules(), {ids.begin(), ids.end()}, preds.label_offsets, {}, {}, {}, {}, {}};
    part.positives.assign(evaluation.positives().begin(), evaluation.positives().end());
    Array<std::int64_t> image_of(preds.ranks.size());
    for (std::size_t image = 0; image < ids.size(); ++image)
        std::fill(image_of.begin() + preds.cells.images[image], image_of.begin() + preds.cells.images[image + 1],
                  ids[image]);
    for (const Flags& flags : evaluation.flags()) part.blocks.push_back({flags.thresholds, {}, {}});
    for (const std::int32_t slot : preds.by_label) {
        const auto at = static_cast<std::size_t>(slot);
        part.confidence.push_back(confidences[at]);
        part.image.push_back(image_of[at]);
        part.rank.push_back(preds.ranks[at]);
        for (std::size_t block = 0; block < part.blocks.size(); ++block) {
            const Flags& flags = evaluation.flags()[block];
            add_outcomes(flags.briefs[at], flags.outcomes.values(), ranges, part.blocks[block]);
        }
    }
    return part;
}

Part merge_parts(std::span<const Part* const> parts) {
    check_alike(parts);
    const Part& first = *parts[0];
    const std::size_t ranges = first.rules.range_count();
    Part merged{first.about, first.rules, {}, {}, {}, {}, {}, Array<double>(first.positives.size(), 0.0), {}};
    for (const Part::Block& block : first.blocks) merged.blocks.push_back({block.thresholds, {}, {}});
    for (const Part* part : parts) {
        merged.images.insert(merged.images.end(), part->images.begin(), part->images.end());
        std::ranges::transform(merged.positives, part->positives, merged.positives.begin(), std::plus<double>());
    }
    std::ranges::sort(merged.images);
    if (const auto twice = std::ranges::adjacent_find(merged.images); twice != merged.images.end())
        throw std::invalid_argument("parts: expected every image once, found image " + std::to_string(*twice) +
                                    " in two of them");
    merged.offsets.push_back(0);
    std::vector<Row> rows;
    for (std::size_t label = 0; label < first.labels(); ++label) {
        rows.clear();
        for (std::uint32_t p = 0; p < parts.size(); ++p)
            for (auto row = static_cast<std::size_t>(parts[p]->offsets[label]);
                 row < static_cast<std::size_t>(parts[p]->offsets[label + 1]); ++row)
                rows.push_back(
                    {falling_key(parts[p]->confidence[row]), parts[p]->image[row], parts[p]->rank[row], p, row});
        std::sort(rows.begin(), rows.end());
        for (const Row& row : rows) {
            const Part& part = *parts[row.part];
            merged.confidence.push_back(part.confidence[row.row]);
            merged.image.push_back(row.image);
            merged.rank.push_back(row.rank);
            for (std::size_t block = 0; block < merged.blocks.size(); ++block)
                add_outcomes(part.blocks[block].briefs[row.row], part.blocks[block].outcomes, ranges,
                             merged.blocks[block]);
        }
        merged.offsets.push_back(static_cast<std::int64_t>(merged.confidence.size()));
    }
    return merged;
}

Numbers number_part(const Part& part, unsigned threads) {
    Numbers found(part.rules, part.labels(), part.positives);
    Array<std::int32_t> order(part.confidence.size());
    std::iota(order.begin(), order.end(), 0);
    const std::size_t limits = part.rules.limits.size(), ranges = part.rules.range_count();
    for (std::size_t block = 0; block < part.blocks.size(); ++block) {
        const auto& [thresholds, briefs, outcomes] = part.blocks[block];
        accumulate({order, part.offsets, briefs, outcomes, {}, part.positives, thresholds, ranges},
                   {part.rules.recalls, limits, limits - 1, ranges}, nullptr, threads,
                   found.curves(block * most_thresholds));
    }
    return found;
}

}  // namespace verite
