// The best split of each share of a group.
//
// Shares of unit weights that a kernel serves are searched together, a column at a time (shared_scans.hpp,
// shared_few.hpp). What no kernel decides is searched for one share after another among its own rows, by
// the scans of a single tree.
#pragma once

#include "family/kept.hpp"
#include "family/shared_few.hpp"
#include "grow/finder.hpp"

namespace treefold {

template <class Stats>
class GroupFinder {
public:
    using Slot = typename Stats::Slot;

    GroupFinder(Workshop<Stats>& shop, Finder<Stats>& finder, Keeper<Stats>& keeper)
        : shop_(shop), finder_(finder), keeper_(keeper), tools_(shop.desks.size()) {}

    // One split per share; it does not exist where the share stays a leaf. They are the caller's until the next search.
    std::vector<Split>& find(const GroupNode<Stats>& node, int worker) {
        Group<Stats>& group = *node.group;
        Desk<Stats>& desk = shop_.desk(worker);
        std::vector<Split>& splits = tools_of(worker).splits;
        splits.resize(group.shares.size());
        desk.work.count_search(splits.size(), group.n_rows());
        Crew<Stats>& crew = gather_crew(group, worker);
        if (crew.shares.size() < splits.size())
            for (size_t share = 0; share < splits.size(); ++share)
                if (std::find(crew.shares.begin(), crew.shares.end(), share) == crew.shares.end())
                    splits[share] = find_alone(node, share, worker);
        if (crew.shares.empty()) return splits;
        count_work(crew, desk.work);
        std::vector<Findings>& findings = tools_of(worker).findings;
        findings.resize(crew.shares.size());
        for (Findings& own : findings) own.reset();
        search_columns(crew, findings, worker);
        for (size_t lane = 0; lane < crew.shares.size(); ++lane) {
            desk.work.split_evaluations += findings[lane].n_offered;
            splits[crew.shares[lane]] = std::move(findings[lane].best);
        }
        return splits;
    }

    // A share's own part of a group's layout; returns its rows.
    size_t derive_share(const Group<Stats>& group, size_t share, Desk<Stats>& desk,
                        Layout& layout) {
        uint8_t* ways = desk.ways_for(shop_.table.n_rows);
        size_t n_rows = 0;
        for (size_t k = 0; k < group.n_rows(); ++k) {
            bool counts = group.patterns.has(group.pattern_of[k], share);
            ways[group.layout.rows[k]] = counts ? kGoesLeft : 0;
            n_rows += counts;
        }
        derive(group.layout, ways, n_rows, layout);
        return n_rows;
    }

private:
    static constexpr bool kHasKernels = Stats::kCounts;

    // What each worker needs for groups, used for node after node.
    struct Tools {
        Crew<Stats> crew;
        SharedClassHistograms histograms;
        SharedTwoClassScan two_classes;
        SharedClassScan more_classes;
        bool has_prepared_scan = false;  // that of the classes, for the group at hand
        std::vector<uint16_t> slots;  // per row of the table, in the group at hand
        std::vector<size_t> columns;  // few-valued ones that can win
        std::vector<Findings> findings;  // per lane
        std::vector<Split> splits;  // per share
    };

    // Made when the worker has its first group: a single tree has none, and there are thousands of bytes to them.
    Tools& tools_of(int worker) {
        std::unique_ptr<Tools>& tools = tools_[static_cast<size_t>(worker)];
        if (!tools) tools = std::make_unique_for_overwrite<Tools>();
        return *tools;
    }

