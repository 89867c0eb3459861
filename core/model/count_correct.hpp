// What the rows that reach each node come to, and how many rows the trees of many cells predict rightly.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/replay.hpp"

namespace treefold {

// Adds what nodes have, a line each, to all nodes above them.
void add_up(const Tree& tree, std::span<double> lines);

// Rows by the leaf of the full tree where they end, and their classes.
struct TestRows {
    std::span<const int64_t> leaves;
    std::span<const int32_t> classes;
};

// The trees of some cells of one full tree are to be tested, on one set of rows after the other.
struct CountRequest {
    const Tree* tree;
    std::span<const Cell> cells;
    std::vector<TestRows> tests;
};

// (cell, test) of each request: how many rows are predicted rightly.
std::vector<std::vector<double>> count_correct(std::span<const CountRequest> requests,
                                               Workers& workers);

}  // namespace treefold
