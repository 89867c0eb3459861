// What growth works with: nodes, the order in which they come, and what each worker has for itself.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>

#include "grow/request.hpp"
#include "grow/work.hpp"
#include "search/column_search.hpp"
#include "search/layout.hpp"

namespace treefold {

// A member in the growth.
template <class Stats>
struct Seat {
    uint32_t member = 0;
    const Stats* stats = nullptr;
    const Rules* rules = nullptr;
    bool asks_everything = true;
    size_t most_at_once = 0;  // nodes of so many rows need no orders (most_rows_at_once())
    double root_weight = 0.0;

    bool tries_all(const Table& table) const { return rules->max_features >= table.columns.size(); }
};

// A stretch of rows with what it adds up to.
template <class Stats>
struct Part {
    size_t begin = 0, end = 0;  // of Layout::rows
    size_t asked_begin = 0, asked_end = 0;  // of the rows that ask
    size_t record = 0;  // in GrowingTree
    uint64_t stack_words = 0;  // rows of this node and of those above it
    typename Stats::Totals totals;
    typename Stats::Context context;
    Description description;

    size_t size() const { return end - begin; }
};

template <class Stats>
Side<typename Stats::Slot> side_of(const Part<Stats>& part) {
    return {part.totals.rows, part.totals.slots.data()};
}

template <class Stats>
bool is_asked(const Part<Stats>& part, const Seat<Stats>& seat) {
    return seat.asks_everything || part.asked_begin < part.asked_end;
}

// Is the node a leaf, whatever splits there are?
template <class Stats>
bool stops(const Part<Stats>& part, const Rules& rules, int64_t depth) {
    int64_t n_rows = part.totals.rows;
    return part.description.is_pure || depth >= rules.max_depth ||
           n_rows < rules.min_samples_split || n_rows < 2 * rules.min_samples_leaf ||
           part.description.weight < 2 * rules.min_weight_leaf ||
           part.description.impurity <= rules.min_impurity;
}

template <class Stats>
struct Group;
template <class Stats>
struct Birth;

// A node of one member, or of a group of members (group.hpp).
template <class Stats>
struct Node : Part<Stats> {
    const Seat<Stats>* seat = nullptr;
    Layout* layout = nullptr;
    int64_t depth = 0;
    uint64_t key = 0;  // of the draws (random.hpp)
    std::vector<Stretch> stretches;  // sparse columns that are not all zero here, ascending
    KeptHistogram<Stats> kept;  // of the few-valued columns, or nothing
    // Set when the node is opened:
    Split split;
    Part<Stats> left, right;
    double decrease = 0.0;
    // Only where several members go on together (group.hpp):
    std::shared_ptr<Group<Stats>> group;
    std::unique_ptr<Birth<Stats>> birth;  // not yet born
    std::optional<size_t> lone;  // only this share of the group, to go on alone

    bool is_ahead() const {
        return birth != nullptr || group != nullptr;
    }  // opened when its turn comes
    std::span<uint32_t> rows() const { return rows_of(*this); }
    std::span<uint32_t> rows_of(const Part<Stats>& part) const {
        return {layout->rows.data() + part.begin, part.size()};
    }
    const Stretch* find_stretch(uint32_t column) const {
        auto found = std::lower_bound(stretches.begin(), stretches.end(), column,
                                      [](const Stretch& a, uint32_t b) { return a.column < b; });
        return found != stretches.end() && found->column == column ? &*found : nullptr;
    }
};

template <class Stats>
using NodePointer = std::unique_ptr<Node<Stats>>;

// Opened nodes, and which of them is divided next: the last one, or the one of most decrease.
template <class Stats>
class Frontier {
public:
    explicit Frontier(bool is_best_first) : is_best_first_(is_best_first) {}
    bool empty() const { return nodes_.empty(); }
    void push(NodePointer<Stats> node) {
        nodes_.push_back(std::move(node));
        if (is_best_first_) std::push_heap(nodes_.begin(), nodes_.end(), is_worse);
    }
    NodePointer<Stats> pop() {
        if (is_best_first_) std::pop_heap(nodes_.begin(), nodes_.end(), is_worse);
        NodePointer<Stats> node = std::move(nodes_.back());
        nodes_.pop_back();
        return node;
    }

private:
    // Ties: lower depth, then further left (nodes of one depth lie in the order of their rows).
    static bool is_worse(const NodePointer<Stats>& a, const NodePointer<Stats>& b) {
        if (a->decrease != b->decrease) return a->decrease < b->decrease;
        if (a->depth != b->depth) return a->depth > b->depth;
        return a->begin > b->begin;
    }
    bool is_best_first_;
    std::vector<NodePointer<Stats>> nodes_;
};

// Memory that growth leaves behind: depth first, what lies left of a node is done when its turn comes.
template <class Stats>
class Trail {
public:
    void pass(const Node<Stats>& node) {
        if (node.layout == nullptr || node.layout->n_rows < kManyRows) return;
        if (node.layout != layout_) {
            finish();
            layout_ = node.layout;
            done_ = node.begin, end_ = node.end;
        }
        if (node.begin >= done_ + kStep) forget_until(node.begin);
    }
    void finish() {
        if (layout_ != nullptr && end_ >= done_ + kStep) forget_until(end_);
        layout_ = nullptr;
    }

private:
    static constexpr size_t kStep = 4'096;

