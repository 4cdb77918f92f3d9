#include "evaluation/state.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>

#include "columns/digest.hpp"
#include "columns/parallel.hpp"

namespace verite {
namespace {

constexpr std::uint32_t left_out = UINT32_MAX;

std::uint32_t word_of(const Outcome& outcome) { return outcome.tp | static_cast<std::uint32_t>(outcome.ignored) << 16; }

// Sorts ids or names, none twice; the place of each one afterwards, empty where they stood in it.
Array<std::uint32_t> sort_keys(ImageKeys& keys) {
    Array<std::uint32_t> order(keys.size()), places;
    std::iota(order.begin(), order.end(), 0u);
    const auto sort = [&](auto& values) {
        if (!std::ranges::is_sorted(values)) {
            std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) { return values[a] < values[b]; });
            auto sorted = values;
            places.resize(order.size());
            for (std::uint32_t i = 0; i < order.size(); ++i) sorted[i] = values[order[i]], places[order[i]] = i;
            values = std::move(sorted);
        }
        if (const auto twice = std::ranges::adjacent_find(values); twice != values.end())
            throw std::invalid_argument("parts: expected every image once, found image " +
                                        keys.spell(static_cast<std::size_t>(twice - values.begin())) + " twice");
    };
    if (keys.are_names())
        sort(keys.names);
    else
        sort(keys.ids);
    return places;
}

// Whether at some threshold true and false positives of equal confidence are not in the order of images.
bool is_mixed(std::span<const Row> rows, const Tuples& outcomes) {
    for (std::size_t column = 1; column < outcomes.width(); ++column)
        for (unsigned bit = 0; bit < most_thresholds; ++bit) {
            std::size_t tp = 0, counted = 0;
            std::uint32_t image = 0;
            bool is_inverted = false;
            for (const Row& row : rows) {
                const std::uint32_t word = outcomes[row.outcome][column];
                if (word >> (bit + 16) & 1) continue;  // ignored
                ++counted;
                tp += word >> bit & 1;
                is_inverted |= row.image < image;
                image = row.image;
            }
            if (is_inverted && tp > 0 && tp < counted) return true;
        }
    return false;
}

// EqualIoU confidences of a class by image, those of one image as they are. How many there are where that may have
// changed a number.
std::size_t settle_ties(Section& section) {
    std::size_t moved = 0;
    for (auto first = section.rows.begin(); first != section.rows.end();) {
        auto last = first + 1;
        while (last != section.rows.end() && last->key == first->key) ++last;
        if (!std::is_sorted(first, last)) {
            if (is_mixed({first, last}, section.outcomes)) moved += static_cast<std::size_t>(last - first);
            std::stable_sort(first, last);
        }
        first = last;
    }
    return moved;
}

// Classes by their ids, which are given in the order of classes.
void sort_labels(EvaluationState& state) {
    std::vector<std::size_t> order(state.labels.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) { return state.labels[i]; });
    Array<std::int64_t> labels;
    std::vector<Bytes> sections;
    for (const std::size_t i : order) {
        labels.push_back(state.labels[i]);
        sections.push_back(std::move(state.sections[i]));
    }
    if (std::ranges::adjacent_find(labels) != labels.end())
        throw std::invalid_argument("parts: expected another id for every class");
    state.labels = std::move(labels);
    state.sections = std::move(sections);
}

// Ground-truth objects of every image that are not ignored, class by class.
void add_cells(const Evaluation& evaluation, std::span<const std::uint32_t> places, std::span<Section> sections) {
    const GroupedObjects& truths = evaluation.truths();
    const std::size_t ranges = evaluation.rules().range_count();
    std::vector<std::uint32_t> counts(ranges);
    for (std::size_t image = 0; image < evaluation.images(); ++image)
        for (auto index = truths.images[image]; index < truths.images[image + 1];) {
            const std::int32_t label = truths.labels[static_cast<std::size_t>(index)];
            std::ranges::fill(counts, 0u);
            for (; index < truths.images[image + 1] && truths.labels[static_cast<std::size_t>(index)] == label; ++index)
                for (std::size_t range = 0; range < ranges; ++range)
                    counts[range] += ~evaluation.ignored()[static_cast<std::size_t>(index)] >> range & 1;
            if (std::ranges::all_of(counts, [](std::uint32_t count) { return count == 0; })) continue;
            if (static_cast<std::size_t>(label) >= sections.size()) continue;
            Section& section = sections[static_cast<std::size_t>(label)];
            const auto place = places.empty() ? static_cast<std::uint32_t>(image) : places[image];
            section.cells.push_back({place, section.counts.add(counts)});
        }
    if (!places.empty())
        for (Section& section : sections) std::ranges::sort(section.cells, {}, &Cell::image);
}

