// Histograms of classes (few.hpp): what a group of rows with one code adds up to, and the cuts between groups.
//
// Classes are renumbered to labels, those that the node has. Counts stand in lines of one entry per label and
// are added up four labels at a time.
#pragma once

#include <cstring>

#include "search/kernels.hpp"
#include "search/two_class_lines.hpp"

namespace treefold {

class ClassGroups {
public:
    using Stats = ClassStats<int64_t>;
    using Entry = uint32_t;  // (code, label): rows
    static constexpr bool serves_categories = true;

    size_t stride() const { return totals_.size(); }

    // all_classes: labels are the classes themselves, as in kept histograms.
    void prepare_labels(const NodeView<Stats>& node, bool all_classes) {
        label_of_.resize(node.totals.slots.size());
        class_of_.clear();
        totals_.clear();
        for (size_t k = 0; k < label_of_.size(); ++k) {
            int64_t count = node.totals.slots[k];
            if (count == 0 && !all_classes) continue;
            label_of_[k] = static_cast<uint32_t>(totals_.size());
            class_of_.push_back(k);
            totals_.push_back(count);
        }
        prepare_lanes();
    }
    // The same for a given list of classes, which holds at least those of the node.
    void prepare_labels(const NodeView<Stats>& node, const std::vector<size_t>& classes) {
        class_of_ = classes;
        totals_.clear();
        for (size_t k : classes) totals_.push_back(node.totals.slots[k]);
        prepare_lanes();
    }
    void prepare(const NodeView<Stats>& node) {
        prepare_labels(node, false);
        labels_.resize(node.rows.size());
        for (size_t i = 0; i < node.rows.size(); ++i)
            labels_[i] = label_of_[static_cast<size_t>(node.stats.classes[node.rows[i]])];
        is_counted_ = node.counts != nullptr;
        if (!is_counted_) return;
        counts_.resize(node.rows.size());
        for (size_t i = 0; i < node.rows.size(); ++i) counts_[i] = node.counts[node.rows[i]];
    }

    std::span<const uint32_t> labels() const { return labels_; }
    std::span<const int64_t> totals() const { return totals_; }

    // Where in a line row i counts, and what.
    uint32_t base(size_t i) const { return labels_[i]; }
    template <class Run>
    void with_rows(Run&& run) const {
        if (is_counted_)
            run([this](size_t i) { return counts_[i]; });
        else
            run([](size_t) { return Entry{1}; });
    }
    static void add(Entry* entry, Entry count) { *entry += count; }

    bool is_used(const Entry* line) const {
        return std::any_of(line, line + stride(), [](Entry count) { return count != 0; });
    }

    // Cuts between the groups of the given codes, which ascend; line_at(k): the line of code k of them. Groups of no
    // row are skipped.
    template <class LineAt>
    void scan_cuts(const NodeView<Stats>& node, uint32_t column, std::span<const uint32_t> codes,
                   LineAt&& line_at, Findings& findings) {
        if (stride() == 2)
            scan_two(node, column, codes, line_at, findings);
        else if (total_lanes_.size() == 1)
            scan_more<1>(node, column, codes, line_at, findings);
        else if (total_lanes_.size() == 2)
            scan_more<2>(node, column, codes, line_at, findings);
        else
            scan_more<0>(node, column, codes, line_at, findings);
    }

    // Cuts of columns first .. last - 1 of the plan's few columns, numeric and without missing rows, by two labels. lines: of
    // all of them.
    void scan_columns(const NodeView<Stats>& node, const Plan& plan, size_t first, size_t last,
                      const Entry* lines, Findings& findings) {
        size_t begin = plan.few_starts[first], n_lines = plan.few_starts[last] - begin;
        double n = node.weight, base = node.squares / n;
        double best = two_class_lines_.rate(
            {lines, 2 * n_lines}, plan.few_lines.subspan(begin, n_lines),
            static_cast<uint32_t>(first),
            {static_cast<uint32_t>(totals_[0]), static_cast<uint32_t>(totals_[1])},
            smallest_side(node));
        double floor = std::max(findings.floor, base + best * 2 / n);
        double limit = (floor * (1 - kSlack) - base) * n / 2;
        if (best < 0 || best < limit) return;  // below zero: there is no cut
        two_class_lines_.for_each_reaching(limit, [&](size_t line) {
            size_t column = plan.few_lines[begin + line];
            size_t start = plan.few_starts[column] - begin;
            decide_line(node, plan.few_columns[column], lines + 2 * start, line - start, findings);
        });
    }

