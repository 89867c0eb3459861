// Nodes of one member: the kind of node that a single tree has.
//
//   open     find the best split (finder.hpp), divide the rows, describe both sides
//   divide   orders, lists and histograms follow the rows (divider.hpp) to the children that grow on
#pragma once

#include <optional>

#include "base/random.hpp"
#include "grow/divider.hpp"
#include "grow/finder.hpp"
#include "grow/loop.hpp"

namespace treefold {

// Where the trees or the answers of members go, by member.
template <class Sink>
using Sinks = std::vector<Sink*>;

// Memory that growth leaves behind: depth first, what lies left of a node is done when its turn comes.
template <class Stats>
class LeftBehind {
public:
    void pass(const NodePointer<Stats>& node) {
        if (node->layout->n_rows < kManyRows) return;
        if (node->layout != layout_) {
            finish();
            layout_ = node->layout;
            done_ = node->begin, end_ = node->end;
        }
        if (node->begin >= done_ + kStep) forget_until(node->begin);
    }
    void finish() {
        if (layout_ != nullptr && end_ >= done_ + kStep) forget_until(end_);
        layout_ = nullptr;
    }

private:
    static constexpr size_t kStep = 4'096;

    void forget_until(size_t end) {
        layout_->forget(done_, end);
        done_ = end;
    }

    Layout* layout_ = nullptr;
    size_t done_ = 0, end_ = 0;
};

// Subtrees of one member that a task grows, in a tree of their own that is grafted on afterwards.
template <class Sink>
struct Branch {
    size_t member;
    std::vector<size_t> records;
    std::optional<Sink> tree;
};

// What a task grows, by member.
template <class Sink>
struct Branches {
    std::vector<Branch<Sink>> all;
    Sinks<Sink> sinks;

    // The parts of a task's node are numbered anew, in the order in which they come.
    template <class Stats>
    void add(NodePart<Stats>& part, const MemberContext<Stats>& member) {
        auto found = std::find_if(all.begin(), all.end(), [&](const Branch<Sink>& branch) {
            return branch.member == member.index;
        });
        if (found == all.end()) found = all.insert(all.end(), {member.index, {}, std::nullopt});
        found->records.push_back(part.record);
        part.record = found->records.size() - 1;
    }
    Sinks<Sink>& start(const Sinks<Sink>& from) {
        sinks.assign(from.size(), nullptr);
        for (Branch<Sink>& branch : all) {
            branch.tree.emplace(from[branch.member]->start_subtree(branch.records));
            sinks[branch.member] = &*branch.tree;
        }
        return sinks;
    }
    void graft(Sinks<Sink>& onto) && {
        for (Branch<Sink>& branch : all)
            onto[branch.member]->graft(branch.records, std::move(*branch.tree));
    }
};

// Sink: what nodes are told to, a tree that grows (growing_tree.hpp) or the rows that ask (answers.hpp).
template <class Stats, class Sink>
class MemberNodes {
public:
    using Node = NodePointer<Stats>;
    using Target = Sinks<Sink>;
    using Task = Branches<Sink>;
    using Trail = LeftBehind<Stats>;
    static constexpr bool kRanks = true;

    // asked: the rows that ask, member after member.
    MemberNodes(Growth<Stats>& growth, std::vector<uint32_t> asked)
        : growth_(growth), finder_(growth), divider_(growth, std::move(asked)) {}

    // A node with all rows of a layout.
    static Node make_root(NodePart<Stats>& part, const MemberContext<Stats>& member,
                          Layout& layout) {
        auto root = std::make_unique<MemberNode<Stats>>();
        static_cast<NodePart<Stats>&>(*root) = std::move(part);
        root->member = &member;
        root->take_all(layout);
        return root;
    }

    Growth<Stats>& growth() const { return growth_; }
    Finder<Stats>& finder() { return finder_; }
    Divider<Stats>& divider() { return divider_; }
    // The places of all who ask, in the order in which they lie now.
    std::span<const uint32_t> asked() const { return divider_.asked(); }

    void describe(NodePart<Stats>& part, const MemberContext<Stats>& member,
                  std::span<const uint32_t> rows, Sink& sink, int worker) {
        part.context = member.stats->context(part.totals, rows);
        double* value = sink.value(part.record, divider_.asked_of(part));
        part.description = member.stats->describe(part.totals, rows, part.context, value,
                                                  growth_.scratch(worker).search.scaled);
        sink.describe(part.record, part.description, part.totals.rows);
    }

    static bool is_leaf(const NodePart<Stats>& part, const MemberContext<Stats>& member,
                        int64_t depth) {
        return !is_asked(part, member) || stops(part, *member.rules, depth);
    }

    // The share of work done is that of rows, of each member, that have arrived in a leaf.
    void close_leaf(const NodePart<Stats>& leaf, Sink& sink, int worker) {
        sink.close(divider_.asked_of(leaf));
        if (growth_.reports_rows)
            growth_.workers.advance(worker, static_cast<uint64_t>(leaf.totals.rows));
    }

    // What a recursion would hold in a node that somebody asks for.
    void count_stack(const NodePart<Stats>& part, const MemberContext<Stats>& member, int worker) {
        if (is_asked(part, member)) growth_.scratch(worker).work.raise_stack(part.stack_words);
    }

    // The kind, as the loop knows it ----------------------------------------------------------

    static const Rules& rules_of(const Node& node) { return *node->member->rules; }
    size_t n_cells(const Node& node) const { return node->size() * growth_.table.columns.size(); }

    // Ties: lower depth, then further left (nodes of one depth lie in the order of their rows).
    static bool is_worse(const Node& a, const Node& b) {
        if (a->decrease != b->decrease) return a->decrease < b->decrease;
        if (a->depth != b->depth) return a->depth > b->depth;
        return a->begin > b->begin;
    }

