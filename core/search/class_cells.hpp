// Cells of classes (few_columns.hpp): how many rows of one code have each class, and the cuts between such lines.
//
// Classes are renumbered to labels, those that the node has. Counts stand in lines of one cell per label and
// are added up four labels at a time. The cuts are for gini; other criteria are decided by the exact scans of the same lines.
#pragma once

#include <cstring>

#include "search/class_filter.hpp"
#include "search/two_class_lines.hpp"

namespace treefold {

class ClassCells {
public:
    using Stats = ClassStats<int64_t>;
    using Cell = uint32_t;  // (code, label): rows, or how often these count
    static constexpr bool kHasCutFilter = true;

    // Rows that count alike, or whole numbers of times.
    static bool serves(const NodeView<Stats>& node) {
        return node.rules.search == Search::fastest &&
               (node.stats.is_unit() || node.filter.counts != nullptr);
    }
    // Of members whose histograms are kept: cells of a line.
    static bool serves(const Stats& stats, const Rules& rules) {
        bool counts = stats.counts && stats.multipliers.empty() &&
                      rules.criterion == Criterion::gini && rules.min_weight_leaf <= 0.0 &&
                      rules.min_samples_leaf <= 1;
        return rules.search == Search::fastest && (stats.is_unit() || counts);
    }
    static size_t n_kept_cells(const Stats& stats) { return stats.width(); }

    size_t stride() const { return totals_.size(); }
    // Do lines tell how many rows they are of? Where rows count several times they do not.
    bool knows_rows() const { return !is_counted_; }

    // To read histograms that the node has kept: labels are the classes themselves.
    void prepare_kept(const NodeView<Stats>& node) {
        prepare_labels(node, true);
        is_counted_ = node.filter.counts != nullptr;
    }
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
    // To count the node's rows.
    void prepare(const NodeView<Stats>& node) {
        prepare_labels(node, false);
        labels_.resize(node.rows.size());
        for (size_t i = 0; i < node.rows.size(); ++i)
            labels_[i] = label_of_[static_cast<size_t>(node.stats.classes[node.rows[i]])];
        is_counted_ = node.filter.counts != nullptr;
        if (!is_counted_) return;
        counts_.resize(node.rows.size());
        for (size_t i = 0; i < node.rows.size(); ++i) counts_[i] = node.filter.counts[node.rows[i]];
    }

    std::span<const uint32_t> labels() const { return labels_; }
    std::span<const int64_t> totals() const { return totals_; }

    void fill(Histogram<Cell>& histogram, const HistogramLayout& layout, CodeRows codes,
              std::span<const uint32_t> rows) const {
        auto row_at = [rows](size_t i) -> size_t { return rows[i]; };
        auto label_at = [labels = labels_.data()](size_t i) { return labels[i]; };
        if (!is_counted_)
            return histogram.fill_alike(0, layout, codes, rows.size(), row_at, label_at,
                                        [](Cell* cell) { ++*cell; });
        histogram.fill(0, layout, codes, rows.size(), row_at, label_at, [this](size_t i) {
            return [count = counts_[i]](Cell* cell) { *cell += count; };
        });
    }
    // One column: run(add), where add(i, line) adds row i.
    template <class Run>
    void with_adding(Run&& run) const {
        if (is_counted_)
            run([this](size_t i, Cell* line) { line[labels_[i]] += counts_[i]; });
        else
            run([this](size_t i, Cell* line) { ++line[labels_[i]]; });
    }

    // Kept histograms: rows of a node by (column, code, class), of the few-valued columns first .. last - 1.
    static void fill_kept(Histogram<Cell>& histogram, const Plan& plan, const Stats& stats,
                          std::span<const uint32_t> rows, size_t first, size_t last) {
        HistogramLayout layout = plan.few_layout(first, last, stats.width());
        size_t begin = plan.few_starts[first] * stats.width();
        auto row_at = [rows](size_t i) -> size_t { return rows[i]; };
        auto class_at = [rows, classes = stats.classes.data()](size_t i) {
            return static_cast<uint32_t>(classes[rows[i]]);
        };
        if (!stats.counts)
            return histogram.fill_alike(begin, layout, plan.few_codes_from(first), rows.size(),
                                        row_at, class_at, [](Cell* cell) { ++*cell; });
        histogram.fill(begin, layout, plan.few_codes_from(first), rows.size(), row_at, class_at,
                       [rows, counts = stats.counts->data()](size_t i) {
                           return [count = counts[rows[i]]](Cell* cell) { *cell += count; };
                       });
    }

