// The children of a group: one node for each fork until it is born, then two out of the parent's
// layout.
#pragma once

#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include "base/random.hpp"
#include "family/kept.hpp"
#include "grow/workshop.hpp"

namespace treefold {

template <class Stats>
class Births {
public:
    using NodePtr = NodePointer<Stats>;

    Births(Workshop<Stats>& shop, Keeper<Stats>& keeper) : shop_(shop), keeper_(keeper) {}

    // Gives a node for each fork to `consider`. The parent's layout is needed until the last fork is
    // born: forks of few members come first.
    template <class Consider>
    void announce(const Node<Stats>& node, int worker, Consider&& consider) {
        Forks<Stats>& forks = node.group->forks;
        std::vector<size_t> order;
        for (size_t at = 0; at < forks.size(); ++at)
            if (!forks[at].left.shares.empty() || !forks[at].right.shares.empty())
                order.push_back(at);
        std::stable_sort(order.begin(), order.end(),
                         [&](size_t a, size_t b) { return forks[a].n_shares > forks[b].n_shares; });
        for (size_t at : order) {
            NodePtr child = shop_.desk(worker).take_node();
            child->birth = std::make_unique<Birth<Stats>>(Birth<Stats>{node.group, at});
            child->depth = node.depth;
            child->key = node.key;
            consider(std::move(child));
        }
    }

    // Both children of a fork, out of the parent's layout.
    template <class Consider>
    void bear(Node<Stats>& node, int worker, Consider&& consider) {
        bear_fork(*node.birth, node, worker, consider);
    }

    // A node for each share, which goes on alone when its turn comes.
    template <class Consider>
    void part(const Node<Stats>& node, int worker, Consider&& consider) {
        for (size_t at = 0; at < node.group->shares.size(); ++at) {
            NodePtr lone = shop_.desk(worker).take_node();
            lone->group = node.group;
            lone->lone = at;
            lone->depth = node.depth;
            lone->key = node.key;
            consider(std::move(lone));
        }
    }

    // Both children of a fork as rows, patterns, layouts and histograms only.
    void divide(const Birth<Stats>& birth, int worker, Group<Stats>& left, Group<Stats>& right) {
        uint8_t* ways = choose_ways(birth, worker, left, right);
        divide_layout(birth.parent->layout, ways, left.layout, right.layout);
        if constexpr (Keeper<Stats>::kServes)
            keeper_.hand_on(*birth.parent, birth.fork(), left, right, worker);
    }

private:
    template <class Consider>
    void bear_fork(Birth<Stats>& birth, const Node<Stats>& node, int worker, Consider&& consider) {
        const Group<Stats>& parent = *birth.parent;
        Desk<Stats>& desk = shop_.desk(worker);
        std::shared_ptr<Group<Stats>> left = desk.take_group(), right = desk.take_group();
        divide(birth, worker, *left, *right);
        NodePtr children[2] = {desk.take_node(), desk.take_node()};
        for (bool is_left : {true, false}) {
            Node<Stats>& child = *children[is_left ? 0 : 1];
            ForkSide<Stats>& side = is_left ? birth.fork().left : birth.fork().right;
            child.group = is_left ? std::move(left) : std::move(right);
            child.group->is_additive = parent.is_additive;
            child.group->shares.swap(side.shares);
            std::swap(child.group->patterns, side.patterns);
            child.group->bytes = Metered(shop_.meter, child.group->nbytes());
            child.depth = node.depth + 1;
            child.key = child_key(node.key, is_left);
        }
        desk.give_back(std::move(birth.parent));
        bool is_left_larger = children[0]->group->n_rows() > children[1]->group->n_rows();
        for (bool larger : {true, false}) {
            NodePtr& child = children[is_left_larger == larger ? 0 : 1];
            if (child->group->shares.empty())
                desk.give_back(std::move(child));
            else
                consider(std::move(child));
        }
    }

    // The rows and patterns of both children; returns which way each row of the parent goes, if orders or lists ask for it.
    uint8_t* choose_ways(const Birth<Stats>& birth, int worker, Group<Stats>& left,
                         Group<Stats>& right) {
        const Layout& layout = birth.parent->layout;
        if (layout.n_orders == 0 && layout.root_stretches.empty()) {
            place_rows(birth, left, right, [](uint32_t, uint8_t) {});
            return nullptr;
        }
        uint8_t* ways = shop_.desk(worker).ways_for(shop_.table.n_rows);
        place_rows(birth, left, right, [ways](uint32_t row, uint8_t way) { ways[row] = way; });
        return ways;
    }

    // goes(row, way) for each row of the parent.
    template <class Goes>
    static void place_rows(const Birth<Stats>& birth, Group<Stats>& left, Group<Stats>& right,
                           Goes&& goes) {
        const Group<Stats>& parent = *birth.parent;
        const Fork<Stats>& fork = birth.fork();
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

    Workshop<Stats>& shop_;
    Keeper<Stats>& keeper_;
};

}  // namespace treefold
