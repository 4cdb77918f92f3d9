#include "similarity/registry.hpp"

#include <array>
#include <stdexcept>
#include <string>

namespace verite {

std::span<const SimilarityMeasure* const> every_similarity() {
#define VERITE_LIST(name) &name##_similarity,
    static constexpr std::array all{VERITE_EACH_SIMILARITY(VERITE_LIST)};
#undef VERITE_LIST
    return all;
}

const SimilarityMeasure& find_similarity(std::string_view name) {
    std::string names;
    for (const SimilarityMeasure* similarity : every_similarity()) {
        if (similarity->name == name) return *similarity;
        names += (names.empty() ? "" : ", ") + std::string(similarity->name);
    }
    throw std::invalid_argument("similarity: expected one of " + names + ", found " + std::string(name));
}

}  // namespace verite
