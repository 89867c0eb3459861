// grow: open the root; while the frontier has nodes, take one, divide it, open its children.
//
//   open      is the node a leaf? search its best split; divide its rows; describe both sides
//   frontier  opened nodes: the last one is divided next (depth first), or the best one
//   divide    kept orders and stretches follow the rows
//
// With several workers, large nodes are searched column by column in parallel; subtrees that are small are
// set aside and grown one per task, by the same loop.

#include "grow.hpp"

#include <algorithm>
#include <optional>

#include "fixed_target.hpp"
#include "growing_tree.hpp"
#include "random.hpp"
#include "rows.hpp"
#include "search.hpp"

namespace treefold {

namespace {

// Nodes below this many cells are left to one worker: waking the others takes longer (about 20 us).
constexpr size_t kParallelCells = 40'000;

// An interruption is looked for after this many cells, and before each column of a node that has more rows.
constexpr size_t kCheckedCells = 1'000'000;

// Orders are kept if at least one column in so many is tried in each node; if fewer are, sorting the rows
// of those costs less than carrying all orders along.
constexpr uint64_t kKeepShare = 16;

// A stretch of rows with what it adds up to.
template <class Target>
struct Part {
    size_t begin = 0, end = 0;  // of Layout::rows
    size_t asked_begin = 0, asked_end = 0;  // of the rows that ask
    size_t record = 0;  // in GrowingTree
    typename Target::Totals totals;
    typename Target::Context context;
    Description description;

    size_t size() const { return end - begin; }
};

template <class Target>
struct Node : Part<Target> {
    int64_t depth = 0;
    uint64_t key = 0;
    std::vector<Stretch> stretches;
    std::vector<uint32_t> histogram;  // kept (few.hpp), or empty
    // Set when the node is opened:
    Split split;
    Part<Target> left, right;
    double decrease = 0.0;
};

// Opened nodes, and which of them is divided next.
template <class Target>
class Frontier {
public:
    explicit Frontier(bool is_best_first) : is_best_first_(is_best_first) {}
    bool empty() const { return nodes_.empty(); }
    void push(Node<Target>&& node) {
        nodes_.push_back(std::move(node));
        if (is_best_first_) std::push_heap(nodes_.begin(), nodes_.end(), is_worse);
    }
    Node<Target> pop() {
        if (is_best_first_) std::pop_heap(nodes_.begin(), nodes_.end(), is_worse);
        Node<Target> node = std::move(nodes_.back());
        nodes_.pop_back();
        return node;
    }

private:
    // Ties: lower depth, then further left (nodes of one depth lie in the order of their rows).
    static bool is_worse(const Node<Target>& a, const Node<Target>& b) {
        if (a.decrease != b.decrease) return a.decrease < b.decrease;
        if (a.depth != b.depth) return a.depth > b.depth;
        return a.begin > b.begin;
    }
    bool is_best_first_;
    std::vector<Node<Target>> nodes_;
};

// What one worker needs for itself.
template <class Target>
struct Desk {
    explicit Desk(size_t n_rows) : sides(n_rows) {}
    Sides sides;
    Scratch<typename Target::Slot> scratch;
    typename FewSearchOf<Target>::Type few{};
    Findings findings;

    uint32_t* spare(size_t size) {
        if (scratch.spare.size() < size) scratch.spare.resize(size);
        return scratch.spare.data();
    }
};

template <class Target>
class Grower {
public:
    Grower(const Table& table, const Target& target, const Member& member, const Demand& demand,
           Layout& layout, Workers& workers)
        : table_(table), target_(target), rules_(member.rules), demand_(demand), layout_(layout),
          workers_(workers), asked_(demand.rows) {
        for (int worker = 0; worker < workers.size(); ++worker) desks_.emplace_back(table.n_rows);
    }

