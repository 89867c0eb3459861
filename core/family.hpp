// Who trains on what, and who asks for answers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rules.hpp"

namespace treefold {

// Which rows of the table want an answer. A node that none of them reaches is not grown: it stays a
// leaf that describes its rows. Everyone asks, unless rows are named.
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

// The trees that grow together.
struct Family {
    std::vector<Member> members;
    Sharing sharing = Sharing::none;
};

}  // namespace treefold
