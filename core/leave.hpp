// Leave-one-out: for each row the answer of the tree that is grown without it.
//
// Leavers go on together as long as they choose the same split, as a crowd; few of them are not worth it: each
// follows its own path (path.hpp). No tree is kept, and a node lives until its last child is made.
#pragma once

#include "answers.hpp"
#include "group.hpp"
#include "kind_search.hpp"
#include "path.hpp"

namespace treefold {

template <class Target>
class Leaving {
public:
    using CrowdPtr = std::unique_ptr<Crowd<Target>>;

    Leaving(Workshop<Target>& shop, Seat<Target> seat, const Kinds& kinds, Answers& answers)
        : shop_(shop), seat_(std::move(seat)), kinds_(kinds), answers_(answers), path_(shop) {}

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
        if (crowd->leavers.size() <= kFewLeavers || !can_search()) {
            for (uint32_t row : crowd->leavers) leave_alone(*crowd, row, worker);
            return;
        }
        std::vector<Absence<Target>> absences;
        std::vector<uint32_t> kind_of;
        settle_leaves(*crowd, absences, kind_of, worker);
        if (crowd->leavers.empty()) return;
        Desk<Target>& desk = shop_.desk(worker);
        std::vector<Choice> choices;
        ChoiceSets sets;
        count_work(*crowd, desk.work);
        KindSearch<Target>(*crowd, seat_, absences, kind_of, desk).run(choices, sets);
        Forks forks = part(*crowd, absences, kind_of, choices, sets, desk);
        desk.work.forks += forks.empty() ? 0 : forks.size() - 1;
        desk.work.count_tests(crowd->depth, forks.size());
        for (Fork& fork : forks) {
            std::vector<CrowdPtr> children = bear(*crowd, fork, absences, kind_of, worker);
            if (&fork == &forks.back()) crowd.reset();
            for (CrowdPtr& child : children) visit(std::move(child), worker);
        }
    }

    // Draws and best-first growth have an order of their own.
    bool can_search() const {
        return kinds_.representatives.size() <= kMostKinds && seat_.tries_all(shop_.table);
    }

    void count_work(const Crowd<Target>& crowd, Work& work) const {
        work.count_search(crowd.leavers.size(), crowd.n_rows());
        uint64_t n_updates = crowd.n_rows() * shop_.table.columns.size();
        work.statistic_updates += n_updates;
        work.serial_updates += n_updates * crowd.leavers.size();
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
        remove(row, totals);
        return weigh(totals, worker);
    }
    double weigh(const typename Target::Totals& totals, int worker) {
        auto context = seat_.target->context(totals, {});
        return seat_.target->weight_of({totals.rows, totals.slots.data()}, context,
                                       shop_.desk(worker).scratch.scaled);
    }
    void remove(uint32_t row, typename Target::Totals& totals) const {
        std::vector<typename Target::Slot> slots(seat_.target->width());
        seat_.target->add(row, slots.data());
        for (size_t k = 0; k < slots.size(); ++k) totals.slots[k] -= slots[k];
        --totals.rows;
    }

    // Stopping --------------------------------------------------------------------------------

    // Answers the leavers for which the node is a leaf, and takes them out.
    void settle_leaves(Crowd<Target>& crowd, std::vector<Absence<Target>>& absences,
                       std::vector<uint32_t>& kind_of, int worker) {
        std::vector<uint32_t> place_of(kinds_.representatives.size(), UINT32_MAX);
        std::vector<bool> is_leaf;
        size_t n_kept = 0;
        for (uint32_t row : crowd.leavers) {
            uint32_t& place = place_of[kinds_.of_row[row]];
            if (place == UINT32_MAX) {
                place = static_cast<uint32_t>(absences.size());
                absences.push_back(describe_without(crowd, row, worker));
                is_leaf.push_back(stops(absences.back(), *seat_.rules, crowd.depth));
            }
            if (is_leaf[place]) {
                answer(row, absences[place]);
                continue;
            }
            crowd.leavers[n_kept++] = row;
            kind_of.push_back(place);
        }
        crowd.leavers.resize(n_kept);
    }

