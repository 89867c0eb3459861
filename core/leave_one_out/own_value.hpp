// Where a left-out row goes in its own tree, which has not seen it: a value that no other row of the node has lies between two
// others, or goes as missing values do. The left-out row's choice then says so for its own code too.
#pragma once

#include <map>

#include "leave_one_out/column_groups.hpp"
#include "leave_one_out/without.hpp"

namespace treefold {

// The values of each column of a node, listed where they are asked for.
class Presences {
public:
    Presences(const Layout& layout, std::vector<uint64_t>& pairs)
        : layout_(layout), pairs_(pairs) {}
    const Presence& of(uint32_t column) {
        auto found = known_.find(column);
        if (found == known_.end())
            found = known_.emplace(column, list_presence(layout_, column, pairs_)).first;
        return found->second;
    }

private:
    const Layout& layout_;
    std::vector<uint64_t>& pairs_;
    std::map<uint32_t, Presence> known_;
};

inline bool sends_left(const Choice& choice, const std::vector<uint64_t>& set, const Column& column,
                       uint32_t row) {
    uint32_t code = column.code_of(row);
    return goes_left(code, choice.code, code == column.missing_code(), choice.missing_left,
                     column.is_categorical ? set.data() : nullptr);
}

// A value that no other row has, next to the cut: the midpoint is that of its neighbours.
inline void settle_between(const Column& column, const Presence& presence, size_t place,
                           Choice& choice) {
    uint32_t code = presence.codes[place];
    bool is_first = place == 0, is_last = place + 1 == presence.codes.size();
    if (is_first) return;
    uint32_t below = presence.codes[place - 1];
    if (choice.code != below && choice.code != code) return;
    bool is_below = is_last;  // `present | missing`: nothing else has no value above
    if (!is_last)
        is_below =
            column.values[code] <=
            threshold_between(column.values[below], column.values[presence.codes[place + 1]]);
    choice.code = is_below ? code : below;
}

// weighs_more_left() tells whether of the rows that are not the left-out row those on the left are at least as heavy.
template <class WeighsMoreLeft>
void settle_own(const Column& column, const Presence& presence, uint32_t row, Choice& choice,
                std::vector<uint64_t>& set, WeighsMoreLeft&& weighs_more_left) {
    uint32_t code = column.code_of(row);
    bool is_missing = code == column.missing_code();
    size_t place = is_missing ? 0 : presence.find(code);
    bool is_alone = is_missing ? presence.n_missing == 1 : presence.n_rows[place] == 1;
    if (presence.n_missing == 0) choice.missing_left = true;
    if (!is_alone) return;
    auto goes_as_missing = [&] {
        bool sees_missing = presence.n_missing > (is_missing ? 1 : 0);
        return sees_missing ? choice.missing_left : weighs_more_left();
    };
    if (is_missing) {
        choice.missing_left = goes_as_missing();
    } else if (column.is_categorical) {
        uint64_t bit = uint64_t{1} << (code % 64);
        set[code / 64] &= ~bit;
        bool is_left =
            choice.unseen == Unseen::as_missing ? goes_as_missing() : choice.unseen == Unseen::left;
        if (is_left) set[code / 64] |= bit;
    } else {
        settle_between(column, presence, place, choice);
    }
}

// What a left-out row has chosen.
struct Chosen {
    const Choice& choice;
    const std::vector<uint64_t>& set;
};

// Of the rows that are not the left-out row, are those on the left at least as heavy?
template <class Stats>
bool weighs_more_left(const LeftOutNode<Stats>& node, const Stats& stats,
                      const SumsWithout<Stats>& sums_without_row, uint32_t row,
                      const Chosen& chosen, WorkerScratch<Stats>& mine) {
    const Column& column = node.layout.table->columns[chosen.choice.column];
    std::vector<typename Stats::Slot> left(stats.width()), right(stats.width());
    int64_t rows_left = 0;
    for (uint32_t each : node.layout.rows) {
        if (each == row || !sends_left(chosen.choice, chosen.set, column, each)) continue;
        stats.add(each, left.data());
        ++rows_left;
    }
    subtract(sums_without_row.totals.slots, left, right);
    return !stats.is_lighter({rows_left, left.data()},
                             {sums_without_row.totals.rows - rows_left, right.data()},
                             sums_without_row.context, mine.search.scaled);
}

}  // namespace treefold
