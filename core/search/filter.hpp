// Filters: scans in floating point that leave out what surely cannot win; what survives is decided by the exact quality.
// Each is proved for one criterion of one kind of statistics, and serves no other:
//
//   gini, two classes     whole numbers in float64 (class_filter.hpp); a block of rows is skipped if no corner can win
//   gini, more classes    whole numbers in float64, the quality of a cut in O(1)
//   squared error         sums in float64 with a bound of their error; cuts within the bound stay pending (mean_filter.hpp)
//
// Against the exact scans: the first 20 times as fast a growth on 100,000 x 20 continuous columns, the last 7 times on
// California housing. Rules::search switches all of them off, so that tests can compare.
#pragma once

#include "search/order_view.hpp"

namespace treefold {

// Of statistics that have no filter.
template <class Stats>
struct Filter {
    // Do the filters serve this node? Of a node of a group, whose rows count once; and of one member's own.
    static void prepare(NodeView<Stats>&, const Description&) {}
    static void prepare_alone(NodeView<Stats>&, const Description&) {}
    // Is the best so far the best that there can be, whatever this column holds?
    static bool is_settled(const NodeView<Stats>&, uint32_t, const Findings&) { return false; }
    // A kept order, or a list of a sparse column, without missing rows. False: it asks for the exact scan.
    template <class Code>
    static bool scan(const NodeView<Stats>&, const OrderView<Code>&, Scratch<typename Stats::Slot>&,
                     Findings&) {
        return false;
    }
    static bool scan(const NodeView<Stats>&, const ListView&, Scratch<typename Stats::Slot>&,
                     Findings&) {
        return false;
    }
    // Decides between cuts that are pending.
    static void resolve(const Layout&, const NodeView<Stats>&, Findings&) {}
};

// Do filters serve nodes of these statistics and rules, if they are not too large?
template <class Stats>
bool is_filtered(const NodeView<Stats>& node) {
    return node.n_rows() <= static_cast<int64_t>(kMostRows) && node.stats.is_unit() &&
           node.rules.min_weight_leaf <= 0.0 && node.rules.search == Search::fastest;
}

}  // namespace treefold
