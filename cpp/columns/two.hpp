// Pairs of doubles in one SIMD register (SSE2, NEON), with a portable fallback.
#pragma once

#include <cstdint>
#include <cstring>

namespace verite {

#if defined(__GNUC__) && !defined(VERITE_PORTABLE)

using Two = double __attribute__((vector_size(16)));

inline Two larger(Two a, Two b) { return b > a ? b : a; }
// `then` where a > b, else `otherwise`, element by element.
inline Two choose_above(Two a, Two b, Two then, Two otherwise) { return a > b ? then : otherwise; }

#else

struct Two {
    double first, second;
};

inline Two operator+(Two a, Two b) { return {a.first + b.first, a.second + b.second}; }
inline Two operator*(Two a, Two b) { return {a.first * b.first, a.second * b.second}; }
inline Two operator/(Two a, Two b) { return {a.first / b.first, a.second / b.second}; }
inline Two larger(Two a, Two b) {
    return {b.first > a.first ? b.first : a.first, b.second > a.second ? b.second : a.second};
}
inline Two choose_above(Two a, Two b, Two then, Two otherwise) {
    return {a.first > b.first ? then.first : otherwise.first, a.second > b.second ? then.second : otherwise.second};
}

#endif

inline Two widen_two(const std::int32_t* from) {
    return Two{static_cast<double>(from[0]), static_cast<double>(from[1])};
}

inline void store_two(Two given, double* to) { std::memcpy(to, &given, sizeof(given)); }

}  // namespace verite
