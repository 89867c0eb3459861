// Nodes: what they add up to, what they are to a member, which rows they have.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "grow/request.hpp"
#include "search/few_columns.hpp"
#include "search/layout.hpp"

namespace treefold {

// What a member brings to all of its nodes.
template <class Stats>
struct MemberContext {
    uint32_t index = 0;  // in the family
    const Stats* stats = nullptr;
    const Rules* rules = nullptr;
    bool asks_everything = true;
    size_t most_at_once = 0;  // nodes of so many rows need no orders (most_rows_at_once())
    double root_weight = 0.0;

    bool tries_all(const Table& table) const { return rules->max_features >= table.columns.size(); }
};

// What the rows of a node add up to.
template <class Stats>
struct NodeSums {
    typename Stats::Totals totals;
    typename Stats::Context context;
    Description description;
};

// The same, of a node in the tree of a member.
template <class Stats>
struct NodePart : NodeSums<Stats> {
    size_t asked_begin = 0, asked_end = 0;  // of the rows that ask
    size_t record = 0;  // in the sink
    uint64_t stack_words = 0;  // rows of this node and of those above it
};

// The same, with rows that follow each other in a layout.
template <class Stats>
struct RowPart : NodePart<Stats> {
    size_t begin = 0, end = 0;  // of Layout::rows

    size_t size() const { return end - begin; }
};

template <class Stats>
Side<typename Stats::Slot> side_of(const NodeSums<Stats>& sums) {
    return {sums.totals.rows, sums.totals.slots.data()};
}

template <class Stats>
bool is_asked(const NodePart<Stats>& part, const MemberContext<Stats>& member) {
    return member.asks_everything || part.asked_begin < part.asked_end;
}

// Is the node a leaf, whatever splits there are?
template <class Stats>
bool stops(const NodeSums<Stats>& sums, const Rules& rules, int64_t depth) {
    int64_t n_rows = sums.totals.rows;
    return sums.description.is_pure || depth >= rules.max_depth ||
           n_rows < rules.min_samples_split || n_rows < 2 * rules.min_samples_leaf ||
           sums.description.weight < 2 * rules.min_weight_leaf ||
           sums.description.impurity <= rules.min_impurity;
}

// A node of one member.
template <class Stats>
struct MemberNode : RowPart<Stats> {
    const MemberContext<Stats>* member = nullptr;
    Layout* layout = nullptr;
    int64_t depth = 0;
    uint64_t key = 0;  // of the draws (random.hpp)
    std::vector<Stretch> stretches;  // sparse columns that are not all zero here, ascending
    KeptHistogram<Stats> kept;  // of the few-valued columns, or nothing
    // Set when the node is opened:
    Split split;
    RowPart<Stats> left, right;
    double decrease = 0.0;

    // All rows of a layout.
    void take_all(Layout& from) {
        layout = &from;
        this->begin = 0, this->end = from.n_rows;
        stretches = from.root_stretches;
    }
    std::span<uint32_t> rows() const { return rows_of(*this); }
    std::span<uint32_t> rows_of(const RowPart<Stats>& part) const {
        return {layout->rows.data() + part.begin, part.size()};
    }
    const Stretch* find_stretch(uint32_t column) const {
        auto found = std::lower_bound(stretches.begin(), stretches.end(), column,
                                      [](const Stretch& a, uint32_t b) { return a.column < b; });
        return found != stretches.end() && found->column == column ? &*found : nullptr;
    }
};

template <class Stats>
using NodePointer = std::unique_ptr<MemberNode<Stats>>;

}  // namespace treefold
