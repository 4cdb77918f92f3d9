// Run-length masks as COCO writes them: column by column, the first run counts background.
#pragma once

#include <string>
#include <vector>

#include "views.hpp"

namespace verite {

// The runs of one mask from COCO's text: six bits a character, differences to the run before the last
// from the fourth run on. Appended to `counts`. Throws std::invalid_argument where the text is broken, a run is
// negative or longer than the mask, or the runs do not add up to `pixels`.
void decode_runs(std::span<const char> text, std::uint64_t pixels, std::vector<std::uint32_t>& counts);

// The same text from runs, appended to `text`.
void encode_runs(std::span<const std::uint32_t> counts, std::string& text);

}  // namespace verite
