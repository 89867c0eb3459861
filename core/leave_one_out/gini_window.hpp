// Cuts of a node that some left-out row may choose, where rows count one and the criterion is gini.
//
// To leave out a row of class c on a side with counts x changes the side's sum x^2 / w by
//     (sum x^2 / w - 2 x_c + 1) / (w - 1) <= 1,
// so a cut that is more than one below what every left-out row surely reaches is nobody's.
#pragma once

#include "leave_one_out/column_groups.hpp"
#include "search/class_filter.hpp"

namespace treefold {

class GiniWindow {
public:
    using Stats = ClassStats<int64_t>;

    static bool serves(const Rules& rules, const Stats& stats, size_t n_rows) {
        return stats.counts_rows() && rules.criterion == Criterion::gini &&
               rules.min_weight_leaf <= 0.0 && n_rows <= kMostRows;
    }

    // floor: what every left-out row reaches.
    GiniWindow(std::span<const int64_t> totals, int64_t n_rows, int64_t smallest, double floor)
        : totals_(totals), n_(static_cast<double>(n_rows)), smallest_(smallest) {
        for (int64_t total : totals) squares_ += static_cast<double>(total * total);
        limit_ = (floor - 1.0) * (1 - kSlack);
    }

    template <class Code>
    void collect(const OrderView<Code>& order, Cuts<int64_t>& cuts) {
        left_.assign(totals_.size(), 0);
        if (totals_.size() == 2)
            collect_two(order, cuts);
        else
            collect_many(order, cuts);
    }

private:
    // With D = n l1 - n_l n1 the quality is q0 + 2 D^2 / (n n_l n_r), as in TwoClassScan.
    template <class Code>
    void collect_two(const OrderView<Code>& order, Cuts<int64_t>& cuts) {
        double n0 = static_cast<double>(totals_[0]), n1 = static_cast<double>(totals_[1]);
        const double steps[2] = {-n1, n0};
        SumTest test{n_, 0.0, (limit_ - squares_ / n_) * n_ / 2};
        scan_sums(
            0, order.words.size() - 1, 0.0, test,
            [&](size_t k) { return steps[order.words[k] & 1]; },
            [&](size_t k, double d) {
                double n_left = static_cast<double>(k + 1);
                left_[1] = std::llround((d + n_left * n1) / n_);
                left_[0] = static_cast<int64_t>(k + 1) - left_[1];
                add(order, k, cuts);
            });
    }

    // With A = sum l_c^2 and B = sum t_c l_c the quality is A / n_l + (T - 2 B + A) / n_r, as in ClassScan.
    template <class Code>
    void collect_many(const OrderView<Code>& order, Cuts<int64_t>& cuts) {
        uint32_t mask = (uint32_t{1} << order.bits) - 1;
        double a = 0.0, b = 0.0;
        for (size_t k = 0; k + 1 < order.words.size(); ++k) {
            size_t label = order.words[k] & mask;
            a += static_cast<double>(2 * left_[label]++ + 1);
            b += static_cast<double>(totals_[label]);
            double n_left = static_cast<double>(k + 1), n_right = n_ - n_left;
            double reached = a * n_right + (squares_ - 2 * b + a) * n_left;
            if (!(reached < limit_ * (n_left * n_right))) add(order, k, cuts);
        }
    }

    template <class Code>
    void add(const OrderView<Code>& order, size_t k, Cuts<int64_t>& cuts) const {
        if (!order.is_legal(k, smallest_)) return;
        cuts.add({order.code(k), order.code(k + 1), static_cast<int64_t>(k) + 1, true},
                 left_.data(), left_.size());
    }

    std::span<const int64_t> totals_;
    double n_, squares_ = 0.0, limit_ = 0.0;
    int64_t smallest_;
    std::vector<int64_t> left_;
};

}  // namespace treefold
