// What is to be predicted, as exact integers, and what a node adds up of it.
//
// A target gives a row's contribution to a few *slots* (one per class; or the sum and the weight), and decides
// from the slots of two sides how good a split is. ClassTarget and MeanTarget have the same shape, so the growth
// loop is written once.
//
//   Slot          exact integer type of one slot
//   width()       slots per side
//   add(row, s)   adds a row to slots
//   Totals        a node's rows, slots and what its description needs beside them
//   Node context  what quality() needs of the node and would else recompute per candidate
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "criterion.hpp"
#include "fixed.hpp"
#include "rules.hpp"
#include "short_line.hpp"

namespace treefold {

// One side of a split.
template <class Slot>
struct Side {
    int64_t rows;
    const Slot* slots;
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

inline constexpr int kClassBits = 61;  // see criterion.hpp

template <class Sum>
class ClassTarget {
public:
    using Slot = Sum;
    static constexpr bool is_classification = true;
    static constexpr bool serves_groups = true;
    struct Totals {
        int64_t rows = 0;
        ShortLine<Slot> slots;
    };
    struct Context {
        int64_t shift = 0;  // slots are divided by 2^shift to have kClassBits
        int64_t exponent = 0;  // what a unit of the scaled weights stands for: 2^exponent
        __int128 parent_entropy = 0;
    };

    std::span<const int32_t> classes;
    int n_classes = 0;
    std::shared_ptr<const std::vector<Sum>>
        weights;  // on the grid 2^exponent; null: every row counts one
    std::shared_ptr<const std::vector<uint32_t>> counts;  // the weights, if they are small
    int exponent = 0;
    std::vector<double> multipliers;  // per class; empty: none
    Criterion criterion = Criterion::gini;
    Logarithms logs;

    size_t width() const { return static_cast<size_t>(n_classes); }
    bool is_unit() const { return !weights; }
    bool counts_rows() const { return !weights && multipliers.empty(); }
    bool has_weights_of(const ClassTarget& other) const { return weights == other.weights; }

    void add(uint32_t row, Slot* slots) const {
        auto index = static_cast<size_t>(classes[row]);
        if (!weights)
            slots[index] += Slot(1);
        else
            slots[index] += (*weights)[row];
    }
    // Rows take turns in adding to one of several counters, as each addition to the same one waits for the last.
    static constexpr size_t kWays = 4;
    void count_in_ways(std::span<const uint32_t> rows, ShortLine<Slot>& slots) const {
        std::vector<uint32_t> counts(kWays * width());
        size_t k = 0;
        for (; k + kWays <= rows.size(); k += kWays)
            for (size_t way = 0; way < kWays; ++way)
                ++counts[way * width() + static_cast<size_t>(classes[rows[k + way]])];
        for (; k < rows.size(); ++k) ++counts[static_cast<size_t>(classes[rows[k]])];
        for (size_t at = 0; at < counts.size(); ++at)
            slots[at % width()] += Slot(int64_t{counts[at]});
    }

    Totals sum_rows(std::span<const uint32_t> rows) const {
        Totals totals{static_cast<int64_t>(rows.size()), ShortLine<Slot>(width())};
        if (!weights && rows.size() >= kWays * width())
            count_in_ways(rows, totals.slots);
        else
            for (uint32_t row : rows) add(row, totals.slots.data());
        return totals;
    }

    Context context(const Totals& totals, std::span<const uint32_t>) const {
        Context context;
        context.exponent = exponent;
        if (counts_rows() && criterion == Criterion::gini) return context;
        if (!multipliers.empty()) {
            // The exponent of the heaviest class; the sum of those that are present has at most their logarithm more. Not of all
            // classes: a fold's tree knows of more than the tree of its rows alone.
            int64_t highest = INT64_MIN, n_present = 0;
            for (size_t k = 0; k < width(); ++k) {
                if (totals.slots[k] == Slot(0)) continue;
                ++n_present;
                highest =
                    std::max(highest, bit_length(totals.slots[k]) + std::ilogb(multipliers[k]) + 1);
            }
            context.exponent = exponent + highest + bit_length(n_present) - kClassBits;
        }
        Slot total{};
        for (const Slot& slot : totals.slots) total += slot;
        context.shift = std::max<int64_t>(0, bit_length(total) - kClassBits);
        if (multipliers.empty()) context.exponent += context.shift;
        if (criterion != Criterion::gini) {
            std::vector<int64_t> x(width());
            scale(totals.slots.data(), context, x);
            context.parent_entropy = entropy_times_weight(x, total_of(x), logs);
        }
        return context;
    }