    Absence<Target> describe_without(const Crowd<Target>& crowd, uint32_t row, int worker) {
        const Target& target = *seat_.target;
        Absence<Target> absence;
        absence.row.resize(target.width());
        target.add(row, absence.row.data());
        absence.totals = crowd.totals;
        remove(row, absence.totals);
        absence.value.resize(Target::is_classification ? target.width() : 1);
        std::vector<uint32_t> others;
        if constexpr (!Target::is_classification)
            std::copy_if(crowd.layout.rows.begin(), crowd.layout.rows.end(),
                         std::back_inserter(others), [&](uint32_t other) { return other != row; });
        absence.context = target.context(absence.totals, others);
        absence.description =
            target.describe(absence.totals, others, absence.context, absence.value.data(),
                            shop_.desk(worker).scratch.scaled);
        return absence;
    }
    void answer(uint32_t row, const Absence<Target>& absence) {
        std::copy(absence.value.begin(), absence.value.end(), answers_.of(row));
    }

    // Forks -----------------------------------------------------------------------------------

    // Leavers that choose the same rows for the left.
    struct Fork {
        Choice choice;
        std::vector<uint64_t> set;  // categorical
        std::vector<uint32_t> leavers;  // in the crowd's
    };
    using Forks = std::vector<Fork>;

    Forks part(const Crowd<Target>& crowd, const std::vector<Absence<Target>>& absences,
               const std::vector<uint32_t>& kind_of, const std::vector<Choice>& choices,
               const ChoiceSets& sets, Desk<Target>& desk) {
        Presences presences(crowd.layout, desk.scratch.pairs);
        using Key = std::tuple<uint32_t, uint32_t, bool, std::vector<uint64_t>>;
        std::map<Key, Fork> forks;
        for (uint32_t k = 0; k < choices.size(); ++k) {
            uint32_t row = crowd.leavers[k];
            if (!choices[k].exists()) {
                answer(row, absences[kind_of[k]]);
                continue;
            }
            Choice choice = choices[k];
            std::vector<uint64_t> set;
            if (crowd.layout.table->columns[choice.column].is_categorical) set = sets[choice.set];
            settle_own(crowd, absences[kind_of[k]], row, presences.of(choice.column), choice, set,
                       desk);
            Key key(choice.column, choice.code, choice.missing_left, set);
            Fork& fork = forks[key];
            if (fork.leavers.empty()) fork.choice = choice, fork.set = std::move(set);
            fork.leavers.push_back(k);
        }
        Forks result;
        for (auto& [key, fork] : forks) result.push_back(std::move(fork));
        return result;
    }

    // The values of each column, listed where they are asked for.
    class Presences {
    public:
        Presences(const Layout& layout, std::vector<uint64_t>& pairs)
            : layout_(layout), pairs_(pairs) {}
        const Presence& of(uint32_t column) {
            auto [found, is_new] = known_.try_emplace(column);
            if (is_new) list_presence(layout_, column, pairs_, found->second);
            return found->second;
        }

    private:
        const Layout& layout_;
        std::vector<uint64_t>& pairs_;
        std::map<uint32_t, Presence> known_;
    };

    // Puts the leaver's own value where the leaver goes, as its tree says, which has not seen this row: between two
    // others, or as missing values go.
    void settle_own(const Crowd<Target>& crowd, const Absence<Target>& absence, uint32_t row,
                    const Presence& presence, Choice& choice, std::vector<uint64_t>& set,
                    Desk<Target>& desk) {
        const Column& column = crowd.layout.table->columns[choice.column];
        uint32_t code = column.code_of(row);
        bool is_missing = code == column.missing_code();
        size_t place = is_missing ? 0 : presence.find(code);
        bool is_alone = is_missing ? presence.n_missing == 1 : presence.n_rows[place] == 1;
        if (presence.n_missing == 0) choice.missing_left = true;
        if (!is_alone) return;
        auto goes_as_missing = [&] {
            bool sees_missing = presence.n_missing - (is_missing ? 1 : 0) > 0;
            if (sees_missing) return choice.missing_left;
            return weighs_more_left(crowd, absence, row, choice, set, desk);
        };
        if (is_missing) {
            choice.missing_left = goes_as_missing();
        } else if (column.is_categorical) {
            uint64_t bit = uint64_t{1} << (code % 64);
            set[code / 64] &= ~bit;
            if (goes_as_missing()) set[code / 64] |= bit;
        } else {
            settle_between(column, presence, place, choice);
        }
    }

