// From float64 targets and weights to exact integers: which grid, how many limbs, which Target.
//
// The grid is the finest bit that any value has, so nothing is rounded; the number of limbs follows from how far
// the values reach above it and how many rows there are. One limb for class weights that allow it (whole numbers do),
// two for nearly all data, kWideLimbs for magnitudes that span more than float64's mantissa and 2^40.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "grow/grow.hpp"
#include "stats/class_stats.hpp"
#include "stats/mean_stats.hpp"

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

// What a row adds to a sum: weight times target, at the end of float64 where it would lie beyond.
inline double weigh(double weight, double y) {
    constexpr double kMost = std::numeric_limits<double>::max();
    return std::clamp(weight * y, -kMost, kMost);
}

inline int64_t to_units(double value, int exponent, int64_t*) {
    return static_cast<int64_t>(scale_by_power(value, -exponent));
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

// What members may have in common of a target: the weights, and for classes the criterion and the multipliers.
inline bool is_same_stats(const Member& a, const Member& b) {
    return a.weights.data() == b.weights.data() && a.rules.criterion == b.rules.criterion &&
           a.rules.class_multipliers == b.rules.class_multipliers;
}

// Makes one target per different member by make(member, known), where known is a target of the same weights
// or null, and calls grow with one pointer per member.
template <class Stats, class Make, class Grow>
auto with_each_stats(const std::vector<Member>& members, Make&& make, Grow&& grow) {
    std::vector<std::unique_ptr<Stats>> owned;
    std::vector<size_t> made_for;
    std::vector<const Stats*> stats_of_members;
    for (size_t at = 0; at < members.size(); ++at) {
        const Stats *same = nullptr, *same_weights = nullptr;
        for (size_t k = 0; k < owned.size() && same == nullptr; ++k) {
            const Member& other = members[made_for[k]];
            if (other.weights.data() == members[at].weights.data()) same_weights = owned[k].get();
            if (is_same_stats(other, members[at])) same = owned[k].get();
        }
        if (same == nullptr) {
            owned.push_back(std::make_unique<Stats>(make(members[at], same_weights)));
            made_for.push_back(at);
            same = owned.back().get();
        }
        stats_of_members.push_back(same);
    }
    return grow(stats_of_members);
}

// Sums of classes are mostly small integers: numbers of rows, or of draws of a bag. None is kept of larger weights.
template <class Sum>
size_t count_kept_logarithms(const TargetView& view, const Member& member,
                             const ClassStats<Sum>& stats) {
    constexpr size_t kMost = size_t{1} << 22, kMostPerRow = 4;
    if (stats.is_unit()) return std::min(view.n_rows(), kMost);
    if constexpr (std::is_same_v<Sum, int64_t>) {
        uint64_t total = 0;  // as many bits as kClassBits: it does not overflow
        member.rows.for_each_stretch([&](uint32_t first, uint32_t last) {
            for (; first < last; ++first) total += static_cast<uint64_t>((*stats.weights)[first]);
        });
        if (total <= std::min(kMost, kMostPerRow * member.rows.size())) return total;
    }
    return 0;
}

// Weights that kernels can count, as those of a bag: sums and products of two sums stay exact in float64. Else null.
template <class Sum>
std::shared_ptr<const std::vector<uint32_t>> count_weights(const std::vector<Sum>& weights) {
    constexpr int64_t kMost = int64_t{1} << 26;
    if constexpr (std::is_same_v<Sum, int64_t>) {
        int64_t total = 0;
        for (int64_t weight : weights)
            if ((total += weight) >= kMost) return nullptr;
        return std::make_shared<const std::vector<uint32_t>>(weights.begin(), weights.end());
    }
    return nullptr;
}

template <class Sum>
ClassStats<Sum> make_class_stats(const TargetView& view, const Member& member,
                                 const ClassStats<Sum>* known, int exponent, Logarithms& logs) {
    ClassStats<Sum> stats;
    stats.classes = view.classes;
    stats.n_classes = view.n_classes;
    stats.multipliers = member.rules.class_multipliers;
    stats.criterion = member.rules.criterion;
    stats.exponent = member.weights.empty() ? 0 : exponent;
    if (known != nullptr) {
        stats.weights = known->weights;
        stats.counts = known->counts;
    } else if (!member.weights.empty()) {
        stats.weights = std::make_shared<const std::vector<Sum>>(all_to_units<Sum>(
            member.weights.size(), exponent, [&](size_t row) { return member.weights[row]; }));
        stats.counts = count_weights(*stats.weights);
    }
    if (stats.criterion == Criterion::gini || !stats.multipliers.empty()) return stats;
    size_t largest = count_kept_logarithms(view, member, stats);
    if (logs.size() <= largest) logs = Logarithms(largest);
    stats.logs = logs;
    return stats;
}

template <int N>
MeanStats<N> make_mean_stats(const TargetView& view, const Member& member, const BitRange& products,
                             int weight_exponent) {
    using Slot = Fixed<N>;
    MeanStats<N> stats;
    int product_exponent = products.exponent();
    stats.y = view.numbers;
    stats.row_weights = member.weights;
    stats.product_exponent = product_exponent;
    stats.weight_exponent = member.weights.empty() ? 0 : weight_exponent;
    size_t n_rows = view.numbers.size();
    auto weight = [&](size_t row) { return member.weights.empty() ? 1.0 : member.weights[row]; };
    stats.unit_bits = products.size();
    if (std::abs(product_exponent) < 900) stats.unit = std::ldexp(1.0, -product_exponent);
    bool is_short = N == 2 && member.weights.empty() && stats.unit != 0.0 && stats.unit_bits <= 62;
    if (is_short) return stats;
    stats.products = all_to_units<Slot>(n_rows, product_exponent, [&](size_t row) {
        return weigh(weight(row), view.numbers[row]);
    });
    if (member.weights.empty()) return stats;
    stats.weights = all_to_units<Slot>(n_rows, weight_exponent, weight);
    return stats;
}

template <class Grow>
auto with_class_stats(const TargetView& view, const std::vector<Member>& members, Grow&& grow) {
    BitRange weights;
    const double* last = nullptr;
    for (const Member& member : members) {
        if (member.weights.data() == last) continue;
        last = member.weights.data();
        for (double weight : member.weights) weights.include(weight);
    }
    Logarithms logs;  // of all members
    auto grow_as = [&]<class Sum>(Sum*) {
        auto make = [&](const Member& member, const ClassStats<Sum>* known) {
            return make_class_stats<Sum>(view, member, known, weights.exponent(), logs);
        };
        return with_each_stats<ClassStats<Sum>>(members, make, grow);
    };
    int bits = weights.size() + static_cast<int>(std::bit_width(view.classes.size()));
    if (bits <= kClassBits) return grow_as(static_cast<int64_t*>(nullptr));
    if (bits <= 126) return grow_as(static_cast<Fixed<2>*>(nullptr));
    return grow_as(static_cast<Fixed<kWideLimbs>*>(nullptr));
}

template <class Grow>
auto with_mean_stats(const TargetView& view, const std::vector<Member>& members, Grow&& grow) {
    BitRange weights, products;
    for (size_t at = 0; at < members.size(); ++at) {
        const std::span<const double>& own = members[at].weights;
        if (at != 0 && own.data() == members[at - 1].weights.data()) continue;
        for (size_t row = 0; row < view.numbers.size(); ++row) {
            double weight = own.empty() ? 1.0 : own[row];
            weights.include(weight);
            products.include(weigh(weight, view.numbers[row]));
        }
    }
    int bits = std::max(weights.size(), products.size()) +
               static_cast<int>(std::bit_width(view.numbers.size()));
    auto grow_as = [&]<int N>(Fixed<N>*) {
        auto make = [&](const Member& member, const MeanStats<N>*) {
            return make_mean_stats<N>(view, member, products, weights.exponent());
        };
        return with_each_stats<MeanStats<N>>(members, make, grow);
    };
    if (bits <= 126) return grow_as(static_cast<Fixed<2>*>(nullptr));
    return grow_as(static_cast<Fixed<kWideLimbs>*>(nullptr));
}

template <class Grow>
auto with_stats(const TargetView& view, const std::vector<Member>& members, Grow&& grow) {
    if (view.n_classes > 0) return with_class_stats(view, members, grow);
    return with_mean_stats(view, members, grow);
}

}  // namespace treefold
