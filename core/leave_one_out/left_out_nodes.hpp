// Leave-one-out: for each row the answer of the tree that is grown without it.
//
// Left-out rows go on together as long as they choose the same split; few of them are not worth it: each follows a path
// of its own (grow/path.hpp). No tree is kept, and a node lives until its last child is made.
#pragma once

#include "family/group.hpp"
#include "grow/path.hpp"
#include "leave_one_out/kind_search.hpp"
#include "leave_one_out/mean_search.hpp"
#include "leave_one_out/own_value.hpp"

namespace treefold {

// Left-out rows that choose the same rows for the left.
struct LeftOutFork {
    Choice choice;
    std::vector<uint64_t> set;  // categorical
    std::vector<uint32_t> left_out;  // rows
};

// A node, or one of the forks in which it goes on.
template <class Stats>
struct WaitingNode {
    std::shared_ptr<LeftOutNode<Stats>> node;
    std::optional<LeftOutFork> fork;
    std::vector<LeftOutFork> forks = {};  // of an opened node
};

template <class Stats>
class LeftOutNodes {
public:
    using NodePtr = std::shared_ptr<LeftOutNode<Stats>>;
    using Node = WaitingNode<Stats>;
    using Target = std::shared_ptr<Answers>;
    struct Task {};  // answers are written where they stay
    struct Trail {
        void pass(const Node&) {}
        void finish() {}
    };
    static constexpr bool kRanks = false;

    LeftOutNodes(Growth<Stats>& growth, MemberContext<Stats> member, const Kinds& kinds,
                 const LeftOutNode<Stats>& root)
        : growth_(growth), member_(std::move(member)), kinds_(kinds), finder_(growth),
          root_totals_(root.totals), root_bytes_(root.layout.nbytes()) {
        growth.n_root_rows = root.n_rows();
        growth.reports_rows = false;
    }

    Growth<Stats>& growth() const { return growth_; }
    const Rules& rules_of(const Node&) const { return *member_.rules; }
    // Each takes long.
    size_t n_cells(const Node& waiting) const { return kCheckedCells + waiting.node->n_rows(); }
    bool is_task(const Node& waiting) const {
        if (waiting.fork) return false;
        auto n_workers = static_cast<size_t>(growth_.workers.size());
        return !goes_together(*waiting.node) ||
               waiting.node->n_rows() * 4 * n_workers < growth_.n_root_rows;
    }
    bool too_much_waits(const std::vector<Node>& nodes) const {
        uint64_t bytes = 0;
        for (const Node& waiting : nodes) bytes += waiting.node->layout.nbytes();
        return bytes > kWaitingLayouts * root_bytes_;
    }
    static Target& start(Task&, Node&, Target& answers) { return answers; }
    static void finish(Task, Target&) {}
    static void give_back(Node, int) {}

    // Answers the left-out rows for which a node is a leaf; the others go on in forks. False: there are none.
    bool open(Node& waiting, Target& answers, int worker) {
        if (!waiting.fork) waiting.forks = open_together(*waiting.node, answers, worker);
        return waiting.fork || !waiting.forks.empty();
    }

    // A node is replaced by its forks, a fork by its children.
    void divide(Node& waiting, Target&, int worker, auto&& offer) {
        for (LeftOutFork& fork : waiting.forks) offer(Node{waiting.node, std::move(fork)});
        if (!waiting.fork) return;
        for (NodePtr& child : make_children(*waiting.node, *waiting.fork, worker))
            offer(Node{std::move(child), {}});
    }

    // A row that asks and trains nobody follows the tree of all rows.
    void answer_stranger(const LeftOutNode<Stats>& root, uint32_t row, Target& answers) {
        uint8_t* ways = growth_.scratch(0).ways_for(growth_.table.n_rows);
        for (uint32_t each : root.layout.rows) ways[each] = kGoesLeft;
        Layout layout;
        derive(root.layout, ways, root.n_rows(), layout);
        follow(layout, root, row, weigh(root_totals_, growth_.scratch(0)), answers, 0);
    }

private:
    static constexpr size_t kFewLeftOut = 1;
    static constexpr size_t kMostKinds = 64;
    static constexpr uint64_t kWaitingLayouts = 4;  // of tasks, in layouts of the root
    static constexpr uint64_t kMostLayouts =
        16;  // of everything, before left-out rows go one by one

    using Forks = std::vector<LeftOutFork>;

