// Grower: open the root; while the frontier has nodes, take one, divide it, open its children.
//
//   open      is the node a leaf? find its best split (finder.hpp); divide its rows; describe both sides
//   frontier  opened nodes: the last one is divided next (depth first), or the best one (workshop.hpp)
//   divide    kept orders, lists and histograms follow the rows (divider.hpp)
//
// A node may belong to a group of members (group.hpp): then open finds a split for each (group_finder.hpp) and groups
// those that agree (forker.hpp), and divide gives each group its two children (births.hpp). A child of one member has a layout
// of its own, in which it grows on as the node of any single tree does.
//
// With several workers, large nodes are searched column by column in parallel; subtrees that are small, or
// of one member out of a group, are set aside and grown one per task, by the same loop.

#pragma once

#include <algorithm>

#include "family/births.hpp"
#include "family/branches.hpp"
#include "family/forker.hpp"
#include "family/group_finder.hpp"
#include "grow/divider.hpp"
#include "grow/finder.hpp"
#include "grow/growing_tree.hpp"

namespace treefold {

// Groups of fewer rows, or of few members out of many, part: what they have in common is then less than what keeping
// track of it costs (twenty folds together, one thread: Letter, MAGIC and Adult 1.15 times as fast).
inline constexpr size_t kSmallestGroup = 16;
// One member in so many are few. A column of many codes is passed row by row for each share, so that less is in common
// (ten folds together, pairs part: Yeast and Abalone 1.05 times as fast, MAGIC 1.1, Spam 1.15).
inline constexpr size_t kFewOfMany = 6, kFewWhereManyCodes = 4;

// Layouts of groups that wait for tasks, in layouts of the root.
inline constexpr uint64_t kWaitingLayouts = 4;

// Sink: what nodes are told to, a tree that grows (growing_tree.hpp) or the rows that ask (answers.hpp).
template <class Stats, class Sink>
class Grower {
public:
    using NodePtr = NodePointer<Stats>;
    using Seats = std::vector<Seat<Stats>>;
    using Grove = std::vector<Sink*>;  // by member
    static constexpr bool kHasGroups = Sink::serves_groups && Stats::serves_groups;

    Grower(Workshop<Stats>& shop, std::vector<uint32_t> asked)
        : shop_(shop), finder_(shop), keeper_(shop), group_finder_(shop, finder_, keeper_),
          births_(shop, keeper_), divider_(shop, std::move(asked)),
          few_of_many_(has_many_codes(shop.table) ? kFewWhereManyCodes : kFewOfMany),
          forkers_(shop.desks.size()) {}

    static NodePtr make_root(Share<Stats>& share, Layout& layout) {
        auto root = std::make_unique<Node<Stats>>();
        static_cast<Part<Stats>&>(*root) = std::move(share);
        root->seat = share.seat;
        root->layout = &layout;
        root->begin = 0, root->end = layout.n_rows;
        root->stretches = layout.root_stretches;
        return root;
    }

    // Grows the trees of the root's members, which stand in the grove with one node each. In a task this worker does, while the
    // others grow other trees.
    void run(NodePtr root, Grove& grove, int worker) {
        n_root_rows_ = root->group ? root->group->n_rows() : root->size();
        n_root_members_ = root->group ? root->group->shares.size() : 1;
        std::vector<NodePtr> set_aside;
        bool has_help = shop_.workers.size() > 1 && !shop_.in_tasks;
        grow_from(list_one(std::move(root)), grove, has_help ? &set_aside : nullptr, worker);
        grow_set_aside(set_aside, grove);
    }

    // The places of all who ask, in the order in which they lie now.
    std::span<const uint32_t> asked() const { return divider_.asked(); }

    void describe(Part<Stats>& part, const Seat<Stats>& seat, std::span<const uint32_t> rows,
                  Sink& sink, int worker) {
        part.context = seat.stats->context(part.totals, rows);
        double* value = sink.value(part.record, divider_.asked_of(part));
        part.description = seat.stats->describe(part.totals, rows, part.context, value,
                                                shop_.desk(worker).scratch.scaled);
        sink.describe(part.record, part.description, part.totals.rows);
    }

