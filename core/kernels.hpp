// Scans of a kept order in float64 that only leave out what cannot win. What survives is decided by the exact
// quality, so a kernel changes the time of a fit and never its tree (tests/test_same_tree.py grows the
// same data with weights of one, which no kernel serves).
//
// Unit weights and no missing value in the node, which is most of the work of most fits:
//   two classes, gini    blocks of 64 rows are only counted if none of their cuts can win
//   more classes, gini   sums of squares are kept up to date in O(1) per row
//   sparse, gini         only the listed rows are added up
//   regression           sums in float64 with a bound of their error; cuts within the bound stay pending
//
// Against the exact scans: the first 20 times as fast a growth on 100,000 x 20 continuous columns, the last 7 times on
// California housing.
#pragma once

#include <cmath>

#include "findings.hpp"
#include "lanes.hpp"
#include "rows.hpp"

namespace treefold {

// More than every rounding error of a quality in float64, far less than any real difference.
inline constexpr double kSlack = 1.0 / (int64_t{1} << 40);

// Products of two row counts stay exact in float64 up to here.
inline constexpr size_t kMostRows = size_t{1} << 26;

// A kept order of one node: words are row << bits | class.
template <class Code>
struct OrderView {
    uint32_t column;
    std::span<const uint32_t> words;
    int bits;
    const Code* codes;

    // May the node be cut between rows k and k + 1?
    bool is_legal(size_t k, int64_t smallest) const {
        auto n_left = static_cast<int64_t>(k) + 1,
             n_right = static_cast<int64_t>(words.size()) - n_left;
        return n_left >= smallest && n_right >= smallest && code(k) != code(k + 1);
    }
    uint32_t code(size_t k) const { return codes[words[k] >> bits]; }
};

template <class Code>
void offer_cut(const OrderView<Code>& order, size_t k, double quality, Findings& findings) {
    findings.offer(numeric_split(quality, order.column, order.code(k), order.code(k + 1)));
}

// Two classes. With D = n l1 - n_l n1 the gini quality is q0 + 2 D^2 / (n n_l n_r): a cut can win only if
// D^2 >= limit n_l n_r. D^2 / (n_l n_r) is convex in (n_l, l1), so over a block it is largest in a corner
// of the parallelogram that its class counts span.
class TwoClassScan {
public:
    TwoClassScan(const NodeView<ClassTarget<int64_t>>& node, Findings& findings)
        : node_(node), findings_(findings) {
        test_.n = static_cast<double>(node.totals.rows);
        n0_ = static_cast<double>(node.totals.slots[0]);
        n1_ = static_cast<double>(node.totals.slots[1]);
        update_limit();
    }

    template <class Code>
    void run(const OrderView<Code>& order) {
        constexpr size_t kBlock = 64;
        size_t n_rows = order.words.size();
        if (n_rows <= kBlock) return scan_block(order, 0, n_rows);
        for (size_t first = 0; first < n_rows; first += kBlock) {
            size_t last = std::min(first + kBlock, n_rows);
            uint32_t ones = 0;
            for (size_t k = first; k < last; ++k) ones += order.words[k] & 1;
            if (can_win(static_cast<double>(first), static_cast<double>(last - first - ones), ones))
                scan_block(order, first, last);
            ones_ += ones;
        }
    }

private:
    bool can_win(double n_left, double zeros, double ones) const {
        double at = test_.n * static_cast<double>(ones_) - n_left * n1_;
        double up = at + ones * n0_, down = at - zeros * n1_;
        return test_.is_over(at, n_left) || test_.is_over(up, n_left + ones) ||
               test_.is_over(down, n_left + zeros) ||
               test_.is_over(up - zeros * n1_, n_left + zeros + ones);
    }

    template <class Code>
    void scan_block(const OrderView<Code>& order, size_t first, size_t last) {
        const double steps[2] = {-n1_, n0_};
        double at = test_.n * static_cast<double>(ones_) - static_cast<double>(first) * n1_;
        scan_sums(
            first, last, at, test_, [&](size_t k) { return steps[order.words[k] & 1]; },
            [&](size_t k, double) {
                if (order.is_legal(k, node_.rules.min_samples_leaf)) decide(order, first, k);
            });
    }