    // Nobody, if no kernel serves the group.
    Crew<Stats>& gather_crew(Group<Stats>& group, int worker) {
        Tools& tools = tools_of(worker);
        Crew<Stats>& crew = tools.crew;
        crew.group = &group;
        crew.shares.clear(), crew.views.clear();
        crew.slot_of_row = nullptr;
        if (!kHasKernels || !group.is_additive) return crew;
        for (size_t share = 0; share < group.shares.size(); ++share) {
            const Share<Stats>& one = group.shares[share];
            NodeView<Stats> view{*one.seat->stats, *one.seat->rules, one.totals, one.context, {}};
            view.end = static_cast<size_t>(one.n_rows());
            view.variance = one.description.variance;
            Filter<Stats>::prepare(view, one.description);
            if (!view.filter.serves || !one.seat->tries_all(shop_.table)) continue;
            crew.shares.push_back(share);
            crew.views.push_back(view);
        }
        if (crew.shares.size() < 2 || !crew.number_slots()) crew.shares.clear(), crew.views.clear();
        if (crew.shares.empty()) return crew;
        if constexpr (Keeper<Stats>::kServes) {
            if (crew.shares.size() == group.shares.size())
                keeper_.keep(group, crew.slots(), worker);
            else
                group.kept.counts.clear();
        }
        if (!looks_at_rows(group)) return crew;
        tools.slots.resize(shop_.table.n_rows);
        crew.slot_of_row = tools.slots.data();
        for (size_t k = 0; k < group.n_rows(); ++k)
            tools.slots[group.layout.rows[k]] = crew.slot_of(group.pattern_of[k]);
        return crew;
    }

    // Histograms of classes know the patterns of rows by their place; all else asks for those of single rows.
    static bool looks_at_rows(const Group<Stats>& group) {
        const Layout& layout = group.layout;
        if (!Stats::kCounts || layout.n_orders != 0 || !layout.root_stretches.empty()) return true;
        if (!group.kept.empty()) return false;
        size_t n_classes = group.shares[0].totals.slots.size();
        for (size_t k = 0; k < layout.n_few_numeric; ++k)
            if (sorts_rows(group, k, n_classes)) return true;
        return false;
    }

    void count_work(const Crew<Stats>& crew, Work& work) const {
        const Layout& layout = crew.group->layout;
        uint64_t n_dense = layout.few_columns.size() + layout.other_columns.size(), n_listed = 0;
        for (const Stretch& stretch : layout.root_stretches)
            n_listed += stretch.end - stretch.begin;
        uint64_t n_rows = crew.group->n_rows(), n_total = 0;
        for (const NodeView<Stats>& view : crew.views)
            n_total += static_cast<uint64_t>(view.totals.rows);
        work.statistic_updates += n_rows * n_dense + n_listed;
        work.serial_updates += n_total * n_dense + n_listed * n_total / n_rows;
    }

    // A share's own rows, searched as the node of a single tree.
    Split find_alone(const GroupNode<Stats>& node, size_t share, int worker) {
        const Group<Stats>& group = *node.group;
        Layout layout;
        derive_share(group, share, shop_.desk(worker), layout);
        MemberNode<Stats> alone;
        static_cast<NodePart<Stats>&>(alone) = group.shares[share];
        alone.seat = group.shares[share].seat;
        alone.take_all(layout);
        alone.depth = node.depth;
        alone.key = node.key;
        return finder_.find(alone, worker);
    }

    void search_columns(const Crew<Stats>& crew, std::vector<Findings>& findings, int worker) {
        const Layout& layout = crew.group->layout;
        size_t n_columns =
            layout.few_columns.size() + layout.other_columns.size() + layout.root_stretches.size();
        if (!shop_.is_shared(crew.group->n_rows() * n_columns))
            return search_range(crew, 0, n_columns, findings, worker);
        std::vector<size_t> starts = divide_columns(layout.few_columns.size(), n_columns);
        size_t n_tasks = starts.size() - 1;
        std::vector<std::vector<Findings>> found(n_tasks, std::vector<Findings>(findings.size()));
        shop_.workers.for_each(n_tasks, [&](size_t task, int at) {
            search_range(crew, starts[task], starts[task + 1], found[task], at);
        });
        for (std::vector<Findings>& part : found)
            for (size_t lane = 0; lane < findings.size(); ++lane)
                findings[lane].merge(std::move(part[lane]));
    }

    // Where the tasks of a search begin: of few-valued columns there is one per worker, as each passes all rows (Mushroom,
    // ten folds, two threads: 2.2 ms instead of 2.6); of the others there are more, as some take longer.
    std::vector<size_t> divide_columns(size_t n_few, size_t n_columns) const {
        std::vector<size_t> starts{0};
        auto add = [&](size_t end, size_t n_tasks) {
            size_t begin = starts.back(), n = end - begin;
            n_tasks = std::min(n, n_tasks);
            for (size_t task = 1; task <= n_tasks; ++task)
                starts.push_back(begin + n * task / n_tasks);
        };
        add(n_few, shop_.desks.size());
        add(n_columns, 4 * shop_.desks.size());
        return starts;
    }

