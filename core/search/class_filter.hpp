// The filters of classes, for gini: of a kept order, and of the listed rows of a sparse column.
#pragma once

#include <array>

#include "base/lanes.hpp"
#include "search/filter.hpp"

namespace treefold {

// Two classes. With D = n l1 - n_l n1 the gini quality is q0 + 2 D^2 / (n n_l n_r): a cut can win only if
// D^2 >= limit n_l n_r. D^2 / (n_l n_r) is convex in (n_l, l1), so over a block it is largest in a corner
// of the parallelogram that its class counts span.
class TwoClassScan {
public:
    TwoClassScan(const NodeView<ClassStats<int64_t>>& node, Findings& findings)
        : node_(node), findings_(findings) {
        test_.n = node.filter.weight;
        n0_ = static_cast<double>(node.totals.slots[0]);
        n1_ = static_cast<double>(node.totals.slots[1]);
        update_limit();
    }

    template <class Code>
    void run(const OrderView<Code>& order) {
        constexpr size_t kBlock = 64;
        size_t n_rows = order.words.size();
        if (node_.filter.counts != nullptr) return run_counted(order);
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
    // Rows that count more than once.
    template <class Code>
    void run_counted(const OrderView<Code>& order) {
        const double steps[2] = {-n1_, n0_};
        double at = 0, n_left = 0;
        for (size_t k = 0; k + 1 < order.words.size(); ++k) {
            double count = node_.filter.counts[order.words[k] >> order.bits];
            at += count * steps[order.words[k] & 1];
            n_left += count;
            if (test_.is_over(at, n_left) && order.is_legal(k, node_.rules.min_samples_leaf))
                decide(order, k, static_cast<int64_t>(n_left),
                       static_cast<int64_t>((at + n_left * n1_) / test_.n));
        }
    }

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
                if (!order.is_legal(k, node_.rules.min_samples_leaf)) return;
                int64_t ones = ones_;
                for (size_t i = first; i <= k; ++i) ones += order.words[i] & 1;
                decide(order, k, static_cast<int64_t>(k) + 1, ones);
            });
    }

    template <class Code>
    void decide(const OrderView<Code>& order, size_t k, int64_t n_left, int64_t ones) {
        int64_t left[2] = {n_left - ones, ones};
        int64_t right[2] = {node_.totals.slots[0] - left[0], node_.totals.slots[1] - left[1]};
        double quality = class_quality(Criterion::gini, left, right, 0, node_.stats.logs);
        if (quality < findings_.floor) return;
        offer_cut(order, k, quality, findings_);
        update_limit();
    }

    void update_limit() {
        double base = node_.filter.squares / test_.n;
        test_.limit = (findings_.floor * (1 - kSlack) - base) * test_.n / 2;
    }

    const NodeView<ClassStats<int64_t>>& node_;
    Findings& findings_;
    double n0_, n1_;
    SumTest test_;
    int64_t ones_ = 0;  // in the rows before the block
};

// More classes. With A = sum l_c^2 and B = sum t_c l_c the quality is A / n_l + (T - 2 B + A) / n_r, T = sum t_c^2:
// a row of class c adds 2 l_c + 1 to A and t_c to B. All are whole numbers below 2^53.
//
// The quality is convex in the counts l_c, so over a block of rows it is largest in a corner of the box that its class
// counts span: where each class of the block is either all on the left or not at all.
// (Covertype: 1.2 times as fast a growth.)
template <class Code>
class ClassScan {
public:
    ClassScan(const NodeView<ClassStats<int64_t>>& node, const OrderView<Code>& order,
              Scratch<int64_t>& scratch, Findings& findings)
        : node_(node), order_(order), totals_(node.totals.slots), left_(scratch.left),
          right_(scratch.right), findings_(findings) {
        n_ = node.filter.weight;
        left_.assign(totals_.size(), 0);
        update_limit();
    }

    void run() {
        size_t n_rows = order_.words.size();
        if (node_.filter.counts != nullptr)
            return scan_block(0, n_rows - 1, [this](size_t k) {
                return static_cast<int64_t>(node_.filter.counts[order_.words[k] >> order_.bits]);
            });
        auto once = [](size_t) { return int64_t{1}; };
        if (totals_.size() > kFields || n_rows < 4 * kBlock) return scan_block(0, n_rows - 1, once);
        for (size_t first = 0; first < n_rows; first += kBlock) {
            size_t last = std::min(first + kBlock, n_rows);
            uint64_t counts = 0;
            for (size_t k = first; k < last; ++k) counts += uint64_t{1} << (kFieldBits * label(k));
            if (can_win(counts))
                scan_block(first, std::min(last, n_rows - 1), once);
            else
                skip_block(counts);
        }
    }

private:
    static constexpr size_t kBlock = 64, kFields = 8, kMostClasses = 4;
    static constexpr int kFieldBits = 8;  // rows per class of a block, side by side