    Tree run() {
        GrowingTree tree(target_.is_classification ? target_.width() : 1, table_);
        std::vector<Node<Target>> set_aside;
        grow_from(make_root(tree), tree, workers_.size() > 1 ? &set_aside : nullptr, 0);
        grow_set_aside(set_aside, tree);
        return tree.in_preorder(target_.is_classification ? static_cast<int>(target_.width()) : 0);
    }

private:
    // The loop.
    void grow_from(Node<Target>&& root, GrowingTree& tree, std::vector<Node<Target>>* set_aside,
                   int worker) {
        Frontier<Target> frontier(rules_.max_leaf_nodes != 0);
        auto consider = [&](Node<Target>&& node) {
            if (set_aside != nullptr && is_task(node))
                set_aside->push_back(std::move(node));
            else if (open(node, tree, worker))
                frontier.push(std::move(node));
        };
        size_t n_unchecked = 0;
        consider(std::move(root));
        for (int64_t n_leaves = 1; !frontier.empty() && n_leaves != rules_.max_leaf_nodes;
             ++n_leaves) {
            Node<Target> node = frontier.pop();
            if ((n_unchecked += node.size() * table_.columns.size()) > kCheckedCells)
                workers_.check(), n_unchecked = 0;
            auto [left, right] = divide(node, tree, worker);
            if (right) consider(std::move(*right));
            if (left) consider(std::move(*left));
        }
    }

    // Small subtrees, each a task with a tree of its own that is grafted on afterwards.
    void grow_set_aside(std::vector<Node<Target>>& nodes, GrowingTree& tree) {
        std::vector<std::optional<GrowingTree>> subtrees(nodes.size());
        std::vector<size_t> records;
        for (const Node<Target>& node : nodes) records.push_back(node.record);
        in_tasks_ = true;
        workers_.for_each(nodes.size(), [&](size_t task, int worker) {
            subtrees[task].emplace(tree.start_subtree(records[task]));
            nodes[task].record = 0;
            grow_from(std::move(nodes[task]), *subtrees[task], nullptr, worker);
        });
        for (size_t task = 0; task < subtrees.size(); ++task)
            tree.graft(records[task], *subtrees[task]);
    }

    Node<Target> make_root(GrowingTree& tree) {
        Node<Target> root;
        root.end = layout_.n_rows;
        root.asked_end = asked_.size();
        root.key = root_key(rules_.seed, rules_.tree);
        root.totals = target_.sum_rows(layout_.rows);
        root.stretches = layout_.root_stretches;
        root.record = tree.add_nodes(1);
        describe(root, tree, 0);
        root_weight_ = root.description.weight;
        return root;
    }

    void describe(Part<Target>& part, GrowingTree& tree, int worker) {
        auto& scaled = desks_[static_cast<size_t>(worker)].scratch.scaled;
        part.context = target_.context(part.totals, rows_of(part));
        part.description = target_.describe(part.totals, rows_of(part), part.context,
                                            tree.value(part.record), scaled);
        tree.describe(part.record, part.description, static_cast<int64_t>(part.size()));
    }

    std::span<uint32_t> rows_of(const Part<Target>& part) {
        return {layout_.rows.data() + part.begin, part.size()};
    }

    // Not when the best leaf anywhere is divided next.
    bool is_task(const Node<Target>& node) const {
        return rules_.max_leaf_nodes == 0 &&
               node.size() * 4 * static_cast<size_t>(workers_.size()) < layout_.n_rows;
    }

    bool is_leaf(const Part<Target>& part, int64_t depth) const {
        auto n_rows = static_cast<int64_t>(part.size());
        bool is_asked = demand_.is_everything || part.asked_begin < part.asked_end;
        return part.description.is_pure || depth >= rules_.max_depth ||
               n_rows < rules_.min_samples_split || n_rows < 2 * rules_.min_samples_leaf ||
               part.description.weight < 2 * rules_.min_weight_leaf ||
               part.description.impurity <= rules_.min_impurity || !is_asked;
    }

