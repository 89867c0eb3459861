// How a crowd's node looks to each leaver: what it adds up to without its row, and whether it is a leaf.
#pragma once

#include "grow/workshop.hpp"
#include "leave_one_out/crowd.hpp"

namespace treefold {

// A crowd without one row.
template <class Stats>
struct Absence : NodeSums<Stats> {
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
Absence<Stats> describe_without(const Crowd<Stats>& crowd, uint32_t row, const Stats& stats,
                                std::vector<int64_t>& scratch) {
    Absence<Stats> absence;
    absence.row.resize(stats.width());
    stats.add(row, absence.row.data());
    absence.totals = crowd.totals;
    remove_row(stats, row, absence.totals);
    absence.value.resize(Stats::is_classification ? stats.width() : 1);
    std::vector<uint32_t> others;
    if constexpr (!Stats::is_classification)
        std::copy_if(crowd.layout.rows.begin(), crowd.layout.rows.end(), std::back_inserter(others),
                     [&](uint32_t other) { return other != row; });
    absence.context = stats.context(absence.totals, others);
    absence.description =
        stats.describe(absence.totals, others, absence.context, absence.value.data(), scratch);
    return absence;
}

// By kinds: leavers of one kind see the same.
template <class Stats>
class KindStanding {
public:
    KindStanding(const Crowd<Stats>& crowd, const Seat<Stats>& seat, const Kinds& kinds,
                 Desk<Stats>& desk) {
        std::vector<uint32_t> place_of(kinds.representatives.size(), UINT32_MAX);
        for (uint32_t row : crowd.leavers) {
            uint32_t& place = place_of[kinds.of_row[row]];
            if (place == UINT32_MAX) {
                place = static_cast<uint32_t>(absences.size());
                absences.push_back(describe_without(crowd, row, *seat.stats, desk.scratch.scaled));
                is_leaf_.push_back(stops(absences.back(), *seat.rules, crowd.depth));
            }
            kind_of.push_back(place);
        }
    }

    bool is_leaf(size_t leaver) const { return is_leaf_[kind_of[leaver]]; }
    const Absence<Stats>& of(size_t leaver) const { return absences[kind_of[leaver]]; }
    void write_value(size_t leaver, double* value) const {
        std::copy(of(leaver).value.begin(), of(leaver).value.end(), value);
    }
    void keep(const std::vector<uint32_t>& kept) {
        for (size_t k = 0; k < kept.size(); ++k) kind_of[k] = kind_of[kept[k]];
        kind_of.resize(kept.size());
    }

    std::vector<Absence<Stats>> absences;  // per kind that leaves
    std::vector<uint32_t> kind_of;  // per leaver, in absences

private:
    std::vector<bool> is_leaf_;  // per absence
};

// Numbers of unit weight, where only the rules matter that need no variance.
class MeanStanding {
public:
    using Stats = MeanStats<2>;

    MeanStanding(const Crowd<Stats>& crowd, const Seat<Stats>& seat) : crowd_(crowd), seat_(seat) {
        const Stats& stats = *seat.stats;
        lowest_ = highest_ = stats.y[crowd.layout.rows[0]];
        for (uint32_t row : crowd.layout.rows) {
            lowest_ = std::min(lowest_, stats.y[row]);
            highest_ = std::max(highest_, stats.y[row]);
        }
        for (uint32_t row : crowd.layout.rows) {
            n_lowest_ += stats.y[row] == lowest_;
            n_highest_ += stats.y[row] == highest_;
        }
    }

    static bool serves(const Rules& rules, const Stats& stats) {
        return stats.is_unit() && stats.unit != 0.0 && rules.min_impurity_decrease <= 0.0 &&
               rules.min_impurity <= 0.0;
    }

    bool is_leaf(size_t leaver) const {
        NodeSums<Stats> part;
        part.totals.rows = crowd_.totals.rows - 1;
        part.description.weight = static_cast<double>(part.totals.rows);
        part.description.impurity = 1.0;
        part.description.is_pure = is_pure(leaver);
        return stops(part, *seat_.rules, crowd_.depth);
    }
    Absence<Stats> of(size_t leaver) const {
        Absence<Stats> absence;
        absence.totals = crowd_.totals;
        remove_row(*seat_.stats, crowd_.leavers[leaver], absence.totals);
        return absence;
    }
    void write_value(size_t leaver, double* value) const {
        double own = seat_.stats->y[crowd_.leavers[leaver]];
        if (is_pure(leaver)) {  // what the others have
            *value = (own == lowest_ ? highest_ : lowest_) + 0.0;
            return;
        }
        Stats::Totals totals = of(leaver).totals;
        std::vector<int64_t> unused;
        *value = seat_.stats->share({totals.rows, totals.slots.data()}, 0, {}, unused);
    }
    void keep(const std::vector<uint32_t>&) {}

private:
    bool is_pure(size_t leaver) const {
        if (lowest_ == highest_) return true;
        double own = seat_.stats->y[crowd_.leavers[leaver]];
        return (own == lowest_ && n_highest_ == crowd_.totals.rows - 1) ||
               (own == highest_ && n_lowest_ == crowd_.totals.rows - 1);
    }

    const Crowd<Stats>& crowd_;
    const Seat<Stats>& seat_;
    double lowest_, highest_;
    int64_t n_lowest_ = 0, n_highest_ = 0;
};

}  // namespace treefold