    // allowance: what the quality owes to chance, in its own units (chance_gain).
    double quality(Side<Slot> left, Side<Slot> right, const Context& context,
                   std::vector<int64_t>& scratch, double allowance = 0.0) const {
        if constexpr (std::is_same_v<Slot, int64_t>) {
            if (multipliers.empty())
                return class_quality(criterion, {left.slots, width()}, {right.slots, width()},
                                     context.parent_entropy, logs, allowance);
        }
        scratch.resize(2 * width());
        std::span<int64_t> x_left(scratch.data(), width()),
            x_right(scratch.data() + width(), width());
        scale(left.slots, context, x_left);
        scale(right.slots, context, x_right);
        return class_quality(criterion, x_left, x_right, context.parent_entropy, logs, allowance);
    }

    // What the best set of categories gains by chance, per group of them.
    double chance_gain(const Totals& totals, const Context& context, Scaled,
                       std::vector<int64_t>& scratch) const {
        return class_chance(criterion, scaled(totals.slots.data(), context, scratch), totals.rows);
    }

    double weight_of(Side<Slot> side, const Context& context, std::vector<int64_t>& scratch) const {
        return in_units(static_cast<double>(total_of(scaled(side.slots, context, scratch))),
                        context);
    }

    bool is_lighter(Side<Slot> side, Side<Slot> other, const Context& context,
                    std::vector<int64_t>& scratch) const {
        int64_t weight = total_of(scaled(side.slots, context, scratch));
        return weight < total_of(scaled(other.slots, context, scratch));
    }

    // The order of categories: the share of class k.
    double share(Side<Slot> side, size_t k, const Context& context,
                 std::vector<int64_t>& scratch) const {
        std::span<const int64_t> x = scaled(side.slots, context, scratch);
        return static_cast<double>(x[k]) / static_cast<double>(total_of(x));
    }

    Description describe(const Totals& totals, std::span<const uint32_t>, const Context& context,
                         double* value, std::vector<int64_t>& scratch) const {
        std::span<const int64_t> x = scaled(totals.slots.data(), context, scratch);
        double weight = static_cast<double>(total_of(x));
        size_t n_present = 0;
        for (size_t k = 0; k < width(); ++k) {
            value[k] = static_cast<double>(x[k]) / weight;
            n_present += totals.slots[k] != Slot(0);
        }
        Description node;
        node.weight = in_units(weight, context);
        node.is_pure = n_present < 2;
        // An impure node is never at zero, even if the weight of a class is lost beside the others'.
        constexpr double kLeast = std::numeric_limits<double>::denorm_min();
        node.impurity = node.is_pure ? 0.0 : std::max(kLeast, class_impurity(criterion, x, logs));
        return node;
    }

private:
    static double in_units(double scaled, const Context& context) {
        return context.exponent == 0 ? scaled
                                     : std::ldexp(scaled, static_cast<int>(context.exponent));
    }
    // Slots as integers of at most kClassBits in sum over the node; counts are that already.
    std::span<const int64_t> scaled(const Slot* slots, const Context& context,
                                    std::vector<int64_t>& scratch) const {
        if constexpr (std::is_same_v<Slot, int64_t>)
            if (multipliers.empty()) return {slots, width()};
        scratch.resize(width());
        scale(slots, context, scratch);
        return scratch;
    }
    void scale(const Slot* slots, const Context& context, std::span<int64_t> x) const {
        for (size_t k = 0; k < x.size(); ++k) {
            int64_t reduced = reduce(slots[k], context.shift);
            x[k] = multipliers.empty() ? reduced
                                       : multiply_rounded(reduced, context.shift, k, context);
        }
    }
    static int64_t reduce(int64_t slot, int64_t) {
        return slot;
    }  // the grid was chosen so that it fits
    template <int N>
    static int64_t reduce(const Fixed<N>& slot, int64_t shift) {
        if (shift == 0) return static_cast<int64_t>(slot.limb[0]);
        auto from = static_cast<int>(shift) - 1;
        return static_cast<int64_t>((slot.bits_from(from) >> 1) + (slot.bits_from(from) & 1));
    }
    int64_t multiply_rounded(int64_t x, int64_t shift, size_t k, const Context& context) const {
        if (x == 0) return 0;
        int power = std::ilogb(multipliers[k]) - 52;
        auto mantissa = static_cast<uint64_t>(std::ldexp(multipliers[k], -power));
        unsigned __int128 product =
            static_cast<unsigned __int128>(static_cast<uint64_t>(x)) * mantissa;
        int64_t down = context.exponent - exponent - shift - power;
        if (down < 0) return static_cast<int64_t>(product << -down);
        return shift_rounded(product, down);
    }
};

template <int N>
class MeanTarget {
public:
    using Slot = Fixed<N>;
    static constexpr bool is_classification = false;
    // Sums of members that go on together were no faster than one member at a time, for any table.
    static constexpr bool serves_groups = false;
    struct Totals {
        int64_t rows = 0;
        std::array<Slot, 2> slots{};
    };
    struct Context {
        int exponent = 0;  // keeps the qualities of very wide numbers within float64
    };