    // Finds the node's split and describes its children. False: the node stays a leaf.
    bool open(Node<Target>& node, GrowingTree& tree, int worker) {
        if (is_leaf(node, node.depth)) return false;
        node.split = find_split(node, worker);
        if (!node.split.exists()) return false;
        divide_rows(node, worker);
        sum_children(node);
        settle_missing(node);
        divide_asked(node, worker);
        node.left.record = tree.add_nodes(2);
        node.right.record = node.left.record + 1;
        describe(node.left, tree, worker);
        describe(node.right, tree, worker);
        const Description &whole = node.description, &left = node.left.description,
                          &right = node.right.description;
        double decrease = whole.weight / root_weight_ *
                          (whole.impurity - right.weight / whole.weight * right.impurity -
                           left.weight / whole.weight * left.impurity);
        node.decrease = std::max(decrease, 0.0);
        if (node.decrease >= rules_.min_impurity_decrease) return true;
        tree.drop_nodes(2);
        return false;
    }

    Split find_split(Node<Target>& node, int worker) {
        NodeView<Target> view{target_,       rules_,     node.totals, node.context,
                              rows_of(node), node.begin, node.end};
        Desk<Target>& desk = desks_[static_cast<size_t>(worker)];
        desk.findings.reset();
        bool tries_all = rules_.max_features >= table_.columns.size();
        if (node.size() == 2 && tries_all && rules_.min_weight_leaf <= 0.0 &&
            Search<Target>(layout_, view, desk.scratch, desk.findings).two_rows())
            return std::move(desk.findings.best);
        prepare_float64(view, node.description);
        if (view.has_kernel && node.histogram.empty() && keeps_histogram(node))
            count_rows_of(node, node.histogram, worker);
        if (!tries_all)
            search_drawn(view, node, desk);
        else if (is_shared(worker, node.size() * table_.columns.size()))
            search_in_parallel(view, node, desk);
        else
            search_range(view, node, 0, n_searched(node), desk);
        resolve_pending(layout_, view, desk.findings);
        return std::move(desk.findings.best);
    }

    // Columns are numbered for the search: few-valued, other, listed.
    size_t n_searched(const Node<Target>& node) const {
        return layout_.few_columns.size() + layout_.other_columns.size() + node.stretches.size();
    }
    void search_range(const NodeView<Target>& view, const Node<Target>& node, size_t first,
                      size_t last, Desk<Target>& desk) {
        Search<Target> search(layout_, view, desk.scratch, desk.findings);
        size_t n_few = layout_.few_columns.size(), n_dense = n_few + layout_.other_columns.size();
        search.few(desk.few, std::min(first, n_few), std::min(last, n_few), node.histogram);
        for (size_t k = std::max(first, n_few); k < std::min(last, n_dense); ++k) {
            if (node.size() > kCheckedCells) workers_.check();
            search.column(layout_.other_columns[k - n_few]);
        }
        for (size_t k = std::max(first, n_dense); k < last; ++k)
            search.stretch(node.stretches[k - n_dense]);
    }

    // Only the main loop shares its work: tasks already run beside each other.
    bool is_shared(int worker, size_t n_cells) const {
        return worker == 0 && workers_.size() > 1 && !in_tasks_ && n_cells >= kParallelCells;
    }

    void search_in_parallel(const NodeView<Target>& view, const Node<Target>& node,
                            Desk<Target>& desk) {
        for (Desk<Target>& other : desks_) other.findings.reset();
        size_t n_columns = n_searched(node), n_tasks = std::min(n_columns, 4 * desks_.size());
        workers_.for_each(n_tasks, [&](size_t task, int worker) {
            search_range(view, node, n_columns * task / n_tasks, n_columns * (task + 1) / n_tasks,
                         desks_[static_cast<size_t>(worker)]);
        });
        for (Desk<Target>& other : desks_)
            if (&other != &desk) desk.findings.merge(std::move(other.findings));
    }

