// Leave-one-out: for each row the answer of the tree that is grown without it.
//
// Leavers go on together as long as they choose the same split, as a crowd; few of them are not worth it: each
// follows its own path (path.hpp). No tree is kept, and a node lives until its last child is made.
#pragma once

#include "family/group.hpp"
#include "grow/path.hpp"
#include "leave_one_out/kind_search.hpp"
#include "leave_one_out/mean_search.hpp"
#include "leave_one_out/own_value.hpp"

namespace treefold {

// Leavers that choose the same rows for the left.
struct LeaverFork {
    Choice choice;
    std::vector<uint64_t> set;  // categorical
    std::vector<uint32_t> leavers;  // rows
};

// A crowd, or one of the forks in which it goes on.
template <class Stats>
struct LeftOutNode {
    std::shared_ptr<Crowd<Stats>> crowd;
    std::optional<LeaverFork> fork;
    std::vector<LeaverFork> forks = {};  // of an opened crowd
};

template <class Stats>
class LeftOutNodes {
public:
    using CrowdPtr = std::shared_ptr<Crowd<Stats>>;
    using Node = LeftOutNode<Stats>;
    using Target = std::shared_ptr<Answers>;
    struct Task {};  // answers are written where they stay
    struct Trail {
        void pass(const Node&) {}
        void finish() {}
    };
    static constexpr bool kRanks = false;

    LeftOutNodes(Workshop<Stats>& shop, Seat<Stats> seat, const Kinds& kinds,
                 const Crowd<Stats>& root)
        : shop_(shop), seat_(std::move(seat)), kinds_(kinds), finder_(shop),
          root_totals_(root.totals), root_bytes_(root.layout.nbytes()) {
        shop.n_root_rows = root.n_rows();
        shop.reports_rows = false;
    }

    Workshop<Stats>& shop() const { return shop_; }
    const Rules& rules_of(const Node&) const { return *seat_.rules; }
    // Each takes long.
    size_t n_cells(const Node& node) const { return kCheckedCells + node.crowd->n_rows(); }
    bool is_task(const Node& node) const {
        if (node.fork) return false;
        auto n_workers = static_cast<size_t>(shop_.workers.size());
        return !is_crowd(*node.crowd) || node.crowd->n_rows() * 4 * n_workers < shop_.n_root_rows;
    }
    bool too_much_waits(const std::vector<Node>& nodes) const {
        uint64_t bytes = 0;
        for (const Node& node : nodes) bytes += node.crowd->layout.nbytes();
        return bytes > kWaitingLayouts * root_bytes_;
    }
    static Target& start(Task&, Node&, Target& answers) { return answers; }
    static void finish(Task, Target&) {}
    static void give_back(Node, int) {}

    // Answers the leavers for which a crowd's node is a leaf; the others go on in forks. False: there are none.
    bool open(Node& node, Target& answers, int worker) {
        if (!node.fork) node.forks = open_crowd(*node.crowd, answers, worker);
        return node.fork || !node.forks.empty();
    }

    // A crowd is replaced by its forks, a fork by its children.
    void divide(Node& node, Target&, int worker, auto&& offer) {
        for (LeaverFork& fork : node.forks) offer(Node{node.crowd, std::move(fork)});
        if (!node.fork) return;
        for (CrowdPtr& child : make_children(*node.crowd, *node.fork, worker))
            offer(Node{std::move(child), {}});
    }

    // A row that asks and trains nobody follows the tree of all rows.
    void answer_stranger(const Crowd<Stats>& root, uint32_t row, Target& answers) {
        uint8_t* ways = shop_.desk(0).ways_for(shop_.table.n_rows);
        for (uint32_t each : root.layout.rows) ways[each] = kGoesLeft;
        Layout layout;
        derive(root.layout, ways, root.n_rows(), layout);
        follow(layout, root, row, weigh(root_totals_, shop_.desk(0)), answers, 0);
    }

private:
    static constexpr size_t kFewLeavers = 1;
    static constexpr size_t kMostKinds = 64;
    static constexpr uint64_t kWaitingLayouts = 4;  // of tasks, in layouts of the root
    static constexpr uint64_t kMostLayouts = 16;  // of everything, before leavers go one by one