    std::span<const double> y,
        row_weights;  // as the caller has them; row_weights empty: every row counts one
    std::vector<Slot> products;  // w * y on the grid 2^product_exponent; empty if y * unit gives it
    std::vector<Slot> weights;  // on the grid 2^weight_exponent; empty: every row counts one
    int product_exponent = 0, weight_exponent = 0;
    int unit_bits = 0;  // that a product has at most
    double unit = 0.0;  // 2^-product_exponent: y * unit is whole; 0 where that overflows float64

    size_t width() const { return weights.empty() ? 1 : 2; }
    bool is_unit() const { return weights.empty(); }
    bool counts_rows() const { return weights.empty(); }
    bool has_weights_of(const MeanTarget& other) const {
        return row_weights.data() == other.row_weights.data();
    }

    // Without weights and with short numbers, products are read off y, and 128 bits hold all of quality().
    bool is_short() const { return products.empty(); }

    Slot product(uint32_t row) const {
        return is_short() ? Slot(static_cast<int64_t>(y[row] * unit)) : products[row];
    }
    void add(uint32_t row, Slot* slots) const {
        slots[0] += product(row);
        if (!weights.empty()) slots[1] += weights[row];
    }
    Totals sum_rows(std::span<const uint32_t> rows) const {
        Totals totals{static_cast<int64_t>(rows.size()), {}};
        if (is_short() && unit_bits + std::bit_width(rows.size()) <= 63) {
            int64_t sum = 0;
            for (uint32_t row : rows) sum += static_cast<int64_t>(y[row] * unit);
            totals.slots[0] = Slot(sum);
            return totals;
        }
        for (uint32_t row : rows) add(row, totals.slots.data());
        return totals;
    }

    Context context(const Totals&, std::span<const uint32_t> rows) const {
        if constexpr (N == 2) return {};  // squares of 254 bits fit float64
        int highest = 0;
        for (uint32_t row : rows)
            highest = std::max(highest, product(row).magnitude().bit_length());
        return {2 * highest};
    }

    // allowance: what the quality owes to chance, in its own units (chance_gain).
    double quality(Side<Slot> left, Side<Slot> right, const Context& context, std::vector<int64_t>&,
                   double allowance = 0.0) const {
        if constexpr (N == 2) {
            if (is_short()) return quality_of_short(left, right) - allowance;
        }
        Slot weight_left = weight(left), weight_right = weight(right);
        Fixed<2 * N> difference = multiply(left.slots[0], weight_right);
        difference -= multiply(right.slots[0], weight_left);
        if constexpr (N == 2) {
            double d = to_double(difference);
            return d * d / (to_double(weight_left) * to_double(weight_right)) - allowance;
        }
        // Mantissas apart from exponents: neither squares nor products of weights leave float64.
        Scaled d = round_scaled(difference), l = round_scaled(weight_left),
               r = round_scaled(weight_right);
        int exponent = 2 * d.exponent - l.exponent - r.exponent - context.exponent;
        return scale_by_power(d.mantissa * d.mantissa / (l.mantissa * r.mantissa), exponent) -
               allowance;
    }

    // What the best set of categories gains by chance, per group of them: a quality is the node's weight times the gain, in
    // squared units of the products.
    double chance_gain(const Totals& totals, const Context& context, Scaled variance,
                       std::vector<int64_t>& scratch) const {
        int of_spread = 0, of_weight = 0;
        double spread = std::frexp(variance.mantissa, &of_spread);
        double weight =
            std::frexp(weight_of({totals.rows, totals.slots.data()}, context, scratch), &of_weight);
        double n = static_cast<double>(totals.rows);
        return scale_by_power(kChance * spread * (weight * weight / n),
                              of_spread + variance.exponent + 2 * of_weight - 2 * product_exponent -
                                  context.exponent);
    }

    double weight_of(Side<Slot> side, const Context&, std::vector<int64_t>&) const {
        if (weights.empty()) return static_cast<double>(side.rows);
        return round_scaled(weight(side)).value(weight_exponent);
    }

    bool is_lighter(Side<Slot> side, Side<Slot> other, const Context&,
                    std::vector<int64_t>&) const {
        return (weight(side) - weight(other)).is_negative();
    }

    // The order of categories: the mean.
    double share(Side<Slot> side, size_t, const Context&, std::vector<int64_t>&) const {
        return mean(side);
    }

