// What growth has done, counted per node and never per row, so that counting costs nothing.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "search/plan.hpp"

namespace treefold {

// Bytes of layouts that are alive, over all workers, and the most that ever were.
class Meter {
public:
    void add(uint64_t bytes) {
        uint64_t now = now_ += bytes, most = peak_;
        while (now > most && !peak_.compare_exchange_weak(most, now)) {
        }
    }
    void remove(uint64_t bytes) { now_ -= bytes; }
    uint64_t now() const { return now_; }
    uint64_t peak() const { return peak_; }

private:
    std::atomic<uint64_t> now_ = 0, peak_ = 0;
};

// Keeps some bytes on the meter as long as it lives.
class Metered {
public:
    Metered() = default;
    Metered(Meter& meter, uint64_t bytes) : meter_(&meter), bytes_(bytes) { meter.add(bytes); }
    Metered(Metered&& other) noexcept : meter_(other.meter_), bytes_(other.bytes_) {
        other.meter_ = nullptr;
    }
    Metered& operator=(Metered&& other) noexcept {
        std::swap(meter_, other.meter_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~Metered() {
        if (meter_ != nullptr) meter_->remove(bytes_);
    }

private:
    Meter* meter_ = nullptr;
    uint64_t bytes_ = 0;
};

struct Work {
    uint64_t rows_scanned = 0;  // rows of searched nodes; a node of several members counts once
    uint64_t statistic_updates = 0;  // a row added to one accumulator of one column
    uint64_t serial_updates = 0;  // what the members would have added one after another
    uint64_t split_evaluations = 0;  // exact qualities that were computed and offered
    uint64_t nodes_grown = 0;  // searched nodes, each member's counted
    uint64_t forks = 0;  // ways that members of one node parted into, beyond the first
    uint64_t histograms_handed_on = 0;  // by groups to their children (group_histograms.hpp)
    uint64_t ambiguous_rows = 0;  // rows that went both ways, for different members
    std::vector<uint64_t> nodes_by_members;  // searched nodes by their number of members
    std::vector<uint64_t> level_nodes,
        level_tests;  // divided nodes per depth; their different tests
    WayCounts columns_by_way;
    uint64_t peak_bytes = 0;  // of layouts, over all workers
    uint64_t stack_words = 0;  // rows of the nodes on one path, where they are most

    void raise_stack(uint64_t words) { stack_words = std::max(stack_words, words); }
    void count_search(uint64_t n_members, uint64_t n_rows) {
        if (nodes_by_members.size() <= n_members) nodes_by_members.resize(n_members + 1);
        ++nodes_by_members[n_members];
        nodes_grown += n_members;
        rows_scanned += n_rows;
    }
    void count_tests(int64_t depth, uint64_t n_tests) {
        auto level = static_cast<size_t>(depth);
        if (level_nodes.size() <= level)
            level_nodes.resize(level + 1), level_tests.resize(level + 1);
        ++level_nodes[level];
        level_tests[level] += n_tests;
    }
    void merge(const Work& other) {
        rows_scanned += other.rows_scanned;
        statistic_updates += other.statistic_updates;
        serial_updates += other.serial_updates;
        split_evaluations += other.split_evaluations;
        nodes_grown += other.nodes_grown;
        forks += other.forks;
        histograms_handed_on += other.histograms_handed_on;
        columns_by_way.merge(other.columns_by_way);
        peak_bytes = std::max(peak_bytes, other.peak_bytes);
        stack_words = std::max(stack_words, other.stack_words);
        ambiguous_rows += other.ambiguous_rows;
        add_each(nodes_by_members, other.nodes_by_members);
        add_each(level_nodes, other.level_nodes);
        add_each(level_tests, other.level_tests);
    }

private:
    static void add_each(std::vector<uint64_t>& to, const std::vector<uint64_t>& from) {
        if (to.size() < from.size()) to.resize(from.size());
        for (size_t k = 0; k < from.size(); ++k) to[k] += from[k];
    }
};

}  // namespace treefold