    template <class Code>
    void decide(const OrderView<Code>& order, size_t first, size_t k) {
        int64_t ones = ones_;
        for (size_t i = first; i <= k; ++i) ones += order.words[i] & 1;
        auto n_left = static_cast<int64_t>(k) + 1;
        int64_t left[2] = {n_left - ones, ones};
        int64_t right[2] = {node_.totals.slots[0] - left[0], node_.totals.slots[1] - left[1]};
        double quality = class_quality(Criterion::gini, left, right, 0, node_.target.logs);
        if (quality < findings_.floor) return;
        offer_cut(order, k, quality, findings_);
        update_limit();
    }

    void update_limit() {
        double base = node_.squares / test_.n;
        test_.limit = (findings_.floor * (1 - kSlack) - base) * test_.n / 2;
    }

    const NodeView<ClassTarget<int64_t>>& node_;
    Findings& findings_;
    double n0_, n1_;
    SumTest test_;
    int64_t ones_ = 0;  // in the rows before the block
};

// More classes. With A = sum l_c^2 and B = sum t_c l_c the quality is A / n_l + (T - 2 B + A) / n_r, T = sum t_c^2:
// a row of class c adds 2 l_c + 1 to A and t_c to B.
template <class Code>
void scan_classes(const NodeView<ClassTarget<int64_t>>& node, const OrderView<Code>& order,
                  Scratch<int64_t>& scratch, Findings& findings) {
    const std::vector<int64_t>& totals = node.totals.slots;
    double n = static_cast<double>(node.totals.rows), squares = node.squares;
    scratch.left.assign(totals.size(), 0);
    auto smallest = static_cast<size_t>(node.rules.min_samples_leaf);
    size_t n_rows = order.words.size();
    uint32_t mask = (uint32_t{1} << order.bits) - 1;
    double a = 0, b = 0, limit = findings.floor * (1 - kSlack);
    for (size_t k = 0; k + smallest < n_rows; ++k) {
        uint32_t label = order.words[k] & mask;
        int64_t count = scratch.left[label]++;
        a += static_cast<double>(2 * count + 1);
        b += static_cast<double>(totals[label]);
        double n_left = static_cast<double>(k + 1), n_right = n - n_left;
        if (a * n + (squares - 2 * b) * n_left < limit * n_left * n_right) continue;
        if (!order.is_legal(k, node.rules.min_samples_leaf)) continue;
        subtract(totals, scratch.left, scratch.right);
        double quality =
            class_quality(Criterion::gini, scratch.left, scratch.right, 0, node.target.logs);
        if (quality < findings.best.quality) continue;
        offer_cut(order, k, quality, findings);
        limit = findings.floor * (1 - kSlack);
    }
}

// Regression. With d the sum of y - mean on the left, the quality of a cut is n^2 d^2 / (n_l n_r). d is off by at most
// node.error in float64; a cut stays pending if it could still be the best, and floor rises with what
// a cut surely reaches.
//
// Where n times the sum of the targets has at most 53 bits (whole numbers, and small nodes of any short
// numbers), rows add n y - sum(y) instead: D = n d without an error, and D^2 / (n_l n_r) is the
// exact quality, rounding by rounding.
struct MeanStep {
    const double* y;
    double factor, mean;
    double operator()(uint32_t row) const { return factor * y[row] - mean; }
};
inline MeanStep step_of(const NodeView<MeanTarget<2>>& node) {
    return {node.target.y.data(), node.factor * node.target.unit, node.mean};
}
inline void offer_mean(const NodeView<MeanTarget<2>>& node, Pending cut, double d, double product,
                       Findings& findings) {
    if (node.is_exact) {
        double quality = d * d / product;
        if (quality >= findings.floor)
            findings.offer(numeric_split(quality, cut.column, cut.code, cut.next_code));
        return;
    }
    double scale = node.scale / product;
    double most = std::fabs(d) + node.error, least = std::max(0.0, std::fabs(d) - node.error);
    cut.upper = most * most * scale * (1 + kSlack);
    if (cut.upper < findings.floor) return;
    findings.pending.push_back(cut);
    findings.floor = std::max(findings.floor, least * least * scale * (1 - kSlack));
}

template <class Code>
void scan_means(const NodeView<MeanTarget<2>>& node, const OrderView<Code>& order,
                Findings& findings) {
    double n = static_cast<double>(order.words.size()), inverse_scale = (1 - kSlack) / node.scale;
    SumTest test{n, node.error, findings.floor * inverse_scale};
    MeanStep step = step_of(node);
    scan_sums(
        0, order.words.size() - 1, 0.0, test,
        [step, words = order.words.data()](size_t k) { return step(words[k]); },
        [&](size_t k, double d) {
            if (!order.is_legal(k, node.rules.min_samples_leaf)) return;
            double n_left = static_cast<double>(k + 1);
            offer_mean(node, {order.column, order.code(k), order.code(k + 1), 0.0}, d,
                       n_left * (n - n_left), findings);
            test.limit = findings.floor * inverse_scale;
        });
}

// A sparse column in one node: words and codes of the listed rows by ascending code; all other rows are at zero.
struct ListView {
    uint32_t column;
    std::span<const uint32_t> words, codes;
    int bits;
    uint32_t zero_code;
    bool has_zero;  // is any row of the node at zero?
};

// Every cut of a sparse column takes away some lowest rows below zero, or some highest rows above it: only listed
// rows are added up, in O(1) each as in scan_classes.
class ListedClassScan {
public:
    ListedClassScan(const NodeView<ClassTarget<int64_t>>& node, const ListView& list,
                    Scratch<int64_t>& scratch, Findings& findings)
        : node_(node), list_(list), counts_(scratch.counts), scratch_(scratch),
          findings_(findings) {
        counts_.resize(node.totals.slots.size(), 0);
        n_ = static_cast<double>(node.totals.rows);
    }

