// The best split of a node: which columns are searched, by whom, and who wins.
#pragma once

#include "base/random.hpp"
#include "grow/workshop.hpp"
#include "search/tiny.hpp"

namespace treefold {

template <class Stats>
class Finder {
public:
    explicit Finder(Workshop<Stats>& shop) : shop_(shop) {}

    Split find(Node<Stats>& node, int worker) {
        const Seat<Stats>& seat = *node.seat;
        NodeView<Stats> view{*seat.stats, *seat.rules, node.totals, node.context,
                             node.rows(), node.begin,  node.end};
        Desk<Stats>& desk = shop_.desk(worker);
        count_work(node, desk.work);
        bool is_small = seat.tiny_rows == kSmallRows && node.size() > 2;
        if (node.size() <= seat.tiny_rows && !is_small)
            return TinySearch<Stats>(shop_.table, view, desk.scratch).run();
        desk.findings.reset();
        prepare_float64(view, node.description);
        prepare_counts(view);
        if (node.size() <= seat.tiny_rows) return find_small(node, view, desk);
        if (view.has_kernel && node.histogram.empty() && shop_.keeps_histogram(seat, node))
            shop_.count_histogram(node, node, node.histogram);
        if (!seat.tries_all(shop_.table))
            search_drawn(view, node, desk);
        else if (shop_.is_shared(node.size() * shop_.table.columns.size()))
            search_in_parallel(view, node, desk);
        else
            search_range(view, node, 0, n_searched(node), desk);
        resolve_pending(*node.layout, view, desk.findings);
        desk.work.split_evaluations += desk.findings.n_offered;
        return std::move(desk.findings.best);
    }

    // The split of two rows that tiny.hpp serves, and what it counts as.
    Split find_pair(const Part<Stats>& pair, const Seat<Stats>& seat,
                    std::span<const uint32_t> rows, int worker) {
        NodeView<Stats> view{*seat.stats, *seat.rules, pair.totals, pair.context,
                             rows,        pair.begin,  pair.end};
        return TinySearch<Stats>(shop_.table, view, shop_.desk(worker).scratch).run();
    }
    void count_pair(Work& work) const {
        work.count_search(1, 2);
        count_updates(2, 0, work);
    }

private:
    Split find_small(const Node<Stats>& node, const NodeView<Stats>& view, Desk<Stats>& desk) {
        if constexpr (std::is_same_v<Stats, MeanStats<2>>) {
            Search<Stats> search(*node.layout, view, desk.scratch, desk.findings);
            SmallSearch(shop_.table, view, desk.scratch.small, desk.findings)
                .run([&](uint32_t column) { search.column(column); });
        }
        return std::move(desk.findings.best);
    }

    // Columns are numbered for the search: few-valued, other, listed.
    size_t n_searched(const Node<Stats>& node) const {
        const Plan& plan = shop_.plan;
        return plan.few_columns.size() + plan.other_columns.size() + node.stretches.size();
    }
    void count_work(const Node<Stats>& node, Work& work) const {
        uint64_t n_listed = 0;
        for (const Stretch& stretch : node.stretches) n_listed += stretch.end - stretch.begin;
        count_updates(node.size(), n_listed, work);
    }
    void count_updates(size_t n_rows, uint64_t n_listed, Work& work) const {
        const Plan& plan = shop_.plan;
        uint64_t n_updates =
            n_rows * (plan.few_columns.size() + plan.other_columns.size()) + n_listed;
        work.statistic_updates += n_updates;
        work.serial_updates += n_updates;
    }
    void search_range(const NodeView<Stats>& view, const Node<Stats>& node, size_t first,
                      size_t last, Desk<Stats>& desk) {
        const Layout& layout = *node.layout;
        Search<Stats> search(layout, view, desk.scratch, desk.findings);
        size_t n_few = layout.few_columns.size(), n_dense = n_few + layout.other_columns.size();
        search.few(desk.few, std::min(first, n_few), std::min(last, n_few), node.histogram);
        for (size_t k = std::max(first, n_few); k < std::min(last, n_dense); ++k) {
            if (node.size() > kCheckedCells) shop_.workers.check();
            search.column(layout.other_columns[k - n_few]);
        }
        for (size_t k = std::max(first, n_dense); k < last; ++k)
            search.stretch(node.stretches[k - n_dense]);
    }

    void search_in_parallel(const NodeView<Stats>& view, const Node<Stats>& node,
                            Desk<Stats>& desk) {
        for (Desk<Stats>& other : shop_.desks) other.findings.reset();
        size_t n_columns = n_searched(node), n_tasks = std::min(n_columns, 4 * shop_.desks.size());
        shop_.workers.for_each(n_tasks, [&](size_t task, int worker) {
            search_range(view, node, n_columns * task / n_tasks, n_columns * (task + 1) / n_tasks,
                         shop_.desk(worker));
        });
        for (Desk<Stats>& other : shop_.desks)
            if (&other != &desk) desk.findings.merge(std::move(other.findings));
    }

    // Columns by their draw, until max_features that are not constant here have been tried.
    void search_drawn(const NodeView<Stats>& view, const Node<Stats>& node, Desk<Stats>& desk) {
        const std::vector<Column>& columns = shop_.table.columns;
        std::vector<std::pair<uint64_t, uint32_t>> ranked;
        for (uint32_t column = 0; column < columns.size(); ++column)
            ranked.emplace_back(draw_column(node.key, column), column);
        std::sort(ranked.begin(), ranked.end());
        Search<Stats> search(*node.layout, view, desk.scratch, desk.findings);
        uint64_t n_tried = 0;
        for (auto [draw, column] : ranked) {
            if (n_tried == node.seat->rules->max_features) break;
            if (columns[column].is_sparse && node.layout->position.empty()) {
                const Stretch* stretch = node.find_stretch(column);
                n_tried += stretch != nullptr && search.stretch(*stretch);
            } else {
                n_tried += search.column(column);
            }
        }
    }

    Workshop<Stats>& shop_;
};

}  // namespace treefold
