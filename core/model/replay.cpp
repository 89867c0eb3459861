#include "model/replay.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <tuple>

#include "base/lanes.hpp"

namespace treefold {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What the limits of a cell are compared with. Each number also speaks for the nodes above: depths rise and
// rows fall on the way down, and the decrease is the least of the path.
struct Mark {
    double depth = 0;
    double n_rows = -kInfinity;  // a leaf keeps this, and no limit lets it pass
    double decrease = kInfinity;
    double risk = 0;  // impurity, times the share of the root's weight
    uint32_t rank = 0;  // in the order of best-first growth
    uint32_t end = 0;  // of the subtree: one past its last node
};

bool passes(const Mark& mark, const Cell& cell) {
    return mark.depth < cell.max_depth && mark.n_rows >= cell.min_samples_split &&
           mark.decrease >= cell.min_impurity_decrease;
}

// A node of a filtered tree; steps are in preorder.
struct Step {
    uint32_t node;
    uint32_t next;  // the first step that is not below this one
    uint64_t is_leaf;  // bit k: in the tree of the group's k-th cell
};

// Cells that differ in ccp_alpha only. Their trees are one walk with a bit for each.
struct Group {
    Cell limits;
    std::vector<size_t> cells;
};
constexpr size_t kGroupSize = 64;

std::vector<Group> group_cells(std::span<const Cell> cells) {
    auto limits = [&](size_t cell) {
        const Cell& at = cells[cell];
        return std::tie(at.max_depth, at.min_samples_split, at.min_impurity_decrease,
                        at.max_leaf_nodes);
    };
    std::vector<size_t> sorted(cells.size());
    std::iota(sorted.begin(), sorted.end(), size_t{0});
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](size_t a, size_t b) { return limits(a) < limits(b); });
    std::vector<Group> groups;
    for (size_t k = 0; k < sorted.size(); ++k) {
        bool is_new = k == 0 || limits(sorted[k]) != limits(sorted[k - 1]) ||
                      groups.back().cells.size() == kGroupSize;
        if (is_new) groups.push_back({cells[sorted[k]], {}});
        groups.back().cells.push_back(sorted[k]);
    }
    return groups;
}

// Weakest links of all cells of a group, four to a vector, from the leaves up: a split is cut if the risk that
// it saves is at most alpha for each leaf that it adds, after what is cut below it. prune.cpp cuts in the order
// of rising alpha, which comes to the same unless roundings decide; then it is asked.
class LanePruning {
public:
    LanePruning(const std::vector<Mark>& marks, std::vector<Step>& steps,
                const std::vector<double>& alphas)
        : marks_(marks), steps_(steps), alphas_((alphas.size() + 3) / 4) {
        for (size_t k = 0; k < 4 * alphas_.size(); ++k)
            alphas_[k / 4][k % 4] = k < alphas.size() && alphas[k] > 0 ? alphas[k] : -kInfinity;
    }

    void run() {
        for (size_t k = steps_.size(); k-- > 0;)  // right subtrees, then left ones, then nodes
            if (steps_[k].is_leaf != 0)
                push_leaf(risk(k));
            else
                steps_[k].is_leaf = join(k);
    }

private:
    // More than all roundings on both ways, relative to the risk, in trees a million deep.
    static constexpr double kSlack = 1.0 / (int64_t{1} << 30);

    struct Subtree {
        Lanes risk, n_leaves;
    };

    double risk(size_t step) const { return marks_[steps_[step].node].risk; }

    void push_leaf(double risk) {
        Subtree leaf{Lanes{} + risk, Lanes{} + 1.0};
        stack_.insert(stack_.end(), alphas_.size(), leaf);
    }

    // Replaces the two subtrees on top by that of their parent. Returns the bits of the cells that cut it.
    uint64_t join(size_t step) {
        uint64_t is_cut = 0;
        double own = risk(step), slack = kSlack * own;
        size_t n_quads = alphas_.size();
        Subtree *left = &stack_[stack_.size() - n_quads], *right = left - n_quads;
        for (size_t quad = 0; quad < n_quads; ++quad) {
            Lanes risk = left[quad].risk + right[quad].risk;
            Lanes n_leaves = left[quad].n_leaves + right[quad].n_leaves;
            Lanes worth = own - risk - alphas_[quad] * (n_leaves - 1.0);
            LaneMask is_kept = worth > slack, is_close = ~(is_kept | (worth < -slack));
            if (any_lane(is_close)) [[unlikely]]
                for (size_t lane = 0; lane < 4; ++lane)
                    if (is_close[lane] != 0 &&
                        !is_cut_closely(step, risk[lane], n_leaves[lane], alphas_[quad][lane]))
                        is_kept[lane] = -1;
            is_cut |= lane_bits(~is_kept) << 4 * quad;
            right[quad].risk = is_kept ? risk : Lanes{} + own;
            right[quad].n_leaves = is_kept ? n_leaves : Lanes{} + 1.0;
        }
        stack_.resize(stack_.size() - n_quads);
        return is_cut;
    }

