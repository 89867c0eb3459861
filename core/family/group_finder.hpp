// The best split of each share of a group.
//
// Shares of unit weights that a kernel serves are searched together, a column at a time (shared_scans.hpp,
// shared_histograms.hpp). What no kernel decides is searched for one share after another among its own rows, by
// the scans of a single tree.
#pragma once

#include "family/group_histograms.hpp"
#include "family/shared_histograms.hpp"
#include "grow/finder.hpp"

namespace treefold {

template <class Stats>
class GroupFinder {
public:
    using Slot = typename Stats::Slot;

    GroupFinder(Growth<Stats>& growth, Finder<Stats>& finder, GroupHistograms<Stats>& histograms)
        : growth_(growth), finder_(finder), histograms_(histograms),
          tools_(growth.scratches.size()) {}

    // One split per share; it does not exist where the share stays a leaf. They are the caller's until the next search.
    std::vector<Split>& find(const GroupNode<Stats>& node, int worker) {
        Group<Stats>& group = *node.group;
        WorkerScratch<Stats>& mine = growth_.scratch(worker);
        std::vector<Split>& splits = tools_of(worker).splits;
        splits.resize(group.shares.size());
        mine.work.count_search(splits.size(), group.n_rows());
        LaneMembers<Stats>& members = gather_lanes(group, worker);
        if (members.shares.size() < splits.size())
            for (size_t share = 0; share < splits.size(); ++share)
                if (std::find(members.shares.begin(), members.shares.end(), share) ==
                    members.shares.end())
                    splits[share] = find_alone(node, share, worker);
        if (members.shares.empty()) return splits;
        count_work(members, mine.work);
        std::vector<Findings>& findings = tools_of(worker).findings;
        findings.resize(members.shares.size());
        for (Findings& own : findings) own.reset();
        search_columns(members, findings, worker);
        for (size_t lane = 0; lane < members.shares.size(); ++lane) {
            mine.work.split_evaluations += findings[lane].n_offered;
            splits[members.shares[lane]] = std::move(findings[lane].best);
        }
        return splits;
    }