    using Forks = std::vector<LeaverFork>;

    Forks open_crowd(Crowd<Stats>& crowd, Target& answers, int worker) {
        Desk<Stats>& desk = shop_.desk(worker);
        if constexpr (requires { MeanStanding::serves(*seat_.rules, *seat_.stats); }) {
            if (is_crowd(crowd) && MeanStanding::serves(*seat_.rules, *seat_.stats)) {
                MeanStanding standing(crowd, seat_);
                return open_with(crowd, standing, answers, worker, [&] {
                    return MeanSearch(crowd, seat_, find_winner(crowd, worker), desk);
                });
            }
        }
        if (is_crowd(crowd) && kinds_.representatives.size() <= kMostKinds) {
            KindStanding<Stats> standing(crowd, seat_, kinds_, desk);
            return open_with(crowd, standing, answers, worker, [&] {
                bool needs_winner = KindSearch<Stats>::has_window(crowd, seat_);
                Split winner = needs_winner ? find_winner(crowd, worker) : Split{};
                return KindSearch<Stats>(crowd, seat_, standing, winner, desk);
            });
        }
        for (uint32_t row : crowd.leavers) leave_alone(crowd, row, answers, worker);
        return {};
    }

    // Draws are not the same for all leavers.
    bool is_crowd(const Crowd<Stats>& crowd) const {
        return crowd.leavers.size() > kFewLeavers && seat_.tries_all(shop_.table) &&
               seat_.rules->search == Search::fastest &&
               shop_.meter.now() < kMostLayouts * root_bytes_;
    }

    template <class Standing, class MakeSearch>
    Forks open_with(Crowd<Stats>& crowd, Standing& standing, Target& answers, int worker,
                    MakeSearch&& search) {
        settle_leaves(crowd, standing, *answers);
        if (crowd.leavers.empty()) return {};
        Desk<Stats>& desk = shop_.desk(worker);
        count_work(crowd, desk.work);
        std::vector<Choice> choices;
        ChoiceSets sets;
        search().run(choices, sets);
        Forks forks = part(crowd, standing, choices, sets, *answers, desk);
        desk.work.forks += forks.empty() ? 0 : forks.size() - 1;
        desk.work.count_tests(crowd.depth, forks.size());
        return forks;
    }

    void count_work(const Crowd<Stats>& crowd, Work& work) const {
        work.count_search(crowd.leavers.size(), crowd.n_rows());
        uint64_t n_updates = crowd.n_rows() * shop_.table.columns.size();
        work.statistic_updates += n_updates;
        work.serial_updates += n_updates * crowd.leavers.size();
    }

    // The best split of all rows that leaves one row more than the least on both sides.
    Split find_winner(Crowd<Stats>& crowd, int worker) {
        Rules rules = *seat_.rules;
        rules.min_samples_leaf = std::max<int64_t>(1, rules.min_samples_leaf) + 1;
        if (rules.min_weight_leaf > 0.0) rules.min_weight_leaf += 1.0;
        Seat<Stats> seat = seat_;
        seat.rules = &rules;
        Desk<Stats>& desk = shop_.desk(worker);
        auto node = desk.take_node();
        node->seat = &seat;
        node->take_all(crowd.layout);
        node->totals = crowd.totals;
        std::vector<double> value(Stats::is_classification ? seat.stats->width() : 1);
        node->context = seat.stats->context(crowd.totals, crowd.layout.rows);
        node->description = seat.stats->describe(crowd.totals, crowd.layout.rows, node->context,
                                                 value.data(), desk.scratch.scaled);
        Split winner = finder_.find(*node, worker);
        desk.give_back(std::move(node));
        return winner;
    }

    // One row on its own ----------------------------------------------------------------------

    void leave_alone(Crowd<Stats>& crowd, uint32_t row, Target& answers, int worker) {
        if (crowd.is_apart) {
            crowd.bytes = Metered();  // the path counts them
            return follow(crowd.layout, crowd, row, weigh_root(row, shop_.desk(worker)), answers,
                          worker);
        }
        uint8_t* ways = shop_.desk(worker).ways_for(shop_.table.n_rows);
        for (uint32_t each : crowd.layout.rows) ways[each] = kGoesLeft;
        ways[row] = 0;
        Layout layout;
        derive(crowd.layout, ways, crowd.n_rows() - 1, layout);
        follow(layout, crowd, row, weigh_root(row, shop_.desk(worker)), answers, worker);
    }

