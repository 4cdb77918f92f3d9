#include "similarity/registry.hpp"

#include <array>
#include <stdexcept>
#include <string>

namespace verite {

const Similarity& find_similarity(std::string_view name) {
    const std::array all{&box_similarity,      &corner_box_similarity, &mask_similarity,
                         &boundary_similarity, &keypoint_similarity,   &rotated_similarity};
    std::string names;
    for (const Similarity* similarity : all) {
        if (similarity->name == name) return *similarity;
        names += (names.empty() ? "" : ", ") + std::string(similarity->name);
    }
    throw std::invalid_argument("similarity: expected one of " + names + ", found " + std::string(name));
}

}  // namespace verite
