// Fixed<N>: signed integers of N 64-bit limbs, the type in which everything a node adds up is exact.
//
// Only what growth needs: sums, products, comparisons with zero, and correctly rounded conversions.
// The grid (which power of two a unit stands for) belongs to the caller.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace treefold {

using Wide128 = unsigned __int128;

template <int N>
struct Fixed {
    std::array<uint64_t, N> limb{};  // two's complement, least significant first

    constexpr Fixed() = default;
    constexpr explicit Fixed(int64_t value) {
        limb[0] = static_cast<uint64_t>(value);
        for (int k = 1; k < N; ++k) limb[k] = value < 0 ? ~uint64_t{0} : 0;
    }

    bool is_negative() const { return limb[N - 1] >> 63; }
    bool is_zero() const {
        for (uint64_t part : limb)
            if (part != 0) return false;
        return true;
    }
    bool operator==(const Fixed&) const = default;

    Fixed& operator+=(const Fixed& other) {
        if constexpr (N == 2) {  // the compiler makes add and adc of this
            set128(get128() + other.get128());
        } else {
            uint64_t carry = 0;
            for (int k = 0; k < N; ++k) {
                Wide128 sum = Wide128{limb[k]} + other.limb[k] + carry;
                limb[k] = static_cast<uint64_t>(sum);
                carry = static_cast<uint64_t>(sum >> 64);
            }
        }
        return *this;
    }
    Fixed operator-() const {
        Fixed result;
        uint64_t carry = 1;
        for (int k = 0; k < N; ++k) {
            Wide128 sum = Wide128{~limb[k]} + carry;
            result.limb[k] = static_cast<uint64_t>(sum);
            carry = static_cast<uint64_t>(sum >> 64);
        }
        return result;
    }
    Fixed& operator-=(const Fixed& other) {
        if constexpr (N == 2)
            set128(get128() - other.get128());
        else
            *this += -other;
        return *this;
    }
    Fixed operator+(const Fixed& other) const { return Fixed(*this) += other; }
    Fixed operator-(const Fixed& other) const { return Fixed(*this) -= other; }
    Fixed magnitude() const { return is_negative() ? -*this : *this; }

    // Position of the highest set bit of a non-negative number, plus one; 0 for zero.
    int bit_length() const {
        for (int k = N - 1; k >= 0; --k)
            if (limb[k] != 0) return 64 * k + 64 - std::countl_zero(limb[k]);
        return 0;
    }
    // Bits [from, from + 64) of a non-negative number.
    uint64_t bits_from(int from) const {
        int part = from / 64, offset = from % 64;
        if (part >= N) return 0;
        uint64_t low = limb[part] >> offset;
        if (offset != 0 && part + 1 < N) low |= limb[part + 1] << (64 - offset);
        return low;
    }
    bool any_bit_below(int position) const {
        for (int k = 0; k < N && 64 * k < position; ++k) {
            int count = position - 64 * k;
            uint64_t mask = count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
            if (limb[k] & mask) return true;
        }
        return false;
    }
    void shift_left_one() {
        for (int k = N - 1; k > 0; --k) limb[k] = limb[k] << 1 | limb[k - 1] >> 63;
        limb[0] <<= 1;
    }
    Fixed shifted_left(int count) const {
        Fixed result;
        int part = count / 64, offset = count % 64;
        for (int k = N - 1; k >= part; --k) {
            result.limb[k] = limb[k - part] << offset;
            if (offset != 0 && k > part) result.limb[k] |= limb[k - part - 1] >> (64 - offset);
        }
        return result;
    }
    // Adds part * 2^position, part unsigned.
    void add_at(uint64_t part, int position) {
        Wide128 shifted = Wide128{part} << (position % 64);
        uint64_t carry = 0;
        for (int k = position / 64, step = 0; k < N; ++k, ++step) {
            Wide128 sum = Wide128{limb[k]} + carry;
            if (step == 0) sum += static_cast<uint64_t>(shifted);
            if (step == 1) sum += static_cast<uint64_t>(shifted >> 64);
            limb[k] = static_cast<uint64_t>(sum);
            carry = static_cast<uint64_t>(sum >> 64);
        }
    }

    Wide128 get128() const
        requires(N == 2)
    {
        return Wide128{limb[1]} << 64 | limb[0];
    }
    void set128(Wide128 value)
        requires(N == 2)
    {
        limb[0] = static_cast<uint64_t>(value);
        limb[1] = static_cast<uint64_t>(value >> 64);
    }
};

