// Images are independent until their predictions are walked: what became of some of them can be merged with others.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "evaluation/evaluation.hpp"
#include "evaluation/readings.hpp"
#include "evaluation/sections.hpp"

namespace verite {

// Images by their ids or by their names, rising.
struct ImageKeys {
    Array<std::int64_t> ids;
    std::vector<std::string> names;

    bool are_names() const { return !names.empty(); }
    std::size_t size() const { return are_names() ? names.size() : ids.size(); }
    std::string spell(std::size_t i) const { return are_names() ? "'" + names[i] + "'" : std::to_string(ids[i]); }
};

// The fates of predictions of some images, without boxes and masks. Rows have a total order, so that however parts are
// merged the same bytes come out.
struct Part {
    std::string about;  // what must be the same of parts that are merged
    Rules rules;
    ImageKeys images;
    Array<std::int64_t> labels;   // ids, rising
    std::vector<Bytes> sections;  // of each label
    std::string notes;            // what may differ from part to part, and is no business of a merger
    std::size_t moved = 0;        // equal confidences that were not in the order of images; it is not in the bytes

    std::size_t blocks() const { return (rules.thresholds.size() + most_thresholds - 1) / most_thresholds; }
    SectionShape shape() const { return {blocks(), rules.range_count(), rules.limits.size(), images.size()}; }
    Section section(std::size_t label) const { return unpack(sections[label], shape()); }
};

// `images` by rank; `labels` are the ids of the first classes, those behind them are left out.
Part make_part(const Evaluation& evaluation, ImageKeys images, std::span<const std::int64_t> labels, std::string about,
               unsigned threads);

// Rows and cells as a protocol has them, when it does not stand on an evaluation: image and label by their places.
struct PartColumns {
    std::span<const std::int32_t> label, image;
    std::span<const double> confidence;
    std::span<const std::uint32_t> words;  // of fates, see Section
    std::span<const std::int32_t> cell_label, cell_image;
    std::span<const std::uint32_t> counts;  // [cell][range]
};

// Equal confidences of a class come by image, those of one image as they are given.
Part make_part(const PartColumns& columns, Rules rules, ImageKeys images, std::span<const std::int64_t> labels,
               std::string about);

// Several parts looked at as one, in any order the same. Throws std::invalid_argument where they do not belong
// together. An image that is in several is that of the first part, or refused. `labels` are there even if no part has
// them.
class Merger {
  public:
    Merger(std::vector<const Part*> parts, std::span<const std::int64_t> labels, bool takes_first);

    const ImageKeys& images() const { return images_; }
    std::span<const std::int64_t> labels() const { return labels_; }
    std::size_t repeated() const { return repeated_; }  // images that were left out of later parts

    Part merge(unsigned threads) const;

    // To the last bit those of one evaluation of all images. Classes are walked a few at a time.
    PrecisionRecall numbers(unsigned threads) const;
    void fill_arrays(double absent, std::span<double> precision, std::span<double> confidence, std::span<double> recall,
                     unsigned threads) const;
    std::vector<Reading> readings(std::size_t threshold, unsigned threads) const;

    // For each class, truths to be found and predictions that count.
    struct Count {
        std::int64_t truths, preds;
    };
    std::vector<Count> counts(unsigned threads) const;

    // Rows that share their class and confidence with some of another image and of another fate: their order matters.
    std::size_t count_ties(unsigned threads) const;

    // The rows and the cells of one class.
    Section gather(std::size_t label) const;

    // What stands for truths and for predictions, however they were parted.
    struct Digests {
        std::uint64_t truth, pred;
    };
    Digests digests(unsigned threads) const;

    const Part& first() const { return *parts_[0]; }

  private:
    void join_images(bool takes_first);
    void join_labels(std::span<const std::int64_t> more);
    template <class Visit>
    void visit_classes(unsigned threads, Visit&& visit) const;

    std::vector<const Part*> parts_;
    ImageKeys images_;
    Array<std::int64_t> labels_;
    std::size_t repeated_ = 0;
    std::vector<Array<std::uint32_t>> image_places_;  // of each part's images; UINT32_MAX for those left out
    std::vector<Array<std::int32_t>> label_places_;   // by label, the section of each part; -1 for none
};

// Bytes that stay the same from version to version, with a digest of themselves at the end.
Bytes to_bytes(const Part& part);
Part part_from(std::span<const std::uint8_t> bytes);

}  // namespace verite
