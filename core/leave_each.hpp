// Leave-one-out for one kind of target.
#pragma once

#include "harvest.hpp"
#include "leave.hpp"

namespace treefold {

template <class Target>
Left leave_each(const Table& table, const TargetView& view, Member& member, const Target& target,
                Workers& workers) {
    PlanOwner owner(table, {view.n_classes, true, false}, workers);
    Workshop<Target> shop(table, owner.plan(), workers);
    Answers answers(table.n_rows, Target::is_classification ? target.width() : 1);
    Words& rows = member.rows.list();
    Kinds kinds = sort_into_kinds(target, member.weights, rows, table.n_rows);
    Seat<Target> seat{0, &target, &member.rules, true, tiny_rows(table, member.rules, target), 0.0};
    auto root = std::make_unique<Crowd<Target>>();
    root->totals = target.sum_rows(rows);
    root->key = root_key(member.rules.seed, member.rules.tree);
    std::vector<uint32_t> strangers;
    for (uint32_t row : member.demand.rows) {
        (member.rows.named().trains(row) ? root->leavers : strangers).push_back(row);
    }
    if (rows.size() < 2 && !root->leavers.empty()) throw DataError("no row is left to grow from");
    root->layout = lay_out(owner.plan(), std::move(rows), view.classes, workers);
    root->bytes = Metered(shop.meter, root->layout.nbytes());
    Leaving<Target>(shop, seat, kinds, answers).run(std::move(root), strangers);
    Left left;
    left.values = answers.give();
    for (const Desk<Target>& desk : shop.desks) left.work.merge(desk.work);
    left.work.peak_bytes = shop.meter.peak();
    return left;
}

}  // namespace treefold