    // Columns by their draw, until max_features that are not constant here have been tried.
    void search_drawn(const NodeView<Target>& view, const Node<Target>& node, Desk<Target>& desk) {
        std::vector<std::pair<uint64_t, uint32_t>> ranked;
        for (uint32_t column = 0; column < table_.columns.size(); ++column)
            ranked.emplace_back(draw_column(node.key, column), column);
        std::sort(ranked.begin(), ranked.end());
        Search<Target> search(layout_, view, desk.scratch, desk.findings);
        uint64_t n_tried = 0;
        for (auto [draw, column] : ranked) {
            if (n_tried == rules_.max_features) break;
            if (table_.columns[column].is_sparse && layout_.position.empty()) {
                const Stretch* stretch = find_stretch(node, column);
                n_tried += stretch != nullptr && search.stretch(*stretch);
            } else {
                n_tried += search.column(column);
            }
        }
    }

    static const Stretch* find_stretch(const Node<Target>& node, uint32_t column) {
        auto found = std::lower_bound(
            node.stretches.begin(), node.stretches.end(), column,
            [](const Stretch& stretch, uint32_t at) { return stretch.column < at; });
        return found != node.stretches.end() && found->column == column ? &*found : nullptr;
    }

    bool code_goes_left(const Split& split, uint32_t code) const {
        return goes_left(code, split.code, code == table_.columns[split.column].missing_code(),
                         split.missing_left,
                         split.is_categorical ? split.left_set.data() : nullptr);
    }

    void divide_rows(Node<Target>& node, int worker) {
        Desk<Target>& desk = desks_[static_cast<size_t>(worker)];
        const Column& column = table_.columns[node.split.column];
        std::span<uint32_t> rows = rows_of(node);
        uint32_t* spare = desk.spare(rows.size());
        size_t n_left;
        if (column.is_sparse) {
            mark_sparse(node, column, desk.sides);
            n_left = treefold::divide(rows, spare,
                                      [&](uint32_t row) { return desk.sides.is_left(row); });
        } else {
            n_left = column.codes.with([&](auto* codes) {
                return treefold::divide(rows, spare, [&](uint32_t row) {
                    return code_goes_left(node.split, codes[row]);
                });
            });
        }
        node.left.begin = node.begin;
        node.left.end = node.right.begin = node.begin + n_left;
        node.right.end = node.end;
        if (layout_.position.empty()) return;
        for (size_t k = node.begin; k < node.end; ++k)
            layout_.position[layout_.rows[k]] = static_cast<uint32_t>(k);
    }

    void mark_sparse(const Node<Target>& node, const Column& column, Sides& sides) {
        bool is_zero_left = code_goes_left(node.split, column.zero_code);
        for (uint32_t row : rows_of(node)) sides.set(row, is_zero_left);
        auto mark = [&](uint32_t row, uint32_t code) {
            sides.set(row, code_goes_left(node.split, code));
        };
        if (const Stretch* stretch = find_stretch(node, node.split.column)) {
            for (size_t k = stretch->begin; k < stretch->end; ++k)
                mark(layout_.listed_words[k] >> layout_.class_bits, layout_.listed_codes[k]);
            return;
        }
        for (size_t k = 0; k < column.listed_rows.size(); ++k) {
            uint32_t place = layout_.position[column.listed_rows[k]];
            if (place >= node.begin && place < node.end)
                mark(column.listed_rows[k], column.listed_codes[k]);
        }
    }

    // The smaller side is added up, the other is what remains.
    void sum_children(Node<Target>& node) {
        bool is_left_smaller = node.left.size() <= node.right.size();
        Part<Target>& smaller = is_left_smaller ? node.left : node.right;
        Part<Target>& larger = is_left_smaller ? node.right : node.left;
        smaller.totals = target_.sum_rows(rows_of(smaller));
        larger.totals = node.totals;
        larger.totals.rows -= smaller.totals.rows;
        for (size_t k = 0; k < target_.width(); ++k)
            larger.totals.slots[k] -= smaller.totals.slots[k];
    }

