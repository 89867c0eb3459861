// Regression nodes of three to sixteen rows: all cuts of a column at once, by comparing every row with every other.
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

inline constexpr size_t kSmallRows = 16;

class SmallSearch {
public:
    using Target = MeanTarget<2>;

    SmallSearch(const Table& table, const NodeView<Target>& node, std::vector<Grouping>& survivors,
                Findings& findings)
        : table_(table), node_(node), survivors_(survivors), findings_(findings) {
        survivors_.clear();
        std::copy(node.rows.begin(), node.rows.end(), rows_.begin());
        n_ = static_cast<float>(node.rows.size());
        smallest_ = static_cast<float>(std::max<int64_t>(1, node.rules.min_samples_leaf));
        prepare_values();
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
            case 8: return run_rows<8>(exact);
            case 9:
            case 10: return run_rows<10>(exact);
            case 11:
            case 12: return run_rows<12>(exact);
            case 13:
            case 14: return run_rows<14>(exact);
            default: return run_rows<16>(exact);
        }
    }

private:
    // A value per row: lanes of rows 0 to 7, and of rows 8 to 15.
    using Codes = std::array<IntLanes, 2>;

    // A value has 24 bits and is at most 1; adding up to sixteen of them loses less than 2^-16. The mean in float64
    // is off by 2^-52 of itself at most, once per row.
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
        constexpr double kRounding = 1.0 / (1 << 15), kMeanRounding = 1.0 / (int64_t{1} << 47);
        error_ = static_cast<float>(kRounding + kMeanRounding * (std::fabs(node_.mean) / largest));
        unit_ = largest * largest * node_.scale;
    }

    // N: lanes in use. The last one may lack a row: it has the highest code, so its cut has nobody on the right.
    template <int N, class Exact>
    void run_rows(Exact&& exact) {
        Codes lanes;
        for (uint32_t at = 0; at < table_.columns.size(); ++at) {
            const Column& column = table_.columns[at];
            column.codes.with([&](auto* codes) { load<N>(codes, lanes); });
            if (column.is_categorical && has_three_values(lanes))
                exact(at);
            else
                try_cuts<N>(at, lanes);
        }
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
        int32_t lowest = INT32_MAX, highest = 0;
        auto at = [&](size_t k) { return codes[k / 8][k % 8]; };
        for (size_t k = 0; k < node_.rows.size(); ++k)
            lowest = std::min(lowest, at(k)), highest = std::max(highest, at(k));
        for (size_t k = 0; k < node_.rows.size(); ++k)
            if (at(k) != lowest && at(k) != highest) return true;
        return false;
    }

    template <int N>
    void try_cuts(uint32_t column, const Codes& codes) {
        constexpr int kHalves = N > 8 ? 2 : 1;
        std::array<FloatLanes, 2> sums{};
        std::array<IntLanes, 2> n_left{IntLanes{} + N, IntLanes{} + N};
        for (int j = 0; j < N; ++j) {
            IntLanes code = __builtin_shuffle(codes[j / 8], IntLanes{} + j % 8);
            auto value = reinterpret_cast<IntLanes>(FloatLanes{} + values_[j]);
            for (int half = 0; half < kHalves; ++half) {
                IntLanes is_right = code > codes[half];
                sums[half] += reinterpret_cast<FloatLanes>(value & ~is_right);
                n_left[half] += is_right;
            }
        }
        const IntLanes no_sign = IntLanes{} + INT32_MAX;
        for (int half = 0; half < kHalves; ++half) {
            FloatLanes size =
                reinterpret_cast<FloatLanes>(reinterpret_cast<IntLanes>(sums[half]) & no_sign);
            FloatLanes count = __builtin_convertvector(n_left[half], FloatLanes),
                       most = size + error_;
            FloatLanes product = count * (n_ - count);
            if (lane_bits((most * most >= floor_ * product) & (product > 0.0f)) != 0)
                keep(column, codes, half, size, count);
        }
    }

    // The lanes that can win still, once the floor is what one of them surely reaches.
    void keep(uint32_t column, const Codes& codes, int half, const FloatLanes& size,
              const FloatLanes& count) {
        FloatLanes lower = FloatLanes{} - 1.0f, upper = lower;
        FloatLanes most = size + error_, least = size - error_, product = count * (n_ - count);
        IntLanes is_cut = (count >= smallest_) & (n_ - count >= smallest_);
        upper = is_cut ? most * most / product : upper;
        lower = is_cut & (least > 0.0f) ? least * least / product * (1 - kMargin) : lower;
        for (int lane = 0; lane < 8; ++lane) floor_ = std::max(floor_, lower[lane]);
        for (uint32_t hits = lane_bits(upper >= floor_); hits != 0; hits &= hits - 1) {
            int lane = std::countr_zero(hits);
            int32_t code = codes[half][lane];
            uint32_t right = lane_bits(codes[0] > code);
            if (node_.rows.size() > 8) right |= lane_bits(codes[1] > code) << 8;
            survivors_.push_back({column, all_rows() & ~right, upper[lane]});
        }
    }
    uint32_t all_rows() const { return (uint32_t{1} << node_.rows.size()) - 1; }

    // Equal groups have equal quality, on whichever side they stand.
    void decide() {
        if (findings_.best.exists()) raise_floor();
        std::erase_if(survivors_, [&](const Grouping& cut) { return cut.upper < floor_; });
        if (survivors_.empty()) return;
        uint32_t first = survivors_[0].left;
        auto is_first = [&](const Grouping& cut) {
            return cut.left == first || cut.left == (first ^ all_rows());
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
    float n_, smallest_, error_ = 0, floor_ = 0;
    double unit_ = 1.0;  // what a quality of 1 stands for
};

}  // namespace treefold
