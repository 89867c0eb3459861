// Leave-one-out: a node, and the rows that are left out one at a time.
//
//   left-out row   a row that asks the tree that is grown without it: a member of the family of n trees
//   node           with all its rows, and the left-out rows whose trees agree so far that these rows are here; for each of
//                  them the node lacks that row
//   kind           rows that add the same to a node's statistics: to leave out either is the same
//   choice         what the node's split is without one row: the rows that go left, that row among them or not
#pragma once

#include <algorithm>
#include <map>
#include <numeric>

#include "grow/growth.hpp"

namespace treefold {

struct Kinds {
    std::vector<uint32_t> of_row;
    std::vector<uint32_t> representatives;  // a row of each kind
};

// Rows by target and weight.
template <class Stats>
Kinds sort_into_kinds(const Stats& stats, std::span<const double> weights,
                      std::span<const uint32_t> rows, size_t n_table_rows) {
    auto key = [&](uint32_t row) {
        double y = 0.0;
        if constexpr (Stats::is_classification)
            y = stats.classes[row];
        else
            y = stats.y[row];
        return std::pair(y, weights.empty() ? 1.0 : weights[row]);
    };
    std::map<std::pair<double, double>, uint32_t> known;
    Kinds kinds;
    kinds.of_row.resize(n_table_rows);
    for (uint32_t row : rows) {
        auto [found, is_new] =
            known.try_emplace(key(row), static_cast<uint32_t>(kinds.representatives.size()));
        if (is_new) kinds.representatives.push_back(row);
        kinds.of_row[row] = found->second;
    }
    return kinds;
}

template <class Stats>
struct LeftOutNode {
    Layout layout;
    typename Stats::Totals totals;
    std::vector<uint32_t> left_out;  // ascending
    int64_t depth = 0;
    uint64_t key = 0;
    bool is_apart = false;  // its only left-out row is not among its rows
    Metered bytes;

    size_t n_rows() const { return layout.rows.size(); }
};

// Codes up to `code` go left, or the categories of `set`; the code of the left-out row has been put where it goes.
struct Choice {
    double quality = -std::numeric_limits<double>::infinity();
    uint32_t column = UINT32_MAX;
    uint32_t code = 0;
    uint32_t next_code = 0;
    uint32_t set = 0;  // categorical: in ChoiceSets
    bool missing_left = true;
    bool saw_missing = false;
    Unseen unseen = Unseen::as_missing;

    bool exists() const { return column != UINT32_MAX; }
    bool is_same(const Choice& other) const {  // of numeric columns
        return column == other.column && code == other.code && missing_left == other.missing_left;
    }
    bool is_beaten_by(double other, uint32_t other_column) const {
        return other > quality || (other == quality && other_column < column);
    }
};

using ChoiceSets = std::vector<std::vector<uint64_t>>;

}  // namespace treefold
