// How a crowd's node looks to each leaver: what it adds up to without its row, and whether it is a leaf.
#pragma once

#include "crowd.hpp"
#include "path.hpp"

namespace treefold {

// A crowd without one row.
template <class Target>
struct Absence : Part<Target> {
    std::vector<typename Target::Slot> row;  // what the row adds
    std::vector<double> value;
};

template <class Target>
void remove_row(const Target& target, uint32_t row, typename Target::Totals& totals) {
    std::vector<typename Target::Slot> slots(target.width());
    target.add(row, slots.data());
    for (size_t k = 0; k < slots.size(); ++k) totals.slots[k] -= slots[k];
    --totals.rows;
}

template <class Target>
Absence<Target> describe_without(const Crowd<Target>& crowd, uint32_t row, const Target& target,
                                 std::vector<int64_t>& scratch) {
    Absence<Target> absence;
    absence.row.resize(target.width());
    target.add(row, absence.row.data());
    absence.totals = crowd.totals;
    remove_row(target, row, absence.totals);
    absence.value.resize(Target::is_classification ? target.width() : 1);
    std::vector<uint32_t> others;
    if constexpr (!Target::is_classification)
        std::copy_if(crowd.layout.rows.begin(), crowd.layout.rows.end(), std::back_inserter(others),
                     [&](uint32_t other) { return other != row; });
    absence.context = target.context(absence.totals, others);
    absence.description =
        target.describe(absence.totals, others, absence.context, absence.value.data(), scratch);
    return absence;
}

// By kinds: leavers of one kind see the same.
template <class Target>
class KindStanding {
public:
    KindStanding(const Crowd<Target>& crowd, const Seat<Target>& seat, const Kinds& kinds,
                 Desk<Target>& desk) {
        std::vector<uint32_t> place_of(kinds.representatives.size(), UINT32_MAX);
        for (uint32_t row : crowd.leavers) {
            uint32_t& place = place_of[kinds.of_row[row]];
            if (place == UINT32_MAX) {
                place = static_cast<uint32_t>(absences.size());
                absences.push_back(describe_without(crowd, row, *seat.target, desk.scratch.scaled));
                is_leaf_.push_back(stops(absences.back(), *seat.rules, crowd.depth));
            }
            kind_of.push_back(place);
        }
    }

    bool is_leaf(size_t leaver) const { return is_leaf_[kind_of[leaver]]; }
    const Absence<Target>& of(size_t leaver) const { return absences[kind_of[leaver]]; }
    void write_value(size_t leaver, double* value) const {
        std::copy(of(leaver).value.begin(), of(leaver).value.end(), value);
    }
    void keep(const std::vector<uint32_t>& kept) {
        for (size_t k = 0; k < kept.size(); ++k) kind_of[k] = kind_of[kept[k]];
        kind_of.resize(kept.size());
    }

    std::vector<Absence<Target>> absences;  // per kind that leaves
    std::vector<uint32_t> kind_of;  // per leaver, in absences

private:
    std::vector<bool> is_leaf_;  // per absence
};

// Numbers of unit weight, where only the rules matter that need no variance.
class MeanStanding {
public:
    using Target = MeanTarget<2>;

    MeanStanding(const Crowd<Target>& crowd, const Seat<Target>& seat)
        : crowd_(crowd), seat_(seat) {
        const Target& target = *seat.target;
        lowest_ = highest_ = target.y[crowd.layout.rows[0]];
        for (uint32_t row : crowd.layout.rows) {
            lowest_ = std::min(lowest_, target.y[row]);
            highest_ = std::max(highest_, target.y[row]);
        }
        for (uint32_t row : crowd.layout.rows) {
            n_lowest_ += target.y[row] == lowest_;
            n_highest_ += target.y[row] == highest_;
        }
    }

    static bool serves(const Rules& rules, const Target& target) {
        return target.is_unit() && target.unit != 0.0 && rules.min_impurity_decrease <= 0.0 &&
               rules.min_impurity <= 0.0;
    }

    bool is_leaf(size_t leaver) const {
        Part<Target> part;
        part.totals.rows = crowd_.totals.rows - 1;
        part.description.weight = static_cast<double>(part.totals.rows);
        part.description.impurity = 1.0;
        part.description.is_pure = is_pure(leaver);
        return stops(part, *seat_.rules, crowd_.depth);
    }
    Absence<Target> of(size_t leaver) const {
        Absence<Target> absence;
        absence.totals = crowd_.totals;
        remove_row(*seat_.target, crowd_.leavers[leaver], absence.totals);
        return absence;
    }
    void write_value(size_t leaver, double* value) const {
        double own = seat_.target->y[crowd_.leavers[leaver]];
        if (is_pure(leaver)) {  // what the others have
            *value = (own == lowest_ ? highest_ : lowest_) + 0.0;
            return;
        }
        Target::Totals totals = of(leaver).totals;
        std::vector<int64_t> unused;
        *value = seat_.target->share({totals.rows, totals.slots.data()}, 0, {}, unused);
    }
    void keep(const std::vector<uint32_t>&) {}

private:
    bool is_pure(size_t leaver) const {
        if (lowest_ == highest_) return true;
        double own = seat_.target->y[crowd_.leavers[leaver]];
        return (own == lowest_ && n_highest_ == crowd_.totals.rows - 1) ||
               (own == highest_ && n_lowest_ == crowd_.totals.rows - 1);
    }

    const Crowd<Target>& crowd_;
    const Seat<Target>& seat_;
    double lowest_, highest_;
    int64_t n_lowest_ = 0, n_highest_ = 0;
};

}  // namespace treefold
