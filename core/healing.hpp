// Forks heal: members that have parted and that the same rows reach later, by other tests or in another order, go on
// together again.
//
// Nodes are opened by their number of rows, the largest first, so that all that have the same rows wait at one time: what
// they came from is larger. They are known by a signature of their rows. Nothing depends on it but how much is shared, as
// a row may count for any members of a group. A member that nobody has met by its turn goes on alone and does not come back.
//
// Waiting takes memory for the rows of every group, and what was divided long ago is no longer in a near cache. So this is
// done where columns have few codes: to the end where the codes of all rows fit a near cache and no order has to wait (ten folds together /
// healing: Car 1.07, LED 1.09; Letter would take 0.97, Connect-4 0.75), else among few members and as long as groups are large. There updates, serial
// / shared, rise from 1.95 to 2.13 (Adult), 3.33 to 3.43 (Letter), 3.15 to 3.24 (Connect-4) in the same time.
#pragma once

#include "group.hpp"

namespace treefold {

inline constexpr size_t kNearCells = size_t{1} << 17;  // of the table, mostly a byte each
// Groups of a smaller share of the rows heal among their own descendants at most: workers can then take them.
inline constexpr size_t kHealingShare = 16;
inline constexpr size_t kMostHealing = 64;  // members: each waiting group has a share of each
// Not to the end: larger tables, of fewer members (nested folds of Adult took 1.1 times as long). Of many columns the histograms that
// groups hand on would wait, too (Internet Ads: 1.2 times as long).
inline constexpr size_t kHealingCells = size_t{1} << 22, kHealingRows = size_t{1} << 17;
inline constexpr size_t kRowsPerColumn = 64, kFewHealing = 16;

// Do groups that have left the loop of the root go on healing?
inline bool heals_to_the_end(const Plan& plan) {
    return plan.n_orders == 0 && plan.table->n_rows * plan.table->columns.size() <= kNearCells;
}

// Asked of the root. Draws are keyed by the way to a node, so that members of one set of rows would draw different columns.
template <class Target>
bool can_heal(const Group<Target>& root, const Table& table) {
    const Layout& layout = root.layout;
    size_t n_rows = table.n_rows, n_columns = table.columns.size();
    bool is_moderate = n_rows * n_columns <= kHealingCells && n_rows <= kHealingRows &&
                       n_rows >= kRowsPerColumn * n_columns;
    bool pays = heals_to_the_end(layout) ? root.shares.size() <= kMostHealing
                                         : is_moderate && root.shares.size() <= kFewHealing;
    return pays && root.is_additive && layout.root_stretches.empty() && layout.position.empty() &&
           !has_many_codes(table) && root.shares[0].seat->tries_all(table);
}

template <class Target>
bool heals(const Node<Target>& node) {
    return node.group && node.group->heals;
}

// Can they go on as one?
template <class Target>
bool meet(const Node<Target>& a, const Node<Target>& b) {
    return a.signature != 0 && a.signature == b.signature && a.depth == b.depth &&
           a.decrease == b.decrease;
}

// Has it nobody to meet in the loop whose root has so many rows? Of one member, or too small.
template <class Target>
bool leaves_loop(const Node<Target>& node, size_t n_root_rows) {
    size_t n_rows = node.group->n_rows();
    bool is_small = node.group->shares.size() == 1 || n_rows * kHealingShare < n_root_rows;
    return is_small && n_rows < n_root_rows;  // not the root itself
}

// Puts two groups together: a row counts for those for whom it counts in one of them.
template <class Target>
class Healer {
public:
    Healer(Group<Target>& one, Group<Target>& other)
        : one_(one), other_(other), n_columns_(other.patterns.size() + 1) {
        size_t n_pairs = (one.patterns.size() + 1) * n_columns_;
        if (n_pairs <= one.n_rows() + other.n_rows()) known_.assign(n_pairs, kUnknown);
    }

    void join(Group<Target>& group) {
        size_t n_one = one_.shares.size();
        group.patterns.reset(n_one + other_.shares.size());
        set_.resize(group.patterns.n_words());
        join_rows(group);
        prepare_side(one_.layout, group.layout);
        for (uint32_t column = 0; column < group.layout.order_of.size(); ++column)
            if (group.layout.order_of[column] >= 0) join_order(column, group.layout);
        group.shares = std::move(one_.shares);
        for (Share<Target>& share : other_.shares) group.shares.push_back(std::move(share));
        group.is_additive = one_.is_additive && other_.is_additive;
        group.is_part = group.heals = true;
    }

private:
    static constexpr uint32_t kUnknown = Patterns::kNone;

    // Rows ascend in both.
    void join_rows(Group<Target>& group) {
        const Words &a = one_.layout.rows, &b = other_.layout.rows;
        Words& rows = group.layout.rows;
        rows.reserve(std::max(a.size(), b.size()));
        group.pattern_of.reserve(std::max(a.size(), b.size()));
        for (size_t i = 0, j = 0; i < a.size() || j < b.size();) {
            bool in_a = j == b.size() || (i < a.size() && a[i] <= b[j]);
            bool in_b = i == a.size() || (j < b.size() && b[j] <= a[i]);
            rows.push_back(in_a ? a[i] : b[j]);
            auto p = in_a ? one_.pattern_of[i] : static_cast<uint32_t>(one_.patterns.size());
            auto q = in_b ? other_.pattern_of[j] : static_cast<uint32_t>(n_columns_ - 1);
            group.pattern_of.push_back(unite(p, q, group.patterns));
            i += in_a, j += in_b;
        }
    }

    // By code, then by row.
    void join_order(uint32_t column, Layout& layout) {
        auto words_of = [&](const Layout& from) { return from.order(column, 0, from.n_rows); };
        std::span<const uint32_t> a = words_of(one_.layout), b = words_of(other_.layout);
        auto order = static_cast<size_t>(layout.order_of[column]);
        layout.table->columns[column].codes.with([&](auto* codes) {
            auto is_before = [codes, bits = layout.class_bits](uint32_t x, uint32_t y) {
                auto code_x = codes[x >> bits], code_y = codes[y >> bits];
                return code_x != code_y ? code_x < code_y : x < y;
            };
            std::set_union(a.begin(), a.end(), b.begin(), b.end(), layout.words_of(order),
                           is_before);
        });
    }

    uint32_t unite(uint32_t p, uint32_t q, Patterns& patterns) {
        uint32_t* known = known_.empty() ? nullptr : &known_[p * n_columns_ + q];
        if (known != nullptr && *known != kUnknown) return *known;
        std::fill(set_.begin(), set_.end(), 0);
        add(one_, p, 0);
        add(other_, q, one_.shares.size());
        uint32_t pattern = patterns.intern(set_.data());
        if (known != nullptr) *known = pattern;
        return pattern;
    }
    void add(const Group<Target>& group, uint32_t pattern, size_t first) {
        if (pattern == group.patterns.size()) return;  // not one of its rows
        for (size_t k = 0; k < group.shares.size(); ++k)
            if (group.patterns.has(pattern, k))
                set_[(first + k) / 64] |= uint64_t{1} << ((first + k) % 64);
    }

    Group<Target>&one_, &other_;
    size_t n_columns_;
    // (pattern of one, pattern of the other): together. Empty if there are many pairs.
    std::vector<uint32_t> known_;
    std::vector<uint64_t> set_;
};

}  // namespace treefold
