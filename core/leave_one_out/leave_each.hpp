// Leave-one-out for one kind of target.
#pragma once

#include "grow/grow_result.hpp"
#include "leave_one_out/left_out_nodes.hpp"

namespace treefold {

template <class Stats>
Left leave_each(const Table& table, const TargetView& view, Member& member, const Stats& stats,
                Workers& workers) {
    PlanOwner owner(table, {view.n_classes, true, false}, workers);
    Growth<Stats> growth(table, owner.plan(), workers);
    auto answers =
        std::make_shared<Answers>(table.n_rows, Stats::is_classification ? stats.width() : 1);
    Words& rows = member.rows.list();
    Kinds kinds = sort_into_kinds(stats, member.weights, rows, table.n_rows);
    MemberContext<Stats> context{
        0,
        &stats,
        &member.rules,
        true,
        most_rows_at_once(table, member.rules, RowComparison<Stats>::serves(stats)),
        0.0};
    auto root = std::make_shared<LeftOutNode<Stats>>();
    root->totals = stats.sum_rows(rows);
    root->key = root_key(member.rules.seed, member.rules.tree);
    std::vector<uint32_t> strangers;
    for (uint32_t row : member.demand.rows) {
        (member.rows.named().trains(row) ? root->left_out : strangers).push_back(row);
    }
    if (rows.size() < 2 && !root->left_out.empty()) throw DataError("no row is left to grow from");
    root->layout = lay_out(owner.plan(), std::move(rows), view.classes, workers);
    root->bytes = Metered(growth.meter, root->layout.nbytes());
    LeftOutNodes<Stats> nodes(growth, context, kinds, *root);
    for (uint32_t row : strangers) nodes.answer_stranger(*root, row, answers);
    Loop(nodes).run({std::move(root), {}}, answers, 0);
    Left left;
    left.values = answers->give();
    for (const WorkerScratch<Stats>& mine : growth.scratches) left.work.merge(mine.work);
    left.work.peak_bytes = growth.meter.peak();
    return left;
}

}  // namespace treefold
