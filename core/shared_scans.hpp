// Scans of one column for all shares of a group at once, in float64. As in kernels.hpp they only leave out what cannot
// win; what survives is decided for the share by the exact quality from its own counts.
//
// A row adds to the lanes of the shares that it counts for: a pattern is a line of ones and zeros. A cut is looked
// at before each row, with what stands to the left of it; for a share it lies between the last row that counts
// and this one, if this one counts.
#pragma once

#include "few.hpp"
#include "group.hpp"
#include "kernels.hpp"

namespace treefold {

// Numbers per lane, in whole vectors.
class LaneArray {
public:
    LaneArray() = default;
    explicit LaneArray(size_t n_lanes, double value = 0.0)
        : values_(n_lanes / 4, Lanes{value, value, value, value}) {}
    Lanes* data() { return values_.data(); }
    const Lanes* data() const { return values_.data(); }
    double& operator[](size_t lane) { return reinterpret_cast<double*>(values_.data())[lane]; }
    double operator[](size_t lane) const {
        return reinterpret_cast<const double*>(values_.data())[lane];
    }

private:
    std::vector<Lanes> values_;
};

// The shares of a group that a kernel serves.
template <class Target>
struct Crew {
    const Group<Target>* group = nullptr;
    std::vector<size_t> shares;  // lane -> share
    std::vector<NodeView<Target>> views;  // per lane
    size_t n_lanes = 0;  // shares, filled up to whole vectors
    LaneArray ones;  // (pattern, lane): does it count?
    const uint32_t* pattern_of = nullptr;  // per row of the table

    bool counts(uint32_t row, size_t lane) const {
        return ones[pattern_of[row] * n_lanes + lane] != 0.0;
    }
    const Lanes* line(uint32_t row) const { return ones.data() + pattern_of[row] * (n_lanes / 4); }
};

// The last row before `at` that counts for a lane; it exists.
template <class Target, class Code>
size_t previous_row(const Crew<Target>& crew, const OrderView<Code>& order, size_t at,
                    size_t lane) {
    do --at;
    while (!crew.counts(order.words[at] >> order.bits, lane));
    return at;
}

// Two classes: blocks of rows are counted by pattern and class; only for shares that a corner of the block lets hope are
// its rows looked at (TwoClassScan has the algebra).
class SharedTwoClassScan {
public:
    using Target = ClassTarget<int64_t>;

    SharedTwoClassScan(const Crew<Target>& crew, std::vector<Findings>& findings)
        : crew_(crew), findings_(findings), n_(crew.n_lanes), n0_(crew.n_lanes), n1_(crew.n_lanes),
          limit_(crew.n_lanes), left_(crew.n_lanes), left1_(crew.n_lanes), block_(crew.n_lanes),
          block1_(crew.n_lanes) {
        for (size_t lane = 0; lane < crew.shares.size(); ++lane) {
            const std::vector<int64_t>& totals = crew.views[lane].totals.slots;
            n0_[lane] = static_cast<double>(totals[0]);
            n1_[lane] = static_cast<double>(totals[1]);
            n_[lane] = n0_[lane] + n1_[lane];
        }
        for (size_t lane = 0; lane < crew.n_lanes; ++lane) update_limit(lane);
    }