    static bool is_leaf(const Part<Stats>& part, const Seat<Stats>& seat, int64_t depth) {
        return !is_asked(part, seat) || stops(part, *seat.rules, depth);
    }

    // The share of work done is that of rows, of each member, that have arrived in a leaf.
    void close_leaf(const Part<Stats>& leaf, Sink& sink, int worker) {
        sink.close(divider_.asked_of(leaf));
        shop_.workers.advance(worker, static_cast<uint64_t>(leaf.totals.rows));
    }

    // What a recursion would hold in a node that somebody asks for.
    void count_stack(const Part<Stats>& part, const Seat<Stats>& seat, int worker) {
        if (is_asked(part, seat)) shop_.desk(worker).work.raise_stack(part.stack_words);
    }

private:
    // What each worker needs to open groups, used for node after node.
    static std::vector<NodePtr> list_one(NodePtr node) {
        std::vector<NodePtr> nodes;
        nodes.push_back(std::move(node));
        return nodes;
    }

    // The loop.
    void grow_from(std::vector<NodePtr> roots, Grove& grove, std::vector<NodePtr>* set_aside,
                   int worker) {
        int64_t most_leaves = roots[0]->seat ? roots[0]->seat->rules->max_leaf_nodes : 0;
        Frontier<Stats> frontier(most_leaves != 0);
        auto consider = [&](NodePtr node) {
            if (set_aside != nullptr && is_task(*node))
                set_aside->push_back(std::move(node));
            else if (node->is_ahead() || open(*node, grove, worker))
                frontier.push(std::move(node));
            else
                close_leaf(*node, *grove[node->seat->member], worker),
                    shop_.desk(worker).give_back(std::move(node));
        };
        for (NodePtr& root : roots) consider(std::move(root));
        bool is_depth_first = set_aside == nullptr && most_leaves == 0;
        Trail<Stats> trail;
        size_t n_unchecked = 0;
        for (int64_t n_leaves = 1; !frontier.empty() && n_leaves != most_leaves; ++n_leaves) {
            if (set_aside != nullptr) grow_if_many_wait(*set_aside, grove);
            NodePtr node = frontier.pop();
            if ((n_unchecked += n_cells(*node)) > kCheckedCells)
                shop_.workers.check(), n_unchecked = 0;
            if (is_depth_first) trail.pass(*node);
            if (!node->is_ahead()) divide(*node, grove, worker, consider);
            if constexpr (kHasGroups)
                if (node->is_ahead()) grow_ahead(*node, grove, worker, consider);
            shop_.desk(worker).give_back(std::move(node));
        }
        trail.finish();
    }

    // A node of several members.
    template <class Consider>
    void grow_ahead(Node<Stats>& node, Grove& grove, int worker, Consider&& consider) {
        if (node.lone)
            grow_lone(node, grove, worker);
        else if (node.birth && node.birth->is_single())
            grow_single(node, grove, worker);
        else if (node.birth)
            births_.bear(node, worker, consider);
        else if (node.group->shares.size() == 1)
            grow_alone(node, grove, worker);
        else if (is_worth_little(*node.group))
            births_.part(node, worker, consider);
        else if (open_group(node, grove, worker))
            births_.announce(node, worker, consider);
    }

    bool is_worth_little(const Group<Stats>& group) const {
        return group.n_rows() < kSmallestGroup ||
               group.shares.size() * few_of_many_ <= n_root_members_;
    }

    size_t n_cells(const Node<Stats>& node) const {
        size_t n_rows = node.birth   ? node.birth->n_rows()
                        : node.group ? node.group->n_rows()
                                     : node.size();
        return n_rows * shop_.table.columns.size();
    }

