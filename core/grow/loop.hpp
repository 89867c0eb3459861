// The growth loop: take nodes from the frontier, open them, divide them, offer their children.
//
// A kind of node says what that means. There are nodes of one member (member_nodes.hpp), of members that go on together
// (family/group_nodes.hpp), and of rows that are left out one at a time (leave_one_out/left_out_nodes.hpp). A kind has
//
//   Node                        what waits in the frontier
//   Target                      what growth writes to
//   open(node, target, worker)  finds out how the node goes on; false: it does not, and has told its target
//   divide(node, target, worker, offer)   gives its children to offer
//   give_back(node, worker)     the node is done with
//   rules_of(node), n_cells(node)         how it grows; how much there is to look at
//   is_task(node)               is it small enough to be grown by one worker beside others?
//   too_much_waits(nodes)       do nodes that are set aside keep too much memory alive?
//   Task, start, finish         what a task writes to, and how the target gets it
//   Trail                       sees each node before it is divided, last first
//   kRanks, is_worse            can the best of them be told?
//
// With several workers, large nodes are searched column by column in parallel; small ones are set aside and grown one per
// task, by the same loop.
#pragma once

#include "grow/frontier.hpp"
#include "grow/growth.hpp"

namespace treefold {

template <class Kind>
class Loop {
public:
    using Node = typename Kind::Node;
    using Target = typename Kind::Target;

    explicit Loop(Kind& kind) : kind_(kind) {}

    // Grows what is below a root, with the help of the other workers unless these grow something else.
    void run(Node root, Target& target, int worker) {
        std::vector<Node> set_aside;
        bool has_help = kind_.growth().workers.size() > 1 && !kind_.growth().in_tasks;
        grow(list_one(std::move(root)), target, has_help ? &set_aside : nullptr, worker);
        grow_set_aside(set_aside, target);
    }

    // Grows what is below some nodes, by this worker. set_aside: small ones are left there, for tasks.
    void grow(std::vector<Node> roots, Target& target, std::vector<Node>* set_aside, int worker) {
        const int64_t most_leaves = kind_.rules_of(roots[0]).max_leaf_nodes;
        const Order order = order_of(kind_.rules_of(roots[0]));
        Frontier<Kind> frontier(order);
        typename Kind::Trail trail;
        auto opens = [&](Node& node) {
            if (kind_.open(node, target, worker)) return true;
            kind_.give_back(std::move(node), worker);
            return false;
        };
        auto offer = [&](Node node) {
            if (set_aside != nullptr && kind_.is_task(node))
                set_aside->push_back(std::move(node));
            else if (order != Order::best || opens(node))  // only opened nodes can be ranked
                frontier.push(std::move(node));
        };
        for (Node& root : roots) offer(std::move(root));
        std::vector<Node> taken;
        size_t n_unchecked = 0;
        for (int64_t n_leaves = 1; !frontier.empty() && n_leaves != most_leaves; ++n_leaves) {
            if (set_aside != nullptr && kind_.too_much_waits(*set_aside))
                grow_set_aside(*set_aside, target);
            frontier.take(taken);
            for (Node& node : taken) {
                if ((n_unchecked += kind_.n_cells(node)) > kCheckedCells)
                    kind_.growth().workers.check(), n_unchecked = 0;
                if (order != Order::best && !opens(node)) continue;
                if (order == Order::last && set_aside == nullptr) trail.pass(node);
                kind_.divide(node, target, worker, offer);
                kind_.give_back(std::move(node), worker);
            }
        }
        trail.finish();
    }

    static std::vector<Node> list_one(Node node) {
        std::vector<Node> nodes;
        nodes.push_back(std::move(node));
        return nodes;
    }

private:
    // Each is a task that writes to a target of its own.
    void grow_set_aside(std::vector<Node>& nodes, Target& target) {
        if (nodes.empty()) return;
        std::vector<typename Kind::Task> tasks(nodes.size());
        std::stable_sort(nodes.begin(), nodes.end(), [&](const Node& a, const Node& b) {
            return kind_.n_cells(a) > kind_.n_cells(b);
        });
        kind_.growth().start_tasks();
        kind_.growth().workers.for_each(nodes.size(), [&](size_t at, int worker) {
            Target& own = kind_.start(tasks[at], nodes[at], target);
            grow(list_one(std::move(nodes[at])), own, nullptr, worker);
        });
        kind_.growth().in_tasks = false;
        for (typename Kind::Task& task : tasks) kind_.finish(std::move(task), target);
        nodes.clear();
    }

    Kind& kind_;
};

}  // namespace treefold