    template <class Code>
    void run(const OrderView<Code>& order) {
        size_t n_rows = order.words.size(), n_patterns = crew_.group->patterns.size();
        size_t block = std::max<size_t>(64, 4 * n_patterns);
        counts_.assign(2 * n_patterns, 0);
        for (size_t first = 0; first < n_rows; first += block) {
            size_t last = std::min(first + block, n_rows);
            count_block(order, first, last);
            test_block(order, first, last);
            for (size_t v = 0; v < crew_.n_lanes / 4; ++v) {
                left_.data()[v] += block_.data()[v];
                left1_.data()[v] += block1_.data()[v];
            }
        }
    }

private:
    template <class Code>
    void count_block(const OrderView<Code>& order, size_t first, size_t last) {
        const uint32_t* pattern_of = crew_.pattern_of;
        for (size_t k = first; k < last; ++k)
            ++counts_[2 * pattern_of[order.words[k] >> order.bits] + (order.words[k] & 1)];
        size_t n_vectors = crew_.n_lanes / 4;
        for (size_t v = 0; v < n_vectors; ++v) block_.data()[v] = block1_.data()[v] = Lanes{};
        const Lanes* ones = crew_.ones.data();
        for (size_t pattern = 0; 2 * pattern < counts_.size(); ++pattern) {
            double zeros = counts_[2 * pattern], count1 = counts_[2 * pattern + 1];
            if (zeros + count1 == 0) continue;
            counts_[2 * pattern] = counts_[2 * pattern + 1] = 0;
            for (size_t v = 0; v < n_vectors; ++v) {
                block_.data()[v] += ones[pattern * n_vectors + v] * (zeros + count1);
                block1_.data()[v] += ones[pattern * n_vectors + v] * count1;
            }
        }
    }

    template <class Code>
    void test_block(const OrderView<Code>& order, size_t first, size_t last) {
        for (size_t v = 0; v < crew_.n_lanes / 4; ++v) {
            Lanes n = n_.data()[v], n0 = n0_.data()[v], n1 = n1_.data()[v];
            Lanes left = left_.data()[v], ones = block1_.data()[v], zeros = block_.data()[v] - ones;
            Lanes at = n * left1_.data()[v] - left * n1;
            Lanes up = at + ones * n0, down = at - zeros * n1, all = up - zeros * n1;
            Lanes limit = limit_.data()[v];
            Lanes with_ones = left + ones, with_zeros = left + zeros, with_all = with_ones + zeros;
            LaneMask hopes = (at * at >= limit * (left * (n - left))) |
                             (up * up >= limit * (with_ones * (n - with_ones))) |
                             (down * down >= limit * (with_zeros * (n - with_zeros))) |
                             (all * all >= limit * (with_all * (n - with_all)));
            if (!any_lane(hopes)) continue;
            for (size_t k = 0; k < 4; ++k)
                if (hopes[k] != 0 && 4 * v + k < crew_.shares.size())
                    scan_block(order, first, last, 4 * v + k);
        }
    }

    template <class Code>
    void scan_block(const OrderView<Code>& order, size_t first, size_t last, size_t lane) {
        auto n_left = static_cast<int64_t>(left_[lane]), ones = static_cast<int64_t>(left1_[lane]);
        double n = n_[lane], n0 = n0_[lane], n1 = n1_[lane];
        double d = n * left1_[lane] - left_[lane] * n1;
        for (size_t k = first; k < last; ++k) {
            uint32_t word = order.words[k];
            if (!crew_.counts(word >> order.bits, lane)) continue;
            double at = static_cast<double>(n_left);
            if (d * d >= limit_[lane] * (at * (n - at))) decide(order, k, lane, n_left, ones);
            ++n_left;
            ones += word & 1;
            d += (word & 1) != 0 ? n0 : -n1;
        }
    }

    template <class Code>
    void decide(const OrderView<Code>& order, size_t k, size_t lane, int64_t n_left, int64_t ones) {
        const NodeView<Target>& node = crew_.views[lane];
        int64_t smallest = std::max<int64_t>(1, node.rules.min_samples_leaf);
        if (n_left < smallest || node.totals.rows - n_left < smallest) return;
        uint32_t code = order.code(previous_row(crew_, order, k, lane)), next = order.code(k);
        if (code == next) return;
        int64_t left[2] = {n_left - ones, ones};
        int64_t right[2] = {node.totals.slots[0] - left[0], node.totals.slots[1] - left[1]};
        double quality = class_quality(Criterion::gini, left, right, 0, node.target.logs);
        if (quality < findings_[lane].floor) return;
        findings_[lane].offer(numeric_split(quality, order.column, code, next));
        update_limit(lane);
    }