    void run() {
        size_t n_listed = list_.words.size(), n_below = 0;
        while (n_below < n_listed && list_.codes[n_below] < list_.zero_code) {
            take(n_below++);
            if (n_below == n_listed && !list_.has_zero) break;
            bool zero_is_next =
                list_.has_zero && (n_below == n_listed || list_.codes[n_below] > list_.zero_code);
            uint32_t next = zero_is_next ? list_.zero_code : list_.codes[n_below];
            if (next != list_.codes[n_below - 1]) try_cut(list_.codes[n_below - 1], next, true);
        }
        put_back(0, n_below);
        size_t k = n_listed;
        while (k > n_below) {
            take(--k);
            if (k == 0 && !list_.has_zero) break;
            bool zero_is_next = list_.has_zero && k == n_below;
            uint32_t next = zero_is_next ? list_.zero_code : list_.codes[k - 1];
            if (next != list_.codes[k]) try_cut(next, list_.codes[k], false);
        }
        put_back(k, n_listed);
    }

private:
    size_t label(size_t k) const { return list_.words[k] & ((uint32_t{1} << list_.bits) - 1); }
    void take(size_t k) {
        int64_t count = counts_[label(k)]++;
        a_ += static_cast<double>(2 * count + 1);
        b_ += static_cast<double>(node_.totals.slots[label(k)]);
        ++n_taken_;
    }
    void put_back(size_t first, size_t last) {
        for (size_t k = first; k < last; ++k) counts_[label(k)] = 0;
        a_ = b_ = 0;
        n_taken_ = 0;
    }
    void try_cut(uint32_t code, uint32_t next_code, bool is_left_taken) {
        double taken = static_cast<double>(n_taken_), product = taken * (n_ - taken);
        if (a_ * n_ + (node_.squares - 2 * b_) * taken < findings_.floor * (1 - kSlack) * product)
            return;
        int64_t smallest = node_.rules.min_samples_leaf;
        if (n_taken_ < smallest || node_.totals.rows - n_taken_ < smallest) return;
        subtract(node_.totals.slots, counts_, scratch_.right);
        const auto &left = is_left_taken ? counts_ : scratch_.right,
                   &right = is_left_taken ? scratch_.right : counts_;
        double quality = class_quality(Criterion::gini, left, right, 0, node_.target.logs);
        if (quality >= findings_.floor)
            findings_.offer(numeric_split(quality, list_.column, code, next_code));
    }