    void forget_until(size_t end) {
        layout_->forget(done_, end);
        done_ = end;
    }

    Layout* layout_ = nullptr;
    size_t done_ = 0, end_ = 0;
};

// What one worker has for itself.
template <class Stats>
struct Desk {
    explicit Desk(size_t n_rows) : sides(n_rows) {}
    Sides sides;
    std::vector<uint8_t> ways;  // per row of the table (group.hpp)
    Scratch<typename Stats::Slot> scratch;
    FewColumnSearch<Stats> few;
    Findings findings;
    std::vector<uint32_t> own_rows;  // of one share of a group
    Work work;
    // To be used again, with their memory: a node is 500 bytes to clear, a group has a dozen vectors.
    std::vector<NodePointer<Stats>> used_nodes;
    std::vector<std::shared_ptr<Group<Stats>>> used_groups;

    uint32_t* spare(size_t size) {
        if (scratch.spare.size() < size + kPacked) scratch.spare.resize(size + kPacked);
        return scratch.spare.data();
    }
    uint8_t* ways_for(size_t n_rows) {
        if (ways.size() < n_rows) ways.resize(n_rows);
        return ways.data();
    }
    NodePointer<Stats> take_node() {
        if (used_nodes.empty()) return std::make_unique<Node<Stats>>();
        NodePointer<Stats> node = std::move(used_nodes.back());
        used_nodes.pop_back();
        return node;
    }
    void give_back(NodePointer<Stats> node) {
        node->stretches.clear();
        node->kept.clear();
        if (node->birth) give_back(std::move(node->birth->parent));
        give_back(std::move(node->group));
        node->birth.reset();
        node->seat = nullptr, node->layout = nullptr;
        node->begin = node->end = 0;
        node->lone.reset();
        used_nodes.push_back(std::move(node));
    }
    std::shared_ptr<Group<Stats>> take_group() {
        if (used_groups.empty()) return std::make_shared<Group<Stats>>();
        std::shared_ptr<Group<Stats>> group = std::move(used_groups.back());
        used_groups.pop_back();
        return group;
    }
    // Of somebody who needs it no longer. Others may; large ones and many would be memory that nobody counts.
    void give_back(std::shared_ptr<Group<Stats>> group) {
        if (group.use_count() != 1 || used_groups.size() == kUsedGroups ||
            group->nbytes() > kUsedBytes)
            return;
        std::atomic_thread_fence(std::memory_order_acquire);  // another worker may have had it
        group->clear();
        used_groups.push_back(std::move(group));
    }

private:
    static constexpr size_t kUsedGroups = 8, kUsedBytes = size_t{1} << 18;
};

// Nodes below this many cells are left to one worker: waking the others would take longer.
inline constexpr size_t kParallelCells = 40'000;

// An interruption is looked for after so many cells, and before each column of a larger node.
inline constexpr size_t kCheckedCells = 1'000'000;

template <class Stats>
struct Workshop {
    const Table& table;
    const Plan& plan;
    Workers& workers;
    std::vector<Desk<Stats>> desks{};
    Meter meter{};
    const Questions* questions = nullptr;  // the rows that ask, unless they are in the table
    size_t n_unkept_rows = kUnkeptRows;
    bool in_tasks = false;  // workers grow subtrees beside each other, and share nothing

    Workshop(const Table& table, const Plan& plan, Workers& workers)
        : table(table), plan(plan), workers(workers) {
        for (int worker = 0; worker < workers.size(); ++worker) desks.emplace_back(table.n_rows);
    }

    Desk<Stats>& desk(int worker) { return desks[static_cast<size_t>(worker)]; }
    bool is_shared(size_t n_cells) const {
        return workers.size() > 1 && !in_tasks && n_cells >= kParallelCells;
    }

    // run(first, last) for the few-valued columns of so many rows, by all workers if there is enough to do.
    template <class Run>
    void for_few_columns(size_t n_rows, Run&& run) {
        size_t n_few = plan.few_columns.size();
        if (!is_shared(n_rows * n_few)) return run(0, n_few);
        size_t n_tasks = desks.size();
        workers.for_each(n_tasks, [&](size_t task, int) {
            run(n_few * task / n_tasks, n_few * (task + 1) / n_tasks);
        });
    }

    bool keeps_histogram(const Seat<Stats>& seat, const Part<Stats>& part) const {
        return seat.tries_all(table) &&
               KeptHistogram<Stats>::is_worth(plan, part.size(), *seat.stats, *seat.rules,
                                              seat.stats->is_unit() ? n_unkept_rows : kUnkeptRows);
    }
    void count_histogram(const Node<Stats>& node, const Part<Stats>& part,
                         KeptHistogram<Stats>& kept) {
        const Seat<Stats>& seat = *node.seat;
        kept.start(plan, *seat.stats, *seat.rules);
        for_few_columns(part.size(), [&](size_t first, size_t last) {
            kept.fill(plan, *seat.stats, node.rows_of(part), first, last);
        });
    }
};

}  // namespace treefold
