// Draws that are functions of their key: no stream, so nothing depends on the order of execution.
#pragma once

#include <cstdint>
#include <vector>

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

// How often each of n rows is drawn in n draws with replacement.
inline std::vector<uint32_t> draw_bag(uint64_t seed, uint64_t tree, uint64_t n_rows) {
    std::vector<uint32_t> counts(n_rows);
    uint64_t bag = mix(root_key(seed, tree) + 3);
    for (uint64_t k = 0; k < n_rows; ++k)
        ++counts[static_cast<uint64_t>(
            static_cast<unsigned __int128>(mix(bag ^ mix(k + 1))) * n_rows >> 64)];
    return counts;
}

}  // namespace treefold