    // A value that no other row has, next to the cut: the midpoint is that of its neighbours.
    static void settle_between(const Column& column, const Presence& presence, size_t place,
                               Choice& choice) {
        uint32_t code = presence.codes[place];
        bool is_first = place == 0, is_last = place + 1 == presence.codes.size();
        bool is_next =
            (!is_first && choice.code == presence.codes[place - 1]) || choice.code == code;
        if (!is_next || is_first) return;
        uint32_t below = presence.codes[place - 1];
        bool is_below = is_last;  // `present | missing`: nothing else has no value above
        if (!is_last)
            is_below =
                column.values[code] <=
                threshold_between(column.values[below], column.values[presence.codes[place + 1]]);
        choice.code = is_below ? code : below;
    }

    // Of the rows that are not the leaver, are those on the left at least as heavy?
    bool weighs_more_left(const Crowd<Target>& crowd, const Absence<Target>& absence, uint32_t row,
                          const Choice& choice, const std::vector<uint64_t>& set,
                          Desk<Target>& desk) {
        const Target& target = *seat_.target;
        const Column& column = crowd.layout.table->columns[choice.column];
        std::vector<typename Target::Slot> left(target.width()), right(target.width());
        int64_t rows_left = 0;
        for (uint32_t each : crowd.layout.rows) {
            if (each == row || !goes_left_by(choice, set, column, each)) continue;
            target.add(each, left.data());
            ++rows_left;
        }
        subtract(absence.totals.slots, left, right);
        auto weigh = [&](int64_t n_rows, const auto& slots) {
            return target.weight_of({n_rows, slots.data()}, absence.context, desk.scratch.scaled);
        };
        return weigh(rows_left, left) >= weigh(absence.totals.rows - rows_left, right);
    }

    static bool goes_left_by(const Choice& choice, const std::vector<uint64_t>& set,
                             const Column& column, uint32_t row) {
        uint32_t code = column.code_of(row);
        return goes_left(code, choice.code, code == column.missing_code(), choice.missing_left,
                         column.is_categorical ? set.data() : nullptr);
    }

    // Children --------------------------------------------------------------------------------

    // Those that have leavers, the smaller one first; a leaver that is alone follows its path at once.
    std::vector<CrowdPtr> bear(const Crowd<Target>& crowd, const Fork& fork,
                               const std::vector<Absence<Target>>& absences,
                               const std::vector<uint32_t>& kind_of, int worker) {
        const Column& column = crowd.layout.table->columns[fork.choice.column];
        Desk<Target>& desk = shop_.desk(worker);
        auto left = std::make_unique<Crowd<Target>>(), right = std::make_unique<Crowd<Target>>();
        uint8_t* ways = desk.ways_for(shop_.table.n_rows);
        for (uint32_t row : crowd.layout.rows) {
            bool is_left = goes_left_by(fork.choice, fork.set, column, row);
            ways[row] = is_left ? kGoesLeft : kGoesRight;
            (is_left ? left : right)->layout.rows.push_back(row);
        }
        sum_up(crowd, *left, *right);
        for (uint32_t k : fork.leavers) {
            uint32_t row = crowd.leavers[k];
            Crowd<Target>& own = ways[row] == kGoesLeft ? *left : *right;
            if (decreases_enough(*left, *right, absences[kind_of[k]], row, ways[row] == kGoesLeft,
                                 worker))
                own.leavers.push_back(row);
            else
                answer(row, absences[kind_of[k]]);
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
        if (seat_.rules->min_impurity_decrease <= 0.0) return true;
        Description on_left = describe_side(left, row, is_left, worker),
                    on_right = describe_side(right, row, !is_left, worker);
        return impurity_decrease(weigh_root(row, worker), absence.description, on_left, on_right) >=
               seat_.rules->min_impurity_decrease;
    }
    Description describe_side(const Crowd<Target>& side, uint32_t row, bool is_own, int worker) {
        if (is_own) return describe_without(side, row, worker).description;
        const Target& target = *seat_.target;
        std::vector<double> value(Target::is_classification ? target.width() : 1);
        auto context = target.context(side.totals, side.layout.rows);
        return target.describe(side.totals, side.layout.rows, context, value.data(),
                               shop_.desk(worker).scratch.scaled);
    }

    Workshop<Target>& shop_;
    Seat<Target> seat_;
    const Kinds& kinds_;
    Answers& answers_;
    Path<Target> path_;
    typename Target::Totals root_totals_;
};

}  // namespace treefold
