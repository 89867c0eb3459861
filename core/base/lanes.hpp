// Four running sums at a time, in vectors that every compiler target has (GCC's vector extensions: AVX2 in
// the v3 build, pairs of SSE2 or NEON registers elsewhere). Lanes are ordinary float64 operations, so the builds agree.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace treefold {

using Lanes = double __attribute__((vector_size(32)));
using LaneMask = int64_t __attribute__((vector_size(32)));
using CountLanes = uint32_t __attribute__((vector_size(32)));
using IntLanes4 = int32_t __attribute__((vector_size(16)));

// Eight bytes; compilers take them one by one if they are not told.
inline CountLanes widen_bytes(const uint8_t* bytes) {
#if defined(__AVX2__)
    return reinterpret_cast<CountLanes>(
        _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes))));
#else
    return CountLanes{bytes[0], bytes[1], bytes[2], bytes[3],
                      bytes[4], bytes[5], bytes[6], bytes[7]};
#endif
}

// What was stored in vectors is loaded again, item by item; compilers would take the vectors apart instead.
template <class T, size_t n>
inline void keep_in_memory(T (&items)[n]) {
    asm("" : "+m"(items));
}

inline uint32_t sum_lanes(CountLanes counts) {
    IntLanes4 halves[2];
    std::memcpy(halves, &counts, sizeof halves);
    IntLanes4 sums = halves[0] + halves[1];
    sums += __builtin_shuffle(sums, IntLanes4{2, 3, 0, 1});
    sums += __builtin_shuffle(sums, IntLanes4{1, 0, 3, 2});
    return static_cast<uint32_t>(sums[0]);
}
// Counts, whole vectors of them, added up in eight sums,
inline CountLanes sum_vectors(const uint32_t* counts, size_t n_counts) {
    CountLanes sums{}, part;
    for (size_t k = 0; k < n_counts; k += 8) {
        std::memcpy(&part, counts + k, sizeof part);
        sums += part;
    }
    return sums;
}
// and the sum of these in every lane.
inline CountLanes spread_sum(CountLanes sums) {
    sums += __builtin_shuffle(sums, CountLanes{4, 5, 6, 7, 0, 1, 2, 3});
    sums += __builtin_shuffle(sums, CountLanes{2, 3, 0, 1, 6, 7, 4, 5});
    return sums + __builtin_shuffle(sums, CountLanes{1, 0, 3, 2, 5, 4, 7, 6});
}
inline bool is_zero(CountLanes counts) {
#if defined(__AVX2__)
    auto bits = reinterpret_cast<__m256i>(counts);
    return _mm256_testz_si256(bits, bits) != 0;
#else
    uint64_t parts[4];
    std::memcpy(parts, &counts, sizeof parts);
    return (parts[0] | parts[1] | parts[2] | parts[3]) == 0;
#endif
}
inline double sum_lanes(Lanes lanes) { return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]); }

// Eight at a time, where float32 is enough.
using FloatLanes = float __attribute__((vector_size(32)));
using IntLanes = int32_t __attribute__((vector_size(32)));

// Bit k: is lane k of a comparison true?
inline uint32_t lane_bits(const IntLanes& mask) {
#if defined(__AVX2__)
    return static_cast<uint32_t>(_mm256_movemask_ps(reinterpret_cast<__m256>(mask)));
#else
    uint32_t bits = 0;
    for (int lane = 0; lane < 8; ++lane) bits |= (mask[lane] & 1u) << lane;
    return bits;
#endif
}

inline bool any_lane(const IntLanes& mask) { return lane_bits(mask) != 0; }
inline bool any_lane(LaneMask mask) {
#if defined(__AVX2__)
    return _mm256_movemask_pd(reinterpret_cast<__m256d>(mask)) != 0;
#else
    return (mask[0] | mask[1] | mask[2] | mask[3]) != 0;
#endif
}

// One bit per lane.
inline uint64_t lane_bits(LaneMask mask) {
#if defined(__AVX2__)
    return static_cast<uint64_t>(_mm256_movemask_pd(reinterpret_cast<__m256d>(mask)));
#else
    LaneMask bits = mask & LaneMask{1, 2, 4, 8};
    return static_cast<uint64_t>(bits[0] | bits[1] | bits[2] | bits[3]);
#endif
}

// What a scan of running sums looks for: after k + 1 rows, with d the sum of their values,
//     (|d| + error)^2 >= limit * (k + 1) * (n - k - 1).
// Whoever is told of a hit may raise the limit.
struct SumTest {
    double n = 0;
    double error = 0;
    double limit = 0;

    bool is_over(double d, double n_left) const {
        double most = std::fabs(d) + error;
        return most * most >= limit * (n_left * (n - n_left));
    }
};

// Adds value(first) .. value(last - 1) to d one after another; hit(k, d) is called where the sum passes the test.
// Returns the whole sum. Adding in fours shortens the chain of additions that a running sum otherwise is
// (100,000 x 20 two-class columns: 1.13 times as fast a growth; regression: no difference).
template <class Value, class Hit>
double scan_sums(size_t first, size_t last, double d, SumTest& test, Value&& value, Hit&& hit) {
    const Lanes zero{};
    const LaneMask no_sign = LaneMask{} + INT64_MAX;
    Lanes n_left = Lanes{1, 2, 3, 4} + static_cast<double>(first);
    size_t k = first;
    for (; k + 4 <= last; k += 4, n_left += 4.0) {
        Lanes sums{value(k), value(k + 1), value(k + 2), value(k + 3)};
        sums += __builtin_shuffle(sums, zero, LaneMask{4, 0, 1, 2});
        sums += __builtin_shuffle(sums, zero, LaneMask{4, 4, 0, 1});
        sums += d;
        Lanes most =
            reinterpret_cast<Lanes>(reinterpret_cast<LaneMask>(sums) & no_sign) + test.error;
        if (any_lane(most * most >= test.limit * (n_left * (test.n - n_left)))) [[unlikely]]
            for (size_t lane = 0; lane < 4; ++lane)
                if (test.is_over(sums[lane], static_cast<double>(k + lane + 1)))
                    hit(k + lane, sums[lane]);
        d = sums[3];
    }
    for (; k < last; ++k) {
        d += value(k);
        if (test.is_over(d, static_cast<double>(k + 1))) hit(k, d);
    }
    return d;
}

}  // namespace treefold