    // Where the node saw no missing value: the child with more weight. Absent categories go along.
    void settle_missing(Node<Target>& node) {
        Split& split = node.split;
        if (!split.saw_missing)
            split.missing_left = weight_of(node, node.left) >= weight_of(node, node.right);
        if (!split.is_categorical || !split.missing_left) return;
        const Column& column = table_.columns[split.column];
        std::vector<uint64_t> present(split.left_set.size());
        for (uint32_t row : rows_of(node)) {
            uint32_t code = column.codes[row];
            present[code / 64] |= uint64_t{1} << (code % 64);
        }
        for (uint32_t code = 0; code < column.n_codes; ++code)
            if (!has_bit(present.data(), code))
                split.left_set[code / 64] |= uint64_t{1} << (code % 64);
    }
    double weight_of(const Node<Target>& node, const Part<Target>& part) {
        std::vector<int64_t> scaled;
        return target_.weight_of({part.totals.rows, part.totals.slots.data()}, node.context,
                                 scaled);
    }

    void divide_asked(Node<Target>& node, int worker) {
        std::span<uint32_t> asked(asked_.data() + node.asked_begin,
                                  node.asked_end - node.asked_begin);
        const Column& column = table_.columns[node.split.column];
        size_t n_left = treefold::divide(
            asked, desks_[static_cast<size_t>(worker)].spare(asked.size()),
            [&](uint32_t row) { return code_goes_left(node.split, column.code_of(row)); });
        node.left.asked_begin = node.asked_begin;
        node.left.asked_end = node.right.asked_begin = node.asked_begin + n_left;
        node.right.asked_end = node.asked_end;
    }

    bool keeps_histogram(const Part<Target>& part) const {
        if constexpr (!std::is_same_v<Target, ClassTarget<int64_t>>) return false;
        return rules_.max_features >= table_.columns.size() &&
               keeps_histograms(layout_, part.size(), target_.width());
    }
    void count_rows_of(const Part<Target>& part, std::vector<uint32_t>& histogram, int worker) {
        if constexpr (std::is_same_v<Target, ClassTarget<int64_t>>) {
            histogram.assign(layout_.few_starts.back() * target_.width(), 0);
            size_t n_few = layout_.few_columns.size();
            size_t n_tasks = is_shared(worker, part.size() * n_few) ? desks_.size() : 1;
            workers_.for_each(n_tasks, [&](size_t task, int) {
                count_rows(layout_, target_, rows_of(part), n_few * task / n_tasks,
                           n_few * (task + 1) / n_tasks, histogram.data());
            });
        }
    }
    // The smaller child is counted, the larger one takes what remains.
    void divide_histogram(Node<Target>& node, std::optional<Node<Target>>& left,
                          std::optional<Node<Target>>& right, int worker) {
        bool is_left_smaller = node.left.size() <= node.right.size();
        std::optional<Node<Target>>& larger = is_left_smaller ? right : left;
        std::optional<Node<Target>>& smaller = is_left_smaller ? left : right;
        if (node.histogram.empty() || !larger || !keeps_histogram(*larger)) return;
        std::vector<uint32_t> counted;
        count_rows_of(is_left_smaller ? node.left : node.right, counted, worker);
        for (size_t k = 0; k < counted.size(); ++k) node.histogram[k] -= counted[k];
        larger->histogram = std::move(node.histogram);
        if (smaller && keeps_histogram(*smaller)) smaller->histogram = std::move(counted);
    }

    // The children that are not surely leaves; orders and stretches follow their rows.
    std::pair<std::optional<Node<Target>>, std::optional<Node<Target>>> divide(Node<Target>& node,
                                                                               GrowingTree& tree,
                                                                               int worker) {
        std::optional<Node<Target>> left, right;
        if (!is_leaf(node.left, node.depth + 1)) left = make_child(node, node.left, true);
        if (!is_leaf(node.right, node.depth + 1)) right = make_child(node, node.right, false);
        divide_histogram(node, left, right, worker);
        if ((left || right) && !(layout_.orders.empty() && node.stretches.empty())) {
            Sides& sides = desks_[static_cast<size_t>(worker)].sides;
            for (size_t k = node.begin; k < node.end; ++k)
                sides.set(layout_.rows[k], k < node.left.end);
            divide_orders(node, left.has_value(), right.has_value(), worker);
            divide_stretches(node, left, right, worker);
        }
        tree.set_split(node.record, node.split, node.left.record);
        return {std::move(left), std::move(right)};
    }