    const NodeView<ClassTarget<int64_t>>& node_;
    const ListView& list_;
    std::vector<int64_t>& counts_;  // of the rows taken; all zero between scans
    Scratch<int64_t>& scratch_;
    Findings& findings_;
    double n_, a_ = 0, b_ = 0;
    int64_t n_taken_ = 0;
};

// Can the kernels search this node?
template <class Target>
bool has_kernel(const NodeView<Target>& node) {
    if (node.end - node.begin > kMostRows || !node.target.is_unit() ||
        node.rules.min_weight_leaf > 0)
        return false;
    if constexpr (std::is_same_v<Target, ClassTarget<int64_t>>)
        return node.target.multipliers.empty() && node.rules.criterion == Criterion::gini;
    if constexpr (std::is_same_v<Target, MeanTarget<2>>) return node.target.unit != 0.0;
    return false;
}

// Returns whether the column was dealt with.
template <class Target, class Code>
bool scan_in_float64(const NodeView<Target>& node, const OrderView<Code>& order,
                     Scratch<typename Target::Slot>& scratch, Findings& findings) {
    if (!node.has_kernel) return false;
    if constexpr (std::is_same_v<Target, ClassTarget<int64_t>>) {
        if (order.bits == 0) return false;  // the class is not in the words
        if (node.target.n_classes == 2)
            TwoClassScan(node, findings).run(order);
        else
            scan_classes(node, order, scratch, findings);
        return true;
    } else if constexpr (std::is_same_v<Target, MeanTarget<2>>) {
        scan_means(node, order, findings);
        return true;
    }
    return false;
}

template <class Target>
bool scan_list_in_float64(const NodeView<Target>& node, const ListView& list,
                          Scratch<typename Target::Slot>& scratch, Findings& findings) {
    if constexpr (std::is_same_v<Target, ClassTarget<int64_t>>) {
        if (!node.has_kernel || list.bits == 0) return false;
        ListedClassScan(node, list, scratch, findings).run();
        return true;
    }
    return false;
}

// The mean and the error bound of scan_means, in units of the target's grid. A sum of n terms of at most
// sum |y - mean| <= sqrt(n spread) is off by less than n + 4 roundings of it, and the mean by one of its own.
template <class Target>
void prepare_float64(NodeView<Target>& node, const Description& description) {
    node.has_kernel = has_kernel(node);
    if constexpr (std::is_same_v<Target, ClassTarget<int64_t>>) {
        for (int64_t total : node.totals.slots)
            node.squares += static_cast<double>(total) * static_cast<double>(total);
    }
    if constexpr (std::is_same_v<Target, MeanTarget<2>>) {
        constexpr double kRounding = 1.0 / (int64_t{1} << 52);
        double n = static_cast<double>(node.n_rows());
        if (node.target.unit_bits + 2 * std::bit_width(node.end - node.begin) <= 53) {
            node.is_exact = true;
            node.factor = n;
            node.scale = 1.0;
            node.mean = to_double(node.totals.slots[0]);
            return;
        }
        double spread = scale_by_power(description.impurity * n, -2 * node.target.product_exponent);
        node.scale = n * n;
        node.mean = to_double(node.totals.slots[0]) / n;
        node.error = kRounding * ((n + 4) * std::sqrt(n * spread) + 2 * n * std::fabs(node.mean));
    }
}

// The exact quality of pending cuts. In small nodes several columns often make the same two groups of rows:
// equal sums have equal quality, on whichever side they stand.
class PendingJudge {
public:
    using Slot = MeanTarget<2>::Slot;
    PendingJudge(const Layout& layout, const NodeView<MeanTarget<2>>& node)
        : layout_(layout), node_(node) {}

    double quality(const Pending& cut) {
        Slot left{};
        int64_t n_left = 0;
        layout_.table->columns[cut.column].codes.with([&](auto* codes) {
            for (uint32_t row : node_.rows) {
                bool is_left = codes[row] <= cut.code;
                if (is_left) left += node_.target.product(row);
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
                   node_.target.quality({n_left, &left}, {n_right, &right}, node_.context, unused_);
    }

private:
    const Layout& layout_;
    const NodeView<MeanTarget<2>>& node_;
    int64_t n_left_ = -1;
    Slot left_{};
    double quality_ = 0;
    std::vector<int64_t> unused_;
};

// Decides between what is pending. One cut that nothing can reach needs no exact sum.
template <class Target>
void resolve_pending(const Layout& layout, const NodeView<Target>& node, Findings& findings) {
    if constexpr (std::is_same_v<Target, MeanTarget<2>>) {
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
