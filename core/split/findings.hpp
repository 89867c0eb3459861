// What a search through the columns of one node has found so far.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/lanes.hpp"
#include "base/memory.hpp"
#include "split/rules.hpp"
#include "split/split.hpp"
#include "stats/class_stats.hpp"
#include "stats/histogram.hpp"
#include "stats/mean_stats.hpp"

namespace treefold {

// More than every rounding error of a quality in float64, far less than any real difference.
inline constexpr double kSlack = 1.0 / (int64_t{1} << 40);

// What filters know of a node, by its statistics; most have none. A filter is a scan in floating point that leaves out what
// surely cannot win; it serves one criterion only, the one that it was proved for.
template <class Stats>
struct FilterState {
    bool serves = false;  // do the scans in float64 apply?
};
template <>
struct FilterState<ClassStats<int64_t>> {
    bool serves = false;
    const uint32_t* counts = nullptr;  // how often rows count; null: once
    double weight = 0.0;  // the sum of the totals
    double squares = 0.0;  // and of their squares
    bool has_glance = false;  // does can_reach() know anything?
    double parent_entropy = 0.0;  // as the context has it,
    double margin = 0.0;  // and more than an entropy in float64 is off
};
template <>
struct FilterState<MeanStats<2>> {
    bool serves = false;
    bool is_exact = false;  // a row adds factor * y - mean to a sum, in units; the sum may
    double factor = 1.0;  // be off by error, or not at all if it is exact
    double mean = 0.0;
    double error = 0.0;
    double scale = 1.0;  // the quality of a cut is scale * sum^2 / (n_l n_r)
};

// The node that is being searched.
template <class Stats>
struct NodeView {
    const Stats& stats;
    const Rules& rules;
    const typename Stats::Totals& totals;
    const typename Stats::Context& context;
    std::span<const uint32_t> rows;
    size_t begin = 0, end = 0;  // its stretch of Layout::rows and of every order
    Scaled variance{};  // of a mean
    FilterState<Stats> filter{};

    int64_t n_rows() const { return static_cast<int64_t>(end - begin); }
};

// A cut that only a scan in float64 has seen: `upper` is a bound of its quality.
struct Pending {
    uint32_t column, code, next_code;
    double upper;
};

// What a search of a small node keeps of each column until all are added up (search/compared_rows.hpp).
struct ComparedMemory {
    using Codes = std::array<IntLanes, 2>;  // of rows 0 to 7, and of rows 8 to 15
    struct Grouping {
        uint32_t column, left;  // the rows that go left, as bits
    };
    std::vector<Codes> codes;
    std::vector<std::array<FloatLanes, 2>>
        upper;  // a bound of the quality of the cut after each row
    std::vector<Grouping> survivors;

    void reserve(size_t n_columns) {
        if (codes.size() < n_columns) codes.resize(n_columns), upper.resize(n_columns);
    }
};

struct Findings {
    Split best;
    std::vector<Pending> pending;
    double floor =
        -std::numeric_limits<double>::infinity();  // some candidate is at least this good

    uint64_t n_offered = 0;

    void offer(Split&& split) {
        ++n_offered;
        if (!is_better(split, best)) return;
        best = std::move(split);
        floor = std::max(floor, best.quality);
    }
    void reset() {
        best = {};
        pending.clear();
        n_offered = 0;
        floor = -std::numeric_limits<double>::infinity();
    }
    void drop_hopeless() {
        std::erase_if(pending, [&](const Pending& cut) { return cut.upper < floor; });
    }
    void merge(Findings&& other) {
        if (other.best.exists()) offer(std::move(other.best));
        floor = std::max(floor, other.floor);
        n_offered += other.n_offered;
        pending.insert(pending.end(), other.pending.begin(), other.pending.end());
    }
};

// Of one column in one node, by the number of rows on the left less one (search/mean_filter.hpp).
struct RunningSums {
    std::vector<double> sums;
    std::vector<double> inverses;  // of the product of both sides' rows; NaN behind the last cut
    size_t n_rows = 0;             // that the inverses are for
};

// A category in a node: the sum of its rows' targets and how many they are (search/float_categories.hpp).
struct MeanCategory {
    double sum = 0, count = 0, mean = 0;
    uint32_t code = 0;
};

// Memory of one worker, used for node after node.
template <class Slot>
struct Scratch {
    std::vector<Slot> left, right, moved, missing, zero;
    Histogram<Slot> histogram;  // of one column, (code, slot); all zero between searches
    std::vector<int64_t> histogram_rows;  // per code, the same
    std::vector<int64_t> scaled;
    std::vector<int64_t> counts;  // per class; all zero between searches
    std::vector<uint64_t> pairs;  // code << 32 | row
    std::vector<uint32_t> spare;
    RunningSums sums;
    ComparedMemory compared;
    std::vector<MeanCategory> mean_categories;
    std::vector<uint32_t> present;  // categories in the node,
    std::vector<uint32_t> rare;  // those that go together,
    std::vector<uint32_t> groups;  // all, where the first of these stands for them,
    std::vector<std::pair<double, uint32_t>> by_share;  // their order,
    std::vector<uint32_t> chosen;  // and those of a candidate

