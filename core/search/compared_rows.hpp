// Regression nodes of three to sixteen rows: all cuts of a column at once, by comparing every row with every other.
//
//   lane i      the cut after the value of row i: the rows j with code_j <= code_i go left
//   sum         of y_j - mean over those rows, in float32 relative to the largest: a filter with a margin
//   survivors   of all columns that make the same two groups of rows are equally good; only where groups differ, exact
//               sums decide
//
// Such nodes need no kept order, so none is divided for them, and no jump depends on the data until all columns are
// added up (kin8nm: 1.3 times as fast a growth). Needs unit weights and no missing values: see most_rows_at_once().
#pragma once

#include <array>

#include "search/mean_filter.hpp"

namespace treefold {

class ComparedRows {
public:
    using Stats = MeanStats<2>;

    ComparedRows(const Table& table, const NodeView<Stats>& node, ComparedMemory& memory,
                 Findings& findings)
        : table_(table), node_(node), memory_(memory), findings_(findings) {
        std::copy(node.rows.begin(), node.rows.end(), rows_.begin());
        prepare_values();
        prepare_inverses();
    }

    // alone(column) searches a column with three or more categories.
    template <class Alone>
    void run(Alone&& alone) {
        switch (node_.rows.size()) {
            case 3: return run_rows<3>(alone);
            case 4: return run_rows<4>(alone);
            case 5: return run_rows<5>(alone);
            case 6: return run_rows<6>(alone);
            case 7: return run_rows<7>(alone);
            case 8: return run_rows<8>(alone);
            case 9:
            case 10: return run_rows<10>(alone);
            case 11:
            case 12: return run_rows<12>(alone);
            case 13:
            case 14: return run_rows<14>(alone);
            default: return run_rows<16>(alone);
        }
    }

private:
    using Codes = ComparedMemory::Codes;
    using Grouping = ComparedMemory::Grouping;

    // A value has 24 bits and is at most 1; adding up to sixteen of them loses less than 2^-16. The mean in float64
    // is off by 2^-52 of itself at most, once per row.
    void prepare_values() {
        double largest = 0.0;
        std::array<double, kComparedRows> exact;
        MeanStep step = step_of(node_);
        for (size_t k = 0; k < node_.rows.size(); ++k) {
            exact[k] = step(rows_[k]);
            largest = std::max(largest, std::fabs(exact[k]));
        }
        for (size_t k = 0; k < node_.rows.size(); ++k)
            values_[k] = static_cast<float>(exact[k] * (1.0 / largest));
        constexpr double kRounding = 1.0 / (1 << 15), kMeanRounding = 1.0 / (int64_t{1} << 47);
        error_ = static_cast<float>(kRounding +
                                    kMeanRounding * (std::fabs(node_.filter.mean) / largest));
        unit_ = largest * largest * node_.filter.scale;
    }

    // One over the rows of either side, by the rows on the left; NaN, which passes no test, where a side is too small.
    void prepare_inverses() {
        constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
        inverses_ = {FloatLanes{} + kNone, FloatLanes{} + kNone};
        auto n = static_cast<int64_t>(node_.rows.size()),
             smallest = std::max<int64_t>(1, node_.rules.min_samples_leaf);
        for (int64_t left = smallest; left <= n - smallest; ++left)
            inverses_[static_cast<size_t>(left) / 8][left % 8] =
                1.0f / static_cast<float>(left * (n - left));
    }

