#include "model/tree.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace treefold {

int64_t Tree::depth() const {
    std::vector<int64_t> depth(size(), 0);
    int64_t deepest = 0;
    for (size_t node = 0; node < size(); ++node) {
        deepest = std::max(deepest, depth[node]);
        if (is_leaf(node)) continue;
        depth[static_cast<size_t>(children_left[node])] = depth[node] + 1;
        depth[static_cast<size_t>(children_right[node])] = depth[node] + 1;
    }
    return deepest;
}

void Tree::append(const Tree& from, size_t node) {
    children_left.push_back(kLeafChild);
    children_right.push_back(kLeafChild);
    feature.push_back(from.feature[node]);
    threshold.push_back(from.threshold[node]);
    missing_go_to_left.push_back(from.missing_go_to_left[node]);
    float32_side.push_back(from.float32_side[node]);
    impurity.push_back(from.impurity[node]);
    n_node_samples.push_back(from.n_node_samples[node]);
    weighted_n_node_samples.push_back(from.weighted_n_node_samples[node]);
    auto value_begin = from.value.begin() + static_cast<ptrdiff_t>(node * n_values());
    value.insert(value.end(), value_begin, value_begin + static_cast<ptrdiff_t>(n_values()));
    if (from.category_begin.empty()) return;
    if (category_begin.empty()) category_begin.push_back(0);
    std::span<const uint64_t> set = from.left_set(node);
    category_words.insert(category_words.end(), set.begin(), set.end());
    category_begin.push_back(static_cast<int64_t>(category_words.size()));
    unknown_go_to_left.push_back(from.unknown_go_to_left[node]);
}

Tree keep_splits(const Tree& tree, const std::vector<bool>& is_split_kept) {
    Tree kept;
    kept.n_classes = tree.n_classes;
    kept.n_categories = tree.n_categories;
    struct Visit {
        int64_t node, parent;  // parent: in `kept`, of a right child; else -1
    };
    std::vector<Visit> stack{{0, -1}};
    while (!stack.empty()) {
        auto [node, parent] = stack.back();
        stack.pop_back();
        auto at = static_cast<size_t>(node), here = kept.size();
        if (parent >= 0)
            kept.children_right[static_cast<size_t>(parent)] = static_cast<int32_t>(here);
        kept.append(tree, at);
        if (tree.is_leaf(at)) continue;
        if (is_split_kept[at]) {
            kept.children_left[here] = static_cast<int32_t>(here) + 1;
            stack.push_back({tree.children_right[at], static_cast<int64_t>(here)});
            stack.push_back({tree.children_left[at], -1});
        } else {
            kept.feature[here] = kLeafFeature;
            kept.threshold[here] = kLeafThreshold;
            kept.missing_go_to_left[here] = kept.float32_side[here] = 0;
            if (kept.category_begin.empty()) continue;
            kept.unknown_go_to_left[here] = 0;
            kept.category_words.resize(static_cast<size_t>(kept.category_begin[here]));
            kept.category_begin[here + 1] = kept.category_begin[here];
        }
    }
    return kept;
}

std::vector<double> feature_importances(const Tree& tree) {
    std::vector<double> importances(tree.n_categories.size(), 0.0);
    for (size_t node = 0; node < tree.size(); ++node) {
        if (tree.is_leaf(node)) continue;
        auto left = static_cast<size_t>(tree.children_left[node]),
             right = static_cast<size_t>(tree.children_right[node]);
        const auto& weight = tree.weighted_n_node_samples;
        importances[static_cast<size_t>(tree.feature[node])] +=
            weight[node] * tree.impurity[node] - weight[left] * tree.impurity[left] -
            weight[right] * tree.impurity[right];
    }
    for (double& importance : importances) importance /= tree.weighted_n_node_samples[0];
    return importances;
}