    Description describe(const Totals& totals, std::span<const uint32_t> rows,
                         const Context& context, double* value,
                         std::vector<int64_t>& scratch) const {
        if (totals.rows == 1 && weights.empty()) {
            *value = y[rows[0]] + 0.0;  // of the two zeros always the same
            return {1.0, 0.0, true};
        }
        Side<Slot> side{totals.rows, totals.slots.data()};
        Description node;
        node.weight = weight_of(side, context, scratch);
        double lowest = y[rows[0]], highest = lowest;
        for (uint32_t row : rows.subspan(1)) {
            lowest = std::min(lowest, y[row]);
            highest = std::max(highest, y[row]);
        }
        node.is_pure = lowest == highest;
        *value = node.is_pure ? lowest + 0.0 : mean(side);
        double farthest = std::max(highest - *value, *value - lowest);
        if (node.is_pure) return node;
        constexpr double kLargest = std::numeric_limits<double>::max();
        node.variance = variance(rows, *value, farthest, node.weight);
        node.impurity = std::isinf(farthest)
                            ? kLargest
                            : std::clamp(node.variance.value(),
                                         std::numeric_limits<double>::denorm_min(), kLargest);
        return node;
    }

private:
    double quality_of_short(Side<Slot> left, Side<Slot> right) const {
        auto sum_of = [](Side<Slot> side) { return static_cast<__int128>(side.slots[0].get128()); };
        auto d = static_cast<double>(sum_of(left) * right.rows - sum_of(right) * left.rows);
        return d * d / (static_cast<double>(left.rows) * static_cast<double>(right.rows));
    }
    Slot weight(Side<Slot> side) const { return weights.empty() ? Slot(side.rows) : side.slots[1]; }

    double mean(Side<Slot> side) const {
        Scaled ratio;
        if constexpr (N == 2) {
            ratio = weights.empty() ? divide_by_count(side.slots[0], side.rows)
                                    : divide_rounded(side.slots[0], side.slots[1]);
        } else {
            ratio = divide_rounded(side.slots[0], weight(side));
        }
        return ratio.value(product_exponent - weight_exponent);
    }

    // Squared deviations as integers relative to the largest one, so that their sum does not depend on the
    // order of the rows. Never zero: the targets differ.
    Scaled variance(std::span<const uint32_t> rows, double mean, double farthest,
                    double total) const {
        if (std::isinf(farthest)) return wide_variance(rows, mean, 2, total);
        int power = static_cast<int>(std::bit_cast<uint64_t>(farthest) >> 52) - 1023;
        if (row_weights.empty() && std::abs(power) < 400) {  // as below; no square overflows
            double unit = scale_by_power(1.0, 59 - 2 * power),
                   inverse = scale_by_power(1.0, 2 * power - 59);
            unsigned __int128 sum = 0;
            for (uint32_t row : rows) {
                double deviation = y[row] - mean;
                sum += static_cast<uint64_t>(static_cast<int64_t>(deviation * deviation * unit));
            }
            bool is_short = sum >> 63 == 0;
            double whole = is_short ? static_cast<double>(static_cast<int64_t>(sum))
                                    : static_cast<double>(sum);
            return {whole / total * inverse, 0};
        }
        return wide_variance(rows, mean, 0, total);
    }

    // The same where squares leave float64. halvings: of all numbers, without which differences leave it.
    Scaled wide_variance(std::span<const uint32_t> rows, double mean, int halvings,
                         double total) const {
        auto deviation = [&](uint32_t row) {
            return scale_by_power(y[row], -halvings) - scale_by_power(mean, -halvings);
        };
        double farthest = 0.0;
        for (uint32_t row : rows) farthest = std::max(farthest, std::fabs(deviation(row)));
        int power = std::ilogb(farthest);
        double heaviest = row_weights.empty() ? 1.0 : 0.0;
        if (!row_weights.empty())
            for (uint32_t row : rows) heaviest = std::max(heaviest, row_weights[row]);
        int weight_power = std::ilogb(heaviest);
        auto square = [&](uint32_t row) {  // relative to the farthest and the heaviest: below 8
            double scaled = scale_by_power(deviation(row), -power);
            double weight =
                row_weights.empty() ? 1.0 : scale_by_power(row_weights[row], -weight_power);
            return scaled * scaled * weight;
        };
        int unit = 59;  // bits after the point
        if (!row_weights.empty()) {
            double largest = 0.0;
            for (uint32_t row : rows) largest = std::max(largest, square(row));
            if (largest > 0.0) unit -= std::ilogb(largest);
        }
        __int128 sum = 0;
        for (uint32_t row : rows) sum += static_cast<int64_t>(scale_by_power(square(row), unit));
        double spread =
            scale_by_power(static_cast<double>(sum) / scale_by_power(total, -weight_power), -unit);
        return {spread, 2 * (power + halvings)};
    }
};

}  // namespace treefold
