// grow: open the root; while the frontier has nodes, take one, divide it, open its children.
//
//   open      describe the node; is it a leaf? search its best split; divide its rows; describe both sides
//   frontier  nodes that will be divided: the last one first (depth first) or the best one first
//   divide    kept orders and stretches follow the rows
//
// With several workers, large nodes are searched column by column in parallel; subtrees that are small are
// set aside and grown one per task, by the same loop.

#include "grow.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <queue>

#include "fixed_target.hpp"
#include "growing_tree.hpp"
#include "random.hpp"
#include "rows.hpp"
#include "search.hpp"

namespace treefold {

namespace {

// Nodes below this many cells are left to one worker: waking the others takes longer (about 20 us).
constexpr size_t kParallelCells = 40'000;

// Orders are kept if at least this share of the columns is tried in each node; below it, sorting the
// rows of the few columns that are tried is cheaper than carrying all orders along.
constexpr uint64_t kKeepShare = 16;

template <class Target>
struct Node {
    size_t begin = 0, end = 0;              // of Layout::rows
    size_t asked_begin = 0, asked_end = 0;  // of the rows that ask
    int64_t depth = 0;
    uint64_t key = 0;
    size_t record = 0;                      // in GrowingTree; its children are records `children`, `children` + 1
    size_t children = 0;
    typename Target::Totals totals;
    typename Target::Context context;
    Description description;
    std::vector<Stretch> stretches;
    Split split;
    double decrease = 0.0;
    size_t middle = 0, asked_middle = 0;
    std::unique_ptr<Node> left, right;

    size_t size() const { return end - begin; }
};

template <class Target>
using NodePointer = std::unique_ptr<Node<Target>>;

// Which node is divided next.
template <class Target>
class Frontier {
public:
    explicit Frontier(bool best_first) : best_first_(best_first) {}
    bool empty() const { return nodes_.empty(); }
    void push(NodePointer<Target> node) {
        nodes_.push_back(std::move(node));
        if (best_first_) std::push_heap(nodes_.begin(), nodes_.end(), is_worse);
    }
    NodePointer<Target> pop() {
        if (best_first_) std::pop_heap(nodes_.begin(), nodes_.end(), is_worse);
        NodePointer<Target> node = std::move(nodes_.back());
        nodes_.pop_back();
        return node;
    }

private:
    // Ties: lower depth, then further left (nodes of one depth lie in the order of their rows).
    static bool is_worse(const NodePointer<Target>& a, const NodePointer<Target>& b) {
        if (a->decrease != b->decrease) return a->decrease < b->decrease;
        if (a->depth != b->depth) return a->depth > b->depth;
        return a->begin > b->begin;
    }
    bool best_first_;
    std::vector<NodePointer<Target>> nodes_;
};

// What one worker needs for itself.
template <class Target>
struct Desk {
    explicit Desk(size_t n_rows) : sides(n_rows) {}
    Sides sides;
    Scratch<typename Target::Slot> scratch;
    std::vector<uint32_t> spare_codes;
    Findings findings;
};

template <class Target>
class Grower {
public:
    using NodePtr = NodePointer<Target>;

    Grower(const Table& table, const Target& target, const Member& member, const Demand& demand, Layout& layout,
           Workers& workers)
        : table_(table), target_(target), rules_(member.rules), demand_(demand), layout_(layout), workers_(workers),
          asked_(demand.rows) {
        for (int worker = 0; worker < workers.size(); ++worker) desks_.emplace_back(table.n_rows);
    }