    static Node<Target> make_child(const Node<Target>& node, Part<Target>& part, bool is_left) {
        Node<Target> child;
        static_cast<Part<Target>&>(child) = std::move(part);
        child.depth = node.depth + 1;
        child.key = child_key(node.key, is_left);
        return child;
    }

    void divide_orders(const Node<Target>& node, bool needs_left, bool needs_right, int worker) {
        const Sides& sides = desks_[static_cast<size_t>(worker)].sides;
        int bits = layout_.class_bits;
        auto is_left = [&](uint32_t word) { return sides.is_left(word >> bits); };
        auto divide_one = [&](size_t order, int at) {
            std::span<uint32_t> words(layout_.orders[order].data() + node.begin, node.size());
            if (needs_left && needs_right)
                treefold::divide(words, desks_[static_cast<size_t>(at)].spare(node.size()),
                                 is_left);
            else if (needs_left)
                keep_left(words, is_left);
            else
                keep_right(words, is_left);
        };
        if (is_shared(worker, node.size() * layout_.orders.size()))
            workers_.for_each(layout_.orders.size(), divide_one);
        else
            for (size_t order = 0; order < layout_.orders.size(); ++order)
                divide_one(order, worker);
    }

    void divide_stretches(const Node<Target>& node, std::optional<Node<Target>>& left,
                          std::optional<Node<Target>>& right, int worker) {
        Desk<Target>& desk = desks_[static_cast<size_t>(worker)];
        int bits = layout_.class_bits;
        for (const Stretch& stretch : node.stretches) {
            size_t n = stretch.end - stretch.begin, n_left = 0, n_right = 0;
            uint32_t* spare = desk.spare(2 * n);
            uint32_t *words = layout_.listed_words.data() + stretch.begin,
                     *codes = layout_.listed_codes.data() + stretch.begin;
            for (size_t k = 0; k < n; ++k) {
                uint32_t word = words[k], code = codes[k];
                bool is_left = desk.sides.is_left(word >> bits);
                words[n_left] = word, codes[n_left] = code;
                spare[n_right] = word, spare[n + n_right] = code;
                n_left += is_left, n_right += !is_left;
            }
            std::copy_n(spare, n_right, words + n_left);
            std::copy_n(spare + n, n_right, codes + n_left);
            size_t middle = stretch.begin + n_left;
            if (left && n_left != 0)
                left->stretches.push_back({stretch.column, stretch.begin, middle});
            if (right && n_right != 0)
                right->stretches.push_back({stretch.column, middle, stretch.end});
        }
    }

    const Table& table_;
    const Target& target_;
    const Rules& rules_;
    const Demand& demand_;
    Layout& layout_;
    Workers& workers_;
    std::vector<uint32_t> asked_;
    std::vector<Desk<Target>> desks_;
    double root_weight_ = 0.0;
    bool in_tasks_ = false;
};

template <class Target>
Tree grow_with(const Table& table, const Target& target, const TargetView& view,
               const Member& member, const Demand& demand, Workers& workers) {
    uint64_t n_columns = table.columns.size(), n_tried = member.rules.max_features;
    bool keeps_orders = n_tried >= n_columns || n_tried * kKeepShare >= n_columns;
    Layout layout =
        lay_out(table, member.rows, view.classes, view.n_classes, keeps_orders, workers);
    return Grower<Target>(table, target, member, demand, layout, workers).run();
}

}  // namespace

Tree grow(const Table& table, const TargetView& view, const Family& family, const Demand& demand,
          Workers& workers) {
    if (family.members.size() != 1) throw DataError("growth takes families of one member");
    const Member& member = family.members[0];
    if (member.rows.empty()) throw DataError("no row has a positive weight");
    return with_target(view, member, [&](const auto& target) {
        return grow_with(table, target, view, member, demand, workers);
    });
}

}  // namespace treefold