    void update_limit(size_t lane) {
        if (lane >= crew_.shares.size()) {
            limit_[lane] = std::numeric_limits<double>::infinity();
            return;
        }
        double base = crew_.views[lane].squares / n_[lane];
        limit_[lane] = (findings_[lane].floor * (1 - kSlack) - base) * n_[lane] / 2;
    }

    const Crew<Target>& crew_;
    std::vector<Findings>& findings_;
    LaneArray n_, n0_, n1_, limit_;
    LaneArray left_, left1_;  // rows before the block, and those of class 1
    LaneArray block_, block1_;  // rows of the block
    std::vector<uint32_t> counts_;  // (pattern, class) in the block
};

// More classes (ClassScan has the algebra).
template <class Code>
void scan_shared_classes(const Crew<ClassTarget<int64_t>>& crew, const OrderView<Code>& order,
                         std::vector<Findings>& findings) {
    size_t n_lanes = crew.n_lanes, n_vectors = n_lanes / 4,
           n_classes = crew.views[0].totals.slots.size();
    LaneArray left(n_lanes * n_classes), totals(n_lanes * n_classes), a(n_lanes), b(n_lanes),
        n_left(n_lanes), n(n_lanes), squares(n_lanes),
        limit(n_lanes, std::numeric_limits<double>::infinity());
    auto update_limit = [&](size_t lane) { limit[lane] = findings[lane].floor * (1 - kSlack); };
    for (size_t lane = 0; lane < crew.shares.size(); ++lane) {
        const NodeView<ClassTarget<int64_t>>& node = crew.views[lane];
        for (size_t k = 0; k < n_classes; ++k)
            totals[k * n_lanes + lane] = static_cast<double>(node.totals.slots[k]);
        n[lane] = static_cast<double>(node.totals.rows);
        squares[lane] = node.squares;
        update_limit(lane);
    }
    std::vector<int64_t> on_left(n_classes), on_right(n_classes);
    auto decide = [&](size_t k, size_t lane) {
        const NodeView<ClassTarget<int64_t>>& node = crew.views[lane];
        auto rows_left = static_cast<int64_t>(n_left[lane]);
        int64_t smallest = std::max<int64_t>(1, node.rules.min_samples_leaf);
        if (rows_left < smallest || node.totals.rows - rows_left < smallest) return;
        if (!crew.counts(order.words[k] >> order.bits, lane)) return;
        uint32_t code = order.code(previous_row(crew, order, k, lane)), next = order.code(k);
        if (code == next) return;
        for (size_t c = 0; c < n_classes; ++c) {
            on_left[c] = static_cast<int64_t>(left[c * n_lanes + lane]);
            on_right[c] = node.totals.slots[c] - on_left[c];
        }
        double quality = class_quality(Criterion::gini, on_left, on_right, 0, node.target.logs);
        if (quality < findings[lane].floor) return;
        findings[lane].offer(numeric_split(quality, order.column, code, next));
        update_limit(lane);
    };
    uint32_t mask = (uint32_t{1} << order.bits) - 1;
    for (size_t k = 0; k < order.words.size(); ++k) {
        uint32_t label = order.words[k] & mask;
        const Lanes* ones = crew.line(order.words[k] >> order.bits);
        Lanes* counts = left.data() + label * n_vectors;
        const Lanes* total = totals.data() + label * n_vectors;
        for (size_t v = 0; v < n_vectors; ++v) {
            Lanes at = n_left.data()[v], size = n.data()[v];
            Lanes reached = a.data()[v] * (size - at) +
                            (squares.data()[v] - 2 * b.data()[v] + a.data()[v]) * at;
            LaneMask hopes = reached >= limit.data()[v] * (at * (size - at));
            if (any_lane(hopes)) [[unlikely]]
                for (size_t lane = 4 * v; lane < 4 * v + 4; ++lane)
                    if (hopes[lane - 4 * v] != 0 && lane < crew.shares.size()) decide(k, lane);
            a.data()[v] += ones[v] * (2 * counts[v] + 1);
            b.data()[v] += ones[v] * total[v];
            counts[v] += ones[v];
            n_left.data()[v] += ones[v];
        }
    }
}

// Means: sums of y - mean per lane, each with the error bound of its own node (mean_scans.hpp has the algebra).
class SharedMeanScan {
public:
    using Target = MeanTarget<2>;

