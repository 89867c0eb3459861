// Who trains on what, and who asks for answers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/memory.hpp"
#include "split/rules.hpp"

namespace treefold {

// Rows that ask and are not in the table: their values line by line, NaN where one is missing.
struct Questions {
    std::vector<double> lines;
    size_t n_rows = 0, n_columns = 0;
    double at(size_t row, size_t column) const { return lines[row * n_columns + column]; }
};

// Which rows, of the table or of the questions, want an answer. Unless everything is wanted, a node that none of them
// reaches is not grown: it stays a leaf that describes its rows.
struct Demand {
    bool is_everything = true;
    Words rows;
};

// Rows that train, or all that do not; ascending.
struct NamedRows {
    std::span<const uint32_t> rows;
    bool do_train;

    bool trains(uint32_t row) const;
};

// The rows that a member trains on, ascending: those of a list, or all of the table but those of a list, which is
// short for the members of a cross-validation and need not be turned round where they share what they add up.
class TrainingRows {
public:
    TrainingRows() = default;
    static TrainingRows of(Words rows) { return TrainingRows(std::move(rows), 0, true); }
    static TrainingRows all_but(Words left_out, size_t n_table_rows) {
        return TrainingRows(std::move(left_out), n_table_rows, false);
    }

    size_t size() const { return is_listed_ ? list_.size() : n_table_rows_ - list_.size(); }
    NamedRows named() const { return {list_, is_listed_}; }
    Words& list() {
        if (!is_listed_) turn_round();
        return list_;
    }
    // visit(first, last) for the stretches of consecutive rows that train, and for single ones of a list.
    template <class Visit>
    void for_each_stretch(Visit&& visit) const {
        uint32_t first = 0;
        for (uint32_t row : list_) {
            is_listed_ ? visit(row, row + 1) : visit(first, row);
            first = row + 1;
        }
        if (!is_listed_) visit(first, static_cast<uint32_t>(n_table_rows_));
    }

private:
    TrainingRows(Words list, size_t n_table_rows, bool is_listed)
        : list_(std::move(list)), n_table_rows_(n_table_rows), is_listed_(is_listed) {}
    void turn_round();

    Words list_;
    size_t n_table_rows_ = 0;
    bool is_listed_ = true;
};

// One tree that somebody wants: the rows it trains on (all of positive weight), its rules, and who asks it.
struct Member {
    TrainingRows rows;
    Rules rules;
    std::span<const double> weights;  // of all rows of the table; empty: every row counts one
    Demand demand;
};

// none     one member after another (the paper's S)
// overlap  members go on together, each adds up its own rows (OS)
// folds    members go on together, a row is added up once for all members that have it (CV)
enum class Sharing : uint8_t { none, overlap, folds };

// Rows as the caller names them. Throws if one is not among so many, or if they have to ascend and do not.
Words read_rows(std::span<const uint32_t> rows, size_t n_rows, bool must_ascend);

// The trees that grow together.
struct Family {
    std::vector<Member> members;
    Sharing sharing = Sharing::none;
    std::optional<Questions> questions;  // none: rows of the table ask
};

}  // namespace treefold