    // A share's own part of a group's layout; returns its rows.
    size_t derive_share(const Group<Stats>& group, size_t share, WorkerScratch<Stats>& mine,
                        Layout& layout) {
        uint8_t* ways = mine.ways_for(growth_.table.n_rows);
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
        LaneMembers<Stats> members;
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
    LaneMembers<Stats>& gather_lanes(Group<Stats>& group, int worker) {
        Tools& tools = tools_of(worker);
        LaneMembers<Stats>& members = tools.members;
        members.group = &group;
        members.shares.clear(), members.views.clear();
        members.slot_of_row = nullptr;
        if (!kHasKernels || !group.is_additive) return members;
        for (size_t share = 0; share < group.shares.size(); ++share) {
            const Share<Stats>& one = group.shares[share];
            NodeView<Stats> view{
                *one.member->stats, *one.member->rules, one.totals, one.context, {}};
            view.end = static_cast<size_t>(one.n_rows());
            view.variance = one.description.variance;
            Filter<Stats>::prepare(view, one.description);
            if (!view.filter.serves || !one.member->tries_all(growth_.table)) continue;
            members.shares.push_back(share);
            members.views.push_back(view);
        }
        if (members.shares.size() < 2 || !members.number_slots())
            members.shares.clear(), members.views.clear();
        if (members.shares.empty()) return members;
        if constexpr (GroupHistograms<Stats>::kServes) {
            if (members.shares.size() == group.shares.size())
                histograms_.keep(group, members.slots(), worker);
            else
                group.kept.counts.clear();
        }
        if (!looks_at_rows(group)) return members;
        tools.slots.resize(growth_.table.n_rows);
        members.slot_of_row = tools.slots.data();
        for (size_t k = 0; k < group.n_rows(); ++k)
            tools.slots[group.layout.rows[k]] = members.slot_of(group.pattern_of[k]);
        return members;
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

    void count_work(const LaneMembers<Stats>& members, Work& work) const {
        const Layout& layout = members.group->layout;
        uint64_t n_dense = layout.few_columns.size() + layout.other_columns.size(), n_listed = 0;
        for (const Stretch& stretch : layout.root_stretches)
            n_listed += stretch.end - stretch.begin;
        uint64_t n_rows = members.group->n_rows(), n_total = 0;
        for (const NodeView<Stats>& view : members.views)
            n_total += static_cast<uint64_t>(view.totals.rows);
        work.statistic_updates += n_rows * n_dense + n_listed;
        work.serial_updates += n_total * n_dense + n_listed * n_total / n_rows;
    }

    // A share's own rows, searched as the node of a single tree.
    Split find_alone(const GroupNode<Stats>& node, size_t share, int worker) {
        const Group<Stats>& group = *node.group;
        Layout layout;
        derive_share(group, share, growth_.scratch(worker), layout);
        MemberNode<Stats> alone;
        static_cast<NodePart<Stats>&>(alone) = group.shares[share];
        alone.member = group.shares[share].member;
        alone.take_all(layout);
        alone.depth = node.depth;
        alone.key = node.key;
        return finder_.find(alone, worker);
    }

    void search_columns(const LaneMembers<Stats>& members, std::vector<Findings>& findings,
                        int worker) {
        const Layout& layout = members.group->layout;
        size_t n_columns =
            layout.few_columns.size() + layout.other_columns.size() + layout.root_stretches.size();
        if (!growth_.is_shared(members.group->n_rows() * n_columns))
            return search_range(members, 0, n_columns, findings, worker);
        std::vector<size_t> starts = divide_columns(layout.few_columns.size(), n_columns);
        size_t n_tasks = starts.size() - 1;
        std::vector<std::vector<Findings>> found(n_tasks, std::vector<Findings>(findings.size()));
        growth_.workers.for_each(n_tasks, [&](size_t task, int at) {
            search_range(members, starts[task], starts[task + 1], found[task], at);
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
        add(n_few, growth_.scratches.size());
        add(n_columns, 4 * growth_.scratches.size());
        return starts;
    }

    // Columns are numbered for the search: few-valued, other, listed.
    void search_range(const LaneMembers<Stats>& members, size_t first, size_t last,
                      std::vector<Findings>& findings, int worker) {
        const Layout& layout = members.group->layout;
        WorkerScratch<Stats>& mine = growth_.scratch(worker);
        Tools& tools = tools_of(worker);
        size_t n_few = layout.few_columns.size(), n_dense = n_few + layout.other_columns.size();
        tools.has_prepared_scan = false;
        search_few(members, std::min(first, n_few), std::min(last, n_few), findings, mine, tools);
        for (size_t k = std::max(first, n_few); k < std::min(last, n_dense); ++k) {
            if (members.group->n_rows() > kCheckedCells) growth_.workers.check();
            search_column(members, layout.other_columns[k - n_few], findings, mine, tools);
        }
        for (size_t k = std::max(first, n_dense); k < last; ++k)
            for (size_t lane = 0; lane < members.shares.size(); ++lane)
                search_stretch(members, layout.root_stretches[k - n_dense], lane, findings[lane],
                               mine);
    }

    void search_few(const LaneMembers<Stats>& members, size_t first, size_t last,
                    std::vector<Findings>& findings, WorkerScratch<Stats>& mine, Tools& tools) {
        auto exact = [&](uint32_t at, size_t lane) {
            search_exactly(members, at, lane, findings[lane], mine);
        };
        if (first == last) return;
        if constexpr (Stats::kCounts) {
            SharedClassHistograms& histograms = tools.histograms;
            histograms.prepare(members);
            std::vector<size_t>& columns = tools.columns;
            histograms.list_promising(first, last, findings, columns);
            auto sorts = [&](size_t k) {
                return sorts_rows(*members.group, k, histograms.n_labels());
            };
            for (size_t at = 0; at < columns.size();) {
                size_t k = columns[at++], next = k + 1;
                if (sorts(k)) {
                    scan_sorted(members, k, findings, mine, tools);
                    mine.work.columns_by_way.add(Way::shared_sort);
                    continue;
                }
                for (; at < columns.size() && columns[at] == next && !sorts(next); ++at) ++next;
                histograms.search(k, next, mine.search, findings, exact);
                mine.work.columns_by_way.add(Way::shared_histogram, next - k);
            }
        }
    }

    static bool sorts_rows(const Group<Stats>& group, size_t k, size_t n_labels) {
        const Layout& layout = group.layout;
        return group.kept.empty() && layout.way_of_shared_few(k, group.n_rows(), n_labels, [&] {
            return has_missing(layout, layout.few_columns[k]);
        }) == Way::shared_sort;
    }
    void scan_sorted(const LaneMembers<Stats>& members, size_t k, std::vector<Findings>& findings,
                     WorkerScratch<Stats>& mine, Tools& tools) {
        if constexpr (Stats::kCounts) {
            const Layout& layout = members.group->layout;
            const Stats& stats = members.views[0].stats;
            uint32_t at = layout.few_columns[k];
            const uint8_t* codes = layout.table->columns[at].codes.narrow.data();
            uint32_t next[257] = {};
            for (uint32_t row : layout.rows) ++next[codes[row] + 1];
            size_t n_codes = layout.table->columns[at].n_codes;
            for (size_t code = 1; code <= n_codes; ++code) next[code] += next[code - 1];
            uint32_t* words = mine.spare(layout.rows.size());
            for (uint32_t row : layout.rows)
                words[next[codes[row]]++] =
                    row << layout.class_bits | static_cast<uint32_t>(stats.classes[row]);
            scan_words(
                members,
                OrderView<uint8_t>{at, {words, layout.rows.size()}, layout.class_bits, codes},
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

    void search_column(const LaneMembers<Stats>& members, uint32_t at,
                       std::vector<Findings>& findings, WorkerScratch<Stats>& mine, Tools& tools) {
        const Layout& layout = members.group->layout;
        const Column& column = layout.table->columns[at];
        bool is_done = layout.order_of[at] >= 0 && column.codes.with([&](auto* codes) {
            return scan_order(members, at, codes, findings, tools);
        });
        if (is_done) return mine.work.columns_by_way.add(Way::shared_order);
        for (size_t lane = 0; lane < members.shares.size(); ++lane)
            search_exactly(members, at, lane, findings[lane], mine);
    }

    template <class Code>
    bool scan_order(const LaneMembers<Stats>& members, uint32_t at, const Code* codes,
                    std::vector<Findings>& findings, Tools& tools) {
        const Layout& layout = members.group->layout;
        const Column& column = layout.table->columns[at];
        OrderView<Code> order{at, layout.order(at, 0, layout.n_rows), layout.class_bits, codes};
        if (column.has_missing && order.code(layout.n_rows - 1) == column.missing_code())
            return false;
        if constexpr (Stats::kCounts) {
            if (order.bits == 0) return false;  // the class is not in the words
            scan_words(members, order, findings, tools);
            return true;
        }
        return false;
    }

    template <class Code>
    static void scan_words(const LaneMembers<Stats>& members, const OrderView<Code>& order,
                           std::vector<Findings>& findings, Tools& tools) {
        if constexpr (Stats::kCounts) {
            auto scan_with = [&](auto& scan) {
                if (!tools.has_prepared_scan) scan.prepare(members);
                tools.has_prepared_scan = true;
                scan.run(order, findings);
            };
            if (members.views[0].stats.n_classes == 2)
                scan_with(tools.two_classes);
            else
                scan_with(tools.more_classes);
        }
    }

    // One column for one lane, among its own rows, by the scans of a single tree.
    void search_exactly(const LaneMembers<Stats>& members, uint32_t at, size_t lane,
                        Findings& findings, WorkerScratch<Stats>& mine) {
        NodeView<Stats> view = own_rows(members, lane, mine);
        Layout own;
        static_cast<Plan&>(own) = members.group->layout;
        std::vector<uint32_t> words;
        if (own.order_of[at] >= 0) {
            for (uint32_t word : members.group->layout.order(at, 0, members.group->n_rows()))
                if (members.counts(word >> own.class_bits, lane)) words.push_back(word);
        }
        ColumnSearch<Stats>({own, view, mine.search, findings, mine.work.columns_by_way})
            .run(at, words);
    }

    NodeView<Stats> own_rows(const LaneMembers<Stats>& members, size_t lane,
                             WorkerScratch<Stats>& mine) {
        members.group->list_rows(members.shares[lane], mine.own_rows);
        const NodeView<Stats>& from = members.views[lane];
        NodeView<Stats> view{from.stats, from.rules, from.totals, from.context, mine.own_rows};
        view.end = mine.own_rows.size();
        view.variance = from.variance;
        return view;
    }

    void search_stretch(const LaneMembers<Stats>& members, const Stretch& stretch, size_t lane,
                        Findings& findings, WorkerScratch<Stats>& mine) {
        const Layout& layout = members.group->layout;
        Layout own;
        static_cast<Plan&>(own) = layout;
        for (size_t k = stretch.begin; k < stretch.end; ++k) {
            if (!members.counts(layout.listed_words[k] >> own.class_bits, lane)) continue;
            own.listed_words.push_back(layout.listed_words[k]);
            own.listed_codes.push_back(layout.listed_codes[k]);
        }
        if (own.listed_words.empty()) return;
        members.group->list_rows(members.shares[lane], mine.own_rows);
        NodeView<Stats> view = members.views[lane];
        view.rows = mine.own_rows;
        ColumnSearch<Stats>({own, view, mine.search, findings, mine.work.columns_by_way})
            .run(Stretch{stretch.column, 0, own.listed_words.size()});
    }

    Growth<Stats>& growth_;
    Finder<Stats>& finder_;
    GroupHistograms<Stats>& histograms_;
    std::vector<std::unique_ptr<Tools>> tools_;  // per worker
};

}  // namespace treefold
