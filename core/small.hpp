// Regression nodes of three to eight rows: all cuts of a column at once, by comparing every row with every other.
//
//   lane i      the cut after the value of row i: the rows j with code_j <= code_i go left
//   sum         of y_j - mean over those rows, in float32 relative to the largest: a filter with a margin
//   survivors   that make the same two groups of rows are equally good; only where groups differ, exact sums decide
//
// Such nodes need no kept order, so none is divided for them, and hardly a jump of the search depends on the data
// (kin8nm: 1.2 times as fast a growth). Needs unit weights and no missing values: see tiny_rows().
#pragma once

#include <array>

#include "kernels.hpp"

namespace treefold {

inline constexpr size_t kSmallRows = 8;

class SmallSearch {
public:
    using Target = MeanTarget<2>;

    SmallSearch(const Table& table, const NodeView<Target>& node, std::vector<Grouping>& survivors,
                Findings& findings)
        : table_(table), node_(node), survivors_(survivors), findings_(findings) {
        survivors_.clear();
        std::copy(node.rows.begin(), node.rows.end(), rows_.begin());
        prepare_values();
        prepare_shares();
    }

    // exact(column) searches a column with three or more categories.
    template <class Exact>
    void run(Exact&& exact) {
        switch (node_.rows.size()) {
            case 3: return run_rows<3>(exact);
            case 4: return run_rows<4>(exact);
            case 5: return run_rows<5>(exact);
            case 6: return run_rows<6>(exact);
            case 7: return run_rows<7>(exact);
            default: return run_rows<8>(exact);
        }
    }

private:
    // A value has 24 bits and is at most 1; adding up to eight of them loses less than 2^-18. The mean in float64 is
    // off by 2^-52 of itself at most, once per row.
    void prepare_values() {
        double largest = 0.0;
        std::array<double, kSmallRows> exact;
        MeanStep step = step_of(node_);
        for (size_t k = 0; k < node_.rows.size(); ++k) {
            exact[k] = step(rows_[k]);
            largest = std::max(largest, std::fabs(exact[k]));
        }
        for (size_t k = 0; k < node_.rows.size(); ++k)
            values_[k] = static_cast<float>(exact[k] * (1.0 / largest));
        constexpr double kRounding = 1.0 / (1 << 17), kMeanRounding = 1.0 / (int64_t{1} << 48);
        error_ = static_cast<float>(kRounding + kMeanRounding * (std::fabs(node_.mean) / largest));
        unit_ = largest * largest * node_.scale;
    }

    // 1 / (n_l n_r) by n_l, and less than nothing where a side is too small.
    void prepare_shares() {
        auto n = static_cast<int64_t>(node_.rows.size());
        int64_t smallest = std::max<int64_t>(1, node_.rules.min_samples_leaf);
        shares_ = FloatLanes{} - 1.0f;
        for (int64_t k = smallest; k <= n - smallest; ++k)
            shares_[k] = 1.0f / static_cast<float>(k * (n - k));
    }

    template <int N, class Exact>
    void run_rows(Exact&& exact) {
        for (uint32_t at = 0; at < table_.columns.size(); ++at) {
            const Column& column = table_.columns[at];
            column.codes.with([&](auto* codes) {
                IntLanes lanes;
                load<N>(codes, lanes);
                if (column.is_categorical && has_three_values(lanes, N))
                    exact(at);
                else
                    try_cuts<N>(at, lanes);
            });
        }
        decide();
    }

    template <int N, class Code>
    void load(const Code* codes, IntLanes& lanes) const {  // without a row: nobody goes left
        auto at = [&](int k) { return k < N ? static_cast<int32_t>(codes[rows_[k]]) : -1; };
        lanes = IntLanes{at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)};
    }
    static bool has_three_values(const IntLanes& codes, int n) {
        int32_t lowest = codes[0], highest = codes[0];
        for (int k = 1; k < n; ++k)
            lowest = std::min(lowest, codes[k]), highest = std::max(highest, codes[k]);
        for (int k = 0; k < n; ++k)
            if (codes[k] != lowest && codes[k] != highest) return true;
        return false;
    }

    template <int N>
    void try_cuts(uint32_t column, const IntLanes& codes) {
        FloatLanes sums{};
        IntLanes n_left = IntLanes{} + N;
        for (int j = 0; j < N; ++j) {
            IntLanes is_right = __builtin_shuffle(codes, IntLanes{} + j) > codes;
            sums += reinterpret_cast<FloatLanes>(
                reinterpret_cast<IntLanes>(FloatLanes{} + values_[j]) & ~is_right);
            n_left += is_right;
        }
        const IntLanes no_sign = IntLanes{} + INT32_MAX;
        FloatLanes share = __builtin_shuffle(shares_, n_left & 7),
                   size = reinterpret_cast<FloatLanes>(reinterpret_cast<IntLanes>(sums) & no_sign),
                   most = size + error_, upper = most * most * share;
        if (lane_bits(upper >= floor_) != 0) keep<N>(column, codes, upper, size, share);
    }

    // The lanes that can win still, once the floor is what one of them surely reaches.
    template <int N>
    void keep(uint32_t column, const IntLanes& codes, const FloatLanes& upper,
              const FloatLanes& size, const FloatLanes& share) {
        for (int k = 0; k < N; ++k) {
            float least = std::max(0.0f, size[k] - error_);
            floor_ = std::max(floor_, least * least * share[k] * (1 - kMargin));
        }
        for (uint32_t hits = lane_bits(upper >= floor_); hits != 0; hits &= hits - 1) {
            int lane = std::countr_zero(hits);
            uint32_t right = lane_bits(codes > codes[lane]);
            survivors_.push_back({column, ((1u << N) - 1) & ~right, upper[lane]});
        }
    }

    // Equal groups have equal quality, on whichever side they stand.
    void decide() {
        if (findings_.best.exists()) raise_floor();
        std::erase_if(survivors_, [&](const Grouping& cut) { return cut.upper < floor_; });
        if (survivors_.empty()) return;
        uint32_t all = (1u << node_.rows.size()) - 1, first = survivors_[0].left;
        auto is_first = [&](const Grouping& cut) {
            return cut.left == first || cut.left == (first ^ all);
        };
        if (!findings_.best.exists() &&
            std::all_of(survivors_.begin(), survivors_.end(), is_first)) {
            findings_.best = make_split(survivors_[0], 0.0);
            return;
        }
        for (const Grouping& cut : survivors_) {
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
        if (node_.is_exact) {
            MeanStep step = step_of(node_);
            double d = 0.0;
            for (; left != 0; left &= left - 1) d += step(rows_[std::countr_zero(left)]);
            return d * d / (static_cast<double>(n_left) * static_cast<double>(n_right));
        }
        Target::Slot sum{};
        for (; left != 0; left &= left - 1)
            sum += node_.target.product(rows_[std::countr_zero(left)]);
        Target::Slot rest = node_.totals.slots[0] - sum;
        std::vector<int64_t> unused;
        return node_.target.quality({n_left, &sum}, {n_right, &rest}, node_.context, unused);
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
    const NodeView<Target>& node_;
    std::vector<Grouping>& survivors_;
    Findings& findings_;
    std::array<uint32_t, kSmallRows> rows_{};
    std::array<float, kSmallRows> values_{};
    FloatLanes shares_;
    float error_ = 0, floor_ = 0;
    double unit_ = 1.0;  // what a quality of 1 stands for
};

}  // namespace treefold
