// Draws that are functions of their key: no stream, so nothing depends on the order of execution.
#pragma once

#include <cstdint>

namespace treefold {

// splitmix64.
inline uint64_t mix(uint64_t z) {
    z += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

inline uint64_t root_key(uint64_t seed, uint64_t tree) { return mix(mix(seed) ^ tree); }
inline uint64_t child_key(uint64_t key, bool is_left) { return mix(key + (is_left ? 1 : 2)); }
inline uint64_t draw_column(uint64_t key, uint64_t column) { return mix(key ^ mix(column + 1)); }

}  // namespace treefold
