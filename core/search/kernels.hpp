// Scans of a kept order in float64 that only leave out what cannot win. What survives is decided by the exact
// quality, so a kernel changes the time of a fit and never its tree (tests/test_same_tree.py grows the
// same data with a weight that every leaf must have, which no kernel serves).
//
// Unit weights (for gini: any small whole numbers, as in bags) and no missing value in the node, which is most of the
// work of most fits:
//   two classes, gini    blocks of 64 rows are only counted if none of their cuts can win
//   more classes, gini   the same; sums of squares are kept up to date in O(1) per row
//   sparse, gini         only the listed rows are added up
//   regression           sums in float64 with a bound of their error; cuts within the bound stay pending
//
// Against the exact scans: the first 20 times as fast a growth on 100,000 x 20 continuous columns, the last 7 times on
// California housing.
#pragma once

#include <cmath>

#include "search/class_scans.hpp"
#include "search/mean_scans.hpp"

namespace treefold {

// Can the kernels search this node?
template <class Stats>
bool has_kernel(const NodeView<Stats>& node) {
    if (node.end - node.begin > kMostRows || !node.stats.is_unit() ||
        node.rules.min_weight_leaf > 0)
        return false;
    if constexpr (std::is_same_v<Stats, ClassStats<int64_t>>)
        return node.stats.multipliers.empty() && node.rules.criterion == Criterion::gini;
    if constexpr (std::is_same_v<Stats, MeanStats<2>>) return node.stats.unit != 0.0;
    return false;
}

// Rows that count more than once. Histograms of them do not tell how many rows they are of: leaves may be of one row.
// (MAGIC Gamma, a bag: 5 times as fast a growth as by the exact scans.)
inline void prepare_counts(NodeView<ClassStats<int64_t>>& node) {
    const ClassStats<int64_t>& stats = node.stats;
    if (node.has_kernel || !stats.counts || !stats.multipliers.empty() ||
        node.rules.criterion != Criterion::gini || node.rules.min_weight_leaf > 0 ||
        node.rules.min_samples_leaf > 1)
        return;
    node.counts = stats.counts->data();
    node.has_kernel = true;
}
template <class Stats>
void prepare_counts(NodeView<Stats>&) {}

// Both sides of the best split are pure: its quality is the number of rows, which no other passes, and only a lower
// column could share it. (Half of Covertype's nodes of up to 16 rows have such a split.)
template <class Stats>
bool is_settled(const NodeView<Stats>& node, uint32_t column, const Findings& findings) {
    if constexpr (std::is_same_v<Stats, ClassStats<int64_t>>)
        return node.has_kernel && findings.best.column < column &&
               findings.best.quality == node.weight;
    return false;
}

// Returns whether the column was dealt with.
template <class Stats, class Code>
bool scan_in_float64(const NodeView<Stats>& node, const OrderView<Code>& order,
                     Scratch<typename Stats::Slot>& scratch, Findings& findings) {
    if (!node.has_kernel) return false;
    if (is_settled(node, order.column, findings)) return true;
    if constexpr (std::is_same_v<Stats, ClassStats<int64_t>>) {
        if (order.bits == 0) return false;  // the class is not in the words
        if (node.stats.n_classes == 2)
            TwoClassScan(node, findings).run(order);
        else
            ClassScan(node, order, scratch, findings).run();
        return true;
    } else if constexpr (std::is_same_v<Stats, MeanStats<2>>) {
        MeanScan(node, order, scratch.sums, findings).run();
        return true;
    }
    return false;
}

template <class Stats>
bool scan_list_in_float64(const NodeView<Stats>& node, const ListView& list,
                          Scratch<typename Stats::Slot>& scratch, Findings& findings) {
    if constexpr (std::is_same_v<Stats, ClassStats<int64_t>>) {
        if (!node.has_kernel || list.bits == 0) return false;
        ListedClassScan(node, list, scratch, findings).run();
        return true;
    }
    return false;
}

// What can_reach() needs. A sum of 2C + 4 terms of at most W log W each, off by less than a rounding of their sum with
// every addition.
inline void prepare_glance(NodeView<ClassStats<int64_t>>& node) {
    const ClassStats<int64_t>& stats = node.stats;
    constexpr size_t kMostClasses = 1024;  // whose roundings stay below kSlack
    if (!stats.multipliers.empty() || stats.width() > kMostClasses) return;
    if (node.rules.criterion != Criterion::gini) {
        int64_t total = total_of(node.totals.slots);
        if (static_cast<uint64_t>(total) >= stats.logs.size()) return;
        constexpr double kRounding = 1.0 / (int64_t{1} << 52);
        double n_terms = 2.0 * static_cast<double>(stats.width()) + 4.0;
        node.margin = n_terms * n_terms * kRounding * stats.logs.times_log_float64(total);
        node.parent_entropy = static_cast<double>(node.context.parent_entropy);
    }
    node.has_glance = true;
}

// The mean and the error bound of MeanScan, in units of the target's grid. A sum of n terms of at most
// sum |y - mean| <= sqrt(n spread) is off by less than n + 4 roundings of it, and the mean by one of its own.
template <class Stats>
void prepare_float64(NodeView<Stats>& node, const Description& description) {
    node.has_kernel = has_kernel(node);
    node.variance = description.variance;
    if constexpr (std::is_same_v<Stats, ClassStats<int64_t>>) {
        for (int64_t total : node.totals.slots) {
            node.weight += static_cast<double>(total);
            node.squares += static_cast<double>(total) * static_cast<double>(total);
        }
        prepare_glance(node);
    }
    if constexpr (std::is_same_v<Stats, MeanStats<2>>) {
        constexpr double kRounding = 1.0 / (int64_t{1} << 52);
        double n = static_cast<double>(node.n_rows());
        if (node.stats.unit_bits + 2 * std::bit_width(node.end - node.begin) <= 53) {
            node.is_exact = true;
            node.factor = n;
            node.scale = 1.0;
            node.mean = to_double(node.totals.slots[0]);
            return;
        }
        double spread =
            Scaled{description.variance.mantissa * n, description.variance.exponent}.value(
                -2 * node.stats.product_exponent);
        node.scale = n * n;
        node.mean = to_double(node.totals.slots[0]) / n;
        node.error = kRounding * ((n + 4) * std::sqrt(n * spread) + 2 * n * std::fabs(node.mean));
    }
}

// The exact quality of pending cuts. In small nodes several columns often make the same two groups of rows:
// equal sums have equal quality, on whichever side they stand.
class PendingJudge {
public:
    using Slot = MeanStats<2>::Slot;
    PendingJudge(const Layout& layout, const NodeView<MeanStats<2>>& node)
        : layout_(layout), node_(node) {}

