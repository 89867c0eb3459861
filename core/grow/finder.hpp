// The best split of a node: which columns are searched, by whom, and who wins.
#pragma once

#include <functional>

#include "base/random.hpp"
#include "grow/growth.hpp"
#include "search/compared_rows.hpp"
#include "search/few_rows.hpp"

namespace treefold {

template <class Stats>
class Finder {
public:
    explicit Finder(Growth<Stats>& growth) : growth_(growth) {}

    Split find(MemberNode<Stats>& node, int worker) {
        const MemberContext<Stats>& member = *node.member;
        WorkerScratch<Stats>& mine = growth_.scratch(worker);
        NodeView<Stats> view = view_of(node, member, node.rows());
        count_work(node, mine.work);
        if (node.size() <= member.most_at_once) return find_at_once(node, view, mine);
        mine.findings.reset();
        Filter<Stats>::prepare_alone(view, node.description);
        if (node.kept.empty() && growth_.keeps_histogram(member, node))
            growth_.count_histogram(node, node, node.kept);
        if (!member.tries_all(growth_.table))
            search_drawn(view, node, mine);
        else if (growth_.is_shared(node.size() * growth_.table.columns.size()))
            search_in_parallel(view, node, mine);
        else
            search_range(view, node, 0, n_searched(node), mine);
        Filter<Stats>::resolve(*node.layout, view, mine.findings);
        mine.work.split_evaluations += mine.findings.n_offered;
        return std::move(mine.findings.best);
    }

    // The split of two rows that are searched at once, and what it counts as.
    Split find_pair(const RowPart<Stats>& pair, const MemberContext<Stats>& member,
                    std::span<const uint32_t> rows, int worker) {
        NodeView<Stats> view = view_of(pair, member, rows);
        return FewRows<Stats>(growth_.table, view, growth_.scratch(worker).search).run();
    }
    void count_pair(WorkerScratch<Stats>& mine) const {
        mine.work.columns_by_way.add(Way::two_rows, growth_.table.columns.size());
        mine.work.count_search(1, 2);
        count_updates(2, 0, mine.work);
    }

private:
    static NodeView<Stats> view_of(const RowPart<Stats>& part, const MemberContext<Stats>& member,
                                   std::span<const uint32_t> rows) {
        return {*member.stats, *member.rules, part.totals, part.context,
                rows,          part.begin,    part.end,    part.description.variance};
    }
    static SearchJob<Stats> job_of(const Layout& layout, const NodeView<Stats>& view,
                                   WorkerScratch<Stats>& mine) {
        return {layout, view, mine.search, mine.findings, mine.work.columns_by_way};
    }

    Split find_at_once(const MemberNode<Stats>& node, NodeView<Stats>& view,
                       WorkerScratch<Stats>& mine) {
        Way way = way_of_rows(node.size(), node.member->most_at_once);
        mine.work.columns_by_way.add(way, growth_.table.columns.size());
        if (way != Way::compared_rows)
            return FewRows<Stats>(growth_.table, view, mine.search).run();
        mine.findings.reset();
        Filter<Stats>::prepare_alone(view, node.description);
        ColumnSearch<Stats> search(job_of(*node.layout, view, mine));
        RowComparison<Stats>::run(growth_.table, view, mine.search, mine.findings,
                                  [&](uint32_t column) { search.run(column); });
        return std::move(mine.findings.best);
    }

    // Columns are numbered for the search: few-valued, other, listed.
    size_t n_searched(const MemberNode<Stats>& node) const {
        const Plan& plan = growth_.plan;
        return plan.few_columns.size() + plan.other_columns.size() + node.stretches.size();
    }
    void count_work(const MemberNode<Stats>& node, Work& work) const {
        uint64_t n_listed = 0;
        for (const Stretch& stretch : node.stretches) n_listed += stretch.end - stretch.begin;
        count_updates(node.size(), n_listed, work);
    }
    void count_updates(size_t n_rows, uint64_t n_listed, Work& work) const {
        const Plan& plan = growth_.plan;
        uint64_t n_updates =
            n_rows * (plan.few_columns.size() + plan.other_columns.size()) + n_listed;
        work.statistic_updates += n_updates;
        work.serial_updates += n_updates;
    }
    void search_range(const NodeView<Stats>& view, const MemberNode<Stats>& node, size_t first,
                      size_t last, WorkerScratch<Stats>& mine) {
        const Layout& layout = *node.layout;
        SearchJob<Stats> job = job_of(layout, view, mine);
        ColumnSearch<Stats> search(job);
        size_t n_few = layout.few_columns.size(), n_dense = n_few + layout.other_columns.size();
        mine.few.run(job, std::min(first, n_few), std::min(last, n_few), node.kept,
                     [&](uint32_t column) { search.run(column); });
        for (size_t k = std::max(first, n_few); k < std::min(last, n_dense); ++k) {
            if (node.size() > kCheckedCells) growth_.workers.check();
            search.run(layout.other_columns[k - n_few]);
        }
        for (size_t k = std::max(first, n_dense); k < last; ++k)
            search.run(node.stretches[k - n_dense]);
    }

    void search_in_parallel(const NodeView<Stats>& view, const MemberNode<Stats>& node,
                            WorkerScratch<Stats>& mine) {
        for (WorkerScratch<Stats>& other : growth_.scratches) other.findings.reset();
        size_t n_columns = n_searched(node),
               n_tasks = std::min(n_columns, 4 * growth_.scratches.size());
        growth_.workers.for_each(n_tasks, [&](size_t task, int worker) {
            search_range(view, node, n_columns * task / n_tasks, n_columns * (task + 1) / n_tasks,
                         growth_.scratch(worker));
        });
        for (WorkerScratch<Stats>& other : growth_.scratches)
            if (&other != &mine) mine.findings.merge(std::move(other.findings));
    }

    // Columns by their draw, until max_features that are not constant here have been tried.
    void search_drawn(const NodeView<Stats>& view, const MemberNode<Stats>& node,
                      WorkerScratch<Stats>& mine) {
        const std::vector<Column>& columns = growth_.table.columns;
        std::vector<std::pair<uint64_t, uint32_t>>& drawn =
            mine.drawn;  // a heap: few are asked for
        drawn.clear();
        for (uint32_t column = 0; column < columns.size(); ++column)
            drawn.emplace_back(draw_column(node.key, column), column);
        std::make_heap(drawn.begin(), drawn.end(), std::greater{});
        ColumnSearch<Stats> search(job_of(*node.layout, view, mine));
        const bool is_coarse =
            CoarseToFine<Stats>::serves(*node.member->stats, *node.member->rules, node.size());
        if (is_coarse) mine.coarse.start(view);
        uint64_t n_tried = 0;
        while (!drawn.empty() && n_tried != node.member->rules->max_features) {
            std::pop_heap(drawn.begin(), drawn.end(), std::greater{});
            uint32_t column = drawn.back().second;
            drawn.pop_back();
            if (columns[column].is_sparse && node.layout->position.empty()) {
                const Stretch* stretch = node.find_stretch(column);
                n_tried += stretch != nullptr && search.run(*stretch);
            } else if (is_coarse &&
                       growth_.plan.way_of_drawn(column, node.size()) == Way::coarse_to_fine) {
                mine.work.columns_by_way.add(Way::coarse_to_fine);
                n_tried += mine.coarse.add(column, columns[column], mine.findings);
            } else {
                n_tried += search.run(column);
            }
        }
        if (is_coarse) mine.coarse.finish(mine.findings);
    }

    Growth<Stats>& growth_;
};

}  // namespace treefold