    bool is_used(const Cell* line) const {
        return std::any_of(line, line + stride(), [](Cell count) { return count != 0; });
    }

    // Cuts between the lines of the given codes, which ascend; line_at(k): the line of code k of them. Lines of no
    // row are skipped. False: the criterion asks for the exact scan.
    template <class LineAt>
    bool scan_cuts(const NodeView<Stats>& node, uint32_t column, std::span<const uint32_t> codes,
                   LineAt&& line_at, Findings& findings) {
        if (!node.filter.serves) return false;
        if (stride() == 2)
            scan_two(node, column, codes, line_at, findings);
        else if (total_lanes_.size() == 1)
            scan_more<1>(node, column, codes, line_at, findings);
        else if (total_lanes_.size() == 2)
            scan_more<2>(node, column, codes, line_at, findings);
        else
            scan_more<0>(node, column, codes, line_at, findings);
        return true;
    }

    // Can the cuts of many columns be rated at once?
    bool rates_columns(const NodeView<Stats>& node) const {
        return stride() == 2 && node.filter.serves;
    }
    // Those of columns first .. last - 1 of the plan's few columns, numeric and without missing rows. lines: of
    // all of them.
    void scan_columns(const NodeView<Stats>& node, const Plan& plan, size_t first, size_t last,
                      const Cell* lines, Findings& findings) {
        size_t begin = plan.few_starts[first], n_lines = plan.few_starts[last] - begin;
        double n = node.filter.weight, base = node.filter.squares / n;
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

    // Can a division of the lines in two reach the best so far? None is better than the division into all of them: the
    // quality is convex. (Connect-4, categories: 1.2 times as fast a growth.)
    template <class LineAt>
    bool can_reach(const NodeView<Stats>& node, size_t n_groups, LineAt&& line_at,
                   double floor) const {
        if (!node.filter.serves) return true;
        double bound = 0;
        for (size_t k = 0; k < n_groups; ++k) {
            const Cell* line = line_at(k);
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

    template <class LineAt>
    static bool scan_categories(const NodeView<Stats>&, uint32_t, const Column&,
                                std::span<const uint32_t>, LineAt&&, Scratch<int64_t>&, Findings&) {
        return false;
    }

    // Hands a line to the exact scans: adds it to slots, and returns its rows.
    int64_t give(const Cell* line, int64_t* slots) const {
        int64_t rows = 0;
        for (size_t k = 0; k < stride(); ++k) {
            slots[class_of_[k]] += line[k];
            rows += line[k];
        }
        return rows;
    }

private:
    // Two labels: the test of TwoClassScan.
    template <class LineAt>
    void scan_two(const NodeView<Stats>& node, uint32_t column, std::span<const uint32_t> codes,
                  LineAt&& line_at, Findings& findings) {
        double n1 = static_cast<double>(totals_[1]), squares = node.filter.squares;
        SumTest test{node.filter.weight, 0.0, 0.0};
        auto update_limit = [&] {
            test.limit = (findings.floor * (1 - kSlack) - squares / test.n) * test.n / 2;
        };
        update_limit();
        double smallest = smallest_side(node);
        int64_t n_left = 0, ones = 0;
        uint32_t previous = 0;
        for (size_t k = 0; k < codes.size(); ++k) {
            const Cell* line = line_at(k);
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
    void decide_line(const NodeView<Stats>& node, uint32_t column, const Cell* lines, size_t at,
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
        double n = node.filter.weight, n_left = 0, smallest = smallest_side(node);
        double limit = findings.floor * (1 - kSlack);
        uint32_t previous = 0;
        for (size_t k = 0; k < codes.size(); ++k) {
            const Cell* line = line_at(k);
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
    Lanes load(const Cell* line, size_t v) const {
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