    Tree run() {
        GrowingTree tree(target_.is_classification ? target_.width() : 1, table_);
        NodePtr root = make_root(tree);
        std::vector<NodePtr> set_aside;
        grow_from(std::move(root), tree, workers_.size() > 1 ? &set_aside : nullptr, 0);
        std::vector<std::optional<GrowingTree>> subtrees(set_aside.size());
        std::vector<size_t> roots;
        for (const NodePtr& node : set_aside) roots.push_back(node->record);
        in_tasks_ = true;
        workers_.for_each(set_aside.size(), [&](size_t task, int worker) {
            subtrees[task].emplace(tree.start_subtree(set_aside[task]->record));
            set_aside[task]->record = 0;
            grow_from(std::move(set_aside[task]), *subtrees[task], nullptr, worker);
        });
        for (size_t task = 0; task < subtrees.size(); ++task) tree.graft(roots[task], *subtrees[task]);
        return tree.in_preorder(target_.is_classification ? static_cast<int>(target_.width()) : 0);
    }

private:
    // The loop.
    void grow_from(NodePtr root, GrowingTree& tree, std::vector<NodePtr>* set_aside, int worker) {
        Frontier<Target> frontier(rules_.max_leaf_nodes != 0);
        int64_t n_leaves = 1;
        auto consider = [&](NodePtr node) {
            if (set_aside != nullptr && is_task(*node))
                set_aside->push_back(std::move(node));
            else if (open(*node, tree, worker))
                frontier.push(std::move(node));
        };
        consider(std::move(root));
        while (!frontier.empty() && (rules_.max_leaf_nodes == 0 || n_leaves < rules_.max_leaf_nodes)) {
            workers_.check();
            NodePtr node = frontier.pop();
            auto [left, right] = divide(*node, tree, worker);
            consider(std::move(right));
            consider(std::move(left));
            ++n_leaves;
        }
    }

    NodePtr make_root(GrowingTree& tree) {
        auto root = std::make_unique<Node<Target>>();
        root->end = layout_.n_rows;
        root->asked_end = asked_.size();
        root->key = root_key(rules_.seed, rules_.tree);
        root->totals = target_.sum_rows(layout_.rows);
        root->stretches = layout_.root_stretches;
        root->record = tree.add_nodes(1);
        describe(*root, tree);
        root_weight_ = root->description.weight;
        return root;
    }

    void describe(Node<Target>& node, GrowingTree& tree) {
        node.context = target_.context(node.totals);
        node.description = target_.describe(node.totals, rows_of(node), node.context, tree.value(node.record));
        tree.describe(node.record, node.description, static_cast<int64_t>(node.size()));
    }

    std::span<uint32_t> rows_of(const Node<Target>& node) {
        return {layout_.rows.data() + node.begin, node.size()};
    }

    // Small subtrees are tasks of their own; not when the best leaf anywhere is divided next.
    bool is_task(const Node<Target>& node) const {
        return rules_.max_leaf_nodes == 0 && node.size() * 4 * static_cast<size_t>(workers_.size()) < layout_.n_rows;
    }

    bool is_leaf(const Node<Target>& node) const {
        auto n_rows = static_cast<int64_t>(node.size());
        bool is_asked = demand_.is_everything || node.asked_begin < node.asked_end;
        return node.description.is_pure || node.depth >= rules_.max_depth || n_rows < rules_.min_samples_split ||
               n_rows < 2 * rules_.min_samples_leaf || node.description.weight < 2 * rules_.min_weight_leaf ||
               node.description.impurity <= rules_.min_impurity || !is_asked;
    }

    // Finds the node's split and describes its children. False: the node stays a leaf.
    bool open(Node<Target>& node, GrowingTree& tree, int worker) {
        if (is_leaf(node)) return false;
        node.split = find_split(node, worker);
        if (!node.split.exists()) return false;
        divide_rows(node, worker);
        make_children(node, tree);
        const Description &whole = node.description, &left = node.left->description, &right = node.right->description;
        node.decrease = whole.weight / root_weight_ *
                        (whole.impurity - right.weight / whole.weight * right.impurity -
                         left.weight / whole.weight * left.impurity);
        if (node.decrease >= rules_.min_impurity_decrease || rules_.min_impurity_decrease <= 0.0) return true;
        tree.drop_nodes(2);
        return false;
    }