    // The path of a row from a node on that has the rows of the layout.
    void follow(Layout& layout, const Crowd<Stats>& crowd, uint32_t row, double root_weight,
                const Target& answers, int worker) {
        Metered bytes(shop_.meter, layout.nbytes());
        Seat<Stats> seat = seat_;
        seat.root_weight = root_weight;
        seat.asks_everything = false;
        auto node = shop_.desk(worker).take_node();
        node->totals = seat.stats->sum_rows(layout.rows);
        node->seat = &seat;
        node->take_all(layout);
        node->depth = crowd.depth;
        node->key = crowd.key;
        follow_path(shop_, std::move(node), row, answers, worker);
    }

    // What the leaver's root weighs.
    double weigh_root(uint32_t row, Desk<Stats>& desk) const {
        if (seat_.rules->min_impurity_decrease <= 0.0) return 0.0;
        auto totals = root_totals_;
        remove_row(*seat_.stats, row, totals);
        return weigh(totals, desk);
    }
    double weigh(const typename Stats::Totals& totals, Desk<Stats>& desk) const {
        auto context = seat_.stats->context(totals, {});
        return seat_.stats->weight_of({totals.rows, totals.slots.data()}, context,
                                      desk.scratch.scaled);
    }

    // Answers the leavers for which the node is a leaf, and takes them out.
    template <class Standing>
    void settle_leaves(Crowd<Stats>& crowd, Standing& standing, Answers& answers) {
        std::vector<uint32_t> kept;
        for (uint32_t k = 0; k < crowd.leavers.size(); ++k) {
            if (standing.is_leaf(k))
                standing.write_value(k, answers.of(crowd.leavers[k]));
            else
                kept.push_back(k);
        }
        standing.keep(kept);
        for (size_t k = 0; k < kept.size(); ++k) crowd.leavers[k] = crowd.leavers[kept[k]];
        crowd.leavers.resize(kept.size());
    }

    // Forks -----------------------------------------------------------------------------------