namespace {

[[noreturn]] void refuse(const std::string& why) { throw DataError("not a valid tree: " + why); }

void validate_lengths(const Tree& tree) {
    size_t n = tree.size();
    if (n == 0) refuse("it has no nodes");
    if (n % 2 == 0) refuse("a binary tree has an odd number of nodes");
    if (tree.n_classes < 0) refuse("the number of classes is negative");
    bool fits = tree.children_right.size() == n && tree.threshold.size() == n &&
                tree.missing_go_to_left.size() == n && tree.float32_side.size() == n &&
                tree.impurity.size() == n && tree.n_node_samples.size() == n &&
                tree.weighted_n_node_samples.size() == n &&
                tree.value.size() == n * tree.n_values() &&
                (tree.category_begin.size() == n + 1 || tree.category_begin.empty()) &&
                (tree.unknown_go_to_left.size() == n || tree.unknown_go_to_left.empty());
    if (!fits) refuse("its arrays differ in length");
    for (int32_t count : tree.n_categories)
        if (count < 0) refuse("a column has a negative number of categories");
}

void validate_sets(const Tree& tree) {
    const std::vector<int64_t>& begin = tree.category_begin;
    if ((begin.empty() ? 0 : begin.back()) != static_cast<int64_t>(tree.category_words.size()) ||
        (!begin.empty() && begin[0] != 0))
        refuse("its category sets do not fill their array");
    if (!std::is_sorted(begin.begin(), begin.end())) refuse("its category sets overlap");
}

void validate_split(const Tree& tree, size_t node) {
    int64_t feature = tree.feature[node];
    if (feature >= static_cast<int64_t>(tree.n_categories.size()))
        refuse("node " + std::to_string(node) + " splits on column " + std::to_string(feature) +
               ", which does not exist");
    int32_t n_categories = tree.n_categories[static_cast<size_t>(feature)];
    if (tree.left_set(node).size() != (static_cast<size_t>(n_categories) + 63) / 64)
        refuse("node " + std::to_string(node) + " has a category set of the wrong size");
    if ((n_categories == 0) == std::isnan(tree.threshold[node]))
        refuse("node " + std::to_string(node) + " has a threshold that does not fit its column");
}

void validate_numbers(const Tree& tree, size_t node) {
    std::string at = "node " + std::to_string(node);
    if (tree.missing_go_to_left[node] > 1) refuse(at + " has a missing side that is not 0 or 1");
    if (!tree.unknown_go_to_left.empty() && tree.unknown_go_to_left[node] > 1)
        refuse(at + " has a side of unknown categories that is not 0 or 1");
    if (tree.float32_side[node] > 2) refuse(at + " has a float32 side that is not 0, 1 or 2");
    if (!(tree.impurity[node] >= 0) || std::isinf(tree.impurity[node]))
        refuse(at + " has a bad impurity");
    if (tree.n_node_samples[node] < 1) refuse(at + " has no rows");
    double weight = tree.weighted_n_node_samples[node];
    if (!(weight > 0) || std::isinf(weight)) refuse(at + " has a bad weight");
    for (size_t k = 0; k < tree.n_values(); ++k)
        if (!std::isfinite(tree.value[node * tree.n_values() + k]))
            refuse(at + " has a value that is not a number");
}

// Trees of before there were groups of rare categories do not say where unknown ones go: as missing values do.
void settle_categories(Tree& tree) {
    if (!tree.has_categories())
        tree.category_begin.clear(), tree.unknown_go_to_left.clear();
    else if (tree.unknown_go_to_left.empty())
        tree.unknown_go_to_left = tree.missing_go_to_left;
}

}  // namespace

// In preorder the right child of a node is where its left subtree ends, so walking once with a stack of
// open right children checks the whole shape: every node is reached exactly once, children after parents.
void complete_and_validate(Tree& tree) {
    validate_lengths(tree);
    validate_sets(tree);
    tree.children_left.assign(tree.size(), kLeafChild);
    std::vector<int64_t> open;  // right children that are still to come, innermost last
    for (size_t node = 0; node < tree.size(); ++node) {
        validate_numbers(tree, node);
        bool is_last = node + 1 == tree.size();
        if (!tree.is_leaf(node)) {
            if (is_last) refuse("its last node is a split");
            validate_split(tree, node);
            tree.children_left[node] = static_cast<int32_t>(node) + 1;
            open.push_back(tree.children_right[node]);
            continue;
        }
        if (tree.feature[node] != kLeafFeature || tree.children_right[node] != kLeafChild ||
            !tree.left_set(node).empty())
            refuse("leaf " + std::to_string(node) + " has what only a split has");
        if (open.empty() != is_last)
            refuse("node " + std::to_string(node) + " is not where preorder has it");
        if (is_last) break;
        if (open.back() != static_cast<int64_t>(node) + 1)
            refuse("a right child is not where preorder has it (node " + std::to_string(node + 1) +
                   ")");
        open.pop_back();
    }
    settle_categories(tree);
}

}  // namespace treefold
