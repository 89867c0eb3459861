// Weakest-link pruning (Breiman et al. 1984, chapter 3): the path of subtrees for growing alpha.
//
// The effective alpha of a split is how much its subtree lowers the impurity per leaf it adds. The split with the
// least is cut, again and again. A subtree's sums are added up anew from its two children after each cut, never
// by subtracting, so equal subtrees have equal alphas and no noise creeps in; published alphas never fall.

#include <algorithm>
#include <limits>
#include <queue>

#include "model/tree.hpp"

namespace treefold {

namespace {

class WeakestLink {
public:
    explicit WeakestLink(const RiskTree& tree)
        : risk_(tree.risks), leaf_risk_(tree.risks), right_(tree.rights),
          n_leaves_(tree.risks.size(), 1), parent_(tree.risks.size(), kNone) {
        for (uint32_t node = size(); node-- > 0;) {  // children have higher numbers
            if (!is_split(node)) continue;
            parent_[left(node)] = parent_[right_[node]] = node;
            add_up(node);
            links_.push({effective_alpha(node), node});
        }
    }

    double impurity() const { return leaf_risk_[0]; }
    int64_t n_leaves() const { return n_leaves_[0]; }

    // Cuts all splits that share the least alpha, given the alpha reached so far, and says each of them.
    // False when none is left.
    template <class Say>
    bool cut_next(double& alpha, Say&& say) {
        bool has_cut = false;
        while (!links_.empty()) {
            auto [link_alpha, node] = links_.top();
            if (!is_split(node) ||
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
        uint32_t node;
        bool operator<(
            const Link& other) const {  // a max-heap: the least alpha, then the lowest node, on top
            return alpha != other.alpha ? alpha > other.alpha : node > other.node;
        }
    };
    static constexpr uint32_t kNone = UINT32_MAX;

    uint32_t size() const { return static_cast<uint32_t>(risk_.size()); }
    bool is_split(uint32_t node) const { return right_[node] != 0; }
    static uint32_t left(uint32_t node) { return node + 1; }
    void add_up(uint32_t node) {
        leaf_risk_[node] = leaf_risk_[left(node)] + leaf_risk_[right_[node]];
        n_leaves_[node] = n_leaves_[left(node)] + n_leaves_[right_[node]];
    }
    double effective_alpha(uint32_t node) const {
        double gain = risk_[node] - leaf_risk_[node];
        return std::max(0.0, gain / static_cast<double>(n_leaves_[node] - 1));
    }
    template <class Say>
    void cut(uint32_t top, Say&& say) {
        std::vector<uint32_t> stack{top};
        while (!stack.empty()) {
            uint32_t node = stack.back();
            stack.pop_back();
            if (!is_split(node)) continue;
            say(node);
            stack.push_back(left(node));
            stack.push_back(right_[node]);
            right_[node] = 0;
        }
        leaf_risk_[top] = risk_[top];
        n_leaves_[top] = 1;
        for (uint32_t node = parent_[top]; node != kNone; node = parent_[node]) {
            add_up(node);
            links_.push({effective_alpha(node), node});
        }
    }

    std::vector<double> risk_, leaf_risk_;
    std::vector<uint32_t> right_;  // of the splits that are not cut
    std::vector<uint32_t> n_leaves_, parent_;
    std::priority_queue<Link> links_;
};

RiskTree risks_of(const Tree& tree) {
    RiskTree result{std::vector<double>(tree.size()), std::vector<uint32_t>(tree.size(), 0)};
    for (size_t node = 0; node < tree.size(); ++node) {
        result.risks[node] = tree.risk(node);
        if (!tree.is_leaf(node))
            result.rights[node] = static_cast<uint32_t>(tree.children_right[node]);
    }
    return result;
}

}  // namespace

PruningPath pruning_path(const Tree& tree) {
    WeakestLink links(risks_of(tree));
    PruningPath path{{0.0}, {links.impurity()}, {links.n_leaves()}};
    for (double alpha = 0.0; links.cut_next(alpha, [](uint32_t) {});) {
        path.alphas.push_back(alpha);
        path.impurities.push_back(links.impurity());
        path.n_leaves.push_back(links.n_leaves());
    }
    return path;
}

std::vector<double> cut_alphas(const RiskTree& tree, double limit) {
    WeakestLink links(tree);
    std::vector<double> alphas(tree.risks.size(), std::numeric_limits<double>::infinity());
    std::vector<uint32_t> cut;
    for (double alpha = 0.0;
         links.cut_next(alpha, [&](uint32_t node) { cut.push_back(node); }) && alpha <= limit;
         cut.clear())
        for (uint32_t node : cut) alphas[node] = alpha;
    return alphas;
}

Tree prune(const Tree& tree, double ccp_alpha) {
    std::vector<double> alphas = cut_alphas(risks_of(tree), ccp_alpha);
    std::vector<bool> is_kept(tree.size());
    for (size_t node = 0; node < tree.size(); ++node) is_kept[node] = alphas[node] > ccp_alpha;
    return keep_splits(tree, is_kept);
}

}  // namespace treefold