    struct Sums {
        double a, b, n_left;
    };
    uint32_t label(size_t k) const { return order_.words[k] & ((uint32_t{1} << order_.bits) - 1); }
    bool is_over(const Sums& at) const {
        double n_right = n_ - at.n_left;
        double reached = at.a * n_right + (node_.filter.squares - 2 * at.b + at.a) * at.n_left;
        return !(reached < limit_ * (at.n_left * n_right));
    }
    void update_limit() { limit_ = findings_.floor * (1 - kSlack); }

    // What `rows` rows of a class add.
    Sums step(size_t label, double rows) const {
        double before = static_cast<double>(left_[label]);
        return {rows * (2 * before + rows), rows * static_cast<double>(totals_[label]), rows};
    }
    template <class Visit>
    static void for_each_class(uint64_t counts, Visit&& visit) {
        for (size_t label = 0; counts != 0; ++label, counts >>= kFieldBits)
            if ((counts & 255) != 0) visit(label, static_cast<double>(counts & 255));
    }

    bool can_win(uint64_t counts) const {
        std::array<Sums, size_t{1} << kMostClasses> corners;
        corners[0] = sums_;
        size_t n_corners = 1, n_classes = 0;
        for_each_class(counts, [&](size_t label, double rows) {
            if (++n_classes > kMostClasses) return;
            Sums more = step(label, rows);
            for (size_t k = 0; k < n_corners; ++k)
                corners[n_corners + k] = {corners[k].a + more.a, corners[k].b + more.b,
                                          corners[k].n_left + more.n_left};
            n_corners *= 2;
        });
        if (n_classes > kMostClasses) return true;
        return std::any_of(corners.begin(), corners.begin() + n_corners,
                           [&](const Sums& corner) { return is_over(corner); });
    }
    void skip_block(uint64_t counts) {
        for_each_class(counts, [&](size_t label, double rows) {
            Sums more = step(label, rows);
            sums_ = {sums_.a + more.a, sums_.b + more.b, sums_.n_left + more.n_left};
            left_[label] += static_cast<int64_t>(rows);
        });
    }

    // count(k): how often row k counts.
    template <class Count>
    void scan_block(size_t first, size_t last, Count&& count) {
        Sums sums = sums_;
        for (size_t k = first; k < last; ++k) {
            uint32_t c = label(k);
            int64_t added = count(k);
            sums.a += static_cast<double>(added * (2 * left_[c] + added));
            sums.b += static_cast<double>(added * totals_[c]);
            sums.n_left += static_cast<double>(added);
            left_[c] += added;
            if (is_over(sums) && order_.is_legal(k, node_.rules.min_samples_leaf)) decide(k);
        }
        sums_ = sums;
    }
    void decide(size_t k) {
        subtract(totals_, left_, right_);
        double quality = class_quality(Criterion::gini, left_, right_, 0, node_.stats.logs);
        if (quality < findings_.floor) return;
        offer_cut(order_, k, quality, findings_);
        update_limit();
    }

    const NodeView<ClassStats<int64_t>>& node_;
    const OrderView<Code>& order_;
    const ShortLine<int64_t>& totals_;
    std::vector<int64_t>&left_, &right_;
    Findings& findings_;
    Sums sums_{0, 0, 0};  // of the rows before the block
    double n_ = 0, limit_ = 0;
};

// Every cut of a sparse column takes away some lowest rows below zero, or some highest rows above it: only listed
// rows are added up, in O(1) each as in ClassScan.
class ListedClassScan {
public:
    ListedClassScan(const NodeView<ClassStats<int64_t>>& node, const ListView& list,
                    Scratch<int64_t>& scratch, Findings& findings)
        : node_(node), list_(list), counts_(scratch.counts), scratch_(scratch),
          findings_(findings) {
        counts_.resize(node.totals.slots.size(), 0);
        n_ = node.filter.weight;
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
        size_t c = label(k);
        int64_t added =
            node_.filter.counts == nullptr ? 1 : node_.filter.counts[list_.words[k] >> list_.bits];
        a_ += static_cast<double>(added * (2 * counts_[c] + added));
        b_ += static_cast<double>(added * node_.totals.slots[c]);
        counts_[c] += added;
        n_taken_ += added;
    }
    void put_back(size_t first, size_t last) {
        for (size_t k = first; k < last; ++k) counts_[label(k)] = 0;
        a_ = b_ = 0;
        n_taken_ = 0;
    }
    void try_cut(uint32_t code, uint32_t next_code, bool is_left_taken) {
        double taken = static_cast<double>(n_taken_), others = n_ - taken;
        double reached = a_ * others + (node_.filter.squares - 2 * b_ + a_) * taken;
        if (reached < findings_.floor * (1 - kSlack) * (taken * others)) return;
        int64_t smallest = node_.rules.min_samples_leaf;
        if (n_taken_ < smallest || static_cast<int64_t>(n_) - n_taken_ < smallest) return;
        subtract(node_.totals.slots, counts_, scratch_.right);
        const auto &left = is_left_taken ? counts_ : scratch_.right,
                   &right = is_left_taken ? scratch_.right : counts_;
        double quality = class_quality(Criterion::gini, left, right, 0, node_.stats.logs);
        if (quality >= findings_.floor)
            findings_.offer(numeric_split(quality, list_.column, code, next_code));
    }