    Split find_split(const Node<Target>& node, int worker) {
        NodeView<Target> view{target_, rules_, node.totals, node.context, {layout_.rows.data() + node.begin, node.size()},
                              node.begin, node.end};
        prepare_float64(view, node.description);
        Desk<Target>& desk = desks_[static_cast<size_t>(worker)];
        desk.findings = {};
        size_t n_dense = layout_.dense_columns.size(), n_columns = n_dense + node.stretches.size();
        auto search_range = [&](size_t first, size_t last, Desk<Target>& at) {
            Search<Target> search(layout_, view, at.scratch, at.findings);
            for (size_t k = first; k < last; ++k)
                k < n_dense ? search.column(layout_.dense_columns[k]) : search.stretch(node.stretches[k - n_dense]);
        };
        if (rules_.max_features < table_.columns.size())
            search_drawn(view, node, desk);
        else if (is_shared(worker, node.size() * n_columns))
            search_in_parallel(n_columns, search_range, desk);
        else
            search_range(0, n_columns, desk);
        resolve_pending(layout_, view, desk.findings, desk.scratch);
        return std::move(desk.findings.best);
    }

    // Only the main loop shares its work: tasks already run beside each other.
    bool is_shared(int worker, size_t n_cells) const {
        return worker == 0 && workers_.size() > 1 && !in_tasks_ && n_cells >= kParallelCells;
    }

    template <class SearchRange>
    void search_in_parallel(size_t n_columns, SearchRange&& search_range, Desk<Target>& desk) {
        for (Desk<Target>& other : desks_) other.findings = {};
        size_t n_tasks = std::min(n_columns, 8 * desks_.size());
        workers_.for_each(n_tasks, [&](size_t task, int worker) {
            search_range(n_columns * task / n_tasks, n_columns * (task + 1) / n_tasks,
                         desks_[static_cast<size_t>(worker)]);
        });
        for (Desk<Target>& other : desks_)
            if (&other != &desk) desk.findings.merge(std::move(other.findings));
    }

    // Columns by their draw, until max_features that are not constant here have been tried.
    void search_drawn(const NodeView<Target>& view, const Node<Target>& node, Desk<Target>& desk) {
        std::vector<std::pair<uint64_t, uint32_t>> ranked;
        for (uint32_t column = 0; column < table_.columns.size(); ++column)
            ranked.emplace_back(draw_column(node.key, column), column);
        std::sort(ranked.begin(), ranked.end());
        Search<Target> search(layout_, view, desk.scratch, desk.findings);
        auto try_column = [&](uint32_t column) {
            bool is_kept = table_.columns[column].is_sparse && layout_.position.empty();
            if (!is_kept) return search.column(column);
            auto found = std::lower_bound(node.stretches.begin(), node.stretches.end(), column,
                                          [](const Stretch& a, uint32_t b) { return a.column < b; });
            return found != node.stretches.end() && found->column == column && search.stretch(*found);
        };
        uint64_t n_tried = 0;
        for (auto [draw, column] : ranked) {
            if (n_tried == rules_.max_features) break;
            n_tried += try_column(column);
        }
    }

    bool code_goes_left(const Split& split, const Column& column, uint32_t code) const {
        return goes_left(code, split.code, code == column.missing_code(), split.missing_left,
                         split.is_categorical ? split.left_set.data() : nullptr);
    }

    // Marks the side of each row, and divides `rows` and the rows that ask.
    void divide_rows(Node<Target>& node, int worker) {
        Desk<Target>& desk = desks_[static_cast<size_t>(worker)];
        const Column& column = table_.columns[node.split.column];
        std::span<uint32_t> rows = rows_of(node);
        if (column.is_sparse) {
            mark_sparse(node, column, desk.sides);
        } else {
            column.codes.with([&](auto* codes) {
                for (uint32_t row : rows) desk.sides.set(row, code_goes_left(node.split, column, codes[row]));
            });
        }
        desk.scratch.spare.resize(std::max(desk.scratch.spare.size(), rows.size()));
        node.middle = node.begin + treefold::divide(rows, desk.scratch.spare.data(),
                                                    [&](uint32_t row) { return desk.sides.is_left(row); });
        if (!layout_.position.empty())
            for (size_t k = node.begin; k < node.end; ++k) layout_.position[layout_.rows[k]] = static_cast<uint32_t>(k);
        settle_missing(node, column);
        std::span<uint32_t> asked(asked_.data() + node.asked_begin, node.asked_end - node.asked_begin);
        desk.scratch.spare.resize(std::max(desk.scratch.spare.size(), asked.size()));
        node.asked_middle = node.asked_begin + treefold::divide(asked, desk.scratch.spare.data(), [&](uint32_t row) {
                                return code_goes_left(node.split, column, column.code_of(row));
                            });
    }

