// What growth works with: the plan, the workers, and what each of them has for itself.
#pragma once

#include "grow/node.hpp"
#include "grow/work.hpp"
#include "search/coarse_to_fine.hpp"
#include "search/column_search.hpp"

namespace treefold {

// What one worker has for itself.
template <class Stats>
struct WorkerScratch {
    explicit WorkerScratch(size_t n_rows) : sides(n_rows) {}
    Sides sides;
    std::vector<uint8_t> ways;  // per row of the table (group.hpp)
    Scratch<typename Stats::Slot> search;
    FewColumnSearch<Stats> few;
    CoarseToFine<Stats> coarse;
    std::vector<std::pair<uint64_t, uint32_t>> drawn;  // draw and column
    Findings findings;
    std::vector<uint32_t> own_rows;  // of one share of a group
    Work work;
    std::vector<NodePointer<Stats>> used_nodes;  // to be used again: a node is 500 bytes to clear

    uint32_t* spare(size_t size) {
        if (search.spare.size() < size + kPacked) search.spare.resize(size + kPacked);
        return search.spare.data();
    }
    uint8_t* ways_for(size_t n_rows) {
        if (ways.size() < n_rows) ways.resize(n_rows);
        return ways.data();
    }
    NodePointer<Stats> take_node() {
        if (used_nodes.empty()) return std::make_unique<MemberNode<Stats>>();
        NodePointer<Stats> node = std::move(used_nodes.back());
        used_nodes.pop_back();
        return node;
    }
    void give_back(NodePointer<Stats> node) {
        node->stretches.clear();
        node->kept.clear();
        used_nodes.push_back(std::move(node));
    }
};

// Nodes below this many cells are left to one worker: waking the others would take longer.
inline constexpr size_t kParallelCells = 40'000;

// An interruption is looked for after so many cells, and before each column of a larger node.
inline constexpr size_t kCheckedCells = 1'000'000;

template <class Stats>
struct Growth {
    const Table& table;
    const Plan& plan;
    Workers& workers;
    std::vector<WorkerScratch<Stats>> scratches{};
    Meter meter{};
    const Questions* questions = nullptr;  // the rows that ask, unless they are in the table
    size_t n_unkept_rows = kUnkeptRows;
    bool in_tasks = false;  // workers grow subtrees beside each other, and share nothing
    bool reports_rows = true;  // does progress count the rows that have arrived in leaves?
    size_t n_root_rows = 0;  // of the tree or the group that grows

    Growth(const Table& table, const Plan& plan, Workers& workers)
        : table(table), plan(plan), workers(workers) {
        for (int worker = 0; worker < workers.size(); ++worker)
            scratches.emplace_back(table.n_rows);
    }

    WorkerScratch<Stats>& scratch(int worker) { return scratches[static_cast<size_t>(worker)]; }
    bool is_shared(size_t n_cells) const {
        return workers.size() > 1 && !in_tasks && n_cells >= kParallelCells;
    }

    void start_tasks() {
        in_tasks = true;
        if (n_root_rows < kManyRows) return;
        for (WorkerScratch<Stats>& mine : scratches) mine.search.forget_rows();  // tasks have fewer
    }

    // run(first, last) for the few-valued columns of so many rows, by all workers if there is enough to do.
    template <class Run>
    void for_few_columns(size_t n_rows, Run&& run) {
        size_t n_few = plan.few_columns.size();
        if (!is_shared(n_rows * n_few)) return run(0, n_few);
        size_t n_tasks = scratches.size();
        workers.for_each(n_tasks, [&](size_t task, int) {
            run(n_few * task / n_tasks, n_few * (task + 1) / n_tasks);
        });
    }

    bool keeps_histogram(const MemberContext<Stats>& member, const RowPart<Stats>& part) const {
        return member.tries_all(table) &&
               KeptHistogram<Stats>::is_worth(
                   plan, part.size(), *member.stats, *member.rules,
                   member.stats->is_unit() ? n_unkept_rows : kUnkeptRows);
    }
    void count_histogram(const MemberNode<Stats>& node, const RowPart<Stats>& part,
                         KeptHistogram<Stats>& kept) {
        const MemberContext<Stats>& member = *node.member;
        kept.start(plan, *member.stats, *member.rules);
        for_few_columns(part.size(), [&](size_t first, size_t last) {
            kept.fill(plan, *member.stats, node.rows_of(part), first, last);
        });
    }
};

}  // namespace treefold