    // Can a division of the groups in two reach the best so far? None is better than the division into all groups: the
    // quality is convex. (Connect-4, categories: 1.2 times as fast a growth.)
    template <class LineAt>
    bool can_reach(size_t n_groups, LineAt&& line_at, double floor) const {
        double bound = 0;
        for (size_t k = 0; k < n_groups; ++k) {
            const Entry* line = line_at(k);
            double squares = 0, rows = 0;
            for (size_t label = 0; label < stride(); ++label) {
                double count = line[label];
                squares += count * count;
                rows += count;
            }
            if (rows > 0) bound += squares / rows;
        }
        return bound * (1 + kSlack) >= floor;
    }

    // Hands a category (or the missing rows) to the exact scan; returns its rows.
    int64_t give(const Entry* line, int64_t* slots) const {
        int64_t rows = 0;
        for (size_t k = 0; k < stride(); ++k) {
            slots[class_of_[k]] = line[k];
            rows += line[k];
        }
        return rows;
    }

private:
    // Two labels: the test of TwoClassScan.
    template <class LineAt>
    void scan_two(const NodeView<Stats>& node, uint32_t column, std::span<const uint32_t> codes,
                  LineAt&& line_at, Findings& findings) {
        double n1 = static_cast<double>(totals_[1]), squares = node.squares;
        SumTest test{node.weight, 0.0, 0.0};
        auto update_limit = [&] {
            test.limit = (findings.floor * (1 - kSlack) - squares / test.n) * test.n / 2;
        };
        update_limit();
        double smallest = smallest_side(node);
        int64_t n_left = 0, ones = 0;
        uint32_t previous = 0;
        for (size_t k = 0; k < codes.size(); ++k) {
            const Entry* line = line_at(k);
            int64_t n_added = int64_t{line[0]} + line[1];
            if (n_added == 0) continue;
            double left = static_cast<double>(n_left);
            if (test.n - left < smallest) return;
            if (left >= smallest &&
                test.is_over(test.n * static_cast<double>(ones) - left * n1, left)) {
                left_.assign({n_left - ones, ones});
                decide(node, column, previous, codes[k], findings);
                update_limit();
            }
            n_left += n_added;
            ones += line[1];
            previous = codes[k];
        }
    }

    // The cut behind a line of one column, with a row behind it.
    void decide_line(const NodeView<Stats>& node, uint32_t column, const Entry* lines, size_t at,
                     Findings& findings) {
        auto is_empty = [lines](size_t k) { return (lines[2 * k] | lines[2 * k + 1]) == 0; };
        if (is_empty(at)) return;  // the same cut as before
        left_.assign({0, 0});
        for (size_t k = 0; k <= at; ++k) left_[0] += lines[2 * k], left_[1] += lines[2 * k + 1];
        size_t next = at + 1;
        while (is_empty(next)) ++next;
        decide(node, column, static_cast<uint32_t>(at), static_cast<uint32_t>(next), findings);
    }

