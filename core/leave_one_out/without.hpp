// How a node looks to each left-out row: what it adds up to without that row, and whether it is a leaf.
#pragma once

#include "grow/growth.hpp"
#include "leave_one_out/left_out_node.hpp"

namespace treefold {

// A node without one row.
template <class Stats>
struct SumsWithout : NodeSums<Stats> {
    std::vector<typename Stats::Slot> row;  // what the row adds
    std::vector<double> value;
};

template <class Stats>
void remove_row(const Stats& stats, uint32_t row, typename Stats::Totals& totals) {
    std::vector<typename Stats::Slot> slots(stats.width());
    stats.add(row, slots.data());
    for (size_t k = 0; k < slots.size(); ++k) totals.slots[k] -= slots[k];
    --totals.rows;
}

template <class Stats>
SumsWithout<Stats> describe_without(const LeftOutNode<Stats>& node, uint32_t row,
                                    const Stats& stats, std::vector<int64_t>& scratch) {
    SumsWithout<Stats> sums_without_row;
    sums_without_row.row.resize(stats.width());
    stats.add(row, sums_without_row.row.data());
    sums_without_row.totals = node.totals;
    remove_row(stats, row, sums_without_row.totals);
    sums_without_row.value.resize(Stats::is_classification ? stats.width() : 1);
    std::vector<uint32_t> others;
    if constexpr (!Stats::is_classification)
        std::copy_if(node.layout.rows.begin(), node.layout.rows.end(), std::back_inserter(others),
                     [&](uint32_t other) { return other != row; });
    sums_without_row.context = stats.context(sums_without_row.totals, others);
    sums_without_row.description =
        stats.describe(sums_without_row.totals, others, sums_without_row.context,
                       sums_without_row.value.data(), scratch);
    return sums_without_row;
}

// By kinds: left-out rows of one kind see the same.
template <class Stats>
class KindsWithout {
public:
    KindsWithout(const LeftOutNode<Stats>& node, const MemberContext<Stats>& member,
                 const Kinds& kinds, WorkerScratch<Stats>& mine) {
        std::vector<uint32_t> place_of(kinds.representatives.size(), UINT32_MAX);
        for (uint32_t row : node.left_out) {
            uint32_t& place = place_of[kinds.of_row[row]];
            if (place == UINT32_MAX) {
                place = static_cast<uint32_t>(sums_without.size());
                sums_without.push_back(
                    describe_without(node, row, *member.stats, mine.search.scaled));
                is_leaf_.push_back(stops(sums_without.back(), *member.rules, node.depth));
            }
            kind_of.push_back(place);
        }
    }

    bool is_leaf(size_t place) const { return is_leaf_[kind_of[place]]; }
    const SumsWithout<Stats>& of(size_t place) const { return sums_without[kind_of[place]]; }
    void write_value(size_t place, double* value) const {
        std::copy(of(place).value.begin(), of(place).value.end(), value);
    }
    void keep(const std::vector<uint32_t>& kept) {
        for (size_t k = 0; k < kept.size(); ++k) kind_of[k] = kind_of[kept[k]];
        kind_of.resize(kept.size());
    }

    std::vector<SumsWithout<Stats>> sums_without;  // per kind that leaves
    std::vector<uint32_t> kind_of;  // per left-out row, in sums_without

private:
    std::vector<bool> is_leaf_;  // per sums
};

// Numbers of unit weight, where only the rules matter that need no variance.
class MeansWithout {
public:
    using Stats = MeanStats<2>;

    MeansWithout(const LeftOutNode<Stats>& node, const MemberContext<Stats>& member)
        : node_(node), member_(member) {
        const Stats& stats = *member.stats;
        lowest_ = highest_ = stats.y[node.layout.rows[0]];
        for (uint32_t row : node.layout.rows) {
            lowest_ = std::min(lowest_, stats.y[row]);
            highest_ = std::max(highest_, stats.y[row]);
        }
        for (uint32_t row : node.layout.rows) {
            n_lowest_ += stats.y[row] == lowest_;
            n_highest_ += stats.y[row] == highest_;
        }
    }

    static bool serves(const Rules& rules, const Stats& stats) {
        return stats.is_unit() && stats.unit != 0.0 && rules.min_impurity_decrease <= 0.0 &&
               rules.min_impurity <= 0.0;
    }

    bool is_leaf(size_t place) const {
        NodeSums<Stats> part;
        part.totals.rows = node_.totals.rows - 1;
        part.description.weight = static_cast<double>(part.totals.rows);
        part.description.impurity = 1.0;
        part.description.is_pure = is_pure(place);
        return stops(part, *member_.rules, node_.depth);
    }
    SumsWithout<Stats> of(size_t place) const {
        SumsWithout<Stats> sums_without_row;
        sums_without_row.totals = node_.totals;
        remove_row(*member_.stats, node_.left_out[place], sums_without_row.totals);
        return sums_without_row;
    }
    void write_value(size_t place, double* value) const {
        double own = member_.stats->y[node_.left_out[place]];
        if (is_pure(place)) {  // what the others have
            *value = (own == lowest_ ? highest_ : lowest_) + 0.0;
            return;
        }
        Stats::Totals totals = of(place).totals;
        std::vector<int64_t> unused;
        *value = member_.stats->share({totals.rows, totals.slots.data()}, 0, {}, unused);
    }
    void keep(const std::vector<uint32_t>&) {}

private:
    bool is_pure(size_t place) const {
        if (lowest_ == highest_) return true;
        double own = member_.stats->y[node_.left_out[place]];
        return (own == lowest_ && n_highest_ == node_.totals.rows - 1) ||
               (own == highest_ && n_lowest_ == node_.totals.rows - 1);
    }

    const LeftOutNode<Stats>& node_;
    const MemberContext<Stats>& member_;
    double lowest_, highest_;
    int64_t n_lowest_ = 0, n_highest_ = 0;
};

}  // namespace treefold
