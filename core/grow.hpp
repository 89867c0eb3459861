// The growth loop: every tree of the library comes out of it.
#pragma once

#include "family.hpp"
#include "table.hpp"
#include "tree.hpp"

namespace treefold {

// What is to be predicted, as the caller has it.
struct TargetView {
    std::span<const int32_t> classes;  // classification
    int n_classes = 0;                 // 0: regression
    std::span<const double> numbers;   // regression
    std::span<const double> weights;   // empty: every row counts one
};

Tree grow(const Table& table, const TargetView& target, Family family, const Demand& demand,
          Workers& workers);

}  // namespace treefold
