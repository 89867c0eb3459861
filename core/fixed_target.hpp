// From float64 targets and weights to exact integers: which grid, how many limbs, which Target.
//
// The grid is the finest bit that any value has, so nothing is rounded; the number of limbs follows from how far
// the values reach above it and how many rows there are. One limb for class weights that allow it (whole numbers do),
// two for nearly all data, kWideLimbs for magnitudes that span more than float64's mantissa and 2^40.
#pragma once

#include <cmath>
#include <limits>

#include "grow.hpp"
#include "target.hpp"

namespace treefold {

inline constexpr int kWideLimbs = 40;  // 2,560 bits: all of float64's exponents, over 2^32 rows

// The bits that a list of numbers occupies: [lowest, highest).
struct BitRange {
    int lowest = INT32_MAX, highest = INT32_MIN;

    void include(double value) {
        if (value == 0.0) return;
        auto bits = std::bit_cast<uint64_t>(value) & (UINT64_MAX >> 1);
        int top = static_cast<int>(bits >> 52) - 1023;
        uint64_t mantissa = (bits & ((uint64_t{1} << 52) - 1)) | uint64_t{1} << 52;
        if (top == -1023) {  // subnormal
            top = std::ilogb(value);
            mantissa = static_cast<uint64_t>(std::ldexp(std::fabs(value), 52 - top));
        }
        lowest = std::min(lowest, top - 52 + std::countr_zero(mantissa));
        highest = std::max(highest, top + 1);
    }
    int size() const { return lowest == INT32_MAX ? 0 : highest - lowest; }
    int exponent() const { return lowest == INT32_MAX ? 0 : lowest; }
};

inline int64_t to_units(double value, int exponent, int64_t*) {
    return static_cast<int64_t>(std::ldexp(value, -exponent));
}
template <int N>
Fixed<N> to_units(double value, int exponent, Fixed<N>*) {
    Fixed<N> result;
    if (value == 0.0) return result;
    int top = std::ilogb(value);
    auto mantissa = static_cast<uint64_t>(std::ldexp(std::fabs(value), 52 - top));
    int position = top - 52 - exponent;
    if (position < 0)
        mantissa >>= -position, position = 0;  // only zeros: the grid is the finest bit
    result.add_at(mantissa, position);
    return value < 0 ? -result : result;
}

template <class Slot, class Values>
std::vector<Slot> all_to_units(size_t count, int exponent, Values&& value) {
    std::vector<Slot> result;
    result.reserve(count);
    for (size_t row = 0; row < count; ++row)
        result.push_back(to_units(value(row), exponent, static_cast<Slot*>(nullptr)));
    return result;
}

template <class Sum>
ClassTarget<Sum> make_class_target(const TargetView& view, const Member& member, int exponent) {
    ClassTarget<Sum> target;
    target.classes = view.classes;
    target.n_classes = view.n_classes;
    target.multipliers = member.rules.class_multipliers;
    target.criterion = member.rules.criterion;
    target.exponent = exponent;
    if (!view.weights.empty())
        target.weights = all_to_units<Sum>(view.weights.size(), exponent,
                                           [&](size_t row) { return view.weights[row]; });
    constexpr size_t kKeptLogarithms = size_t{1} << 22;
    if (target.criterion != Criterion::gini && target.counts_rows())
        target.logs = Logarithms(std::min(member.rows.size(), kKeptLogarithms));
    return target;
}

template <int N>
MeanTarget<N> make_mean_target(const TargetView& view, const BitRange& products,
                               int weight_exponent) {
    using Slot = Fixed<N>;
    MeanTarget<N> target;
    int product_exponent = products.exponent();
    target.y = view.numbers;
    target.row_weights = view.weights;
    target.product_exponent = product_exponent;
    target.weight_exponent = weight_exponent;
    size_t n_rows = view.numbers.size();
    auto weight = [&](size_t row) { return view.weights.empty() ? 1.0 : view.weights[row]; };
    target.unit_bits = products.size();
    if (std::abs(product_exponent) < 900) target.unit = std::ldexp(1.0, -product_exponent);
    bool is_short = N == 2 && view.weights.empty() && target.unit != 0.0 && target.unit_bits <= 62;
    if (is_short) return target;
    target.products = all_to_units<Slot>(
        n_rows, product_exponent, [&](size_t row) { return weight(row) * view.numbers[row]; });
    if (view.weights.empty()) return target;
    target.weights = all_to_units<Slot>(n_rows, weight_exponent, weight);
    return target;
}

template <class Grow>
Tree with_class_target(const TargetView& view, const Member& member, Grow&& grow) {
    BitRange weights;
    for (double weight : view.weights) weights.include(weight);
    int row_bits = std::bit_width(view.classes.size());
    int bits = weights.size() + row_bits;
    if (bits <= kClassBits)
        return grow(make_class_target<int64_t>(view, member, weights.exponent()));
    if (bits <= 126) return grow(make_class_target<Fixed<2>>(view, member, weights.exponent()));
    return grow(make_class_target<Fixed<kWideLimbs>>(view, member, weights.exponent()));
}

template <class Grow>
Tree with_mean_target(const TargetView& view, Grow&& grow) {
    BitRange weights, products;
    for (size_t row = 0; row < view.numbers.size(); ++row) {
        double weight = view.weights.empty() ? 1.0 : view.weights[row];
        weights.include(weight);
        products.include(weight * view.numbers[row]);
    }
    int bits = std::max(weights.size(), products.size()) + std::bit_width(view.numbers.size());
    if (bits <= 126) return grow(make_mean_target<2>(view, products, weights.exponent()));
    return grow(make_mean_target<kWideLimbs>(view, products, weights.exponent()));
}

template <class Grow>
Tree with_target(const TargetView& view, const Member& member, Grow&& grow) {
    if (view.n_classes > 0) return with_class_target(view, member, grow);
    return with_mean_target(view, grow);
}

}  // namespace treefold
