// Nodes of a group: the kind of node of members that go on together.
//
//   open     find a split for each member (group_finder.hpp), and put those that agree into one fork (forker.hpp)
//   divide   each fork gets its two children (group_children.hpp); a child of one member has a layout of its own, in which
//            it grows on as the node of a single tree does
#pragma once

#include "family/forker.hpp"
#include "family/group_children.hpp"
#include "family/group_finder.hpp"
#include "grow/member_nodes.hpp"

namespace treefold {

// Groups of fewer rows, or of few members out of many, part: what they have in common is then less than what keeping
// track of it costs (twenty folds together, one thread: Letter, MAGIC and Adult 1.15 times as fast).
inline constexpr size_t kSmallestGroup = 16;
// One member in so many are few. A column of many codes is passed row by row for each share, so that less is in common
// (ten folds together, pairs part: Yeast and Abalone 1.05 times as fast, MAGIC 1.1, Spam 1.15).
inline constexpr size_t kFewOfMany = 6, kFewWhereManyCodes = 4;

// Layouts of groups that wait for tasks, in layouts of the root.
inline constexpr uint64_t kWaitingLayouts = 4;

template <class Stats, class Sink>
class GroupNodes {
public:
    using Node = GroupNode<Stats>;
    using Target = Sinks<Sink>;
    using Task = Branches<Sink>;
    struct Trail {  // every group has a layout of its own
        void pass(const Node&) {}
        void finish() {}
    };
    static constexpr bool kRanks = false;

    // members: how single ones grow on.
    GroupNodes(MemberNodes<Stats, Sink>& members, size_t n_root_members)
        : members_(members), member_loop_(members), growth_(members.growth()), histograms_(growth_),
          finder_(growth_, members.finder(), histograms_), children_(growth_, histograms_),
          n_root_members_(n_root_members),
          few_of_many_(has_many_codes(growth_.table) ? kFewWhereManyCodes : kFewOfMany),
          forkers_(growth_.scratches.size()) {}

    Growth<Stats>& growth() const { return growth_; }
    static const Rules& rules_of(const Node& node) { return *node.group->shares[0].member->rules; }
    size_t n_cells(const Node& node) const { return node.n_rows() * growth_.table.columns.size(); }

    // One member, or a small part of all rows of all members (ten folds together, two threads: Adult, Letter and MAGIC 1.2
    // times as fast as if it were of the rows alone).
    bool is_task(const Node& node) const {
        if (node.is_one_share()) return true;
        auto n_workers = static_cast<size_t>(growth_.workers.size());
        return node.part == Node::Part::fork &&
               node.n_rows() * node.fork().n_shares * 4 * n_workers <
                   growth_.n_root_rows * n_root_members_;
    }

    // Waiting tasks keep the layouts of their parents.
    bool too_much_waits(const std::vector<Node>& nodes) const {
        uint64_t bytes = 0;
        const Group<Stats>* last = nullptr;
        for (const Node& node : nodes) {
            if (node.group.get() != last) bytes += node.group->nbytes();
            last = node.group.get();
        }
        uint64_t root =
            growth_.n_root_rows * (4 * (growth_.plan.n_orders + 1) +
                                   2 * growth_.plan.few_columns.size());  // and a histogram
        return bytes > kWaitingLayouts * root;
    }

    Sinks<Sink>& start(Task& task, Node& node, const Sinks<Sink>& sinks) const {
        node.for_each_share([&](Share<Stats>& share) { task.add(share, *share.member); });
        return task.start(sinks);
    }
    static void finish(Task task, Sinks<Sink>& sinks) { std::move(task).graft(sinks); }

    void give_back(Node node, int worker) { children_.give_back(node, worker); }

    // Finds the forks of a group that goes on together; false if all of its members have leaves here.
    bool open(Node& node, Sinks<Sink>& sinks, int worker) {
        return !goes_on_together(node) || open_group(node, sinks, worker);
    }

    void divide(Node& node, Sinks<Sink>& sinks, int worker, auto&& offer) {
        if (goes_on_together(node))
            children_.defer_children(node, offer);
        else if (node.part == Node::Part::share)
            grow_share(node, sinks, worker);
        else if (node.part == Node::Part::fork)
            node.is_one_share() ? grow_children(node, sinks, worker)
                                : children_.make_children(node, worker, offer);
        else if (node.is_one_share())
            grow_layout(node, 0, node.group->layout, std::move(node.group->kept.counts), sinks,
                        worker);
        else
            children_.defer_shares(node, offer);
    }

private:
    bool goes_on_together(const Node& node) const {
        size_t n_shares = node.group->shares.size();
        return node.part == Node::Part::all && n_shares > 1 &&
               node.group->n_rows() >= kSmallestGroup && n_shares * few_of_many_ > n_root_members_;
    }

    bool open_group(const Node& node, Sinks<Sink>& sinks, int worker) {
        Group<Stats>& group = *node.group;
        WorkerScratch<Stats>& mine = growth_.scratch(worker);
        std::vector<Split>& splits = finder_.find(node, worker);
        mine.work.count_tests(node.depth, n_different(splits));
        auto settle = [&](size_t at, Split& split, Share<Stats>& left, Share<Stats>& right,
                          const BinSums<Stats>& cells) {
            settle_missing(group, at, split, left, right, cells, worker);
            return settle_share(group.shares[at], split, left, right, sinks, worker);
        };
        auto grows_on = [&](const Share<Stats>& share) {
            return !members_.is_leaf(share, *share.member, node.depth + 1);
        };
        forkers_[static_cast<size_t>(worker)].run(growth_.table, group, splits, settle, grows_on,
                                                  mine.work);
        count_leaves(group, worker);
        return !group.forks.empty();
    }