    Forks open_together(LeftOutNode<Stats>& node, Target& answers, int worker) {
        WorkerScratch<Stats>& mine = growth_.scratch(worker);
        if constexpr (requires { MeansWithout::serves(*member_.rules, *member_.stats); }) {
            if (goes_together(node) && MeansWithout::serves(*member_.rules, *member_.stats)) {
                MeansWithout without(node, member_);
                return open_with(node, without, answers, worker, [&] {
                    return MeanSearch(node, member_, find_winner(node, worker), mine);
                });
            }
        }
        if (goes_together(node) && kinds_.representatives.size() <= kMostKinds) {
            KindsWithout<Stats> without(node, member_, kinds_, mine);
            return open_with(node, without, answers, worker, [&] {
                bool needs_winner = KindSearch<Stats>::has_window(node, member_);
                Split winner = needs_winner ? find_winner(node, worker) : Split{};
                return KindSearch<Stats>(node, member_, without, winner, mine);
            });
        }
        for (uint32_t row : node.left_out) leave_alone(node, row, answers, worker);
        return {};
    }

    // Draws are not the same for all left-out rows.
    bool goes_together(const LeftOutNode<Stats>& node) const {
        return node.left_out.size() > kFewLeftOut && member_.tries_all(growth_.table) &&
               member_.rules->search == Search::fastest &&
               growth_.meter.now() < kMostLayouts * root_bytes_;
    }

    template <class Without, class MakeSearch>
    Forks open_with(LeftOutNode<Stats>& node, Without& without, Target& answers, int worker,
                    MakeSearch&& search) {
        settle_leaves(node, without, *answers);
        if (node.left_out.empty()) return {};
        WorkerScratch<Stats>& mine = growth_.scratch(worker);
        count_work(node, mine.work);
        std::vector<Choice> choices;
        ChoiceSets sets;
        search().run(choices, sets);
        Forks forks = part(node, without, choices, sets, *answers, mine);
        mine.work.forks += forks.empty() ? 0 : forks.size() - 1;
        mine.work.count_tests(node.depth, forks.size());
        return forks;
    }

    void count_work(const LeftOutNode<Stats>& node, Work& work) const {
        work.count_search(node.left_out.size(), node.n_rows());
        uint64_t n_updates = node.n_rows() * growth_.table.columns.size();
        work.statistic_updates += n_updates;
        work.serial_updates += n_updates * node.left_out.size();
    }

    // The best split of all rows that leaves one row more than the least on both sides.
    Split find_winner(LeftOutNode<Stats>& node, int worker) {
        Rules rules = *member_.rules;
        rules.min_samples_leaf = std::max<int64_t>(1, rules.min_samples_leaf) + 1;
        if (rules.min_weight_leaf > 0.0) rules.min_weight_leaf += 1.0;
        MemberContext<Stats> member = member_;
        member.rules = &rules;
        WorkerScratch<Stats>& mine = growth_.scratch(worker);
        auto all = mine.take_node();
        all->member = &member;
        all->take_all(node.layout);
        all->totals = node.totals;
        std::vector<double> value(Stats::is_classification ? member.stats->width() : 1);
        all->context = member.stats->context(node.totals, node.layout.rows);
        all->description = member.stats->describe(node.totals, node.layout.rows, all->context,
                                                  value.data(), mine.search.scaled);
        Split winner = finder_.find(*all, worker);
        mine.give_back(std::move(all));
        return winner;
    }

    // One row on its own ----------------------------------------------------------------------

    void leave_alone(LeftOutNode<Stats>& node, uint32_t row, Target& answers, int worker) {
        if (node.is_apart) {
            node.bytes = Metered();  // the path counts them
            return follow(node.layout, node, row, weigh_root(row, growth_.scratch(worker)), answers,
                          worker);
        }
        uint8_t* ways = growth_.scratch(worker).ways_for(growth_.table.n_rows);
        for (uint32_t each : node.layout.rows) ways[each] = kGoesLeft;
        ways[row] = 0;
        Layout layout;
        derive(node.layout, ways, node.n_rows() - 1, layout);
        follow(layout, node, row, weigh_root(row, growth_.scratch(worker)), answers, worker);
    }

