// The growth loop: every tree of the library comes out of it.
#pragma once

#include "family.hpp"
#include "table.hpp"
#include "tree.hpp"
#include "work.hpp"

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
    Work work;
};

Grown grow(const Table& table, const TargetView& target, Family family, Workers& workers);

}  // namespace treefold
