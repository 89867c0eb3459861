// Classes: how often, or with which weight, each occurs.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "base/short_line.hpp"
#include "stats/criterion.hpp"
#include "stats/statistics.hpp"

namespace treefold {

inline constexpr int kClassBits = 61;  // see criterion.hpp

template <class Sum>
class ClassStats {
public:
    using Slot = Sum;
    static constexpr bool is_classification = true;
    static constexpr bool serves_groups = true;
    static constexpr bool kCounts = std::is_same_v<Sum, int64_t>;  // are sums plain integers?
    using Totals = Sums<ShortLine<Slot>>;
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
    bool has_weights_of(const ClassStats& other) const { return weights == other.weights; }

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
            // The exponent of the heaviest class; the sum of those that are present has at most their logarithm more. Not
            // of all classes: a fold's tree knows of more than the tree of its rows alone.
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

}  // namespace treefold
