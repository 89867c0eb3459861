// grow: open the root; while the frontier has nodes, take one, divide it, open its children.
//
//   open      is the node a leaf? find its best split (finder.hpp); divide its rows; describe both sides
//   frontier  opened nodes: the last one is divided next (depth first), or the best one (workshop.hpp)
//   divide    kept orders, lists and histograms follow the rows (divider.hpp)
//
// With several workers, large nodes are searched column by column in parallel; subtrees that are small are
// set aside and grown one per task, by the same loop.

#include "grow.hpp"

#include <algorithm>
#include <optional>

#include "divider.hpp"
#include "finder.hpp"
#include "fixed_target.hpp"
#include "growing_tree.hpp"
#include "random.hpp"
#include "tiny.hpp"

namespace treefold {

namespace {

// Orders are kept if at least one column in so many is tried in each node; if fewer are, sorting the rows
// of those costs less than carrying all orders along.
constexpr uint64_t kKeepShare = 16;

template <class Target>
class Grower {
public:
    using NodePtr = NodePointer<Target>;

    Grower(Workshop<Target>& shop, const Demand& demand)
        : shop_(shop), rules_(shop.rules), demand_(demand), finder_(shop),
          divider_(shop, demand.rows) {
        for (int worker = 0; worker < shop.workers.size(); ++worker)
            shop.desks.emplace_back(shop.table.n_rows);
    }

    GrowingTree run() {
        GrowingTree tree(Target::is_classification ? shop_.target.width() : 1,
                         !shop_.target.counts_rows(), shop_.table);
        std::vector<NodePtr> set_aside;
        grow_from(make_root(tree), tree, shop_.workers.size() > 1 ? &set_aside : nullptr, 0);
        grow_set_aside(set_aside, tree);
        return tree;
    }

private:
    // The loop.
    void grow_from(NodePtr root, GrowingTree& tree, std::vector<NodePtr>* set_aside, int worker) {
        Frontier<Target> frontier(rules_.max_leaf_nodes != 0);
        auto consider = [&](NodePtr node) {
            if (set_aside != nullptr && is_task(*node))
                set_aside->push_back(std::move(node));
            else if (open(*node, tree, worker))
                frontier.push(std::move(node));
            else
                shop_.desk(worker).give_back(std::move(node));
        };
        consider(std::move(root));
        size_t n_unchecked = 0;
        for (int64_t n_leaves = 1; !frontier.empty() && n_leaves != rules_.max_leaf_nodes;
             ++n_leaves) {
            NodePtr node = frontier.pop();
            if ((n_unchecked += node->size() * shop_.table.columns.size()) > kCheckedCells)
                shop_.workers.check(), n_unchecked = 0;
            tree.set_split(node->record, node->split, node->left.record);
            NodePtr left = make_child(*node, node->left, true, worker);
            NodePtr right = make_child(*node, node->right, false, worker);
            divider_.divide_rest(*node, needs_rest(left), needs_rest(right), worker);
            shop_.desk(worker).give_back(std::move(node));
            if (right) consider(std::move(right));
            if (left) consider(std::move(left));
        }
    }

    // Small subtrees, each a task with a tree of its own that is grafted on afterwards.
    void grow_set_aside(std::vector<NodePtr>& nodes, GrowingTree& tree) {
        std::vector<std::optional<GrowingTree>> subtrees(nodes.size());
        std::vector<size_t> records;
        for (const NodePtr& node : nodes) records.push_back(node->record);
        shop_.in_tasks = true;
        shop_.workers.for_each(nodes.size(), [&](size_t task, int worker) {
            subtrees[task].emplace(tree.start_subtree(records[task]));
            nodes[task]->record = 0;
            grow_from(std::move(nodes[task]), *subtrees[task], nullptr, worker);
        });
        for (size_t task = 0; task < subtrees.size(); ++task) {
            tree.graft(records[task], std::move(*subtrees[task]));
            subtrees[task].reset();
        }
    }

    NodePtr make_root(GrowingTree& tree) {
        auto root = std::make_unique<Node<Target>>();
        root->end = shop_.layout.n_rows;
        root->asked_end = divider_.n_asked();
        root->key = root_key(rules_.seed, rules_.tree);
        root->totals = shop_.target.sum_rows(shop_.layout.rows);
        root->stretches = shop_.layout.root_stretches;
        root->record = tree.add_nodes(1);
        describe(*root, tree, 0);
        root_weight_ = root->description.weight;
        return root;
    }

