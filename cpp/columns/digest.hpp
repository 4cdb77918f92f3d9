// XXH64 hash (Yann Collet) with seed 0: the digest of files and columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace verite {

// Fast, not cryptographic: detects accidental differences, not forged collisions.
std::uint64_t digest(std::span<const std::byte> bytes);

}  // namespace verite