    // N: lanes in use. The last one may lack a row: it has the highest code, so its cut has nobody on the right.
    template <int N, class Alone>
    void run_rows(Alone&& alone) {
        constexpr size_t kHalves = N > 8 ? 2 : 1;
        size_t n_columns = table_.columns.size();
        memory_.reserve(n_columns);
        FloatLanes floor{};
        for (uint32_t at = 0; at < n_columns; ++at) {
            const Column& column = table_.columns[at];
            Codes& codes = memory_.codes[at];
            column.codes.with([&](auto* of_rows) { load<N>(of_rows, codes); });
            std::array<FloatLanes, 2>& upper = memory_.upper[at];
            if (column.is_categorical && has_three_values(codes)) {
                for (size_t half = 0; half < kHalves; ++half) upper[half] = FloatLanes{} - 1.0f;
                alone(at);
            } else {
                add_up<N>(codes, upper, floor);
            }
        }
        for (int lane = 0; lane < 8; ++lane) floor_ = std::max(floor_, floor[lane]);
        if (findings_.best.exists()) raise_floor();
        list_survivors(kHalves);
        decide();
    }

    template <int N, class Code>
    void load(const Code* codes, Codes& lanes) const {
        bool is_full = node_.rows.size() == N;
        auto at = [&](int k) {
            if (k < N - 1 || (k == N - 1 && is_full)) return static_cast<int32_t>(codes[rows_[k]]);
            return INT32_MAX;
        };
        lanes[0] = IntLanes{at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)};
        if constexpr (N > 8)
            lanes[1] = IntLanes{at(8), at(9), at(10), at(11), at(12), at(13), at(14), at(15)};
    }
    bool has_three_values(const Codes& codes) const {
        auto others = [&](int32_t code) {
            uint32_t bits = lane_bits(codes[0] != code);
            if (node_.rows.size() > 8) bits |= lane_bits(codes[1] != code) << 8;
            return bits & all_rows();
        };
        uint32_t not_first = others(codes[0][0]);
        if (not_first == 0) return false;
        int second = std::countr_zero(not_first);
        return (not_first & others(codes[static_cast<size_t>(second) / 8][second % 8])) != 0;
    }

    // What the cuts of a column can reach at most; floor: what some cut of each lane surely reaches.
    template <int N>
    void add_up(const Codes& codes, std::array<FloatLanes, 2>& upper, FloatLanes& floor) const {
        constexpr size_t kHalves = N > 8 ? 2 : 1;
        std::array<FloatLanes, 2> sums{};
        std::array<IntLanes, 2> n_left{IntLanes{} + N, IntLanes{} + N};
        for (int j = 0; j < N; ++j) {
            IntLanes code = __builtin_shuffle(codes[j / 8], IntLanes{} + j % 8);
            auto value = reinterpret_cast<IntLanes>(FloatLanes{} + values_[j]);
            for (size_t half = 0; half < kHalves; ++half) {
                IntLanes is_right = code > codes[half];
                sums[half] += reinterpret_cast<FloatLanes>(value & ~is_right);
                n_left[half] += is_right;
            }
        }
        const IntLanes no_sign = IntLanes{} + INT32_MAX;
        for (size_t half = 0; half < kHalves; ++half) {
            FloatLanes inverse = kHalves == 1
                                     ? __builtin_shuffle(inverses_[0], n_left[half])
                                     : __builtin_shuffle(inverses_[0], inverses_[1], n_left[half]);
            FloatLanes size =
                reinterpret_cast<FloatLanes>(reinterpret_cast<IntLanes>(sums[half]) & no_sign);
            FloatLanes most = size + error_, least = size - error_;
            least = least > 0.0f ? least : FloatLanes{};
            upper[half] = most * most * inverse;
            FloatLanes lower = least * least * inverse * (1 - kMargin);
            floor = lower > floor ? lower : floor;
        }
    }

    void list_survivors(size_t n_halves) {
        memory_.survivors.clear();
        for (uint32_t at = 0; at < table_.columns.size(); ++at)
            for (size_t half = 0; half < n_halves; ++half)
                for (uint32_t hits = lane_bits(memory_.upper[at][half] >= floor_); hits != 0;
                     hits &= hits - 1)
                    keep(at, half, std::countr_zero(hits));
    }
    void keep(uint32_t column, size_t half, int lane) {
        const Codes& codes = memory_.codes[column];
        int32_t code = codes[half][lane];
        uint32_t right = lane_bits(codes[0] > code);
        if (node_.rows.size() > 8) right |= lane_bits(codes[1] > code) << 8;
        memory_.survivors.push_back({column, all_rows() & ~right});
    }
    uint32_t all_rows() const { return (uint32_t{1} << node_.rows.size()) - 1; }