    // Columns are numbered for the search: few-valued, other, listed.
    void search_range(const Crew<Stats>& crew, size_t first, size_t last,
                      std::vector<Findings>& findings, int worker) {
        const Layout& layout = crew.group->layout;
        Desk<Stats>& desk = shop_.desk(worker);
        Tools& tools = tools_of(worker);
        size_t n_few = layout.few_columns.size(), n_dense = n_few + layout.other_columns.size();
        tools.has_prepared_scan = false;
        search_few(crew, std::min(first, n_few), std::min(last, n_few), findings, desk, tools);
        for (size_t k = std::max(first, n_few); k < std::min(last, n_dense); ++k) {
            if (crew.group->n_rows() > kCheckedCells) shop_.workers.check();
            search_column(crew, layout.other_columns[k - n_few], findings, desk, tools);
        }
        for (size_t k = std::max(first, n_dense); k < last; ++k)
            for (size_t lane = 0; lane < crew.shares.size(); ++lane)
                search_stretch(crew, layout.root_stretches[k - n_dense], lane, findings[lane],
                               desk);
    }

    void search_few(const Crew<Stats>& crew, size_t first, size_t last,
                    std::vector<Findings>& findings, Desk<Stats>& desk, Tools& tools) {
        auto exact = [&](uint32_t at, size_t lane) {
            search_exactly(crew, at, lane, findings[lane], desk);
        };
        if (first == last) return;
        if constexpr (Stats::kCounts) {
            SharedClassHistograms& histograms = tools.histograms;
            histograms.prepare(crew);
            std::vector<size_t>& columns = tools.columns;
            histograms.list_promising(first, last, findings, columns);
            auto sorts = [&](size_t k) {
                return sorts_rows(*crew.group, k, histograms.n_labels());
            };
            for (size_t at = 0; at < columns.size();) {
                size_t k = columns[at++], next = k + 1;
                if (sorts(k)) {
                    scan_sorted(crew, k, findings, desk, tools);
                    desk.work.columns_by_way.add(Way::shared_sort);
                    continue;
                }
                for (; at < columns.size() && columns[at] == next && !sorts(next); ++at) ++next;
                histograms.search(k, next, desk.scratch, findings, exact);
                desk.work.columns_by_way.add(Way::shared_histogram, next - k);
            }
        }
    }

    static bool sorts_rows(const Group<Stats>& group, size_t k, size_t n_labels) {
        const Layout& layout = group.layout;
        return group.kept.empty() && layout.way_of_shared_few(k, group.n_rows(), n_labels, [&] {
            return has_missing(layout, layout.few_columns[k]);
        }) == Way::shared_sort;
    }
    void scan_sorted(const Crew<Stats>& crew, size_t k, std::vector<Findings>& findings,
                     Desk<Stats>& desk, Tools& tools) {
        if constexpr (Stats::kCounts) {
            const Layout& layout = crew.group->layout;
            const Stats& stats = crew.views[0].stats;
            uint32_t at = layout.few_columns[k];
            const uint8_t* codes = layout.table->columns[at].codes.narrow.data();
            uint32_t next[257] = {};
            for (uint32_t row : layout.rows) ++next[codes[row] + 1];
            size_t n_codes = layout.table->columns[at].n_codes;
            for (size_t code = 1; code <= n_codes; ++code) next[code] += next[code - 1];
            uint32_t* words = desk.spare(layout.rows.size());
            for (uint32_t row : layout.rows)
                words[next[codes[row]]++] =
                    row << layout.class_bits | static_cast<uint32_t>(stats.classes[row]);
            scan_words(
                crew, OrderView<uint8_t>{at, {words, layout.rows.size()}, layout.class_bits, codes},
                findings, tools);
        }
    }

    static bool has_missing(const Layout& layout, uint32_t at) {
        const Column& column = layout.table->columns[at];
        if (!column.has_missing) return false;
        return std::any_of(layout.rows.begin(), layout.rows.end(), [&](uint32_t row) {
            return column.codes[row] == column.missing_code();
        });
    }

