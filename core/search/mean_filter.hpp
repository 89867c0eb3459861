// The filter of means, for the squared error: of a kept order.
#pragma once

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/lanes.hpp"
#include "search/filter.hpp"

namespace treefold {

// Regression. With d the sum of y - mean on the left, the quality of a cut is n^2 d^2 / (n_l n_r). d is off by at most
// node.filter.error in float64; a cut stays pending if it could still be the best, and floor rises with what
// a cut surely reaches.
//
// Where n times the sum of the targets has at most 53 bits (whole numbers, and small nodes of any short
// numbers), rows add n y - sum(y) instead: D = n d without an error, and D^2 / (n_l n_r) is the
// exact quality, rounding by rounding.
struct MeanStep {
    const double* y;
    double factor, mean;
    double operator()(uint32_t row) const { return factor * y[row] - mean; }
};
inline MeanStep step_of(const NodeView<MeanStats<2>>& node) {
    return {node.stats.y.data(), node.filter.factor * node.stats.unit, node.filter.mean};
}
inline void offer_mean(const NodeView<MeanStats<2>>& node, Pending cut, double d, double product,
                       Findings& findings) {
    if (node.filter.is_exact) {
        double quality = d * d / product;
        if (quality >= findings.floor)
            findings.offer(numeric_split(quality, cut.column, cut.code, cut.next_code));
        return;
    }
    double scale = node.filter.scale / product;
    double most = std::fabs(d) + node.filter.error,
           least = std::max(0.0, std::fabs(d) - node.filter.error);
    cut.upper = most * most * scale * (1 + kSlack);
    if (cut.upper < findings.floor) return;
    findings.pending.push_back(cut);
    findings.floor = std::max(findings.floor, least * least * scale * (1 - kSlack));
}

// One order: first its running sums and the best that a cut could be, without a jump that depends on the data; then,
// only if that can win, the cuts that reach it. (kin8nm: 1.15 times as fast a growth as testing cut by cut, where
// the first columns raise the floor with nearly every row.)
template <class Code>
class MeanScan {
public:
    MeanScan(const NodeView<MeanStats<2>>& node, const OrderView<Code>& order, RunningSums& memory,
             Findings& findings)
        : node_(node), order_(order), memory_(memory), findings_(findings),
          n_cuts_(order.words.size() - 1) {
        prepare_inverses();
    }

    void run() {
        double top = add_up();
        if (top < limit()) return;
        double near = offer_near(top);
        if (std::isnan(near)) near = offer_near(highest_legal());
        if (limit() < near) offer_between(limit(), near);
    }

private:
    static constexpr size_t kLanes = 4;
    static constexpr double kNear = 1.0 / (1 << 20);

    bool is_legal(size_t k) const { return order_.is_legal(k, node_.rules.min_samples_leaf); }
    // What sum^2 / (n_l n_r) must reach.
    double limit() const { return findings_.floor * (1 - kSlack) / node_.filter.scale; }

    void prepare_inverses() {
        size_t n_rows = order_.words.size(), n_padded = (n_cuts_ + kLanes - 1) / kLanes * kLanes;
        if (memory_.sums.size() < n_padded) memory_.sums.resize(n_padded);
        if (memory_.n_rows == n_rows) return;
        memory_.n_rows = n_rows;
        if (memory_.inverses.size() < n_padded) memory_.inverses.resize(n_padded);
        double n = static_cast<double>(n_rows);
        Lanes n_left{1, 2, 3, 4};
        for (size_t k = 0; k < n_padded; k += kLanes, n_left += 4.0) {
            Lanes inverses = 1.0 / (n_left * (n - n_left));
            std::memcpy(memory_.inverses.data() + k, &inverses, sizeof inverses);
        }
        for (size_t k = n_cuts_; k < n_padded; ++k)
            memory_.inverses[k] = std::numeric_limits<double>::quiet_NaN();
    }

