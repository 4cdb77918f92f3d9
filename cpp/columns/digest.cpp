#include "columns/digest.hpp"

#include <bit>
#include <cstring>

namespace verite {
namespace {

constexpr std::uint64_t prime_1 = 0x9E3779B185EBCA87, prime_2 = 0xC2B2AE3D27D4EB4F, prime_3 = 0x165667B19E3779F9,
                        prime_4 = 0x85EBCA77C2B2AE63, prime_5 = 0x27D4EB2F165667C5;

template <class T>
std::uint64_t load(const std::byte* at) {
    static_assert(std::endian::native == std::endian::little, "the bytes are read as little-endian numbers");
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

std::uint64_t round(std::uint64_t lane, std::uint64_t input) { return std::rotl(lane + input * prime_2, 31) * prime_1; }

std::uint64_t merge(std::uint64_t sum, std::uint64_t lane) { return (sum ^ round(0, lane)) * prime_1 + prime_4; }

}  // namespace

std::uint64_t digest(std::span<const std::byte> bytes) {
    const std::byte *at = bytes.data(), *end = at + bytes.size();
    std::uint64_t sum = prime_5;
    if (bytes.size() >= 32) {
        std::uint64_t a = prime_1 + prime_2, b = prime_2, c = 0, d = 0 - prime_1;
        for (; end - at >= 32; at += 32) {
            a = round(a, load<std::uint64_t>(at));
            b = round(b, load<std::uint64_t>(at + 8));
            c = round(c, load<std::uint64_t>(at + 16));
            d = round(d, load<std::uint64_t>(at + 24));
        }
        sum = std::rotl(a, 1) + std::rotl(b, 7) + std::rotl(c, 12) + std::rotl(d, 18);
        for (const std::uint64_t lane : {a, b, c, d}) sum = merge(sum, lane);
    }
    sum += bytes.size();
    for (; end - at >= 8; at += 8) sum = std::rotl(sum ^ round(0, load<std::uint64_t>(at)), 27) * prime_1 + prime_4;
    if (end - at >= 4) {
        sum = std::rotl(sum ^ load<std::uint32_t>(at) * prime_1, 23) * prime_2 + prime_3;
        at += 4;
    }
    for (; at < end; ++at) sum = std::rotl(sum ^ load<std::uint8_t>(at) * prime_5, 11) * prime_1;
    sum = (sum ^ sum >> 33) * prime_2;
    sum = (sum ^ sum >> 29) * prime_3;
    return sum ^ sum >> 32;
}

}  // namespace verite
