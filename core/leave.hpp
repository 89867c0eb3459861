// Leave-one-out: for each row the answer of the tree that is grown without it.
//
// Leavers go on together as long as they choose the same split, as a crowd; few of them are not worth it: each
// follows its own path (path.hpp). No tree is kept, and a node lives until its last child is made.
#pragma once

#include "answers.hpp"
#include "group.hpp"
#include "kind_search.hpp"
#include "mean_search.hpp"
#include "own_value.hpp"

namespace treefold {

template <class Target>
class Leaving {
public:
    using CrowdPtr = std::unique_ptr<Crowd<Target>>;

    Leaving(Workshop<Target>& shop, Seat<Target> seat, const Kinds& kinds, Answers& answers)
        : shop_(shop), seat_(std::move(seat)), kinds_(kinds), answers_(answers), finder_(shop),
          path_(shop) {}

    // strangers: rows that ask and train nobody.
    void run(CrowdPtr root, const std::vector<uint32_t>& strangers) {
        root_totals_ = root->totals;
        for (uint32_t row : strangers) {
            uint8_t* ways = shop_.desk(0).ways_for(shop_.table.n_rows);
            for (uint32_t each : root->layout.rows) ways[each] = kGoesLeft;
            Layout layout;
            derive(root->layout, ways, root->n_rows(), layout);
            follow(layout, *root, row, weigh(root_totals_, 0), 0);
        }
        visit(std::move(root), 0);
    }

private:
    static constexpr size_t kFewLeavers = 3;
    static constexpr size_t kMostKinds = 64;

    void visit(CrowdPtr crowd, int worker) {
        shop_.workers.check();
        Crowd<Target>& here = *crowd;
        if constexpr (std::is_same_v<Target, MeanTarget<2>>) {
            if (is_crowd(here) && MeanStanding::serves(*seat_.rules, *seat_.target)) {
                MeanStanding standing(here, seat_);
                auto search = [&](const Split& winner) {
                    return MeanSearch(here, seat_, winner, shop_.desk(worker));
                };
                return go_on(std::move(crowd), standing, search, worker);
            }
        }
        if (is_crowd(here) && kinds_.representatives.size() <= kMostKinds) {
            KindStanding<Target> standing(here, seat_, kinds_, shop_.desk(worker));
            auto search = [&](const Split&) {
                return KindSearch<Target>(here, seat_, standing, shop_.desk(worker));
            };
            return go_on(std::move(crowd), standing, search, worker);
        }
        for (uint32_t row : here.leavers) leave_alone(here, row, worker);
    }

    // Draws are not the same for all leavers.
    bool is_crowd(const Crowd<Target>& crowd) const {
        return crowd.leavers.size() > kFewLeavers && seat_.tries_all(shop_.table);
    }

    // search(winner) makes the search for the choices of leavers.
    template <class Standing, class Search>
    void go_on(CrowdPtr crowd, Standing& standing, Search&& search, int worker) {
        settle_leaves(*crowd, standing);
        if (crowd->leavers.empty()) return;
        Desk<Target>& desk = shop_.desk(worker);
        count_work(*crowd, desk.work);
        std::vector<Choice> choices;
        ChoiceSets sets;
        search(find_winner(*crowd, worker)).run(choices, sets);
        Forks forks = part(*crowd, standing, choices, sets, desk);
        desk.work.forks += forks.empty() ? 0 : forks.size() - 1;
        desk.work.count_tests(crowd->depth, forks.size());
        for (Fork& fork : forks) {
            std::vector<CrowdPtr> children = bear(*crowd, fork, standing, worker);
            if (&fork == &forks.back()) crowd.reset();
            for (CrowdPtr& child : children) visit(std::move(child), worker);
        }
    }

    void count_work(const Crowd<Target>& crowd, Work& work) const {
        work.count_search(crowd.leavers.size(), crowd.n_rows());
        uint64_t n_updates = crowd.n_rows() * shop_.table.columns.size();
        work.statistic_updates += n_updates;
        work.serial_updates += n_updates * crowd.leavers.size();
    }

    // The best split of all rows that leaves one row more than the least on both sides.
    Split find_winner(Crowd<Target>& crowd, int worker) {
        Rules rules = *seat_.rules;
        rules.min_samples_leaf = std::max<int64_t>(1, rules.min_samples_leaf) + 1;
        if (rules.min_weight_leaf > 0.0) rules.min_weight_leaf += 1.0;
        Seat<Target> seat = seat_;
        seat.rules = &rules;
        Desk<Target>& desk = shop_.desk(worker);
        auto node = desk.take_node();
        node->seat = &seat;
        node->layout = &crowd.layout;
        node->begin = 0, node->end = crowd.n_rows();
        node->stretches = crowd.layout.root_stretches;
        node->totals = crowd.totals;
        std::vector<double> value(Target::is_classification ? seat.target->width() : 1);
        node->context = seat.target->context(crowd.totals, crowd.layout.rows);
        node->description = seat.target->describe(crowd.totals, crowd.layout.rows, node->context,
                                                  value.data(), desk.scratch.scaled);
        Split winner = finder_.find(*node, worker);
        desk.give_back(std::move(node));
        return winner;
    }