    // Equal groups have equal quality, on whichever side they stand.
    void decide() {
        const std::vector<Grouping>& survivors = memory_.survivors;
        if (survivors.empty()) return;
        uint32_t first = survivors[0].left;
        auto is_first = [&](const Grouping& cut) {
            return cut.left == first || cut.left == (first ^ all_rows());
        };
        if (!findings_.best.exists() && std::all_of(survivors.begin(), survivors.end(), is_first)) {
            findings_.best = make_split(survivors[0], 0.0);
            return;
        }
        for (const Grouping& cut : survivors) {
            double quality = exact_quality(cut.left);
            if (quality >= findings_.best.quality) findings_.offer(make_split(cut, quality));
        }
    }
    void raise_floor() {
        double reached = findings_.best.quality / unit_ * (1 - kMargin);
        if (reached > static_cast<double>(floor_))
            floor_ = static_cast<float>(reached * (1 - kMargin));
    }

    double exact_quality(uint32_t left) {
        auto n_left = static_cast<int64_t>(std::popcount(left)),
             n_right = node_.totals.rows - n_left;
        if (node_.filter.is_exact) {
            MeanStep step = step_of(node_);
            double d = 0.0;
            for (; left != 0; left &= left - 1) d += step(rows_[std::countr_zero(left)]);
            return d * d / (static_cast<double>(n_left) * static_cast<double>(n_right));
        }
        Stats::Slot sum{};
        for (; left != 0; left &= left - 1)
            sum += node_.stats.product(rows_[std::countr_zero(left)]);
        Stats::Slot rest = node_.totals.slots[0] - sum;
        std::vector<int64_t> unused;
        return node_.stats.quality({n_left, &sum}, {n_right, &rest}, node_.context, unused);
    }

    Split make_split(const Grouping& cut, double quality) const {
        const Column& column = table_.columns[cut.column];
        uint32_t code = 0, next_code = UINT32_MAX;
        for (size_t k = 0; k < node_.rows.size(); ++k) {
            uint32_t here = column.codes[rows_[k]];
            if (cut.left >> k & 1)
                code = std::max(code, here);
            else
                next_code = std::min(next_code, here);
        }
        Split split = numeric_split(quality, cut.column, code, next_code);
        if (column.is_categorical) single_out(split, column.n_codes);
        return split;
    }

    static constexpr float kMargin = 1.0f / (1 << 18);  // of products in float32

    const Table& table_;
    const NodeView<Stats>& node_;
    ComparedMemory& memory_;
    Findings& findings_;
    std::array<uint32_t, kComparedRows> rows_{};
    std::array<float, kComparedRows> values_{};
    std::array<FloatLanes, 2> inverses_;
    float error_ = 0, floor_ = 0;
    double unit_ = 1.0;  // what a quality of 1 stands for
};

// Which statistics have rows compared: those of members that count alike, with numbers on a grid.
template <class Stats>
struct RowComparison {
    static bool serves(const Stats&) { return false; }
    template <class Alone>
    static void run(const Table&, const NodeView<Stats>&, Scratch<typename Stats::Slot>&, Findings&,
                    Alone&&) {}
};
template <>
struct RowComparison<MeanStats<2>> {
    using Stats = MeanStats<2>;
    static bool serves(const Stats& stats) { return stats.is_unit() && stats.unit != 0.0; }
    // alone(column) searches a column with three or more categories.
    template <class Alone>
    static void run(const Table& table, const NodeView<Stats>& node, Scratch<Stats::Slot>& scratch,
                    Findings& findings, Alone&& alone) {
        ComparedRows(table, node, scratch.compared, findings).run(alone);
    }
};

}  // namespace treefold