void add_rows(const Evaluation& evaluation, std::size_t label, std::span<const std::uint32_t> image_of,
              Section& section) {
    const OrderedPredictions& preds = evaluation.preds();
    const auto confidence = evaluation.confidence();
    const std::size_t ranges = evaluation.rules().range_count();
    std::vector<std::uint32_t> words(section.outcomes.width());
    const auto first = static_cast<std::size_t>(preds.label_offsets[label]);
    const auto last = static_cast<std::size_t>(preds.label_offsets[label + 1]);
    section.rows.resize(last - first);
    // Most predictions match nothing, and their outcomes are few: flags alone.
    struct Idle {
        std::uint32_t flags = 0, outcome = left_out;
    };
    std::array<Idle, 64> idle{};
    for (std::size_t i = first; i < last; ++i) {
        prefetch(&evaluation.pred_outcomes()[0]
                      .predictions[static_cast<std::size_t>(preds.by_label[std::min(i + 16, last - 1)])]);
        const auto index = static_cast<std::size_t>(preds.by_label[i]);
        const std::uint64_t key = falling_key(confidence[index]);
        const PredictionFlags& prediction = evaluation.pred_outcomes()[0].predictions[index];
        Idle& known = idle[(prediction.flags ^ prediction.flags >> most_ranges) & 63];
        const bool is_idle = evaluation.pred_outcomes().size() == 1 && prediction.outcome < 0;
        if (is_idle && known.outcome != left_out && known.flags == prediction.flags) {
            section.rows[i - first] = {key, image_of[index], known.outcome};
            continue;
        }
        std::size_t at = 0;
        words[at++] = prediction.flags;
        for (const PredictionOutcomes& flags : evaluation.pred_outcomes()) {
            const std::int32_t own = flags.predictions[index].outcome;
            for (std::size_t range = 0; range < ranges; ++range)
                words[at++] = own < 0 ? 0 : word_of(flags.outcomes[static_cast<std::size_t>(own) * ranges + range]);
        }
        const std::uint32_t outcome = section.outcomes.add(words);
        section.rows[i - first] = {key, image_of[index], outcome};
        if (is_idle) known = {prediction.flags, outcome};
    }
}

// Sorted runs of rows as one, run by run of `ends`.
void merge_runs(Array<Row>& rows, std::vector<std::size_t> ends) {
    Array<Row> scratch;
    while (ends.size() > 1) {
        scratch.resize(rows.size());
        std::vector<std::size_t> longer;
        std::size_t first = 0;
        for (std::size_t i = 0; i < ends.size(); i += 2) {
            const std::size_t middle = ends[i], last = i + 1 < ends.size() ? ends[i + 1] : middle;
            std::merge(
                rows.begin() + static_cast<std::ptrdiff_t>(first), rows.begin() + static_cast<std::ptrdiff_t>(middle),
                rows.begin() + static_cast<std::ptrdiff_t>(middle), rows.begin() + static_cast<std::ptrdiff_t>(last),
                scratch.begin() + static_cast<std::ptrdiff_t>(first));
            longer.push_back(first = last);
        }
        std::swap(rows, scratch);
        ends = std::move(longer);
    }
}

template <class Values>
std::uint64_t digest_of(const Values& values) {
    return digest(std::as_bytes(std::span(values.data(), values.size())));
}

}  // namespace

EvaluationState make_state(const Evaluation& evaluation, ImageKeys images, std::span<const std::int64_t> labels,
                           std::string about, unsigned threads) {
    if (images.size() != evaluation.images()) throw std::invalid_argument("parts: expected an id for every image");
    if (labels.size() > evaluation.labels()) throw std::invalid_argument("parts: expected ids for the first classes");
    const Array<std::uint32_t> places = sort_keys(images);
    EvaluationState state{
        std::move(about), evaluation.rules(), std::move(images), {labels.begin(), labels.end()}, {}, {}};
    const OrderedPredictions& preds = evaluation.preds();
    Array<std::uint32_t> image_of(preds.ranks.size());
    for (std::size_t image = 0; image < evaluation.images(); ++image)
        std::fill(image_of.begin() + preds.cells.images[image], image_of.begin() + preds.cells.images[image + 1],
                  places.empty() ? static_cast<std::uint32_t>(image) : places[image]);
    std::vector<Section> sections(labels.size(), Section(state.shape()));
    add_cells(evaluation, places, sections);
    evaluation.confidence();  // made once, before threads ask
    state.sections.resize(labels.size());
    std::vector<std::size_t> moved(labels.size());
    in_parallel(labels.size(), threads, [&](std::size_t label) {
        add_rows(evaluation, label, image_of, sections[label]);
        moved[label] = settle_ties(sections[label]);
        state.sections[label] = pack(sections[label], state.shape());
        sections[label] = {};
    });
    state.moved = std::accumulate(moved.begin(), moved.end(), std::size_t{0});
    sort_labels(state);
    return state;
}

