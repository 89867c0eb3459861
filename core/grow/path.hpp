// The nodes that one row reaches, each grown out of the one before: none is kept, and of the last one only the value.
#pragma once

#include "base/random.hpp"
#include "grow/divider.hpp"
#include "grow/finder.hpp"

namespace treefold {

template <class Stats>
class Path {
public:
    using NodePtr = NodePointer<Stats>;

    explicit Path(Workshop<Stats>& shop) : shop_(shop), finder_(shop), divider_(shop, {}) {}

    // The root's rows, totals, depth and key are known; value: of the leaf.
    void follow(NodePtr node, uint32_t row, double* value, int worker) {
        Desk<Stats>& desk = shop_.desk(worker);
        describe(*node, node->rows(), *node->seat->stats, value, desk);
        while (!stops(*node, *node->seat->rules, node->depth) && open(*node, desk, worker)) {
            NodePtr child = step(*node, row, worker);
            describe(*child, child->rows(), *child->seat->stats, value, desk);
            desk.give_back(std::exchange(node, std::move(child)));
        }
        desk.give_back(std::move(node));
    }

private:
    static void describe(Part<Stats>& part, std::span<const uint32_t> rows, const Stats& stats,
                         double* value, Desk<Stats>& desk) {
        part.context = stats.context(part.totals, rows);
        part.description =
            stats.describe(part.totals, rows, part.context, value, desk.scratch.scaled);
    }

    // Finds the split and divides the rows. False: the node is a leaf.
    bool open(Node<Stats>& node, Desk<Stats>& desk, int worker) {
        desk.work.count_search(1, node.size());
        node.split = finder_.find(node, worker);
        if (!node.split.exists()) return false;
        divider_.divide_rows(node, worker);
        const Seat<Stats>& seat = *node.seat;
        if (seat.rules->min_impurity_decrease <= 0.0) return true;
        std::vector<double> unused(Stats::is_classification ? seat.stats->width() : 1);
        for (Part<Stats>* part : {&node.left, &node.right})
            describe(*part, node.rows_of(*part), *seat.stats, unused.data(), desk);
        return impurity_decrease(seat.root_weight, node.description, node.left.description,
                                 node.right.description) >= seat.rules->min_impurity_decrease;
    }

    NodePtr step(Node<Stats>& node, uint32_t row, int worker) {
        shop_.desk(worker).work.count_tests(node.depth, 1);
        const Column& column = shop_.table.columns[node.split.column];
        bool is_left = code_goes_left(node.split, column, last_code_left(node.split, column),
                                      column.code_of(row));
        NodePtr child = shop_.desk(worker).take_node();
        static_cast<Part<Stats>&>(*child) = std::move(is_left ? node.left : node.right);
        child->seat = node.seat;
        child->layout = node.layout;
        child->depth = node.depth + 1;
        child->key = child_key(node.key, is_left);
        Node<Stats>* needs_rest = child->size() > child->seat->most_at_once ? child.get() : nullptr;
        divider_.divide_rest(node, is_left ? needs_rest : nullptr, is_left ? nullptr : needs_rest,
                             worker);
        return child;
    }

    Workshop<Stats>& shop_;
    Finder<Stats> finder_;
    Divider<Stats> divider_;
};

}  // namespace treefold