    // Gives the pages of what has a place per row back; they come again with the rows of the next node.
    void forget_rows() {
        release_pages(spare.data(), spare.size() * sizeof(uint32_t));
        release_pages(sums.sums.data(), sums.sums.size() * sizeof(double));
        release_pages(sums.inverses.data(), sums.inverses.size() * sizeof(double));
        sums.n_rows = 0;
    }
};

template <class Slot>
void reserve_histogram(Scratch<Slot>& scratch, size_t n_codes, size_t width) {
    scratch.histogram.reserve_zeros((n_codes + 1) * width);
    if (scratch.histogram_rows.size() < n_codes + 1) scratch.histogram_rows.resize(n_codes + 1, 0);
}
template <class Slot>
void clear_histogram(Scratch<Slot>& scratch, size_t n_codes, size_t width) {
    std::fill_n(scratch.histogram.cells(), (n_codes + 1) * width, Slot(0));
    std::fill_n(scratch.histogram_rows.begin(), n_codes + 1, 0);
}

// What is not on the left is on the right.
template <class Totals, class Slot>
void subtract(const Totals& totals, const std::vector<Slot>& left, std::vector<Slot>& right) {
    right.resize(left.size());
    for (size_t k = 0; k < left.size(); ++k) right[k] = totals[k] - left[k];
}

inline bool can_reach_gini(const NodeView<ClassStats<int64_t>>& node, const int64_t* left,
                           double floor) {
    double squares_left = 0, squares_right = 0, weight_left = 0, weight_right = 0;
    for (size_t k = 0; k < node.stats.width(); ++k) {
        auto l = static_cast<double>(left[k]),
             r = static_cast<double>(node.totals.slots[k] - left[k]);
        squares_left += l * l, squares_right += r * r;
        weight_left += l, weight_right += r;
    }
    double reached = squares_left * weight_right + squares_right * weight_left;
    return !(reached * (1 + kSlack) < floor * (weight_left * weight_right));
}

inline bool can_reach_entropy(const NodeView<ClassStats<int64_t>>& node, const int64_t* left,
                              double floor) {
    const Logarithms& logs = node.stats.logs;
    double gain = node.filter.parent_entropy + node.filter.margin;
    int64_t weight_left = 0, weight_right = 0;
    for (size_t k = 0; k < node.stats.width(); ++k) {
        int64_t right = node.totals.slots[k] - left[k];
        gain += logs.times_log_float64(left[k]) + logs.times_log_float64(right);
        weight_left += left[k], weight_right += right;
    }
    double of_weights = logs.times_log_float64(weight_left) + logs.times_log_float64(weight_right);
    gain -= of_weights;
    if (node.rules.criterion == Criterion::entropy) return !(gain < floor);
    double information = logs.times_log_float64(weight_left + weight_right) - of_weights;
    information = (information - node.filter.margin) * (1 - kSlack);
    return floor <= 0 || information <= 0 || !(gain < floor * information);
}

// Can a candidate reach the best so far? A glance in float64 that says no only where that is sure.
// (MAGIC Gamma, entropy: 1.4 times as fast a growth.)
inline bool can_reach(const NodeView<ClassStats<int64_t>>& node, const int64_t* left,
                      double floor) {
    if (!node.filter.has_glance) return true;
    return node.rules.criterion == Criterion::gini ? can_reach_gini(node, left, floor)
                                                   : can_reach_entropy(node, left, floor);
}
template <class Stats>
bool can_reach(const NodeView<Stats>&, const typename Stats::Slot*, double) {
    return true;
}

// The exact quality of a candidate, less an allowance for chance; nothing if a side is too small, or if it cannot win.
template <class Stats>
std::optional<double> judge(const NodeView<Stats>& node,
                            const std::vector<typename Stats::Slot>& left, int64_t rows_left,
                            Scratch<typename Stats::Slot>& scratch, const Findings& findings,
                            double allowance = 0.0) {
    const Rules& rules = node.rules;
    int64_t rows_right = node.totals.rows - rows_left;
    if (rows_left < rules.min_samples_leaf || rows_right < rules.min_samples_leaf) return {};
    if (!can_reach(node, left.data(), findings.floor)) return {};
    subtract(node.totals.slots, left, scratch.right);
    Side<typename Stats::Slot> on_left{rows_left, left.data()},
        on_right{rows_right, scratch.right.data()};
    auto is_light = [&](const auto& side) {
        return node.stats.weight_of(side, node.context, scratch.scaled) < rules.min_weight_leaf;
    };
    if (rules.min_weight_leaf > 0.0 && (is_light(on_left) || is_light(on_right))) return {};
    double quality = node.stats.quality(on_left, on_right, node.context, scratch.scaled, allowance);
    if (quality < findings.floor) return {};
    return quality;
}

}  // namespace treefold