    // At most so much is sum^2 / (n_l n_r) behind four rows. Copies, so that nobody asks whether a store changed them.
    struct Reach {
        const double* inverses;
        double error;
        Lanes operator()(const Lanes& sums, size_t k) const {
            const LaneMask no_sign = LaneMask{} + INT64_MAX;
            Lanes most =
                reinterpret_cast<Lanes>(reinterpret_cast<LaneMask>(sums) & no_sign) + error;
            return most * most * load(inverses + k);
        }
    };
    Reach reach() const { return {memory_.inverses.data(), node_.filter.error}; }
    static Lanes load(const double* numbers) {
        Lanes lanes;
        std::memcpy(&lanes, numbers, sizeof lanes);
        return lanes;
    }

    // Fills memory.sums and returns the most that any cut, legal or not, reaches.
    double add_up() {
        const MeanStep step = step_of(node_);
        const Reach reach = this->reach();
        const uint32_t* words = order_.words.data();
        double* out = memory_.sums.data();
        Lanes d{}, top{};
        auto next = [&](size_t k, Lanes sums) {
            const Lanes zero{};
            sums += __builtin_shuffle(sums, zero, LaneMask{4, 0, 1, 2});
            sums += __builtin_shuffle(sums, zero, LaneMask{4, 4, 0, 1});
            Lanes whole = __builtin_shuffle(sums, LaneMask{3, 3, 3, 3});
            sums += d;
            d += whole;
            std::memcpy(out + k, &sums, sizeof sums);
            Lanes most = reach(sums, k);
            top = most > top ? most : top;
        };
        const size_t n_cuts = n_cuts_, n_whole = n_cuts / kLanes * kLanes;
        for (size_t k = 0; k < n_whole; k += kLanes) {
            Lanes y{step.y[words[k]], step.y[words[k + 1]], step.y[words[k + 2]],
                    step.y[words[k + 3]]};
            next(k, y * step.factor - step.mean);
        }
        if (n_whole < n_cuts) {
            Lanes rest{};
            for (size_t k = n_whole; k < n_cuts; ++k) rest[k - n_whole] = step(words[k]);
            next(n_whole, rest);
        }
        return std::max(std::max(top[0], top[1]), std::max(top[2], top[3]));
    }

    // visit(k, reached) for the cuts that reach the limit, which it may raise.
    template <class Visit>
    void visit(double limit, Visit&& visit) const {
        const Reach reach = this->reach();
        const double* sums = memory_.sums.data();
        const size_t n_cuts = n_cuts_;
        for (size_t k = 0; k < n_cuts; k += kLanes) {
            Lanes most = reach(load(sums + k), k);
            if (!any_lane(most >= limit)) continue;
            for (size_t lane = 0; lane < kLanes; ++lane)
                if (most[lane] >= limit) limit = visit(k + lane, most[lane]);
        }
    }

    // Offers the legal cuts that reach nearly the highest; returns how much that is, or NaN if there are none.
    double offer_near(double highest) {
        double near = std::max(highest * (1 - kNear), limit());
        bool is_any = offer_between(near, std::numeric_limits<double>::infinity());
        return is_any ? near : std::numeric_limits<double>::quiet_NaN();
    }
    // Offers the legal cuts that reach `from` and not `to`; are there any?
    bool offer_between(double from, double to) {
        bool is_any = false;
        visit(from, [&](size_t k, double reached) {
            if (reached >= to || !is_legal(k)) return from;
            offer(k);
            is_any = true;
            return from = std::max(from, limit());
        });
        return is_any;
    }
    // What some legal cut reaches, if any reaches the limit.
    double highest_legal() const {
        double highest = limit();
        visit(highest, [&](size_t k, double reached) {
            return highest = is_legal(k) ? std::max(highest, reached) : highest;
        });
        return highest;
    }

    void offer(size_t k) {
        double n_left = static_cast<double>(k + 1),
               n_right = static_cast<double>(order_.words.size() - k - 1);
        offer_mean(node_, {order_.column, order_.code(k), order_.code(k + 1), 0.0}, memory_.sums[k],
                   n_left * n_right, findings_);
    }