    // Subtrees, each a task with trees of its own that are grafted on afterwards.
    void grow_set_aside(std::vector<NodePtr>& nodes, Grove& grove) {
        if (nodes.empty()) return;
        std::vector<std::vector<Branch<Sink>>> branches(nodes.size());
        shop_.in_tasks = true;
        if (n_root_rows_ >= kManyRows)  // tasks have fewer
            for (Desk<Stats>& desk : shop_.desks) desk.scratch.forget_rows();
        std::stable_sort(nodes.begin(), nodes.end(), [&](const NodePtr& a, const NodePtr& b) {
            return n_cells(*a) > n_cells(*b);
        });
        shop_.workers.for_each(nodes.size(), [&](size_t at, int worker) {
            branches[at] = list_branches<Sink>(*nodes[at]);
            Grove local(grove.size(), nullptr);
            for (Branch<Sink>& branch : branches[at]) {
                branch.tree.emplace(grove[branch.member]->start_subtree(branch.records));
                local[branch.member] = &*branch.tree;
            }
            grow_from(list_one(std::move(nodes[at])), local, nullptr, worker);
        });
        shop_.in_tasks = false;
        for (std::vector<Branch<Sink>>& task : branches) {
            for (Branch<Sink>& branch : task)
                grove[branch.member]->graft(branch.records, std::move(*branch.tree));
            task.clear();
        }
        nodes.clear();
    }

    // Waiting tasks keep the layouts of their parents.
    void grow_if_many_wait(std::vector<NodePtr>& nodes, Grove& grove) {
        uint64_t bytes = 0;
        const Group<Stats>* last = nullptr;
        for (const NodePtr& node : nodes) {
            const Group<Stats>* kept = node->birth ? node->birth->parent.get() : node->group.get();
            if (kept != nullptr && kept != last) bytes += kept->nbytes();
            last = kept;
        }
        uint64_t root = n_root_rows_ * (4 * (shop_.plan.n_orders + 1) +
                                        2 * shop_.plan.few_columns.size());  // and a histogram
        if (bytes > kWaitingLayouts * root) grow_set_aside(nodes, grove);
    }

    // A small part of all rows of all members (ten folds together, two threads: Adult, Letter and MAGIC 1.2 times as fast as if
    // it were of the rows alone). Not when the best leaf anywhere is divided next.
    bool is_task(const Node<Stats>& node) const {
        if (node.group) return node.lone || node.group->shares.size() == 1;
        if (node.birth && node.birth->is_single()) return true;
        auto n_workers = static_cast<size_t>(shop_.workers.size());
        size_t n_rows =  // of each member
            node.birth ? node.birth->n_rows() * node.birth->fork().n_shares : node.size();
        bool is_best_first = node.seat != nullptr && node.seat->rules->max_leaf_nodes != 0;
        return !is_best_first && n_rows * 4 * n_workers < n_root_rows_ * n_root_members_;
    }

    // Finds the node's split and describes its children. False: the node stays a leaf.
    bool open(Node<Stats>& node, Grove& grove, int worker) {
        const Seat<Stats>& seat = *node.seat;
        Sink& sink = *grove[seat.member];
        if (is_leaf(node, seat, node.depth)) return false;
        shop_.desk(worker).work.count_search(1, node.size());
        node.split = finder_.find(node, worker);
        if (!node.split.exists()) return false;
        divider_.divide_rows(node, worker);
        node.left.record = sink.add_nodes(2);
        node.right.record = node.left.record + 1;
        describe(node.left, seat, node.rows_of(node.left), sink, worker);
        describe(node.right, seat, node.rows_of(node.right), sink, worker);
        node.decrease = impurity_decrease(seat.root_weight, node.description, node.left.description,
                                          node.right.description);
        if (node.decrease >= seat.rules->min_impurity_decrease) return true;
        sink.drop_nodes(2);
        describe(node, seat, node.rows(), sink, worker);  // its value may have made room
        return false;
    }

    // The same for every share of a group; false if all are leaves.
    bool open_group(Node<Stats>& node, Grove& grove, int worker) {
        Group<Stats>& group = *node.group;
        Desk<Stats>& desk = shop_.desk(worker);
        std::vector<Split>& splits = group_finder_.find(node, worker);
        desk.work.count_tests(node.depth, n_different(splits));
        auto settle = [&](size_t at, Split& split, Share<Stats>& left, Share<Stats>& right,
                          const Cells<Stats>& cells) {
            settle_missing(group, at, split, left, right, cells, worker);
            return settle_share(node, at, split, left, right, grove, worker);
        };
        auto grows_on = [&](const Share<Stats>& share) {
            return !is_leaf(share, *share.seat, node.depth + 1);
        };
        forkers_[static_cast<size_t>(worker)].run(shop_.table, group, splits, settle, grows_on,
                                                  desk.work);
        count_leaves(group, worker);
        return !group.forks.empty();
    }