    template <class Standing>
    Forks part(const Crowd<Stats>& crowd, const Standing& standing,
               const std::vector<Choice>& choices, const ChoiceSets& sets, Answers& answers,
               Desk<Stats>& desk) {
        Presences presences(crowd.layout, desk.scratch.pairs);
        using Key = std::tuple<uint32_t, uint32_t, bool, std::vector<uint64_t>>;
        std::map<Key, LeaverFork> forks;
        bool is_limited = seat_.rules->min_impurity_decrease > 0.0;
        LeaverFork* last = nullptr;
        for (uint32_t k = 0; k < choices.size(); ++k) {
            uint32_t row = crowd.leavers[k];
            if (!choices[k].exists()) {
                standing.write_value(k, answers.of(row));
                continue;
            }
            Choice choice = choices[k];
            const Column& column = crowd.layout.table->columns[choice.column];
            if (last != nullptr && !is_limited && last->choice.is_same(choice) &&
                is_far(column, choice, row)) {
                last->leavers.push_back(row);
                continue;
            }
            std::vector<uint64_t> set;
            if (column.is_categorical) set = sets[choice.set];
            settle_own(column, presences.of(choice.column), row, choice, set, [&] {
                return weighs_more_left(crowd, *seat_.stats, standing.of(k), row, {choice, set},
                                        desk);
            });
            if (is_limited &&
                !decreases_enough(crowd, {choice, set, {}}, standing.of(k), row, desk)) {
                standing.write_value(k, answers.of(row));
                continue;
            }
            LeaverFork& fork = forks[Key(choice.column, choice.code, choice.missing_left, set)];
            if (fork.leavers.empty()) fork.choice = choice, fork.set = std::move(set);
            fork.leavers.push_back(row);
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
    std::pair<CrowdPtr, CrowdPtr> divide(const Crowd<Stats>& crowd, const LeaverFork& fork) const {
        const Column& column = crowd.layout.table->columns[fork.choice.column];
        auto left = std::make_shared<Crowd<Stats>>(), right = std::make_shared<Crowd<Stats>>();
        Words &on_left = left->layout.rows, &on_right = right->layout.rows;
        on_left.resize(crowd.n_rows()), on_right.resize(crowd.n_rows());
        size_t n_left = 0, n_right = 0;
        auto divide_by = [&](auto&& goes_left) {
            for (uint32_t row : crowd.layout.rows) {
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
        left->totals = seat_.stats->sum_rows(left->layout.rows);
        right->totals = crowd.totals;
        right->totals -= left->totals;
        return {std::move(left), std::move(right)};
    }

    // Those that have leavers, the larger one first: the other one is taken from the stack before it.
    std::vector<CrowdPtr> make_children(const Crowd<Stats>& crowd, const LeaverFork& fork,
                                        int worker) {
        auto [left, right] = divide(crowd, fork);
        uint8_t* ways = shop_.desk(worker).ways_for(shop_.table.n_rows);
        for (uint32_t row : left->layout.rows) ways[row] = kGoesLeft;
        for (uint32_t row : right->layout.rows) ways[row] = kGoesRight;
        for (uint32_t row : fork.leavers)
            (ways[row] == kGoesLeft ? left : right)->leavers.push_back(row);
        for (CrowdPtr* child : {&left, &right}) set_apart(**child, ways);
        if (!left->leavers.empty() && !right->leavers.empty())
            divide_layout(crowd.layout, ways, left->layout, right->layout);
        else
            derive_child(crowd.layout, left->leavers.empty() ? right->layout : left->layout, ways);
        std::vector<CrowdPtr> children;
        bool is_left_larger = left->n_rows() > right->n_rows();
        for (bool is_left : {is_left_larger, !is_left_larger}) {
            CrowdPtr& child = is_left ? left : right;
            if (child->leavers.empty()) continue;
            child->depth = crowd.depth + 1;
            child->key = child_key(crowd.key, is_left);
            child->bytes = Metered(shop_.meter, child->layout.nbytes());
            children.push_back(std::move(child));
        }
        return children;
    }

    // A leaver that is alone needs no crowd: its node is without it from here on.
    static void set_apart(Crowd<Stats>& child, uint8_t* ways) {
        if (child.leavers.size() != 1) return;
        child.is_apart = true;
        ways[child.leavers[0]] = 0;
        std::erase(child.layout.rows, child.leavers[0]);
    }

    // Only one child is needed; its rows are known.
    static void derive_child(const Layout& from, Layout& child, uint8_t* ways) {
        for (uint32_t row : from.rows) ways[row] = 0;
        for (uint32_t row : child.rows) ways[row] = kGoesLeft;
        derive(from, ways, child.rows.size(), child);
    }

    // min_impurity_decrease, by the leaver's own rows.
    bool decreases_enough(const Crowd<Stats>& crowd, const LeaverFork& fork,
                          const Absence<Stats>& absence, uint32_t row, Desk<Stats>& desk) const {
        auto [left, right] = divide(crowd, fork);
        bool is_left =
            sends_left(fork.choice, fork.set, crowd.layout.table->columns[fork.choice.column], row);
        Description on_left = describe_side(*left, row, is_left, desk),
                    on_right = describe_side(*right, row, !is_left, desk);
        return impurity_decrease(weigh_root(row, desk), absence.description, on_left, on_right) >=
               seat_.rules->min_impurity_decrease;
    }
    Description describe_side(const Crowd<Stats>& side, uint32_t row, bool is_own,
                              Desk<Stats>& desk) const {
        const Stats& stats = *seat_.stats;
        std::vector<int64_t>& scratch = desk.scratch.scaled;
        if (is_own) return describe_without(side, row, stats, scratch).description;
        std::vector<double> value(Stats::is_classification ? stats.width() : 1);
        auto context = stats.context(side.totals, side.layout.rows);
        return stats.describe(side.totals, side.layout.rows, context, value.data(), scratch);
    }

    Workshop<Stats>& shop_;
    Seat<Stats> seat_;
    const Kinds& kinds_;
    Finder<Stats> finder_;
    typename Stats::Totals root_totals_;
    uint64_t root_bytes_;
};

}  // namespace treefold
