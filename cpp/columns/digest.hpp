// Sixteen characters that stand for any number of bytes: XXH64 by Yann Collet, as its specification has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace verite {

// Fast rather than secure: tells apart what differs by accident, not what somebody made collide.
std::uint64_t digest(std::span<const std::byte> bytes);

}  // namespace verite