    // One row on its own ----------------------------------------------------------------------

    void leave_alone(const Crowd<Target>& crowd, uint32_t row, int worker) {
        uint8_t* ways = shop_.desk(worker).ways_for(shop_.table.n_rows);
        for (uint32_t each : crowd.layout.rows) ways[each] = kGoesLeft;
        ways[row] = 0;
        Layout layout;
        derive(crowd.layout, ways, crowd.n_rows() - 1, layout);
        follow(layout, crowd, row, weigh_root(row, worker), worker);
    }

    // The path of a row from a node on that has the rows of the layout.
    void follow(Layout& layout, const Crowd<Target>& crowd, uint32_t row, double root_weight,
                int worker) {
        Metered bytes(shop_.meter, layout.nbytes());
        Seat<Target> seat = seat_;
        seat.root_weight = root_weight;
        auto node = shop_.desk(worker).take_node();
        node->totals = seat.target->sum_rows(layout.rows);
        node->seat = &seat;
        node->layout = &layout;
        node->begin = 0, node->end = layout.n_rows;
        node->stretches = layout.root_stretches;
        node->depth = crowd.depth;
        node->key = crowd.key;
        path_.follow(std::move(node), row, answers_.of(row), worker);
    }

    // What the leaver's root weighs.
    double weigh_root(uint32_t row, int worker) {
        if (seat_.rules->min_impurity_decrease <= 0.0) return 0.0;
        auto totals = root_totals_;
        remove_row(*seat_.target, row, totals);
        return weigh(totals, worker);
    }
    double weigh(const typename Target::Totals& totals, int worker) {
        auto context = seat_.target->context(totals, {});
        return seat_.target->weight_of({totals.rows, totals.slots.data()}, context,
                                       shop_.desk(worker).scratch.scaled);
    }

    // Answers the leavers for which the node is a leaf, and takes them out.
    template <class Standing>
    void settle_leaves(Crowd<Target>& crowd, Standing& standing) {
        std::vector<uint32_t> kept;
        for (uint32_t k = 0; k < crowd.leavers.size(); ++k) {
            if (standing.is_leaf(k))
                standing.write_value(k, answers_.of(crowd.leavers[k]));
            else
                kept.push_back(k);
        }
        standing.keep(kept);
        for (size_t k = 0; k < kept.size(); ++k) crowd.leavers[k] = crowd.leavers[kept[k]];
        crowd.leavers.resize(kept.size());
    }

    // Forks -----------------------------------------------------------------------------------

    // Leavers that choose the same rows for the left.
    struct Fork {
        Choice choice;
        std::vector<uint64_t> set;  // categorical
        std::vector<uint32_t> leavers;  // in the crowd's
    };
    using Forks = std::vector<Fork>;

    template <class Standing>
    Forks part(const Crowd<Target>& crowd, const Standing& standing,
               const std::vector<Choice>& choices, const ChoiceSets& sets, Desk<Target>& desk) {
        Presences presences(crowd.layout, desk.scratch.pairs);
        using Key = std::tuple<uint32_t, uint32_t, bool, std::vector<uint64_t>>;
        std::map<Key, Fork> forks;
        for (uint32_t k = 0; k < choices.size(); ++k) {
            uint32_t row = crowd.leavers[k];
            if (!choices[k].exists()) {
                standing.write_value(k, answers_.of(row));
                continue;
            }
            Choice choice = choices[k];
            const Column& column = crowd.layout.table->columns[choice.column];
            std::vector<uint64_t> set;
            if (column.is_categorical) set = sets[choice.set];
            settle_own(column, presences.of(choice.column), row, choice, set, [&] {
                return weighs_more_left(crowd, standing.of(k), row, choice, set, desk);
            });
            Fork& fork = forks[Key(choice.column, choice.code, choice.missing_left, set)];
            if (fork.leavers.empty()) fork.choice = choice, fork.set = std::move(set);
            fork.leavers.push_back(k);
        }
        Forks result;
        for (auto& [key, fork] : forks) result.push_back(std::move(fork));
        return result;
    }

