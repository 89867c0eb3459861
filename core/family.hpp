// Who trains on what, and who asks for answers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rules.hpp"

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
    std::vector<uint32_t> rows;
};

// One tree that somebody wants: the rows it trains on (ascending, all of positive weight), its rules, and who
// asks it.
struct Member {
    std::vector<uint32_t> rows;
    Rules rules;
    std::span<const double> weights;  // of all rows of the table; empty: every row counts one
    Demand demand;
};

// none     one member after another (the paper's S)
// overlap  members go on together, each adds up its own rows (OS)
// folds    members go on together, a row is added up once for all members that have it (CV)
enum class Sharing : uint8_t { none, overlap, folds };

// Rows as the caller names them. Throws if one is not among so many, or if they have to ascend and do not.
std::vector<uint32_t> read_rows(std::span<const uint32_t> rows, size_t n_rows, bool must_ascend);

// How many different sets of members some rows train, of so many that are evenly spaced in a table. rows: of each
// member, ascending.
size_t count_strata(const std::vector<std::span<const uint32_t>>& rows, size_t n_rows,
                    size_t n_looked_at);

// The trees that grow together.
struct Family {
    std::vector<Member> members;
    Sharing sharing = Sharing::none;
    std::optional<Questions> questions;  // none: rows of the table ask
};

}  // namespace treefold