    // The path of a row from a node on that has the rows of the layout.
    void follow(Layout& layout, const LeftOutNode<Stats>& node, uint32_t row, double root_weight,
                const Target& answers, int worker) {
        Metered bytes(growth_.meter, layout.nbytes());
        MemberContext<Stats> member = member_;
        member.root_weight = root_weight;
        member.asks_everything = false;
        auto root = growth_.scratch(worker).take_node();
        root->totals = member.stats->sum_rows(layout.rows);
        root->member = &member;
        root->take_all(layout);
        root->depth = node.depth;
        root->key = node.key;
        follow_path(growth_, std::move(root), row, answers, worker);
    }

    // What the left-out row's root weighs.
    double weigh_root(uint32_t row, WorkerScratch<Stats>& mine) const {
        if (member_.rules->min_impurity_decrease <= 0.0) return 0.0;
        auto totals = root_totals_;
        remove_row(*member_.stats, row, totals);
        return weigh(totals, mine);
    }
    double weigh(const typename Stats::Totals& totals, WorkerScratch<Stats>& mine) const {
        auto context = member_.stats->context(totals, {});
        return member_.stats->weight_of({totals.rows, totals.slots.data()}, context,
                                        mine.search.scaled);
    }

    // Answers the left-out rows for which the node is a leaf, and takes them out.
    template <class Without>
    void settle_leaves(LeftOutNode<Stats>& node, Without& without, Answers& answers) {
        std::vector<uint32_t> kept;
        for (uint32_t k = 0; k < node.left_out.size(); ++k) {
            if (without.is_leaf(k))
                without.write_value(k, answers.of(node.left_out[k]));
            else
                kept.push_back(k);
        }
        without.keep(kept);
        for (size_t k = 0; k < kept.size(); ++k) node.left_out[k] = node.left_out[kept[k]];
        node.left_out.resize(kept.size());
    }

    // Forks -----------------------------------------------------------------------------------

    template <class Without>
    Forks part(const LeftOutNode<Stats>& node, const Without& without,
               const std::vector<Choice>& choices, const ChoiceSets& sets, Answers& answers,
               WorkerScratch<Stats>& mine) {
        Presences presences(node.layout, mine.search.pairs);
        using Key = std::tuple<uint32_t, uint32_t, bool, std::vector<uint64_t>>;
        std::map<Key, LeftOutFork> forks;
        bool is_limited = member_.rules->min_impurity_decrease > 0.0;
        LeftOutFork* last = nullptr;
        for (uint32_t k = 0; k < choices.size(); ++k) {
            uint32_t row = node.left_out[k];
            if (!choices[k].exists()) {
                without.write_value(k, answers.of(row));
                continue;
            }
            Choice choice = choices[k];
            const Column& column = node.layout.table->columns[choice.column];
            if (last != nullptr && !is_limited && last->choice.is_same(choice) &&
                is_far(column, choice, row)) {
                last->left_out.push_back(row);
                continue;
            }
            std::vector<uint64_t> set;
            if (column.is_categorical) set = sets[choice.set];
            settle_own(column, presences.of(choice.column), row, choice, set, [&] {
                return weighs_more_left(node, *member_.stats, without.of(k), row, {choice, set},
                                        mine);
            });
            if (is_limited &&
                !decreases_enough(node, {choice, set, {}}, without.of(k), row, mine)) {
                without.write_value(k, answers.of(row));
                continue;
            }
            LeftOutFork& fork = forks[Key(choice.column, choice.code, choice.missing_left, set)];
            if (fork.left_out.empty()) fork.choice = choice, fork.set = std::move(set);
            fork.left_out.push_back(row);
            last = &fork;
        }
        Forks result;
        for (auto& [key, fork] : forks) result.push_back(std::move(fork));
        return result;
    }

    // Surely not next to the cut, so that whether its value is its own does not matter.
    static bool is_far(const Column& column, const Choice& choice, uint32_t row) {
        if (column.is_categorical || column.has_missing) return false;
        uint32_t code = column.code_of(row);
        return code != choice.code && code != choice.next_code;
    }

    // Children --------------------------------------------------------------------------------

