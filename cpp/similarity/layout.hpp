// The columns that a similarity needs of one side, or an error that says which are missing.
#pragma once

#include <string>

#include "columns/objects.hpp"
#include "similarity/similarity.hpp"

namespace verite {

// The name of an image for a message, or its id.
std::string name_of(const Images& images, std::size_t image);

// Columns that had to be computed for a similarity, and must live as long as it is used.
struct ComputedColumns {
    View<double> boxes;
    Array<std::int32_t> sizes;
    Array<double> quads, points;
};

class Layout {
  public:
    // `sigmas` are of the keypoints of each class, by position; `reach` is the maximum distance of a match of points.
    Layout(const SimilarityMeasure& similarity, const Images& images, const RaggedView<double>& sigmas,
           const Reach& reach)
        : similarity_(similarity), images_(images), sigmas_(sigmas), reach_(reach) {}

    // Areas and crowd flags are left to the caller. Throws std::invalid_argument with a sentence that begins with
    // "truth:" or "predictions:" where something that the similarity wants is missing.
    Objects prepare_truths(const Columns& columns, ComputedColumns& computed) const;
    // `needs_outlines`: polygons and masks are wanted whatever the similarity wants.
    Objects prepare_preds(const Columns& columns, bool needs_outlines, ComputedColumns& computed) const;

    // Adds the ground-truth objects without labelled keypoints to the ignored ones, where keypoints are compared.
    void ignore_without_keypoints(const Columns& columns, Array<std::uint8_t>& ignored) const;

  private:
    struct RequestedSide {
        const Columns& columns;
        const char* name;
        bool is_pred, needs_outlines;
    };

    Objects prepare(const RequestedSide& side, ComputedColumns& computed) const;
    void add_outlines(const RequestedSide& side, ComputedColumns& computed, Objects& objects) const;
    void add_quads(const RequestedSide& side, ComputedColumns& computed, Objects& objects) const;
    void add_points(const RequestedSide& side, ComputedColumns& computed, Objects& objects) const;
    void add_keypoints(const RequestedSide& side, Objects& objects) const;
    void check_outlines(const Columns& truth) const;
    std::string place_of(const Columns& columns, std::size_t row) const;

    const SimilarityMeasure& similarity_;
    const Images& images_;
    const RaggedView<double>& sigmas_;
    const Reach& reach_;
};

}  // namespace verite