    Node<Target>* needs_rest(const NodePtr& child) const {
        return child && child->size() > shop_.tiny_rows ? child.get() : nullptr;
    }

    // Null if the child is surely a leaf.
    NodePtr make_child(Node<Target>& parent, Part<Target>& part, bool is_left, int worker) {
        if (is_leaf(part, parent.depth + 1)) return nullptr;
        NodePtr child = shop_.desk(worker).take_node();
        static_cast<Part<Target>&>(*child) = std::move(part);
        child->depth = parent.depth + 1;
        child->key = child_key(parent.key, is_left);
        return child;
    }

    void describe(Part<Target>& part, GrowingTree& tree, int worker) {
        std::span<uint32_t> rows = shop_.rows_of(part);
        part.context = shop_.target.context(part.totals, rows);
        part.description =
            shop_.target.describe(part.totals, rows, part.context, tree.value(part.record),
                                  shop_.desk(worker).scratch.scaled);
        tree.describe(part.record, part.description, static_cast<int64_t>(part.size()));
    }

    // Not when the best leaf anywhere is divided next.
    bool is_task(const Node<Target>& node) const {
        auto n_workers = static_cast<size_t>(shop_.workers.size());
        return rules_.max_leaf_nodes == 0 && node.size() * 4 * n_workers < shop_.layout.n_rows;
    }

    bool is_leaf(const Part<Target>& part, int64_t depth) const {
        auto n_rows = static_cast<int64_t>(part.size());
        bool is_asked = demand_.is_everything || part.asked_begin < part.asked_end;
        return part.description.is_pure || depth >= rules_.max_depth ||
               n_rows < rules_.min_samples_split || n_rows < 2 * rules_.min_samples_leaf ||
               part.description.weight < 2 * rules_.min_weight_leaf ||
               part.description.impurity <= rules_.min_impurity || !is_asked;
    }

    // Finds the node's split and describes its children. False: the node stays a leaf.
    bool open(Node<Target>& node, GrowingTree& tree, int worker) {
        if (is_leaf(node, node.depth)) return false;
        node.split = finder_.find(node, worker);
        if (!node.split.exists()) return false;
        divider_.divide_rows(node, worker);
        node.left.record = tree.add_nodes(2);
        node.right.record = node.left.record + 1;
        describe(node.left, tree, worker);
        describe(node.right, tree, worker);
        node.decrease = impurity_decrease(root_weight_, node.description, node.left.description,
                                          node.right.description);
        if (node.decrease >= rules_.min_impurity_decrease) return true;
        tree.drop_nodes(2);
        return false;
    }

    Workshop<Target>& shop_;
    const Rules& rules_;
    const Demand& demand_;
    Finder<Target> finder_;
    Divider<Target> divider_;
    double root_weight_ = 0.0;
};

template <class Target>
Tree grow_with(const Table& table, const Target& target, const TargetView& view, Member& member,
               const Demand& demand, Workers& workers) {
    uint64_t n_columns = table.columns.size(), n_tried = member.rules.max_features;
    bool keeps_orders = n_tried >= n_columns || n_tried * kKeepShare >= n_columns;
    auto grown =
        [&] {  // the layout is gone before the tree is written: they need not be in memory together
            Layout layout = lay_out(table, std::move(member.rows), view.classes, view.n_classes,
                                    keeps_orders, workers);
            Workshop<Target> shop{table, target, member.rules, layout, workers};
            shop.tiny_rows = tiny_rows(table, member.rules, target);
            return Grower<Target>(shop, demand).run();
        }();
    return std::move(grown).in_preorder(view.n_classes);
}

}  // namespace

Tree grow(const Table& table, const TargetView& view, Family family, const Demand& demand,
          Workers& workers) {
    if (family.members.size() != 1) throw DataError("growth takes families of one member");
    Member& member = family.members[0];
    if (member.rows.empty()) throw DataError("no row has a positive weight");
    return with_target(view, member, [&](const auto& target) {
        return grow_with(table, target, view, member, demand, workers);
    });
}

}  // namespace treefold
