// Who trains on what, and who asks for answers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rules.hpp"

namespace treefold {

// One tree that somebody wants: the rows it trains on (ascending, all of positive weight) and its rules.
struct Member {
    std::vector<uint32_t> rows;
    Rules rules;
};

// The trees that grow together. Today growth takes families of one.
struct Family {
    std::vector<Member> members;
};

// Which rows of the table want an answer. A node that none of them reaches is not grown: it stays a
// leaf that describes its rows. Everyone asks, unless rows are named.
struct Demand {
    bool is_everything = true;
    std::vector<uint32_t> rows;
};

}  // namespace treefold