// x * 2^exponent, rounded once: a multiplication where 2^exponent is a normal float64 (ldexp is a call).
inline double scale_by_power(double x, int exponent) {
    if (exponent < -1022 || exponent > 1023) return std::ldexp(x, exponent);
    return x * std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

// A float64 as mantissa * 2^exponent, so that wide numbers do not overflow on the way.
struct Scaled {
    double mantissa = 0.0;
    int exponent = 0;
    double value(int extra = 0) const { return scale_by_power(mantissa, exponent + extra); }
};

// The 53 bits nearest to a non-negative number (ties to even). The highest 64 bits with a sticky last bit
// round as the whole number does.
template <int N>
Scaled round_magnitude(const Fixed<N>& number) {
    int length = number.bit_length();
    if (length <= 64) return {static_cast<double>(number.limb[0]), 0};
    uint64_t top = number.bits_from(length - 64);
    if (number.any_bit_below(length - 64)) top |= 1;
    return {static_cast<double>(top), length - 64};
}
template <int N>
Scaled round_scaled(const Fixed<N>& number) {
    Scaled result = round_magnitude(number.magnitude());
    if (number.is_negative()) result.mantissa = -result.mantissa;
    return result;
}
template <int N>
double to_double(const Fixed<N>& number) {
    return round_scaled(number).value();
}
inline double to_double(int64_t number) { return static_cast<double>(number); }

// The exact product of two signed numbers.
template <int N, int M>
Fixed<N + M> multiply(const Fixed<N>& a, const Fixed<M>& b) {
    Fixed<N> left = a.magnitude();
    Fixed<M> right = b.magnitude();
    Fixed<N + M> product;
    int n_left = (left.bit_length() + 63) / 64, n_right = (right.bit_length() + 63) / 64;
    for (int i = 0; i < n_left; ++i) {
        uint64_t carry = 0;
        for (int j = 0; j < n_right; ++j) {
            Wide128 sum = Wide128{left.limb[i]} * right.limb[j] + product.limb[i + j] + carry;
            product.limb[i + j] = static_cast<uint64_t>(sum);
            carry = static_cast<uint64_t>(sum >> 64);
        }
        product.limb[i + n_right] = carry;
    }
    return a.is_negative() != b.is_negative() ? -product : product;
}

// a / b for b > 0, correctly rounded, by as many steps of long division as a float64 has bits and two more.
template <int N>
Scaled divide_rounded(const Fixed<N>& a, const Fixed<N>& b) {
    Fixed<N + 1> rest, divisor;
    Fixed<N> top = a.magnitude();
    for (int k = 0; k < N; ++k) rest.limb[k] = top.limb[k], divisor.limb[k] = b.limb[k];
    int shift = rest.bit_length() - divisor.bit_length();
    if (rest.is_zero()) return {};
    if (shift > 0)
        divisor = divisor.shifted_left(shift);
    else
        rest = rest.shifted_left(-shift);
    constexpr int kSteps = 63;
    uint64_t quotient = 0;
    for (int step = 0; step < kSteps; ++step) {
        quotient <<= 1;
        Fixed<N + 1> difference = rest - divisor;
        if (!difference.is_negative()) rest = difference, quotient |= 1;
        rest.shift_left_one();
    }
    quotient = quotient << 1 | (rest.is_zero() ? 0 : 1);
    double rounded = static_cast<double>(quotient);
    return {a.is_negative() ? -rounded : rounded, shift - kSteps};
}

// The same for a divisor that is a row count: one division of 128 bits instead of 63 steps.
inline Scaled divide_by_count(const Fixed<2>& a, int64_t count) {
    auto low = static_cast<int64_t>(a.limb[0]);
    if (static_cast<int64_t>(a.limb[1]) == low >> 63) {  // these are rounded once by the CPU
        if (low >> 53 == low >> 63)
            return {static_cast<double>(low) / static_cast<double>(count), 0};
        if (std::has_single_bit(static_cast<uint64_t>(count)))
            return {static_cast<double>(low), -std::countr_zero(static_cast<uint64_t>(count))};
    }
    Wide128 top = a.magnitude().get128();
    if (top == 0) return {};
    // As many bits as give a quotient of 62 or 63, with a sticky last one.
    auto divisor = static_cast<uint64_t>(count);
    int length = 128 - (top >> 64 != 0 ? std::countl_zero(static_cast<uint64_t>(top >> 64))
                                       : 64 + std::countl_zero(static_cast<uint64_t>(top)));
    int shift = 62 + static_cast<int>(std::bit_width(divisor)) - length;
    Wide128 shifted = shift >= 0 ? top << shift : top >> -shift;
    auto quotient = static_cast<uint64_t>(shifted / divisor);
    bool is_rounded = static_cast<uint64_t>(shifted) != quotient * divisor ||
                      (shift < 0 && shifted << -shift != top);
    double rounded = static_cast<double>(quotient | (is_rounded ? 1 : 0));
    return {a.is_negative() ? -rounded : rounded, -shift};
}

}  // namespace treefold