    void search_column(const Crew<Stats>& crew, uint32_t at, std::vector<Findings>& findings,
                       Desk<Stats>& desk, Tools& tools) {
        const Layout& layout = crew.group->layout;
        const Column& column = layout.table->columns[at];
        bool is_done = layout.order_of[at] >= 0 && column.codes.with([&](auto* codes) {
            return scan_order(crew, at, codes, findings, tools);
        });
        if (is_done) return desk.work.columns_by_way.add(Way::shared_order);
        for (size_t lane = 0; lane < crew.shares.size(); ++lane)
            search_exactly(crew, at, lane, findings[lane], desk);
    }

    template <class Code>
    bool scan_order(const Crew<Stats>& crew, uint32_t at, const Code* codes,
                    std::vector<Findings>& findings, Tools& tools) {
        const Layout& layout = crew.group->layout;
        const Column& column = layout.table->columns[at];
        OrderView<Code> order{at, layout.order(at, 0, layout.n_rows), layout.class_bits, codes};
        if (column.has_missing && order.code(layout.n_rows - 1) == column.missing_code())
            return false;
        if constexpr (Stats::kCounts) {
            if (order.bits == 0) return false;  // the class is not in the words
            scan_words(crew, order, findings, tools);
            return true;
        }
        return false;
    }

    template <class Code>
    static void scan_words(const Crew<Stats>& crew, const OrderView<Code>& order,
                           std::vector<Findings>& findings, Tools& tools) {
        if constexpr (Stats::kCounts) {
            auto scan_with = [&](auto& scan) {
                if (!tools.has_prepared_scan) scan.prepare(crew);
                tools.has_prepared_scan = true;
                scan.run(order, findings);
            };
            if (crew.views[0].stats.n_classes == 2)
                scan_with(tools.two_classes);
            else
                scan_with(tools.more_classes);
        }
    }

    // One column for one lane, among its own rows, by the scans of a single tree.
    void search_exactly(const Crew<Stats>& crew, uint32_t at, size_t lane, Findings& findings,
                        Desk<Stats>& desk) {
        NodeView<Stats> view = own_rows(crew, lane, desk);
        Layout own;
        static_cast<Plan&>(own) = crew.group->layout;
        std::vector<uint32_t> words;
        if (own.order_of[at] >= 0) {
            for (uint32_t word : crew.group->layout.order(at, 0, crew.group->n_rows()))
                if (crew.counts(word >> own.class_bits, lane)) words.push_back(word);
        }
        ColumnSearch<Stats>({own, view, desk.scratch, findings, desk.work.columns_by_way})
            .run(at, words);
    }

    NodeView<Stats> own_rows(const Crew<Stats>& crew, size_t lane, Desk<Stats>& desk) {
        crew.group->list_rows(crew.shares[lane], desk.own_rows);
        const NodeView<Stats>& from = crew.views[lane];
        NodeView<Stats> view{from.stats, from.rules, from.totals, from.context, desk.own_rows};
        view.end = desk.own_rows.size();
        view.variance = from.variance;
        return view;
    }

    void search_stretch(const Crew<Stats>& crew, const Stretch& stretch, size_t lane,
                        Findings& findings, Desk<Stats>& desk) {
        const Layout& layout = crew.group->layout;
        Layout own;
        static_cast<Plan&>(own) = layout;
        for (size_t k = stretch.begin; k < stretch.end; ++k) {
            if (!crew.counts(layout.listed_words[k] >> own.class_bits, lane)) continue;
            own.listed_words.push_back(layout.listed_words[k]);
            own.listed_codes.push_back(layout.listed_codes[k]);
        }
        if (own.listed_words.empty()) return;
        crew.group->list_rows(crew.shares[lane], desk.own_rows);
        NodeView<Stats> view = crew.views[lane];
        view.rows = desk.own_rows;
        ColumnSearch<Stats>({own, view, desk.scratch, findings, desk.work.columns_by_way})
            .run(Stretch{stretch.column, 0, own.listed_words.size()});
    }

    Workshop<Stats>& shop_;
    Finder<Stats>& finder_;
    Keeper<Stats>& keeper_;
    std::vector<std::unique_ptr<Tools>> tools_;  // per worker
};

}  // namespace treefold
