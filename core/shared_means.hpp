// Scans of one column for all shares of a group at once, for means: of an order, and of a column with few codes.
#pragma once

#include "shared_scans.hpp"

namespace treefold {

// Means: sums of y - mean per lane, each with the error bound of its own node (mean_scans.hpp has the algebra).
class SharedMeanScan {
public:
    using Target = MeanTarget<2>;

    void prepare(const Crew<Target>& crew, std::vector<Findings>& findings) {
        crew_ = &crew;
        findings_ = findings.data();
        n_.assign(crew.n_lanes), factor_.assign(crew.n_lanes), mean_.assign(crew.n_lanes);
        error_.assign(crew.n_lanes);
        smallest_ = crew.smallest_side();
        limit_.assign(crew.n_lanes, std::numeric_limits<double>::infinity());
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
        for (size_t v = 0; v < crew_->n_lanes / 4; ++v) scan(order, v);
    }

    // A cut of one lane between two codes, with the sum and the rows to the left of it.
    void offer_between(size_t lane, const Pending& cut, double d, double n_left) {
        const NodeView<Target>& node = crew_->views[lane];
        auto smallest = static_cast<double>(std::max<int64_t>(1, node.rules.min_samples_leaf));
        if (n_left < smallest || n_[lane] - n_left < smallest) return;
        offer_mean(node, cut, d, n_left * (n_[lane] - n_left), findings_[lane]);
        update_limit(lane);
    }

private:
    // One vector of lanes.
    template <class Code>
    void scan(const OrderView<Code>& order, size_t v) {
        const double* numbers = crew_->views[0].target.y.data();
        const LaneMask no_sign = LaneMask{} + INT64_MAX;
        Lanes n = n_.data()[v], factor = factor_.data()[v], mean = mean_.data()[v];
        Lanes error = error_.data()[v], d{}, n_left{};
        for (size_t k = 0; k + smallest_ <= order.words.size(); ++k) {
            uint32_t row = order.words[k] >> order.bits;
            Lanes most = reinterpret_cast<Lanes>(reinterpret_cast<LaneMask>(d) & no_sign) + error;
            LaneMask hopes = most * most >= limit_.data()[v] * (n_left * (n - n_left));
            if (k >= smallest_ && any_lane(hopes)) [[unlikely]]
                for (size_t i = 0; i < 4; ++i)
                    if (hopes[i] != 0 && 4 * v + i < crew_->shares.size())
                        offer(order, k, 4 * v + i, d[i], n_left[i]);
            Lanes ones = crew_->line(row)[v];
            d += ones * (factor * numbers[row] - mean);
            n_left += ones;
        }
    }

    template <class Code>
    void offer(const OrderView<Code>& order, size_t k, size_t lane, double d, double n_left) {
        if (n_left == 0.0 || !begins_code(order, k)) return;
        if (auto sides = find_sides(*crew_, order, k, lane))
            offer_between(lane, {order.column, sides->first, sides->second, 0.0}, d, n_left);
    }
    void update_limit(size_t lane) {
        limit_[lane] = findings_[lane].floor * ((1 - kSlack) / crew_->views[lane].scale);
    }

    const Crew<Target>* crew_ = nullptr;
    Findings* findings_ = nullptr;  // per lane
    size_t smallest_ = 1;
    LaneArray n_, factor_, mean_, error_, limit_;
};

// Numeric columns for means: a line of sums and counts per code.
class SharedMeanHistograms {
public:
    using Target = MeanTarget<2>;

    void prepare(const Crew<Target>& crew) { crew_ = &crew; }

    // A column of the plan's few columns that has no missing value in the group.
    void search(size_t k, SharedMeanScan& scan) {
        const Layout& layout = crew_->group->layout;
        size_t n_vectors = crew_->n_lanes / 4,
               n_codes = layout.few_starts[k + 1] - layout.few_starts[k];
        sums_.assign(n_codes * n_vectors, Lanes{});
        counts_.assign(n_codes * n_vectors, Lanes{});
        factor_.assign(crew_->n_lanes), mean_.assign(crew_->n_lanes);
        for (size_t lane = 0; lane < crew_->shares.size(); ++lane) {
            MeanStep step = step_of(crew_->views[lane]);
            factor_[lane] = step.factor;
            mean_[lane] = step.mean;
        }
        const double* numbers = crew_->views[0].target.y.data();
        for (uint32_t row : layout.rows) {
            size_t line = layout.few_line(row)[k] * n_vectors;
            const Lanes* ones = crew_->line(row);
            double y = numbers[row];
            for (size_t v = 0; v < n_vectors; ++v) {
                sums_[line + v] += ones[v] * (factor_.data()[v] * y - mean_.data()[v]);
                counts_[line + v] += ones[v];
            }
        }
        for (size_t lane = 0; lane < crew_->shares.size(); ++lane)
            scan_lane(layout.few_columns[k], n_codes, lane, scan);
    }

private:
    void scan_lane(uint32_t column, size_t n_codes, size_t lane, SharedMeanScan& scan) {
        size_t n_vectors = crew_->n_lanes / 4, vector = lane / 4, place = lane % 4;
        double d = 0, n_left = 0;
        uint32_t previous = 0;
        for (uint32_t code = 0; code < n_codes; ++code) {
            double count = counts_[code * n_vectors + vector][place];
            if (count == 0.0) continue;
            if (n_left != 0.0) scan.offer_between(lane, {column, previous, code, 0.0}, d, n_left);
            d += sums_[code * n_vectors + vector][place];
            n_left += count;
            previous = code;
        }
    }

    const Crew<Target>* crew_ = nullptr;
    std::vector<Lanes> sums_, counts_;  // (code, lane)
    LaneArray factor_, mean_;
};

}  // namespace treefold