    double quality(const Pending& cut) {
        Slot left{};
        int64_t n_left = 0;
        layout_.table->columns[cut.column].codes.with([&](auto* codes) {
            for (uint32_t row : node_.rows) {
                bool is_left = codes[row] <= cut.code;
                if (is_left) left += node_.stats.product(row);
                n_left += is_left;
            }
        });
        Slot right = node_.totals.slots[0] - left;
        int64_t n_right = node_.totals.rows - n_left;
        bool is_known =
            (n_left == n_left_ && left == left_) || (n_right == n_left_ && right == left_);
        if (is_known) return quality_;
        n_left_ = n_left;
        left_ = left;
        return quality_ =
                   node_.stats.quality({n_left, &left}, {n_right, &right}, node_.context, unused_);
    }

private:
    const Layout& layout_;
    const NodeView<MeanStats<2>>& node_;
    int64_t n_left_ = -1;
    Slot left_{};
    double quality_ = 0;
    std::vector<int64_t> unused_;
};

// Decides between what is pending. One cut that nothing can reach needs no exact sum.
template <class Stats>
void resolve_pending(const Layout& layout, const NodeView<Stats>& node, Findings& findings) {
    if constexpr (std::is_same_v<Stats, MeanStats<2>>) {
        findings.drop_hopeless();
        bool is_alone = findings.pending.size() == 1 && !findings.best.exists();
        PendingJudge judge(layout, node);
        for (const Pending& cut : findings.pending) {
            double quality = is_alone ? cut.upper : judge.quality(cut);
            if (quality < findings.best.quality) continue;
            findings.offer(numeric_split(quality, cut.column, cut.code, cut.next_code));
        }
        findings.pending.clear();
    }
}

}  // namespace treefold