    const NodeView<MeanStats<2>>& node_;
    const OrderView<Code>& order_;
    RunningSums& memory_;
    Findings& findings_;
    size_t n_cuts_;
};

// The exact quality of pending cuts. In small nodes several columns often make the same two groups of rows:
// equal sums have equal quality, on whichever side they stand.
class PendingJudge {
public:
    using Slot = MeanStats<2>::Slot;
    PendingJudge(const Layout& layout, const NodeView<MeanStats<2>>& node)
        : layout_(layout), node_(node) {}

    double quality(const Pending& cut) {
        Slot left{};
        int64_t n_left = 0;
        layout_.table->columns[cut.column].codes.with([&](auto* codes) {
            for (uint32_t row : node_.rows) {
                bool is_left = codes[row] <= cut.code;
                if (is_left) left += node_.stats.product(row);
                n_left += is_left;
            }
        });
        Slot right = node_.totals.slots[0] - left;
        int64_t n_right = node_.totals.rows - n_left;
        bool is_known =
            (n_left == n_left_ && left == left_) || (n_right == n_left_ && right == left_);
        if (is_known) return quality_;
        n_left_ = n_left;
        left_ = left;
        return quality_ =
                   node_.stats.quality({n_left, &left}, {n_right, &right}, node_.context, unused_);
    }

private:
    const Layout& layout_;
    const NodeView<MeanStats<2>>& node_;
    int64_t n_left_ = -1;
    Slot left_{};
    double quality_ = 0;
    std::vector<int64_t> unused_;
};

template <>
struct Filter<MeanStats<2>> {
    using Stats = MeanStats<2>;
    using Node = NodeView<Stats>;

    // The mean and the error bound of MeanScan, in units of the grid. A sum of n terms of at most
    // sum |y - mean| <= sqrt(n spread) is off by less than n + 4 roundings of it, and the mean by one of its own.
    static void prepare(Node& node, const Description& description) {
        constexpr double kRounding = 1.0 / (int64_t{1} << 52);
        node.filter.serves = is_filtered(node) && node.stats.unit != 0.0;
        double n = static_cast<double>(node.n_rows());
        if (node.stats.unit_bits + 2 * std::bit_width(node.end - node.begin) <= 53) {
            node.filter.is_exact = true;
            node.filter.factor = n;
            node.filter.scale = 1.0;
            node.filter.mean = to_double(node.totals.slots[0]);
            return;
        }
        double spread =
            Scaled{description.variance.mantissa * n, description.variance.exponent}.value(
                -2 * node.stats.product_exponent);
        node.filter.scale = n * n;
        node.filter.mean = to_double(node.totals.slots[0]) / n;
        node.filter.error =
            kRounding * ((n + 4) * std::sqrt(n * spread) + 2 * n * std::fabs(node.filter.mean));
    }
    static void prepare_alone(Node& node, const Description& description) {
        prepare(node, description);
    }
    static bool is_settled(const Node&, uint32_t, const Findings&) { return false; }
    template <class Code>
    static bool scan(const Node& node, const OrderView<Code>& order, Scratch<Stats::Slot>& scratch,
                     Findings& findings) {
        if (!node.filter.serves) return false;
        MeanScan(node, order, scratch.sums, findings).run();
        return true;
    }
    static bool scan(const Node&, const ListView&, Scratch<Stats::Slot>&, Findings&) {
        return false;
    }

    // One cut that nothing can reach needs no exact sum.
    static void resolve(const Layout& layout, const Node& node, Findings& findings) {
        findings.drop_hopeless();
        bool is_alone = findings.pending.size() == 1 && !findings.best.exists();
        PendingJudge judge(layout, node);
        for (const Pending& cut : findings.pending) {
            double quality = is_alone ? cut.upper : judge.quality(cut);
            if (quality < findings.best.quality) continue;
            findings.offer(numeric_split(quality, cut.column, cut.code, cut.next_code));
        }
        findings.pending.clear();
    }
};

}  // namespace treefold
