// Weakest-link pruning (Breiman et al. 1984, chapter 3): the path of subtrees for growing alpha.
//
// The effective alpha of a split is how much its subtree lowers the impurity per leaf it adds. The split with the
// least is cut, again and again. A subtree's sums are added up anew from its two children after each cut, never
// by subtracting, so equal subtrees have equal alphas and no noise creeps in; published alphas never fall.

#include <algorithm>
#include <limits>
#include <queue>

#include "tree.hpp"

namespace treefold {

namespace {

class WeakestLink {
public:
    explicit WeakestLink(const Tree& tree)
        : tree_(tree), risk_(tree.size()), leaf_risk_(tree.size()), n_leaves_(tree.size(), 1),
          parent_(tree.size(), -1), is_cut_(tree.size(), false) {
        double total = tree.weighted_n_node_samples[0];
        for (size_t node = 0; node < tree.size(); ++node)
            risk_[node] = tree.impurity[node] * tree.weighted_n_node_samples[node] / total;
        leaf_risk_ = risk_;
        for (size_t node = tree.size(); node-- > 0;) {  // children have higher numbers
            if (tree.is_leaf(node)) continue;
            parent_[left(node)] = parent_[right(node)] = static_cast<int64_t>(node);
            add_up(node);
        }
        for (size_t node = 0; node < tree.size(); ++node)
            if (!tree.is_leaf(node)) links_.push({effective_alpha(node), node});
    }

    double impurity() const { return leaf_risk_[0]; }

    // Cuts all splits that share the least alpha, given the alpha reached so far. False when none is left.
    bool cut_next(double& alpha, std::vector<bool>& is_split_kept) {
        bool has_cut = false;
        while (!links_.empty()) {
            auto [link_alpha, node] = links_.top();
            if (is_cut_[node] ||
                link_alpha != effective_alpha(node)) {  // outdated: the current one is queued too
                links_.pop();
                continue;
            }
            if (has_cut && link_alpha > alpha) break;
            links_.pop();
            alpha = std::max(alpha, link_alpha);
            cut(node, is_split_kept);
            has_cut = true;
        }
        return has_cut;
    }

private:
    struct Link {
        double alpha;
        size_t node;
        bool operator<(
            const Link& other) const {  // a max-heap: the least alpha, then the lowest node, on top
            return alpha != other.alpha ? alpha > other.alpha : node > other.node;
        }
    };

    size_t left(size_t node) const { return static_cast<size_t>(tree_.children_left[node]); }
    size_t right(size_t node) const { return static_cast<size_t>(tree_.children_right[node]); }
    void add_up(size_t node) {
        leaf_risk_[node] = leaf_risk_[left(node)] + leaf_risk_[right(node)];
        n_leaves_[node] = n_leaves_[left(node)] + n_leaves_[right(node)];
    }
    double effective_alpha(size_t node) const {
        double gain = risk_[node] - leaf_risk_[node];
        return std::max(0.0, gain / static_cast<double>(n_leaves_[node] - 1));
    }
    void cut(size_t top, std::vector<bool>& is_split_kept) {
        std::vector<size_t> stack{top};
        while (!stack.empty()) {
            size_t node = stack.back();
            stack.pop_back();
            if (tree_.is_leaf(node) || is_cut_[node]) continue;
            is_cut_[node] = true;
            is_split_kept[node] = false;
            stack.push_back(left(node));
            stack.push_back(right(node));
        }
        leaf_risk_[top] = risk_[top];
        n_leaves_[top] = 1;
        for (int64_t node = parent_[top]; node >= 0; node = parent_[static_cast<size_t>(node)]) {
            add_up(static_cast<size_t>(node));
            links_.push({effective_alpha(static_cast<size_t>(node)), static_cast<size_t>(node)});
        }
    }

    const Tree& tree_;
    std::vector<double> risk_, leaf_risk_;
    std::vector<int64_t> n_leaves_, parent_;
    std::vector<bool> is_cut_;
    std::priority_queue<Link> links_;
};

}  // namespace

PruningPath pruning_path(const Tree& tree) {
    WeakestLink links(tree);
    std::vector<bool> is_split_kept(tree.size(), true);
    PruningPath path{{0.0}, {links.impurity()}};
    for (double alpha = 0.0; links.cut_next(alpha, is_split_kept);) {
        path.alphas.push_back(alpha);
        path.impurities.push_back(links.impurity());
    }
    return path;
}

Tree prune(const Tree& tree, double ccp_alpha) {
    WeakestLink links(tree);
    std::vector<bool> is_split_kept(tree.size(), true), next = is_split_kept;
    for (double alpha = 0.0; links.cut_next(alpha, next) && alpha <= ccp_alpha;)
        is_split_kept = next;
    return keep_splits(tree, is_split_kept);
}

}  // namespace treefold