    // A small part of all rows. Not when the best leaf anywhere is divided next.
    bool is_task(const Node& node) const {
        auto n_workers = static_cast<size_t>(growth_.workers.size());
        return rules_of(node).max_leaf_nodes == 0 &&
               node->size() * 4 * n_workers < growth_.n_root_rows;
    }
    // All lie in one layout.
    static bool too_much_waits(const std::vector<Node>&) { return false; }

    Sinks<Sink>& start(Task& task, Node& node, const Sinks<Sink>& sinks) const {
        task.add(*node, *node->member);
        return task.start(sinks);
    }
    static void finish(Task task, Sinks<Sink>& sinks) { std::move(task).graft(sinks); }

    void give_back(Node node, int worker) { growth_.scratch(worker).give_back(std::move(node)); }

    // Finds the split of a node that is no leaf by its description, and describes its children.
    bool open(Node& pointer, Sinks<Sink>& sinks, int worker) {
        MemberNode<Stats>& node = *pointer;
        const MemberContext<Stats>& member = *node.member;
        Sink& sink = *sinks[member.index];
        growth_.scratch(worker).work.count_search(1, node.size());
        node.split = finder_.find(node, worker);
        bool is_split = node.split.exists();
        if (is_split) {
            divider_.divide_rows(node, worker);
            node.left.record = sink.add_nodes(2);
            node.right.record = node.left.record + 1;
            is_split = describe_children(node, sink, worker);
        }
        if (!is_split) close_leaf(node, sink, worker);
        return is_split;
    }

    void divide(Node& pointer, Sinks<Sink>& sinks, int worker, auto&& offer) {
        MemberNode<Stats>& node = *pointer;
        growth_.scratch(worker).work.count_tests(node.depth, 1);
        Sink& sink = *sinks[node.member->index];
        sink.set_split(node.record, node.split, node.left.record);
        Node left = make_child(node, node.left, true, sink, worker);
        Node right = make_child(node, node.right, false, sink, worker);
        divider_.divide_rest(node, needs_rest(left), needs_rest(right), worker);
        if (right) offer(std::move(right));
        if (left) offer(std::move(left));
    }

private:
    // False: the decrease is too small, and the children are forgotten.
    bool describe_children(MemberNode<Stats>& node, Sink& sink, int worker) {
        const MemberContext<Stats>& member = *node.member;
        const double least = member.rules->min_impurity_decrease;
        for (RowPart<Stats>* part : {&node.left, &node.right})
            if (Sink::keeps_nodes || least > 0.0 || is_asked(*part, member))
                describe(*part, member, node.rows_of(*part), sink, worker);
        if constexpr (!Sink::keeps_nodes)
            if (least <= 0.0) return true;
        node.decrease = impurity_decrease(member.root_weight, node.description,
                                          node.left.description, node.right.description);
        if (node.decrease >= least) return true;
        sink.drop_nodes(2);
        describe(node, member, node.rows(), sink, worker);  // its value may have made room
        return false;
    }

    // Two rows become two leaves at once, as open() and divide() would make them: a third of the splits of a full tree are
    // such (kin8nm: 1.05 times as fast a growth). False: the pair needs a node.
    bool finish_pair(const MemberNode<Stats>& parent, RowPart<Stats>& pair, Sink& tree,
                     int worker) {
        const MemberContext<Stats>& member = *parent.member;
        if (member.most_at_once < 2 || !member.stats->counts_rows() || !member.asks_everything ||
            pair.asked_begin < pair.asked_end || member.rules->max_leaf_nodes != 0 ||
            member.rules->min_impurity_decrease > 0.0)
            return false;
        std::span<const uint32_t> rows = parent.rows_of(pair);
        Split split = finder_.find_pair(pair, member, rows, worker);
        if (split.is_categorical) return false;
        Work& work = growth_.scratch(worker).work;
        finder_.count_pair(growth_.scratch(worker));
        if (!split.exists()) return true;
        work.count_tests(parent.depth + 1, 1);
        work.raise_stack(pair.stack_words + 1);
        size_t leaves = tree.add_nodes(2);
        for (size_t k : {0, 1}) {
            NodePart<Stats> leaf;
            bool is_left = growth_.table.columns[split.column].codes[rows[k]] <= split.code;
            leaf.record = is_left ? leaves : leaves + 1;
            leaf.totals = member.stats->sum_rows(rows.subspan(k, 1));
            describe(leaf, member, rows.subspan(k, 1), tree, worker);
        }
        tree.set_split(pair.record, split, leaves);
        return true;
    }

    static MemberNode<Stats>* needs_rest(const Node& child) {
        return child && child->size() > child->member->most_at_once ? child.get() : nullptr;
    }

    // Null if the child needs nothing more.
    Node make_child(MemberNode<Stats>& parent, RowPart<Stats>& part, bool is_left, Sink& sink,
                    int worker) {
        part.stack_words = parent.stack_words + part.size();
        count_stack(part, *parent.member, worker);
        bool is_done = is_leaf(part, *parent.member, parent.depth + 1) ||
                       (part.size() == 2 && finish_pair(parent, part, sink, worker));
        if (is_done) {
            close_leaf(part, sink, worker);
            return nullptr;
        }
        Node child = growth_.scratch(worker).take_node();
        static_cast<RowPart<Stats>&>(*child) = std::move(part);
        child->member = parent.member;
        child->layout = parent.layout;
        child->depth = parent.depth + 1;
        child->key = child_key(parent.key, is_left);
        return child;
    }

    Growth<Stats>& growth_;
    Finder<Stats> finder_;
    Divider<Stats> divider_;
};

}  // namespace treefold
