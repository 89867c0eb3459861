// Eight items at a time: those that are wanted, side by side, in one permutation instead of one jump or store each.
// (kin8nm: 1.05 times as fast a growth as one item at a time, which is what CPUs without AVX2 do.)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace treefold {

inline constexpr size_t kPacked = 8;

// Bit k: is_left(items[k]).
template <class IsLeft>
uint32_t left_bits(const uint32_t* items, IsLeft&& is_left) {
    uint32_t bits = 0;
    for (size_t k = kPacked; k-- > 0;) bits = 2 * bits + static_cast<uint32_t>(is_left(items[k]));
    return bits;
}

// Bit k: the lowest bit of byte k.
inline uint32_t low_bits(uint64_t bytes) {
    return static_cast<uint32_t>((bytes & 0x0101010101010101u) * 0x0102040810204080u >> 56);
}

#if defined(__AVX2__)
inline constexpr bool kPacks = true;

// Per set of bits: their places, ascending, one per byte.
inline constexpr std::array<uint64_t, 256> kPlaces = [] {
    std::array<uint64_t, 256> places{};
    for (uint32_t bits = 0; bits < 256; ++bits)
        for (uint32_t place = 0, n_before = 0; place < 8; ++place)
            if (bits >> place & 1) places[bits] |= uint64_t{place} << (8 * n_before++);
    return places;
}();

class Packable {
public:
    explicit Packable(const uint32_t* items)
        : items_(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(items))) {}
    // Those of a table at eight places.
    Packable(const uint32_t* table, const uint32_t* places)
        : items_(_mm256_i32gather_epi32(
              reinterpret_cast<const int*>(table),
              _mm256_loadu_si256(reinterpret_cast<const __m256i*>(places)), 4)) {}

    // Bit k: is item k this one?
    uint32_t bits_of(uint32_t item) const {
        __m256i equal = _mm256_cmpeq_epi32(items_, _mm256_set1_epi32(static_cast<int>(item)));
        return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(equal)));
    }
    // The items whose bits are set, in their order; what is written behind them, up to eight in all, means nothing.
    void pack(uint32_t bits, uint32_t* to) const {
        __m256i places =
            _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<int64_t>(kPlaces[bits])));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                            _mm256_permutevar8x32_epi32(items_, places));
    }

private:
    __m256i items_;
};
#else
inline constexpr bool kPacks = false;

class Packable {
public:
    explicit Packable(const uint32_t*) {}
    Packable(const uint32_t*, const uint32_t*) {}
    uint32_t bits_of(uint32_t) const { return 0; }
    void pack(uint32_t, uint32_t*) const {}
};
#endif

}  // namespace treefold