    // A split that survives up to alpha is then judged by the very same numbers; only the order of cuts before
    // that may have cut it already, if there were any below it.
    bool is_cut_closely(size_t step, double leaf_risk, double n_leaves, double alpha) const {
        double gain = risk(step) - leaf_risk;
        if (std::max(0.0, gain / (n_leaves - 1.0)) <= alpha) return true;
        uint32_t end = steps_[step].next;
        auto n_nodes = static_cast<double>(end - step);
        if (n_leaves == (n_nodes + 1) / 2) return false;
        RiskTree subtree;
        for (size_t k = step; k < end; ++k) {
            bool is_split = steps_[k].next != k + 1;
            subtree.risks.push_back(risk(k));
            subtree.rights.push_back(is_split ? steps_[k + 1].next - static_cast<uint32_t>(step)
                                              : 0);
        }
        return cut_alphas(subtree, alpha)[0] <= alpha;
    }

    const std::vector<Mark>& marks_;
    std::vector<Step>& steps_;
    std::vector<Lanes> alphas_;
    std::vector<Subtree> stack_;  // one per quad, of the subtrees that wait for their parent
};

// The tree of one cell.
class CellTree {
public:
    CellTree(const std::vector<Step>& steps, size_t bit) : steps_(steps), bit_(bit) {}

    // Calls one of the two for each node, in preorder.
    template <class OnLeaf, class OnSplit>
    void walk(OnLeaf&& on_leaf, OnSplit&& on_split) const {
        for (size_t k = 0; k < steps_.size();) {
            const Step& step = steps_[k];
            bool is_leaf = (step.is_leaf >> bit_ & 1) != 0;
            is_leaf ? on_leaf(step.node) : on_split(step.node);
            k = is_leaf ? step.next : k + 1;
        }
    }
    template <class OnLeaf>
    void walk_leaves(OnLeaf&& on_leaf) const {
        walk(on_leaf, [](uint32_t) {});
    }

private:
    const std::vector<Step>& steps_;
    size_t bit_;
};

class Replay {
public:
    Replay(const Tree& tree, std::span<const Cell> cells)
        : tree_(tree), cells_(cells), marks_(tree.size()) {
        mark_nodes();
        for (const Cell& cell : cells)
            if (cell.max_leaf_nodes > 0 && order_.empty()) rank_splits();
    }

    const Mark& mark(size_t node) const { return marks_[node]; }

    // Calls visit(cell, its tree, worker) for every cell, in any order.
    using Visit = std::function<void(size_t cell, const CellTree& tree, int worker)>;
    void for_each_cell(Workers& workers, const Visit& visit) const {
        std::vector<Group> groups = group_cells(cells_);
        workers.for_each(groups.size(), [&](size_t task, int worker) {
            const Group& group = groups[task];
            std::vector<Step> steps = filter(group.limits);
            prune_steps(group, steps);
            for (size_t k = 0; k < group.cells.size(); ++k)
                visit(group.cells[k], CellTree(steps, k), worker);
        });
    }

private:
    struct Part {
        double weight, impurity;
    };
    Part part(size_t node) const {
        return {tree_.weighted_n_node_samples[node], tree_.impurity[node]};
    }
    size_t left(size_t node) const { return static_cast<size_t>(tree_.children_left[node]); }
    size_t right(size_t node) const { return static_cast<size_t>(tree_.children_right[node]); }
    double decrease(size_t node) const {
        return impurity_decrease(part(0).weight, part(node), part(left(node)), part(right(node)));
    }

    void mark_nodes() {
        for (size_t node = 0; node < tree_.size(); ++node) {
            Mark& mark = marks_[node];
            mark.risk = tree_.risk(node);
            if (tree_.is_leaf(node)) continue;
            mark.n_rows = static_cast<double>(tree_.n_node_samples[node]);
            mark.decrease = std::min(mark.decrease, decrease(node));
            for (size_t child : {left(node), right(node)}) {
                marks_[child].depth = mark.depth + 1;
                marks_[child].decrease = mark.decrease;
            }
        }
        for (size_t node = tree_.size(); node-- > 0;)
            marks_[node].end =
                tree_.is_leaf(node) ? static_cast<uint32_t>(node) + 1 : marks_[right(node)].end;
    }

    // The order of best-first growth without limits. It serves every filter: what a filter takes away, it takes
    // with all below, and the rest follows each other as before.
    void rank_splits() {
        using Entry = std::tuple<double, double, int64_t>;  // the largest: decrease, -depth, -node
        std::priority_queue<Entry> frontier;
        auto open = [&](size_t node) {
            if (!tree_.is_leaf(node))
                frontier.emplace(decrease(node), -marks_[node].depth, -static_cast<int64_t>(node));
        };
        for (open(0); !frontier.empty();) {
            auto node = static_cast<size_t>(-std::get<2>(frontier.top()));
            frontier.pop();
            marks_[node].rank = static_cast<uint32_t>(order_.size());
            order_.push_back(static_cast<uint32_t>(node));
            open(left(node));
            open(right(node));
        }
    }