    SharedMeanScan(const Crew<Target>& crew, std::vector<Findings>& findings)
        : crew_(crew), findings_(findings), n_(crew.n_lanes), factor_(crew.n_lanes),
          mean_(crew.n_lanes), error_(crew.n_lanes),
          limit_(crew.n_lanes, std::numeric_limits<double>::infinity()) {
        for (size_t lane = 0; lane < crew.shares.size(); ++lane) {
            const NodeView<Target>& node = crew.views[lane];
            n_[lane] = static_cast<double>(node.totals.rows);
            MeanStep step = step_of(node);
            factor_[lane] = step.factor;
            mean_[lane] = step.mean;
            error_[lane] = node.error;
            update_limit(lane);
        }
    }

    template <class Code>
    void run(const OrderView<Code>& order) {
        size_t n_vectors = crew_.n_lanes / 4;
        LaneArray sums(crew_.n_lanes), n_left(crew_.n_lanes);
        const double* numbers = crew_.views[0].target.y.data();
        const LaneMask no_sign = LaneMask{} + INT64_MAX;
        for (size_t k = 0; k < order.words.size(); ++k) {
            uint32_t row = order.words[k] >> order.bits;
            const Lanes* ones = crew_.line(row);
            double y = numbers[row];
            for (size_t v = 0; v < n_vectors; ++v) {
                Lanes d = sums.data()[v], at = n_left.data()[v];
                Lanes most = reinterpret_cast<Lanes>(reinterpret_cast<LaneMask>(d) & no_sign) +
                             error_.data()[v];
                LaneMask hopes = most * most >= limit_.data()[v] * (at * (n_.data()[v] - at));
                if (any_lane(hopes)) [[unlikely]]
                    for (size_t i = 0; i < 4; ++i)
                        if (hopes[i] != 0 && 4 * v + i < crew_.shares.size())
                            offer(order, k, 4 * v + i, d[i], at[i]);
                sums.data()[v] = d + ones[v] * (factor_.data()[v] * y - mean_.data()[v]);
                n_left.data()[v] = at + ones[v];
            }
        }
    }

    // A cut of one lane between two codes, with the sum and the rows to the left of it.
    void offer_between(size_t lane, const Pending& cut, double d, double n_left) {
        const NodeView<Target>& node = crew_.views[lane];
        auto smallest = static_cast<double>(std::max<int64_t>(1, node.rules.min_samples_leaf));
        if (n_left < smallest || n_[lane] - n_left < smallest) return;
        offer_mean(node, cut, d, n_left * (n_[lane] - n_left), findings_[lane]);
        update_limit(lane);
    }

private:
    template <class Code>
    void offer(const OrderView<Code>& order, size_t k, size_t lane, double d, double n_left) {
        if (n_left == 0.0 || !crew_.counts(order.words[k] >> order.bits, lane)) return;
        uint32_t code = order.code(previous_row(crew_, order, k, lane)), next = order.code(k);
        if (code != next) offer_between(lane, {order.column, code, next, 0.0}, d, n_left);
    }
    void update_limit(size_t lane) {
        limit_[lane] = findings_[lane].floor * ((1 - kSlack) / crew_.views[lane].scale);
    }

    const Crew<Target>& crew_;
    std::vector<Findings>& findings_;
    LaneArray n_, factor_, mean_, error_, limit_;
};

}  // namespace treefold