    // The rows of both sides, which have no orders yet.
    std::pair<NodePtr, NodePtr> divide(const LeftOutNode<Stats>& node,
                                       const LeftOutFork& fork) const {
        const Column& column = node.layout.table->columns[fork.choice.column];
        auto left = std::make_shared<LeftOutNode<Stats>>(),
             right = std::make_shared<LeftOutNode<Stats>>();
        Words &on_left = left->layout.rows, &on_right = right->layout.rows;
        on_left.resize(node.n_rows()), on_right.resize(node.n_rows());
        size_t n_left = 0, n_right = 0;
        auto divide_by = [&](auto&& goes_left) {
            for (uint32_t row : node.layout.rows) {
                bool is_left = goes_left(row);
                on_left[n_left] = on_right[n_right] = row;
                n_left += is_left, n_right += !is_left;
            }
        };
        if (column.is_sparse || column.is_categorical || column.has_missing)
            divide_by([&](uint32_t row) { return sends_left(fork.choice, fork.set, column, row); });
        else
            column.codes.with([&](auto* codes) {
                divide_by([&](uint32_t row) { return codes[row] <= fork.choice.code; });
            });
        on_left.resize(n_left), on_right.resize(n_right);
        left->totals = member_.stats->sum_rows(left->layout.rows);
        right->totals = node.totals;
        right->totals -= left->totals;
        return {std::move(left), std::move(right)};
    }

    // Those that have left-out rows, the larger one first: the other one is taken from the stack before it.
    std::vector<NodePtr> make_children(const LeftOutNode<Stats>& node, const LeftOutFork& fork,
                                       int worker) {
        auto [left, right] = divide(node, fork);
        uint8_t* ways = growth_.scratch(worker).ways_for(growth_.table.n_rows);
        for (uint32_t row : left->layout.rows) ways[row] = kGoesLeft;
        for (uint32_t row : right->layout.rows) ways[row] = kGoesRight;
        for (uint32_t row : fork.left_out)
            (ways[row] == kGoesLeft ? left : right)->left_out.push_back(row);
        for (NodePtr* child : {&left, &right}) set_apart(**child, ways);
        if (!left->left_out.empty() && !right->left_out.empty())
            divide_layout(node.layout, ways, left->layout, right->layout);
        else
            derive_child(node.layout, left->left_out.empty() ? right->layout : left->layout, ways);
        std::vector<NodePtr> children;
        bool is_left_larger = left->n_rows() > right->n_rows();
        for (bool is_left : {is_left_larger, !is_left_larger}) {
            NodePtr& child = is_left ? left : right;
            if (child->left_out.empty()) continue;
            child->depth = node.depth + 1;
            child->key = child_key(node.key, is_left);
            child->bytes = Metered(growth_.meter, child->layout.nbytes());
            children.push_back(std::move(child));
        }
        return children;
    }

    // A left-out row that is alone is taken out of its node's rows from here on.
    static void set_apart(LeftOutNode<Stats>& child, uint8_t* ways) {
        if (child.left_out.size() != 1) return;
        child.is_apart = true;
        ways[child.left_out[0]] = 0;
        std::erase(child.layout.rows, child.left_out[0]);
    }

    // Only one child is needed; its rows are known.
    static void derive_child(const Layout& from, Layout& child, uint8_t* ways) {
        for (uint32_t row : from.rows) ways[row] = 0;
        for (uint32_t row : child.rows) ways[row] = kGoesLeft;
        derive(from, ways, child.rows.size(), child);
    }

    // min_impurity_decrease, by the left-out row's own rows.
    bool decreases_enough(const LeftOutNode<Stats>& node, const LeftOutFork& fork,
                          const SumsWithout<Stats>& sums_without_row, uint32_t row,
                          WorkerScratch<Stats>& mine) const {
        auto [left, right] = divide(node, fork);
        bool is_left =
            sends_left(fork.choice, fork.set, node.layout.table->columns[fork.choice.column], row);
        Description on_left = describe_side(*left, row, is_left, mine),
                    on_right = describe_side(*right, row, !is_left, mine);
        return impurity_decrease(weigh_root(row, mine), sums_without_row.description, on_left,
                                 on_right) >= member_.rules->min_impurity_decrease;
    }
    Description describe_side(const LeftOutNode<Stats>& side, uint32_t row, bool is_own,
                              WorkerScratch<Stats>& mine) const {
        const Stats& stats = *member_.stats;
        std::vector<int64_t>& scratch = mine.search.scaled;
        if (is_own) return describe_without(side, row, stats, scratch).description;
        std::vector<double> value(Stats::is_classification ? stats.width() : 1);
        auto context = stats.context(side.totals, side.layout.rows);
        return stats.describe(side.totals, side.layout.rows, context, value.data(), scratch);
    }

    Growth<Stats>& growth_;
    MemberContext<Stats> member_;
    const Kinds& kinds_;
    Finder<Stats> finder_;
    typename Stats::Totals root_totals_;
    uint64_t root_bytes_;
};

}  // namespace treefold
