// Trees of tighter limits, read off one full tree: nothing is grown again.
//
// The tree of a cell is, bit for bit, what growth by its limits gives:
//   filter      a split stays if it and all splits above it pass max_depth, min_samples_split and
//               min_impurity_decrease
//   best first  of these, the first max_leaf_nodes - 1 in the order in which best-first growth divides
//   prune       the weakest links of what is left
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/tree.hpp"

namespace treefold {

// One setting of the limits, absolute. All are float64: they arrive as a matrix.
struct Cell {
    double max_depth;
    double min_samples_split;
    double min_impurity_decrease;
    double max_leaf_nodes;  // 0: no limit
    double ccp_alpha;  // 0: no pruning
};

struct CellSizes {
    std::vector<int64_t> n_leaves, depths;
};

Tree replay_tree(const Tree& tree, const Cell& cell);
CellSizes replay_sizes(const Tree& tree, std::span<const Cell> cells, Workers& workers);

// (cell, row): where a row that ends in this leaf of the full tree ends in the cell's.
std::vector<int64_t> replay_nodes(const Tree& tree, std::span<const Cell> cells,
                                  std::span<const int64_t> leaves, Workers& workers);

// (cell, node): the leaf of the cell's tree at or above the node; the node itself if it is a split there.
std::vector<int32_t> replay_leaf_map(const Tree& tree, std::span<const Cell> cells,
                                     Workers& workers);

// (cell, statistic): the sum over the leaves of the cell's tree of what each node has.
std::vector<double> replay_sums(const Tree& tree, std::span<const Cell> cells,
                                std::span<const double> statistics, Workers& workers);

}  // namespace treefold