EvaluationState make_state(const StateColumns& columns, Rules rules, ImageKeys images,
                           std::span<const std::int64_t> labels, std::string about) {
    const auto expect = [](bool holds, const char* what) {
        if (!holds) throw std::invalid_argument(std::string("parts: expected ") + what);
    };
    const Array<std::uint32_t> places = sort_keys(images);
    EvaluationState state{
        std::move(about), std::move(rules), std::move(images), {labels.begin(), labels.end()}, {}, {}};
    check(state.rules);
    std::vector<Section> sections(labels.size(), Section(state.shape()));
    const std::size_t ranges = state.rules.range_count(), width = 1 + state.blocks() * ranges;
    expect(columns.label.size() == columns.image.size() && columns.label.size() == columns.confidence.size() &&
               columns.words.size() == columns.label.size() * width,
           "a label, an image, a confidence and a outcome for each row");
    expect(columns.cell_label.size() == columns.cell_image.size() &&
               columns.counts.size() == columns.cell_label.size() * ranges,
           "a label, an image and counts for each cell");
    const auto place_of = [&](std::int32_t image) {
        expect(static_cast<std::uint32_t>(image) < state.images.size(), "images that there are");
        return places.empty() ? static_cast<std::uint32_t>(image) : places[static_cast<std::size_t>(image)];
    };
    const auto section_of = [&](std::int32_t label) -> Section& {
        expect(static_cast<std::uint32_t>(label) < sections.size(), "classes that there are");
        return sections[static_cast<std::size_t>(label)];
    };
    for (std::size_t i = 0; i < columns.label.size(); ++i) {
        Section& own = section_of(columns.label[i]);
        own.rows.push_back({falling_key(columns.confidence[i]), place_of(columns.image[i]),
                            own.outcomes.add(columns.words.subspan(i * width, width))});
    }
    for (std::size_t i = 0; i < columns.cell_label.size(); ++i) {
        Section& own = section_of(columns.cell_label[i]);
        own.cells.push_back(
            {place_of(columns.cell_image[i]), own.counts.add(columns.counts.subspan(i * ranges, ranges))});
    }
    for (Section& section : sections) {
        std::ranges::stable_sort(section.rows, {}, &Row::key);
        state.moved += settle_ties(section);
        std::ranges::stable_sort(section.cells, {}, &Cell::image);
        state.sections.push_back(pack(section, state.shape()));
    }
    sort_labels(state);
    return state;
}

Merger::Merger(std::vector<const EvaluationState*> states, std::span<const std::int64_t> labels, bool takes_first)
    : states_(std::move(states)) {
    if (states_.empty()) throw std::invalid_argument("parts: expected at least one");
    for (const EvaluationState* state : states_)
        if (state->about != first().about || state->rules.thresholds.size() != first().rules.thresholds.size() ||
            state->rules.area_ranges != first().rules.area_ranges || state->rules.max_dets != first().rules.max_dets ||
            state->rules.recalls != first().rules.recalls)
            throw std::invalid_argument("parts: expected the same rules and classes in all of them");
    join_images(takes_first);
    join_labels(labels);
}

void Merger::join_images(bool takes_first) {
    struct Owner {
        std::uint32_t state, image;
    };
    std::vector<Owner> owners;
    bool are_names = false;
    for (const EvaluationState* state : states_) are_names |= state->images.are_names();
    for (std::uint32_t p = 0; p < states_.size(); ++p) {
        const ImageKeys& own = states_[p]->images;
        if (own.size() > 0 && own.are_names() != are_names)
            throw std::invalid_argument("parts: expected images with ids or images with names, found both");
        image_places_.emplace_back(own.size(), left_out);
        for (std::uint32_t i = 0; i < own.size(); ++i) owners.push_back({p, i});
    }
    // Which state has which image: sorted by key, then by state.
    const auto sort = [&](auto key) {
        if (states_.size() > 1)
            std::ranges::stable_sort(owners, [&](const Owner& a, const Owner& b) { return key(a) < key(b); });
    };
    const auto is_same = [&](const Owner& a, const Owner& b) {
        return are_names ? states_[a.state]->images.names[a.image] == states_[b.state]->images.names[b.image]
                         : states_[a.state]->images.ids[a.image] == states_[b.state]->images.ids[b.image];
    };
    if (are_names)
        sort([&](const Owner& o) -> const std::string& { return states_[o.state]->images.names[o.image]; });
    else
        sort([&](const Owner& o) { return states_[o.state]->images.ids[o.image]; });
    for (std::size_t i = 0; i < owners.size(); ++i) {
        const auto [state, image] = owners[i];
        const ImageKeys& own = states_[state]->images;
        if (i > 0 && is_same(owners[i - 1], owners[i])) {
            if (!takes_first)
                throw std::invalid_argument("parts: expected every image once, found image " + own.spell(image) +
                                            " in two of them");
            ++repeated_;
            continue;
        }
        image_places_[state][image] = static_cast<std::uint32_t>(images_.size());
        if (are_names)
            images_.names.push_back(own.names[image]);
        else
            images_.ids.push_back(own.ids[image]);
    }
}