    bool weighs_more_left(const Crowd<Target>& crowd, const Absence<Target>& absence, uint32_t row,
                          const Choice& choice, const std::vector<uint64_t>& set,
                          Desk<Target>& desk) {
        const Target& target = *seat_.target;
        const Column& column = crowd.layout.table->columns[choice.column];
        std::vector<typename Target::Slot> left(target.width()), right(target.width());
        int64_t rows_left = 0;
        for (uint32_t each : crowd.layout.rows) {
            if (each == row || !sends_left(choice, set, column, each)) continue;
            target.add(each, left.data());
            ++rows_left;
        }
        subtract(absence.totals.slots, left, right);
        auto weigh = [&](int64_t n_rows, const auto& slots) {
            return target.weight_of({n_rows, slots.data()}, absence.context, desk.scratch.scaled);
        };
        return weigh(rows_left, left) >= weigh(absence.totals.rows - rows_left, right);
    }

    // Children --------------------------------------------------------------------------------

    // Those that have leavers, the smaller one first; a leaver that is alone follows its path at once.
    template <class Standing>
    std::vector<CrowdPtr> bear(const Crowd<Target>& crowd, const Fork& fork,
                               const Standing& standing, int worker) {
        const Column& column = crowd.layout.table->columns[fork.choice.column];
        Desk<Target>& desk = shop_.desk(worker);
        auto left = std::make_unique<Crowd<Target>>(), right = std::make_unique<Crowd<Target>>();
        uint8_t* ways = desk.ways_for(shop_.table.n_rows);
        for (uint32_t row : crowd.layout.rows) {
            bool is_left = sends_left(fork.choice, fork.set, column, row);
            ways[row] = is_left ? kGoesLeft : kGoesRight;
            (is_left ? left : right)->layout.rows.push_back(row);
        }
        sum_up(crowd, *left, *right);
        for (uint32_t k : fork.leavers) {
            uint32_t row = crowd.leavers[k];
            Crowd<Target>& own = ways[row] == kGoesLeft ? *left : *right;
            if (seat_.rules->min_impurity_decrease <= 0.0 ||
                decreases_enough(*left, *right, standing.of(k), row, ways[row] == kGoesLeft,
                                 worker))
                own.leavers.push_back(row);
            else
                standing.write_value(k, answers_.of(row));
        }
        if (!left->leavers.empty() && !right->leavers.empty())
            divide_layout(crowd.layout, ways, left->layout, right->layout);
        else
            derive_child(crowd.layout, left->leavers.empty() ? right->layout : left->layout, ways);
        std::vector<CrowdPtr> children;
        bool is_left_smaller = left->n_rows() <= right->n_rows();
        for (bool is_left : {is_left_smaller, !is_left_smaller}) {
            CrowdPtr& child = is_left ? left : right;
            if (child->leavers.empty()) continue;
            child->depth = crowd.depth + 1;
            child->key = child_key(crowd.key, is_left);
            child->bytes = Metered(shop_.meter, child->layout.nbytes());
            children.push_back(std::move(child));
        }
        return children;
    }

    // Only one child is needed; its rows are known.
    static void derive_child(const Layout& from, Layout& child, uint8_t* ways) {
        for (uint32_t row : from.rows) ways[row] = 0;
        for (uint32_t row : child.rows) ways[row] = kGoesLeft;
        derive(from, ways, child.rows.size(), child);
    }

    void sum_up(const Crowd<Target>& crowd, Crowd<Target>& left, Crowd<Target>& right) const {
        left.totals = seat_.target->sum_rows(left.layout.rows);
        right.totals = crowd.totals;
        right.totals.rows -= left.totals.rows;
        for (size_t k = 0; k < seat_.target->width(); ++k)
            right.totals.slots[k] -= left.totals.slots[k];
    }

    // min_impurity_decrease, by the leaver's own rows.
    bool decreases_enough(const Crowd<Target>& left, const Crowd<Target>& right,
                          const Absence<Target>& absence, uint32_t row, bool is_left, int worker) {
        Description on_left = describe_side(left, row, is_left, worker),
                    on_right = describe_side(right, row, !is_left, worker);
        return impurity_decrease(weigh_root(row, worker), absence.description, on_left, on_right) >=
               seat_.rules->min_impurity_decrease;
    }
    Description describe_side(const Crowd<Target>& side, uint32_t row, bool is_own, int worker) {
        const Target& target = *seat_.target;
        std::vector<int64_t>& scratch = shop_.desk(worker).scratch.scaled;
        if (is_own) return describe_without(side, row, target, scratch).description;
        std::vector<double> value(Target::is_classification ? target.width() : 1);
        auto context = target.context(side.totals, side.layout.rows);
        return target.describe(side.totals, side.layout.rows, context, value.data(), scratch);
    }

    Workshop<Target>& shop_;
    Seat<Target> seat_;
    const Kinds& kinds_;
    Answers& answers_;
    Finder<Target> finder_;
    Path<Target> path_;
    typename Target::Totals root_totals_;
};

}  // namespace treefold