    void mark_sparse(const Node<Target>& node, const Column& column, Sides& sides) {
        bool zero_left = code_goes_left(node.split, column, column.zero_code);
        for (uint32_t row : rows_of(node)) sides.set(row, zero_left);
        auto mark = [&](uint32_t row, uint32_t code) { sides.set(row, code_goes_left(node.split, column, code)); };
        if (!layout_.position.empty()) {
            for (size_t k = 0; k < column.listed_rows.size(); ++k) {
                uint32_t place = layout_.position[column.listed_rows[k]];
                if (place >= node.begin && place < node.end) mark(column.listed_rows[k], column.listed_codes[k]);
            }
            return;
        }
        for (const Stretch& stretch : node.stretches)
            if (stretch.column == node.split.column)
                for (size_t k = stretch.begin; k < stretch.end; ++k) mark(layout_.listed_rows[k], layout_.listed_codes[k]);
    }

    // Where the node saw no missing value: the child with more weight. Absent categories go along.
    void settle_missing(Node<Target>& node, const Column& column) {
        Split& split = node.split;
        auto left = target_.sum_rows({layout_.rows.data() + node.begin, node.middle - node.begin});
        auto right = subtract(node.totals, left);
        if (!split.saw_missing) {
            std::vector<int64_t> scratch;
            using Slot = typename Target::Slot;
            split.missing_left =
                target_.weight_of(Side<Slot>{left.rows, left.slots.data()}, node.context, scratch) >=
                target_.weight_of(Side<Slot>{right.rows, right.slots.data()}, node.context, scratch);
        }
        if (split.is_categorical && split.missing_left) add_absent(node, column);
        node.left = std::make_unique<Node<Target>>();
        node.right = std::make_unique<Node<Target>>();
        node.left->totals = std::move(left);
        node.right->totals = std::move(right);
    }

    void add_absent(Node<Target>& node, const Column& column) {
        std::vector<uint64_t> present(node.split.left_set.size());
        for (uint32_t row : rows_of(node)) {
            uint32_t code = column.codes[row];
            if (code != column.missing_code()) present[code / 64] |= uint64_t{1} << (code % 64);
        }
        for (uint32_t code = 0; code < column.n_codes; ++code)
            if (!has_bit(present.data(), code)) node.split.left_set[code / 64] |= uint64_t{1} << (code % 64);
    }

    static typename Target::Totals subtract(typename Target::Totals whole, const typename Target::Totals& part) {
        whole.rows -= part.rows;
        for (size_t k = 0; k < whole.slots.size(); ++k) whole.slots[k] -= part.slots[k];
        if constexpr (!Target::is_classification) whole.squares -= part.squares;
        return whole;
    }

    void make_children(Node<Target>& node, GrowingTree& tree) {
        node.children = tree.add_nodes(2);
        for (bool is_left : {true, false}) {
            Node<Target>& child = is_left ? *node.left : *node.right;
            child.begin = is_left ? node.begin : node.middle;
            child.end = is_left ? node.middle : node.end;
            child.asked_begin = is_left ? node.asked_begin : node.asked_middle;
            child.asked_end = is_left ? node.asked_middle : node.asked_end;
            child.depth = node.depth + 1;
            child.key = child_key(node.key, is_left);
            child.record = node.children + (is_left ? 0 : 1);
            describe(child, tree);
        }
    }