    void count_leaves(const Group<Stats>& group, int worker) {
        int64_t n_rows = 0;
        for (const Share<Stats>& share : group.shares) n_rows += share.totals.rows;
        for (const Fork<Stats>& fork : group.forks)
            for (const ForkSide<Stats>* side : {&fork.left, &fork.right})
                for (const Share<Stats>& share : side->shares) n_rows -= share.totals.rows;
        shop_.workers.advance(worker, static_cast<uint64_t>(n_rows));
    }

    // Describes the children of one share, and records its split. False: it stays a leaf.
    bool settle_share(Node<Stats>& node, size_t at, Split& split, Share<Stats>& left,
                      Share<Stats>& right, Grove& grove, int worker) {
        const Share<Stats>& share = node.group->shares[at];
        Sink& tree = *grove[share.seat->member];
        divider_.divide_asked(share, split, left, right, worker);
        left.record = tree.add_nodes(2);
        right.record = left.record + 1;
        describe(left, *share.seat, {}, tree, worker);  // classes need no rows
        describe(right, *share.seat, {}, tree, worker);
        double decrease = impurity_decrease(share.seat->root_weight, share.description,
                                            left.description, right.description);
        if (decrease >= share.seat->rules->min_impurity_decrease) {
            tree.set_split(share.record, split, left.record);
            for (Share<Stats>* side : {&left, &right}) {
                side->stack_words = share.stack_words + static_cast<uint64_t>(side->totals.rows);
                count_stack(*side, *share.seat, worker);
            }
            return true;
        }
        tree.drop_nodes(2);
        return false;
    }

    // Where the share's node saw no missing value: the child with more weight. Absent categories go along.
    void settle_missing(const Group<Stats>& group, size_t at, Split& split,
                        const Share<Stats>& left, const Share<Stats>& right,
                        const Cells<Stats>& cells, int worker) {
        const Share<Stats>& share = group.shares[at];
        if (!split.saw_missing)
            split.missing_left = !share.seat->stats->is_lighter(
                side_of(left), side_of(right), share.context, shop_.desk(worker).scratch.scaled);
        if (!split.is_categorical || !sends_unseen_left(split)) return;
        send_absent_left(split, shop_.table.columns[split.column],
                         cells.list_present(group.patterns, at));
    }

    // Gives the children of an opened node to `consider`.
    template <class Consider>
    void divide(Node<Stats>& node, Grove& grove, int worker, Consider&& consider) {
        shop_.desk(worker).work.count_tests(node.depth, 1);
        Sink& sink = *grove[node.seat->member];
        sink.set_split(node.record, node.split, node.left.record);
        NodePtr left = make_child(node, node.left, true, sink, worker);
        NodePtr right = make_child(node, node.right, false, sink, worker);
        divider_.divide_rest(node, needs_rest(left), needs_rest(right), worker);
        if (right) consider(std::move(right));
        if (left) consider(std::move(left));
    }

    static void hand_histogram(Histogram<uint32_t>& counts, Node<Stats>& node) {
        if constexpr (Keeper<Stats>::kServes) node.kept.packed = std::move(counts);
    }

    // A fork of one member: its children grow on as those of a single tree.
    void grow_single(Node<Stats>& node, Grove& grove, int worker) {
        Birth<Stats>& birth = *node.birth;
        Group<Stats> left, right;
        births_.divide(birth, worker, left, right);
        Metered bytes(shop_.meter, left.layout.nbytes() + right.layout.nbytes());
        std::vector<NodePtr> roots;
        for (bool is_left : {false, true}) {
            ForkSide<Stats>& side = is_left ? birth.fork().left : birth.fork().right;
            if (side.shares.empty()) continue;
            roots.push_back(make_root(side.shares[0], is_left ? left.layout : right.layout));
            hand_histogram((is_left ? left : right).kept.counts, *roots.back());
            roots.back()->depth = node.depth + 1;
            roots.back()->key = child_key(node.key, is_left);
        }
        shop_.desk(worker).give_back(std::move(birth.parent));
        grow_from(std::move(roots), grove, nullptr, worker);
    }