    void count_leaves(const Group<Stats>& group, int worker) {
        int64_t n_rows = 0;
        for (const Share<Stats>& share : group.shares) n_rows += share.totals.rows;
        for (const Fork<Stats>& fork : group.forks)
            for (const ForkSide<Stats>* side : {&fork.left, &fork.right})
                for (const Share<Stats>& share : side->shares) n_rows -= share.totals.rows;
        growth_.workers.advance(worker, static_cast<uint64_t>(n_rows));
    }

    // Describes the children of one share, and records its split. False: it stays a leaf.
    bool settle_share(const Share<Stats>& share, Split& split, Share<Stats>& left,
                      Share<Stats>& right, Sinks<Sink>& sinks, int worker) {
        Sink& tree = *sinks[share.member->index];
        members_.divider().divide_asked(share, split, left, right, worker);
        left.record = tree.add_nodes(2);
        right.record = left.record + 1;
        members_.describe(left, *share.member, {}, tree, worker);  // classes need no rows
        members_.describe(right, *share.member, {}, tree, worker);
        double decrease = impurity_decrease(share.member->root_weight, share.description,
                                            left.description, right.description);
        if (decrease >= share.member->rules->min_impurity_decrease) {
            tree.set_split(share.record, split, left.record);
            for (Share<Stats>* side : {&left, &right}) {
                side->stack_words = share.stack_words + static_cast<uint64_t>(side->totals.rows);
                members_.count_stack(*side, *share.member, worker);
            }
            return true;
        }
        tree.drop_nodes(2);
        return false;
    }

    // Where the share's node saw no missing value: the child with more weight. Absent categories go along.
    void settle_missing(const Group<Stats>& group, size_t at, Split& split,
                        const Share<Stats>& left, const Share<Stats>& right,
                        const BinSums<Stats>& cells, int worker) {
        const Share<Stats>& share = group.shares[at];
        if (!split.saw_missing)
            split.missing_left =
                !share.member->stats->is_lighter(side_of(left), side_of(right), share.context,
                                                 growth_.scratch(worker).search.scaled);
        if (!split.is_categorical || !sends_unseen_left(split)) return;
        send_absent_left(split, growth_.table.columns[split.column],
                         cells.list_present(group.patterns, at));
    }

    // One member -----------------------------------------------------------------------------

    static void hand_histogram(Histogram<uint32_t>& counts, MemberNode<Stats>& node) {
        if constexpr (GroupHistograms<Stats>::kServes) node.kept.packed = std::move(counts);
    }

    // A fork of one member: its children grow on as those of a single tree.
    void grow_children(Node& node, Sinks<Sink>& sinks, int worker) {
        Group<Stats> left, right;
        children_.divide(node, worker, left, right);
        Metered bytes(growth_.meter, left.layout.nbytes() + right.layout.nbytes());
        std::vector<NodePointer<Stats>> roots;
        for (bool is_left : {false, true}) {
            ForkSide<Stats>& side = is_left ? node.fork().left : node.fork().right;
            if (side.shares.empty()) continue;
            Group<Stats>& child = is_left ? left : right;
            roots.push_back(
                members_.make_root(side.shares[0], *side.shares[0].member, child.layout));
            hand_histogram(child.kept.counts, *roots.back());
            roots.back()->depth = node.depth + 1;
            roots.back()->key = child_key(node.key, is_left);
        }
        children_.give_back(node, worker);
        member_loop_.grow(std::move(roots), sinks, nullptr, worker);
    }

    // A share of a larger group gets a layout of its own.
    void grow_share(Node& node, Sinks<Sink>& sinks, int worker) {
        Layout layout;
        size_t n_rows = finder_.derive_share(*node.group, node.at, growth_.scratch(worker), layout);
        Metered bytes(growth_.meter, layout.nbytes());
        Histogram<uint32_t> histogram;
        if constexpr (GroupHistograms<Stats>::kServes)
            histogram =
                histograms_.extract(*node.group, node.at, n_rows, growth_.scratch(worker).work);
        grow_layout(node, node.at, layout, std::move(histogram), sinks, worker);
    }

    void grow_layout(Node& node, size_t share, Layout& layout, Histogram<uint32_t> histogram,
                     Sinks<Sink>& sinks, int worker) {
        Share<Stats>& own = node.group->shares[share];
        NodePointer<Stats> root = members_.make_root(own, *own.member, layout);
        hand_histogram(histogram, *root);
        root->depth = node.depth;
        root->key = node.key;
        member_loop_.grow(member_loop_.list_one(std::move(root)), sinks, nullptr, worker);
    }

    MemberNodes<Stats, Sink>& members_;
    Loop<MemberNodes<Stats, Sink>> member_loop_;
    Growth<Stats>& growth_;
    GroupHistograms<Stats> histograms_;
    GroupFinder<Stats> finder_;
    GroupChildren<Stats> children_;
    size_t n_root_members_, few_of_many_;
    std::vector<Forker<Stats>> forkers_;  // per worker
};

}  // namespace treefold
