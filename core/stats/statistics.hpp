// What a node adds up, as exact integers, and what is told from it: the interface of all kinds of statistics.
//
// Statistics give a row's contribution to a few *slots* (one per class; or the sum and the weight), and decide from the
// slots of two sides how good a split is. Slots are integers, so sums over rows are exact: they can be added and subtracted
// in any order, between siblings, folds, pages and workers. Search and growth know no more of them than what stands here;
// ClassStats and MeanStats are the kinds that trees are grown with.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/fixed.hpp"

namespace treefold {

// One side of a split.
template <class Slot>
struct Side {
    int64_t rows;
    const Slot* slots;
};

// The rows of a node and their slots.
template <class Slots>
struct Sums {
    int64_t rows = 0;
    Slots slots{};

    Sums& operator+=(const Sums& other) {
        rows += other.rows;
        for (size_t k = 0; k < slots.size(); ++k) slots[k] += other.slots[k];
        return *this;
    }
    Sums& operator-=(const Sums& other) {
        rows -= other.rows;
        for (size_t k = 0; k < slots.size(); ++k) slots[k] -= other.slots[k];
        return *this;
    }
    auto side() const { return Side{rows, slots.data()}; }
};

// What the tree records of a node.
struct Description {
    double weight = 0.0;
    double impurity = 0.0;
    bool is_pure = false;
    Scaled variance{};  // of a mean: the impurity, also where that leaves float64
};

inline int64_t bit_length(int64_t x) { return 64 - std::countl_zero(static_cast<uint64_t>(x)); }
template <int N>
int64_t bit_length(const Fixed<N>& x) {
    return x.bit_length();
}

// x * 2^-shift, rounded half up; shift >= 0 and the result has at most 63 bits.
inline int64_t shift_rounded(unsigned __int128 x, int64_t shift) {
    if (shift == 0) return static_cast<int64_t>(x);
    if (shift > 127) return 0;
    return static_cast<int64_t>((x + (static_cast<unsigned __int128>(1) << (shift - 1))) >> shift);
}

// A kind of statistics. Totals: Sums of a node. Context: what quality() needs of the node and would else compute again for each
// candidate.
template <class S>
concept Statistics = requires(const S& stats, uint32_t row, typename S::Slot* slots,
                              std::span<const uint32_t> rows, Side<typename S::Slot> side,
                              typename S::Totals totals, const typename S::Context& context,
                              Scaled variance, double* value, std::vector<int64_t>& scratch) {
    {
        S::is_classification
    } -> std::convertible_to<bool>;  // does a leaf answer with shares of classes?
    {
        S::serves_groups
    } -> std::convertible_to<bool>;  // do members that go on together share sums?
    { S::kCounts } -> std::convertible_to<bool>;  // are they searched by counting rows of classes?
    { stats.width() } -> std::same_as<size_t>;  // slots
    { stats.counts_rows() } -> std::same_as<bool>;  // does every row weigh one?
    { stats.is_unit() } -> std::same_as<bool>;  // are the sums those that filters are made for?
    stats.add(row, slots);
    { stats.sum_rows(rows) } -> std::same_as<typename S::Totals>;
    totals -= totals;
    { stats.context(totals, rows) } -> std::same_as<typename S::Context>;
    // The last argument is taken off: what the quality owes to chance (chance_gain).
    { stats.quality(side, side, context, scratch, 0.0) } -> std::same_as<double>;
    // What the best set of categories gains by chance, per group of them, in units of quality.
    { stats.chance_gain(totals, context, variance, scratch) } -> std::same_as<double>;
    { stats.weight_of(side, context, scratch) } -> std::same_as<double>;
    { stats.is_lighter(side, side, context, scratch) } -> std::same_as<bool>;
    // By what categories are put in order: the share of a class, or the mean.
    { stats.share(side, size_t{0}, context, scratch) } -> std::same_as<double>;
    { stats.describe(totals, rows, context, value, scratch) } -> std::same_as<Description>;
};

}  // namespace treefold
