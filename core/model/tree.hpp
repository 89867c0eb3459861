// The result: one array per field, in preorder (a node's left child is the next node).
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "base/parallel.hpp"
#include "data/source.hpp"

namespace treefold {

inline constexpr int32_t kLeafChild = -1;
inline constexpr int32_t kLeafFeature = -2;
inline constexpr double kLeafThreshold = -2.0;

struct Tree {
    int n_classes = 0;                    // 0: regression
    std::vector<int32_t> n_categories;    // per column; 0: numeric
    std::vector<int32_t> children_left, children_right, feature;
    std::vector<double> threshold;  // NaN in categorical splits, +inf for `present | missing`
    std::vector<uint8_t> missing_go_to_left;
    std::vector<uint8_t> float32_side;  // of numeric splits (split.hpp)
    std::vector<double> impurity;
    std::vector<int32_t> n_node_samples;
    std::vector<double> weighted_n_node_samples;
    std::vector<double> value;  // (node, class): class fractions, or the mean
    std::vector<int64_t>
        category_begin;  // (node + 1) offsets into category_words; empty if no column has categories
    std::vector<uint64_t> category_words;
    std::vector<uint8_t>
        unknown_go_to_left;  // of categories without a number; empty if no column has categories

    size_t size() const { return feature.size(); }
    size_t n_values() const { return n_classes == 0 ? 1 : static_cast<size_t>(n_classes); }
    bool is_leaf(size_t node) const { return feature[node] < 0; }
    bool has_categories() const {
        return std::any_of(n_categories.begin(), n_categories.end(), [](int32_t n) { return n; });
    }
    // The categories that go left, as bits; empty in leaves and numeric splits.
    std::span<const uint64_t> left_set(size_t node) const {
        if (category_begin.empty()) return {};
        return {category_words.data() + category_begin[node],
                category_words.data() + category_begin[node + 1]};
    }
    // The impurity that the node has in the whole tree.
    double risk(size_t node) const {
        return impurity[node] * weighted_n_node_samples[node] / weighted_n_node_samples[0];
    }
    int64_t depth() const;
    int64_t n_leaves() const { return static_cast<int64_t>((size() + 1) / 2); }
    int64_t samples_of_all_nodes() const {
        return std::accumulate(n_node_samples.begin(), n_node_samples.end(), int64_t{0});
    }
    void append(const Tree& from, size_t node);  // one node, children to be set by the caller
};

// How much a split lowers the impurity, over the root's weight: in float64, left to right as the contract
// writes it, because limits and ties are decided by its last bit. A Part has a weight and an impurity.
template <class Part>
double impurity_decrease(double root_weight, const Part& whole, const Part& left,
                         const Part& right) {
    double decrease = whole.weight / root_weight *
                      (whole.impurity - right.weight / whole.weight * right.impurity -
                       left.weight / whole.weight * left.impurity);
    return std::max(decrease, 0.0);
}

// Fills children_left from preorder and throws DataError on anything growth could not have made.
void complete_and_validate(Tree& tree);

// The subtree that keeps these splits; a split that is not kept becomes a leaf.
Tree keep_splits(const Tree& tree, const std::vector<bool>& is_split_kept);

struct PruningPath {
    std::vector<double> alphas, impurities;
    std::vector<int64_t> n_leaves;
};
PruningPath pruning_path(const Tree& tree);
Tree prune(const Tree& tree, double ccp_alpha);

// What pruning needs of a tree, in preorder.
struct RiskTree {
    std::vector<double> risks;  // impurity, times the share of the whole tree's weight
    std::vector<uint32_t> rights;  // right children; 0 in leaves
};
// The strength at which each split is cut, infinite if above the limit. What happens in a subtree does not
// depend on what is around it, until it is cut as a whole.
std::vector<double> cut_alphas(const RiskTree& tree, double limit);

// Weighted impurity decrease per column, not normalised.
std::vector<double> feature_importances(const Tree& tree);

// All rows and columns as lines of float64: NaN where a value is missing, the number behind the last one where a category
// is unknown.
std::vector<double> read_lines(const Source& source);

// The leaf of each row, or all nodes that each row visits.
std::vector<int64_t> apply(const Tree& tree, const Source& source, Workers& workers);
struct DecisionPath {
    std::vector<int64_t> begins, nodes;
};
DecisionPath decision_path(const Tree& tree, const Source& source, Workers& workers);

}  // namespace treefold
