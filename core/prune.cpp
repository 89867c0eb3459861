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
    WeakestLink(const Tree& tree, const std::vector<bool>& is_split)
        : tree_(tree), risk_(tree.size()), leaf_risk_(tree.size()), n_leaves_(tree.size(), 1),
          parent_(tree.size(), -1), is_split_(is_split) {
        double total = tree.weighted_n_node_samples[0];
        for (size_t node = 0; node < tree.size(); ++node)
            risk_[node] = tree.impurity[node] * tree.weighted_n_node_samples[node] / total;
        leaf_risk_ = risk_;
        for (size_t node = tree.size(); node-- > 0;) {  // children have higher numbers
            if (!is_split_[node]) continue;
            parent_[left(node)] = parent_[right(node)] = static_cast<int64_t>(node);
            add_up(node);
        }
        for (size_t node = 0; node < tree.size(); ++node)
            if (is_split_[node]) links_.push({effective_alpha(node), node});
    }

    double impurity() const { return leaf_risk_[0]; }

    // Cuts all splits that share the least alpha, given the alpha reached so far, and says each of them.
    // False when none is left.
    template <class Say>
    bool cut_next(double& alpha, Say&& say) {
        bool has_cut = false;
        while (!links_.empty()) {
            auto [link_alpha, node] = links_.top();
            if (!is_split_[node] ||
                link_alpha != effective_alpha(node)) {  // outdated: the current one is queued too
                links_.pop();
                continue;
            }
            if (has_cut && link_alpha > alpha) break;
            links_.pop();
            alpha = std::max(alpha, link_alpha);
            cut(node, say);
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
    template <class Say>
    void cut(size_t top, Say&& say) {
        std::vector<size_t> stack{top};
        while (!stack.empty()) {
            size_t node = stack.back();
            stack.pop_back();
            if (!is_split_[node]) continue;
            is_split_[node] = false;
            say(node);
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
    std::vector<bool> is_split_;  // and not cut
    std::priority_queue<Link> links_;
};

std::vector<bool> splits_of(const Tree& tree) {
    std::vector<bool> is_split(tree.size());
    for (size_t node = 0; node < tree.size(); ++node) is_split[node] = !tree.is_leaf(node);
    return is_split;
}

}  // namespace

PruningPath pruning_path(const Tree& tree) {
    WeakestLink links(tree, splits_of(tree));
    PruningPath path{{0.0}, {links.impurity()}};
    for (double alpha = 0.0; links.cut_next(alpha, [](size_t) {});) {
        path.alphas.push_back(alpha);
        path.impurities.push_back(links.impurity());
    }
    return path;
}

std::vector<double> cut_alphas(const Tree& tree, const std::vector<bool>& is_split, double limit) {
    WeakestLink links(tree, is_split);
    std::vector<double> alphas(tree.size(), std::numeric_limits<double>::infinity());
    std::vector<size_t> cut;
    for (double alpha = 0.0;
         links.cut_next(alpha, [&](size_t node) { cut.push_back(node); }) && alpha <= limit;
         cut.clear())
        for (size_t node : cut) alphas[node] = alpha;
    return alphas;
}

Tree prune(const Tree& tree, double ccp_alpha) {
    std::vector<bool> is_split = splits_of(tree);
    std::vector<double> alphas = cut_alphas(tree, is_split, ccp_alpha);
    for (size_t node = 0; node < tree.size(); ++node)
        is_split[node] = is_split[node] && alphas[node] > ccp_alpha;
    return keep_splits(tree, is_split);
}

}  // namespace treefold