    const NodeView<ClassStats<int64_t>>& node_;
    const ListView& list_;
    std::vector<int64_t>& counts_;  // of the rows taken; all zero between scans
    Scratch<int64_t>& scratch_;
    Findings& findings_;
    double n_, a_ = 0, b_ = 0;
    int64_t n_taken_ = 0;
};

template <>
struct Filter<ClassStats<int64_t>> {
    using Stats = ClassStats<int64_t>;
    using Node = NodeView<Stats>;

    static void prepare(Node& node, const Description&) {
        node.filter.serves = is_filtered(node) && filters_classes(node.rules);
        for (int64_t total : node.totals.slots) {
            node.filter.weight += static_cast<double>(total);
            node.filter.squares += static_cast<double>(total) * static_cast<double>(total);
        }
        if (node.rules.search == Search::fastest) prepare_glance(node);
    }
    static void prepare_alone(Node& node, const Description& description) {
        prepare(node, description);
        prepare_counts(node);
    }
    // Both sides of the best split are pure: its quality is the number of rows, which no other passes, and only a lower
    // column could share it. (Half of Covertype's nodes of up to 16 rows have such a split.)
    static bool is_settled(const Node& node, uint32_t column, const Findings& findings) {
        return node.filter.serves && findings.best.column < column &&
               findings.best.quality == node.filter.weight;
    }
    template <class Code>
    static bool scan(const Node& node, const OrderView<Code>& order, Scratch<int64_t>& scratch,
                     Findings& findings) {
        if (!node.filter.serves) return false;
        if (is_settled(node, order.column, findings)) return true;
        if (order.bits == 0) return false;  // the class is not in the words
        if (node.stats.n_classes == 2)
            TwoClassScan(node, findings).run(order);
        else
            ClassScan(node, order, scratch, findings).run();
        return true;
    }
    static bool scan(const Node& node, const ListView& list, Scratch<int64_t>& scratch,
                     Findings& findings) {
        if (!node.filter.serves || list.bits == 0) return false;
        ListedClassScan(node, list, scratch, findings).run();
        return true;
    }
    static void resolve(const Layout&, const Node&, Findings&) {}

private:
    // Rows that count more than once. Sums of them do not tell how many rows they are of: leaves may be of one row.
    // (MAGIC Gamma, a bag: 5 times as fast a growth as by the exact scans.)
    static void prepare_counts(Node& node) {
        const Stats& stats = node.stats;
        if (node.filter.serves || !stats.counts || !filters_classes(node.rules) ||
            node.rules.min_samples_leaf > 1)
            return;
        node.filter.counts = stats.counts->data();
        node.filter.serves = true;
    }

    // What can_reach() needs. A sum of 2C + 4 terms of at most W log W each, off by less than a rounding of their sum with
    // every addition.
    static void prepare_glance(Node& node) {
        const Stats& stats = node.stats;
        constexpr size_t kMostClasses = 1024;  // whose roundings stay below kSlack
        if (!stats.multipliers.empty() || stats.width() > kMostClasses) return;
        if (node.rules.criterion != Criterion::gini) {
            int64_t total = total_of(node.totals.slots);
            if (static_cast<uint64_t>(total) >= stats.logs.size()) return;
            constexpr double kRounding = 1.0 / (int64_t{1} << 52);
            double n_terms = 2.0 * static_cast<double>(stats.width()) + 4.0;
            node.filter.margin =
                n_terms * n_terms * kRounding * stats.logs.times_log_float64(total);
            node.filter.parent_entropy = static_cast<double>(node.context.parent_entropy);
        }
        node.filter.has_glance = true;
    }
};

}  // namespace treefold
