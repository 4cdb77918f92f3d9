// Which of some words a text has, all of them in one pass: formats are recognised by the keys that only their files
// have.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace verite::json {

// Whether each word is somewhere in the text. Throws std::invalid_argument for a word of less than four bytes.
std::vector<bool> find_words(std::string_view text, std::span<const std::string_view> words);

}  // namespace verite::json