    // The quality of a cut is A / n_l + B / n_r, where A and B sum the squared counts of either side. Both are whole
    // numbers below 2^53, so A n_r + B n_l is off by a few roundings at most. N: how many lanes a line takes, if known.
    template <size_t N, class LineAt>
    void scan_more(const NodeView<Stats>& node, uint32_t column, std::span<const uint32_t> codes,
                   LineAt&& line_at, Findings& findings) {
        const size_t n_lanes = N == 0 ? total_lanes_.size() : N;
        Lanes own[N == 0 ? 1 : N];
        Lanes* left = N == 0 ? left_lanes_.data() : own;
        std::fill_n(left, n_lanes, Lanes{});
        double n = node.weight, n_left = 0, smallest = smallest_side(node);
        double limit = findings.floor * (1 - kSlack);
        uint32_t previous = 0;
        for (size_t k = 0; k < codes.size(); ++k) {
            const Entry* line = line_at(k);
            Lanes added{}, a{}, b{};
            for (size_t v = 0; v < n_lanes; ++v) added += load(line, v);
            double n_added = sum_lanes(added);
            if (n_added == 0) continue;
            if (n - n_left < smallest) return;
            if (n_left >= smallest) {
                for (size_t v = 0; v < n_lanes; ++v) {
                    Lanes right = total_lanes_[v] - left[v];
                    a += left[v] * left[v];
                    b += right * right;
                }
                double reached = sum_lanes(a * (n - n_left) + b * n_left);
                if (reached >= limit * (n_left * (n - n_left))) {
                    take_counts(left);
                    decide(node, column, previous, codes[k], findings);
                    limit = findings.floor * (1 - kSlack);
                }
            }
            for (size_t v = 0; v < n_lanes; ++v) left[v] += load(line, v);
            n_left += n_added;
            previous = codes[k];
        }
    }

    static double smallest_side(const NodeView<Stats>& node) {
        return static_cast<double>(std::max<int64_t>(1, node.rules.min_samples_leaf));
    }

    // Lanes v of a line hold four labels; the last ones end with the line, and leave out what came before.
    size_t first_label(size_t v) const {
        bool is_last = v + 1 == total_lanes_.size();
        return is_last && stride() > 4 ? stride() - 4 : 4 * v;
    }
    Lanes load(const Entry* line, size_t v) const {
        if (stride() < 4)
            return Lanes{static_cast<double>(line[0]), static_cast<double>(line[1]),
                         static_cast<double>(line[2]), 0.0};
        IntLanes4 counts;
        std::memcpy(&counts, line + first_label(v), sizeof counts);
        if (v + 1 == total_lanes_.size()) counts &= last_mask_;
        return __builtin_convertvector(counts, Lanes);
    }
    void prepare_lanes() {
        size_t n_lanes = (stride() + 3) / 4, n_doubled = stride() > 4 ? 4 * n_lanes - stride() : 0;
        total_lanes_.resize(n_lanes);
        left_lanes_.resize(n_lanes);
        for (size_t v = 0; v < n_lanes; ++v)
            for (size_t lane = 0; lane < 4; ++lane) {
                size_t label = first_label(v) + lane;
                bool is_doubled = v + 1 == n_lanes && lane < n_doubled;
                last_mask_[lane] = is_doubled ? 0 : -1;
                total_lanes_[v][lane] =
                    is_doubled || label >= stride() ? 0.0 : static_cast<double>(totals_[label]);
            }
    }
    void take_counts(const Lanes* left) {
        left_.resize(stride());
        for (size_t v = total_lanes_.size(); v-- > 0;)  // what is left out is overwritten
            for (size_t lane = 0; lane < 4 && first_label(v) + lane < stride(); ++lane)
                left_[first_label(v) + lane] = static_cast<int64_t>(left[v][lane]);
    }

    // A cut with both sides large enough.
    void decide(const NodeView<Stats>& node, uint32_t column, uint32_t code, uint32_t next_code,
                Findings& findings) {
        subtract(totals_, left_, right_);
        double quality = class_quality(Criterion::gini, left_, right_, 0, node.stats.logs);
        if (quality >= findings.floor)
            findings.offer(numeric_split(quality, column, code, next_code));
    }

    TwoClassLines two_class_lines_;
    std::vector<uint32_t> labels_;  // per row of the node
    std::vector<uint32_t> counts_;  // the same, if rows count more than once
    bool is_counted_ = false;
    std::vector<uint32_t> label_of_;  // per class
    std::vector<size_t> class_of_;  // per label
    std::vector<int64_t> totals_, left_, right_;  // per label
    std::vector<Lanes> total_lanes_, left_lanes_;
    IntLanes4 last_mask_{};
};

}  // namespace treefold