    // Orders and stretches follow the rows, for children that need them.
    std::pair<NodePtr, NodePtr> divide(Node<Target>& node, GrowingTree& tree, int worker) {
        tree.set_split(node.record, node.split, node.children);
        bool needs_left = !is_leaf(*node.left), needs_right = !is_leaf(*node.right);
        if (needs_left || needs_right) {
            mark_sides(node, desks_[static_cast<size_t>(worker)].sides);
            divide_orders(node, worker);
            divide_stretches(node, worker);
        }
        node.stretches = {};
        return {std::move(node.left), std::move(node.right)};
    }

    // Again, because the best-first frontier may have divided other nodes since.
    void mark_sides(const Node<Target>& node, Sides& sides) {
        for (size_t k = node.begin; k < node.end; ++k) sides.set(layout_.rows[k], k < node.middle);
    }

    void divide_orders(const Node<Target>& node, int worker) {
        const Sides& sides = desks_[static_cast<size_t>(worker)].sides;
        auto divide_one = [&](size_t order, int at) {
            auto& spare = desks_[static_cast<size_t>(at)].scratch.spare;
            spare.resize(std::max(spare.size(), node.size()));
            std::span<uint32_t> words(layout_.orders[order].data() + node.begin, node.size());
            int bits = layout_.class_bits;
            treefold::divide(words, spare.data(), [&](uint32_t word) { return sides.is_left(word >> bits); });
        };
        if (is_shared(worker, node.size() * layout_.orders.size()))
            workers_.for_each(layout_.orders.size(), divide_one);
        else
            for (size_t order = 0; order < layout_.orders.size(); ++order) divide_one(order, worker);
    }

    void divide_stretches(Node<Target>& node, int worker) {
        Desk<Target>& desk = desks_[static_cast<size_t>(worker)];
        for (const Stretch& stretch : node.stretches) {
            size_t n = stretch.end - stretch.begin, n_left = 0, n_right = 0;
            desk.scratch.spare.resize(std::max(desk.scratch.spare.size(), n));
            desk.spare_codes.resize(std::max(desk.spare_codes.size(), n));
            uint32_t *rows = layout_.listed_rows.data() + stretch.begin, *codes = layout_.listed_codes.data() + stretch.begin;
            for (size_t k = 0; k < n; ++k) {
                bool left = desk.sides.is_left(rows[k]);
                uint32_t row = rows[k], code = codes[k];
                rows[n_left] = row, codes[n_left] = code;
                desk.scratch.spare[n_right] = row, desk.spare_codes[n_right] = code;
                n_left += left, n_right += !left;
            }
            std::copy_n(desk.scratch.spare.begin(), n_right, rows + n_left);
            std::copy_n(desk.spare_codes.begin(), n_right, codes + n_left);
            if (n_left != 0) node.left->stretches.push_back({stretch.column, stretch.begin, stretch.begin + n_left});
            if (n_right != 0) node.right->stretches.push_back({stretch.column, stretch.begin + n_left, stretch.end});
        }
    }

    const Table& table_;
    const Target& target_;
    const Rules& rules_;
    const Demand& demand_;
    Layout& layout_;
    Workers& workers_;
    std::vector<uint32_t> asked_;
    std::vector<Desk<Target>> desks_;
    double root_weight_ = 0.0;
    bool in_tasks_ = false;
};

template <class Target>
Tree grow_with(const Table& table, const Target& target, const TargetView& view, const Family& family, const Demand& demand,
               Workers& workers) {
    const Member& member = family.members.at(0);
    bool keeps_orders = member.rules.max_features >= table.columns.size() ||
                        member.rules.max_features * kKeepShare >= table.columns.size();
    Layout layout = lay_out(table, member.rows, view.classes, view.n_classes, keeps_orders, workers);
    return Grower<Target>(table, target, member, demand, layout, workers).run();
}

}  // namespace

Tree grow(const Table& table, const TargetView& view, const Family& family, const Demand& demand, Workers& workers) {
    if (family.members.size() != 1) throw DataError("growth takes families of one member");
    if (family.members[0].rows.empty()) throw DataError("no row has a positive weight");
    return with_target(view, family.members[0], [&](const auto& target) {
        return grow_with(table, target, view, family, demand, workers);
    });
}

}  // namespace treefold
