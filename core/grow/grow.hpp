// The growth loop: every tree of the library comes out of it.
#pragma once

#include "data/table.hpp"
#include "grow/request.hpp"
#include "grow/work.hpp"
#include "model/tree.hpp"

namespace treefold {

// What is to be predicted, as the caller has it.
struct TargetView {
    std::span<const int32_t> classes;  // classification
    int n_classes = 0;                 // 0: regression
    std::span<const double> numbers;   // regression
    size_t n_rows() const { return n_classes > 0 ? classes.size() : numbers.size(); }
};

struct Grown {
    std::vector<Tree> trees;  // one per member
    std::vector<std::vector<int64_t>> leaves;  // by member: of each row that asks
    Work work;
};

Grown grow(const Table& table, const TargetView& target, Family family, Workers& workers);

// What the tree of each member says of the rows that ask it; no tree is kept.
struct Answered {
    std::vector<std::vector<double>> values;  // by member: (row that asks, value)
    Work work;
};

Answered answer(const Table& table, const TargetView& target, Family family, Workers& workers);

// What is said of each row by the tree that is grown without it (leave_one_out/).
struct Left {
    std::vector<double> values;  // (row of the table, value); only rows that asked have any
    Work work;
};

// The member's rows without one, for each row that asks.
Left leave_one_out(const Table& table, const TargetView& target, Member member, Workers& workers);

}  // namespace treefold
