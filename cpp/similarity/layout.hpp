// From the columns of one side to what a similarity looks at, or a sentence about what it misses.
#pragma once

#include <string>

#include "columns/objects.hpp"
#include "similarity/similarity.hpp"

namespace verite {

// The name of an image in a sentence, or its id.
std::string name_of(const Images& images, std::size_t image);

// What had to be made for a similarity, and must stay as long as it looks.
struct LaidObjects {
    View<double> boxes;
    Array<std::int32_t> sizes;
    Array<double> quads;
};

class Layout {
  public:
    // `sigmas` are of the keypoints of each label, by position.
    Layout(const Similarity& similarity, const Images& images, const RaggedView<double>& sigmas)
        : similarity_(similarity), images_(images), sigmas_(sigmas) {}

    // Areas and crowds are the caller's. Throws std::invalid_argument with a sentence that begins with "truth:" or
    // "predictions:" where something is not there that the similarity wants.
    Objects lay_truths(const Columns& columns, LaidObjects& laid) const;
    // `needs_outlines` whatever the similarity wants.
    Objects lay_preds(const Columns& columns, bool needs_outlines, LaidObjects& laid) const;

    // Adds the truths that have nothing to be compared by: they neither reward nor punish.
    void set_aside(const Columns& columns, Array<std::uint8_t>& ignored) const;

  private:
    struct Asked {
        const Columns& columns;
        const char* name;
        bool is_pred, needs_outlines;
    };

    Objects lay(const Asked& side, LaidObjects& laid) const;
    void lay_outlines(const Asked& side, LaidObjects& laid, Objects& objects) const;
    void lay_quads(const Asked& side, LaidObjects& laid, Objects& objects) const;
    void lay_keypoints(const Asked& side, Objects& objects) const;
    void check_outlines(const Columns& truth) const;
    std::string place_of(const Columns& columns, std::size_t row) const;

    const Similarity& similarity_;
    const Images& images_;
    const RaggedView<double>& sigmas_;
};

}  // namespace verite