    // A group of one member has the layout that it needs.
    void grow_alone(Node<Stats>& node, Grove& grove, int worker) {
        grow_share(node, 0, node.group->layout, std::move(node.group->kept.counts), grove, worker);
    }

    // The same for a share of a larger group.
    void grow_lone(Node<Stats>& node, Grove& grove, int worker) {
        Layout layout;
        size_t n_rows =
            group_finder_.derive_share(*node.group, *node.lone, shop_.desk(worker), layout);
        Metered bytes(shop_.meter, layout.nbytes());
        Histogram<uint32_t> histogram;
        if constexpr (Keeper<Stats>::kServes)
            histogram = keeper_.extract(*node.group, *node.lone, n_rows, shop_.desk(worker).work);
        grow_share(node, *node.lone, layout, std::move(histogram), grove, worker);
    }

    void grow_share(Node<Stats>& node, size_t at, Layout& layout, Histogram<uint32_t> histogram,
                    Grove& grove, int worker) {
        NodePtr root = make_root(node.group->shares[at], layout);
        hand_histogram(histogram, *root);
        root->depth = node.depth;
        root->key = node.key;
        grow_from(list_one(std::move(root)), grove, nullptr, worker);
    }

    // Two rows become two leaves at once, as open() and divide() would make them: a third of the splits of a full tree are
    // such (kin8nm: 1.05 times as fast a growth). False: the pair needs a node.
    bool finish_pair(const Node<Stats>& parent, Part<Stats>& pair, Sink& tree, int worker) {
        const Seat<Stats>& seat = *parent.seat;
        if (seat.most_at_once < 2 || !seat.stats->counts_rows() || !seat.asks_everything ||
            pair.asked_begin < pair.asked_end || seat.rules->max_leaf_nodes != 0 ||
            seat.rules->min_impurity_decrease > 0.0)
            return false;
        std::span<const uint32_t> rows = parent.rows_of(pair);
        Split split = finder_.find_pair(pair, seat, rows, worker);
        if (split.is_categorical) return false;
        Work& work = shop_.desk(worker).work;
        finder_.count_pair(shop_.desk(worker));
        if (!split.exists()) return true;
        work.count_tests(parent.depth + 1, 1);
        work.raise_stack(pair.stack_words + 1);
        size_t leaves = tree.add_nodes(2);
        for (size_t k : {0, 1}) {
            Part<Stats> leaf;
            bool is_left = shop_.table.columns[split.column].codes[rows[k]] <= split.code;
            leaf.record = is_left ? leaves : leaves + 1;
            leaf.totals = seat.stats->sum_rows(rows.subspan(k, 1));
            describe(leaf, seat, rows.subspan(k, 1), tree, worker);
        }
        tree.set_split(pair.record, split, leaves);
        return true;
    }

    Node<Stats>* needs_rest(const NodePtr& child) const {
        return child && child->size() > child->seat->most_at_once ? child.get() : nullptr;
    }

    // Null if the child needs nothing more.
    NodePtr make_child(Node<Stats>& parent, Part<Stats>& part, bool is_left, Sink& sink,
                       int worker) {
        part.stack_words = parent.stack_words + part.size();
        count_stack(part, *parent.seat, worker);
        bool is_done = is_leaf(part, *parent.seat, parent.depth + 1) ||
                       (part.size() == 2 && finish_pair(parent, part, sink, worker));
        if (is_done) {
            close_leaf(part, sink, worker);
            return nullptr;
        }
        NodePtr child = shop_.desk(worker).take_node();
        static_cast<Part<Stats>&>(*child) = std::move(part);
        child->seat = parent.seat;
        child->layout = parent.layout;
        child->depth = parent.depth + 1;
        child->key = child_key(parent.key, is_left);
        return child;
    }

    Workshop<Stats>& shop_;
    Finder<Stats> finder_;
    Keeper<Stats> keeper_;
    GroupFinder<Stats> group_finder_;
    Births<Stats> births_;
    Divider<Stats> divider_;
    size_t n_root_rows_ = 0, n_root_members_ = 0;
    size_t few_of_many_;
    std::vector<Forker<Stats>> forkers_;  // per worker
};

}  // namespace treefold