void Merger::join_labels(std::span<const std::int64_t> more) {
    labels_.assign(more.begin(), more.end());
    for (const EvaluationState* state : states_)
        labels_.insert(labels_.end(), state->labels.begin(), state->labels.end());
    std::ranges::sort(labels_);
    labels_.erase(std::unique(labels_.begin(), labels_.end()), labels_.end());
    label_places_.assign(labels_.size(), Array<std::int32_t>(states_.size(), -1));
    for (std::size_t p = 0; p < states_.size(); ++p)
        for (std::size_t i = 0; i < states_[p]->labels.size(); ++i) {
            const auto at = std::ranges::lower_bound(labels_, states_[p]->labels[i]) - labels_.begin();
            label_places_[static_cast<std::size_t>(at)][p] = static_cast<std::int32_t>(i);
        }
}

Section Merger::gather(std::size_t label) const {
    Section found(first().shape());
    std::vector<std::size_t> ends;
    for (std::size_t p = 0; p < states_.size(); ++p) {
        const std::int32_t place = label_places_[label][p];
        if (place < 0) continue;
        Section own = states_[p]->section(static_cast<std::size_t>(place));
        if (states_.size() == 1) return own;
        std::vector<std::uint32_t> outcomes, counts;
        for (std::size_t i = 0; i < own.outcomes.size(); ++i) outcomes.push_back(found.outcomes.add(own.outcomes[i]));
        for (std::size_t i = 0; i < own.counts.size(); ++i) counts.push_back(found.counts.add(own.counts[i]));
        const Array<std::uint32_t>& places = image_places_[p];
        for (const auto& [key, image, outcome] : own.rows)
            if (places[image] != left_out) found.rows.push_back({key, places[image], outcomes[outcome]});
        for (const auto& [image, count] : own.cells)
            if (places[image] != left_out) found.cells.push_back({places[image], counts[count]});
        ends.push_back(found.rows.size());
    }
    merge_runs(found.rows, std::move(ends));
    std::ranges::sort(found.cells, {}, &Cell::image);
    return found;
}

EvaluationState Merger::merge(unsigned threads) const {
    EvaluationState merged{first().about, first().rules, images_, labels_, std::vector<Bytes>(labels_.size()), {}};
    in_parallel(labels_.size(), threads,
                [&](std::size_t label) { merged.sections[label] = pack(gather(label), merged.shape()); });
    return merged;
}

std::size_t Merger::count_ties(unsigned threads) const {
    std::vector<std::size_t> found(labels_.size());
    in_parallel(labels_.size(), threads, [&](std::size_t label) {
        const Section section = gather(label);
        for (auto first = section.rows.begin(); first != section.rows.end();) {
            const auto last =
                std::find_if(first, section.rows.end(), [&](const Row& row) { return row.key != first->key; });
            if (std::any_of(first, last, [&](const Row& row) { return row.image != first->image; }) &&
                std::any_of(first, last, [&](const Row& row) { return row.outcome != first->outcome; }))
                found[label] += static_cast<std::size_t>(last - first);
            first = last;
        }
    });
    return std::accumulate(found.begin(), found.end(), std::size_t{0});
}

Merger::Digests Merger::digests(unsigned threads) const {
    const SectionShape shape{first().blocks(), first().rules.range_count(), first().rules.max_dets.size(),
                             images_.size()};
    const std::size_t labels = labels_.size();
    Array<std::uint64_t> truths(labels + 1), preds(labels + 1);
    in_parallel(labels, threads, [&](std::size_t label) {
        Section section = gather(label);
        Array<Row> rows;
        std::swap(rows, section.rows);
        truths[label] = digest_of(pack(section, shape));
        section.cells.clear();
        std::swap(rows, section.rows);
        preds[label] = digest_of(pack(section, shape));
    });
    EvaluationState bare{{}, first().rules, images_, labels_, std::vector<Bytes>(labels), {}};
    truths[labels] = preds[labels] = digest_of(to_bytes(bare));
    return {digest_of(truths), digest_of(preds)};
}

}  // namespace verite
