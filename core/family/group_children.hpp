// The children of a group: what waits for them, and how they are made out of the parent's layout.
#pragma once

#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include "base/random.hpp"
#include "family/group_histograms.hpp"
#include "grow/growth.hpp"

namespace treefold {

template <class Stats>
class GroupChildren {
public:
    GroupChildren(Growth<Stats>& growth, GroupHistograms<Stats>& histograms)
        : growth_(growth), histograms_(histograms), pools_(growth.scratches.size()) {}

    // A node for each fork, which makes its children when its turn comes. The parent's layout is needed until the last one has:
    // forks of few members come first.
    void defer_children(const GroupNode<Stats>& node, auto&& offer) const {
        Forks<Stats>& forks = node.group->forks;
        std::vector<size_t> order;
        for (size_t at = 0; at < forks.size(); ++at)
            if (!forks[at].left.shares.empty() || !forks[at].right.shares.empty())
                order.push_back(at);
        std::stable_sort(order.begin(), order.end(),
                         [&](size_t a, size_t b) { return forks[a].n_shares > forks[b].n_shares; });
        for (size_t at : order)
            offer({node.group, GroupNode<Stats>::Part::fork, at, node.depth, node.key});
    }

    // A node for each share, which goes on alone when its turn comes.
    void defer_shares(const GroupNode<Stats>& node, auto&& offer) const {
        for (size_t at = 0; at < node.group->shares.size(); ++at)
            offer({node.group, GroupNode<Stats>::Part::share, at, node.depth, node.key});
    }

    // Both children of a fork, the larger one first: the other one is taken before it. The node gives its group back.
    void make_children(GroupNode<Stats>& node, int worker, auto&& offer) {
        GroupPool<Stats>& pool = pools_[static_cast<size_t>(worker)];
        std::shared_ptr<Group<Stats>> left = pool.take(), right = pool.take();
        divide(node, worker, *left, *right);
        bool is_additive = node.group->is_additive;
        for (bool is_left : {true, false}) {
            Group<Stats>& child = is_left ? *left : *right;
            ForkSide<Stats>& side = is_left ? node.fork().left : node.fork().right;
            child.is_additive = is_additive;
            child.shares.swap(side.shares);
            std::swap(child.patterns, side.patterns);
            child.bytes = Metered(growth_.meter, child.nbytes());
        }
        give_back(node, worker);
        bool is_left_larger = left->n_rows() > right->n_rows();
        for (bool is_left : {is_left_larger, !is_left_larger}) {
            std::shared_ptr<Group<Stats>>& child = is_left ? left : right;
            if (child->shares.empty())
                pool.give_back(std::move(child));
            else
                offer({std::move(child), GroupNode<Stats>::Part::all, 0, node.depth + 1,
                       child_key(node.key, is_left)});
        }
    }

    // Both children of a fork as rows, patterns, layouts and histograms only.
    void divide(const GroupNode<Stats>& node, int worker, Group<Stats>& left, Group<Stats>& right) {
        const Group<Stats>& parent = *node.group;
        uint8_t* ways = choose_ways(parent, node.fork(), worker, left, right);
        divide_layout(parent.layout, ways, left.layout, right.layout);
        if constexpr (GroupHistograms<Stats>::kServes)
            histograms_.hand_on(parent, node.fork(), left, right, worker);
    }

    void give_back(GroupNode<Stats>& node, int worker) {
        if (node.group) pools_[static_cast<size_t>(worker)].give_back(std::move(node.group));
    }

private:
    // The rows and patterns of both children; returns which way each row of the parent goes, if orders or lists ask for it.
    uint8_t* choose_ways(const Group<Stats>& parent, const Fork<Stats>& fork, int worker,
                         Group<Stats>& left, Group<Stats>& right) {
        const Layout& layout = parent.layout;
        if (layout.n_orders == 0 && layout.root_stretches.empty()) {
            place_rows(parent, fork, left, right, [](uint32_t, uint8_t) {});
            return nullptr;
        }
        uint8_t* ways = growth_.scratch(worker).ways_for(growth_.table.n_rows);
        place_rows(parent, fork, left, right,
                   [ways](uint32_t row, uint8_t way) { ways[row] = way; });
        return ways;
    }

    // goes(row, way) for each row of the parent.
    template <class Goes>
    static void place_rows(const Group<Stats>& parent, const Fork<Stats>& fork, Group<Stats>& left,
                           Group<Stats>& right, Goes&& goes) {
        auto resize = [](Group<Stats>& side, size_t n) {
            side.layout.rows.resize(n);
            side.pattern_of.resize(n);
        };
        resize(left, fork.left.n_rows + kPacked), resize(right, fork.right.n_rows + kPacked);
        const uint32_t *rows = parent.layout.rows.data(),
                       *cell_of = parent.cells.data() + fork.cells_begin;
        const uint32_t *to_left = fork.left.child_of.data(), *to_right = fork.right.child_of.data();
        uint32_t *left_rows = left.layout.rows.data(), *right_rows = right.layout.rows.data();
        uint32_t *left_patterns = left.pattern_of.data(), *right_patterns = right.pattern_of.data();
        size_t n_left = 0, n_right = 0, k = 0;
        const size_t n = parent.n_rows();
        for (; kPacks && k + kPacked <= n; k += kPacked) {  // three quarters of the time
            Packable eight(rows + k), on_left(to_left, cell_of + k),
                on_right(to_right, cell_of + k);
            uint32_t left_bits = ~on_left.bits_of(Patterns::kNone) & 255,
                     right_bits = ~on_right.bits_of(Patterns::kNone) & 255;
            eight.pack(left_bits, left_rows + n_left), eight.pack(right_bits, right_rows + n_right);
            on_left.pack(left_bits, left_patterns + n_left);
            on_right.pack(right_bits, right_patterns + n_right);
            n_left += static_cast<size_t>(std::popcount(left_bits));
            n_right += static_cast<size_t>(std::popcount(right_bits));
            for (size_t i = 0; i < kPacked; ++i)
                goes(rows[k + i],
                     static_cast<uint8_t>((left_bits >> i & 1) | (right_bits >> i & 1) << 1));
        }
        for (; k < n; ++k) {
            uint32_t row = rows[k], on_left = to_left[cell_of[k]], on_right = to_right[cell_of[k]];
            left_rows[n_left] = right_rows[n_right] = row;
            left_patterns[n_left] = on_left;
            right_patterns[n_right] = on_right;
            bool is_left = on_left != Patterns::kNone, is_right = on_right != Patterns::kNone;
            n_left += is_left, n_right += is_right;
            goes(row, static_cast<uint8_t>(is_left | is_right << 1));
        }
        resize(left, n_left), resize(right, n_right);
    }

    Growth<Stats>& growth_;
    GroupHistograms<Stats>& histograms_;
    std::vector<GroupPool<Stats>> pools_;  // per worker
};

}  // namespace treefold