    // The rank of the first split that max_leaf_nodes leaves undone.
    uint32_t end_rank(const Cell& limits) const {
        if (!(limits.max_leaf_nodes > 0)) return UINT32_MAX;
        double n_leaves = 1;
        for (uint32_t node : order_)
            if (passes(marks_[node], limits) && ++n_leaves > limits.max_leaf_nodes)
                return marks_[node].rank;
        return UINT32_MAX;
    }

    std::vector<Step> filter(const Cell& limits) const {
        std::vector<Step> steps;
        uint32_t end = end_rank(limits);
        for (uint32_t node = 0; node < marks_.size();) {
            const Mark& mark = marks_[node];
            bool is_split = passes(mark, limits) && mark.rank < end;
            steps.push_back({node, 0, is_split ? 0 : ~uint64_t{0}});
            node = is_split ? node + 1 : mark.end;
        }
        for (size_t k = steps.size(); k-- > 0;)
            steps[k].next = steps[k].is_leaf != 0 ? static_cast<uint32_t>(k) + 1
                                                  : steps[steps[k + 1].next].next;
        return steps;
    }

    void prune_steps(const Group& group, std::vector<Step>& steps) const {
        std::vector<double> alphas;
        for (size_t cell : group.cells) alphas.push_back(cells_[cell].ccp_alpha);
        if (*std::max_element(alphas.begin(), alphas.end()) > 0)
            LanePruning(marks_, steps, alphas).run();
    }

    const Tree& tree_;
    std::span<const Cell> cells_;
    std::vector<Mark> marks_;
    std::vector<uint32_t> order_;  // splits by rank
};

void fill_leaf_map(const Replay& replay, const CellTree& cell_tree, int32_t* map) {
    cell_tree.walk(
        [&](uint32_t leaf) {
            std::fill(map + leaf, map + replay.mark(leaf).end, static_cast<int32_t>(leaf));
        },
        [&](uint32_t split) { map[split] = static_cast<int32_t>(split); });
}

}  // namespace

Tree replay_tree(const Tree& tree, const Cell& cell) {
    std::vector<bool> is_split(tree.size());
    Workers alone(1, nullptr);
    Replay(tree, {&cell, 1}).for_each_cell(alone, [&](size_t, const CellTree& cell_tree, int) {
        cell_tree.walk([](uint32_t) {}, [&](uint32_t split) { is_split[split] = true; });
    });
    return keep_splits(tree, is_split);
}

CellSizes replay_sizes(const Tree& tree, std::span<const Cell> cells, Workers& workers) {
    CellSizes sizes{std::vector<int64_t>(cells.size()), std::vector<int64_t>(cells.size())};
    Replay replay(tree, cells);
    replay.for_each_cell(workers, [&](size_t cell, const CellTree& cell_tree, int) {
        double depth = 0;
        cell_tree.walk_leaves([&](uint32_t leaf) {
            ++sizes.n_leaves[cell];
            depth = std::max(depth, replay.mark(leaf).depth);
        });
        sizes.depths[cell] = static_cast<int64_t>(depth);
    });
    return sizes;
}

std::vector<int32_t> replay_leaf_map(const Tree& tree, std::span<const Cell> cells,
                                     Workers& workers) {
    std::vector<int32_t> maps(cells.size() * tree.size());
    Replay replay(tree, cells);
    replay.for_each_cell(workers, [&](size_t cell, const CellTree& cell_tree, int) {
        fill_leaf_map(replay, cell_tree, maps.data() + cell * tree.size());
    });
    return maps;
}

std::vector<int64_t> replay_nodes(const Tree& tree, std::span<const Cell> cells,
                                  std::span<const int64_t> leaves, Workers& workers) {
    std::vector<int64_t> nodes(cells.size() * leaves.size());
    std::vector<std::vector<int32_t>> maps(static_cast<size_t>(workers.size()),
                                           std::vector<int32_t>(tree.size()));
    Replay replay(tree, cells);
    replay.for_each_cell(workers, [&](size_t cell, const CellTree& cell_tree, int worker) {
        int32_t* map = maps[static_cast<size_t>(worker)].data();
        fill_leaf_map(replay, cell_tree, map);
        int64_t* ends = nodes.data() + cell * leaves.size();
        for (size_t row = 0; row < leaves.size(); ++row)
            ends[row] = map[static_cast<size_t>(leaves[row])];
    });
    return nodes;
}

std::vector<double> replay_sums(const Tree& tree, std::span<const Cell> cells,
                                std::span<const double> statistics, Workers& workers) {
    size_t width = statistics.size() / tree.size();
    std::vector<double> sums(cells.size() * width);
    Replay replay(tree, cells);
    replay.for_each_cell(workers, [&](size_t cell, const CellTree& cell_tree, int) {
        double* own = sums.data() + cell * width;
        cell_tree.walk_leaves([&](uint32_t leaf) {
            for (size_t k = 0; k < width; ++k) own[k] += statistics[leaf * width + k];
        });
    });
    return sums;
}

}  // namespace treefold
