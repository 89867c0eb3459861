// Means: the sum of weighted numbers, and the weight.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "stats/criterion.hpp"
#include "stats/statistics.hpp"

namespace treefold {

template <int N>
class MeanStats {
public:
    using Slot = Fixed<N>;
    static constexpr bool is_classification = false;
    // Sums of members that go on together were no faster than one member at a time, for any table.
    static constexpr bool serves_groups = false;
    static constexpr bool kCounts = false;
    using Totals = Sums<std::array<Slot, 2>>;
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
    bool has_weights_of(const MeanStats& other) const {
        return row_weights.data() == other.row_weights.data();
    }

    // Without weights and with short numbers, products are read off y, and 128 bits hold all of quality().
    bool is_short() const { return products.empty(); }

    int64_t short_product(uint32_t row) const { return static_cast<int64_t>(y[row] * unit); }

    Slot product(uint32_t row) const {
        return is_short() ? Slot(short_product(row)) : products[row];
    }
    void add(uint32_t row, Slot* slots) const {
        slots[0] += product(row);
        if (!weights.empty()) slots[1] += weights[row];
    }
    Totals sum_rows(std::span<const uint32_t> rows) const {
        Totals totals{static_cast<int64_t>(rows.size()), {}};
        if (is_short() && unit_bits + std::bit_width(rows.size()) <= 63) {
            int64_t sum = 0;
            for (uint32_t row : rows) sum += short_product(row);
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
        return scale_by_power(spread * (weight * weight / n),
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
