// A kind of statistics that the library does not have, grown through its loop: pairs of gradient and hessian.
//
// Grows trees on random tables of few- and many-valued numbers with missing values and compares them, node by
// node, with a search that tries every cut on its own. Prints how many trees and nodes were equal, and by which ways
// columns were searched; ends with 1 at the first difference.

#include <cstdio>
#include <random>

#include "family/family_grower.hpp"

namespace treefold {

// Integers on a grid; the quality of a split is what XGBoost's gain adds up to, with lambda one.
struct GradientPairs {
    using Slot = int64_t;
    using Totals = Sums<std::array<int64_t, 2>>;
    struct Context {};
    static constexpr bool is_classification = false, serves_groups = false, kCounts = false;

    std::span<const int64_t> gradients, hessians;

    size_t width() const { return 2; }
    bool counts_rows() const { return true; }
    bool is_unit() const { return false; }
    void add(uint32_t row, int64_t* slots) const {
        slots[0] += gradients[row], slots[1] += hessians[row];
    }
    Totals sum_rows(std::span<const uint32_t> rows) const {
        Totals totals{static_cast<int64_t>(rows.size()), {}};
        for (uint32_t row : rows) add(row, totals.slots.data());
        return totals;
    }
    Context context(const Totals&, std::span<const uint32_t>) const { return {}; }
    static double score(const int64_t* slots) {
        auto g = static_cast<double>(slots[0]);
        return g * g / (static_cast<double>(slots[1]) + 1.0);
    }
    double quality(Side<Slot> left, Side<Slot> right, const Context&, std::vector<int64_t>&,
                   double allowance = 0.0) const {
        return score(left.slots) + score(right.slots) - allowance;
    }
    double chance_gain(const Totals&, const Context&, Scaled, std::vector<int64_t>&) const {
        return 0.0;
    }
    double weight_of(Side<Slot> side, const Context&, std::vector<int64_t>&) const {
        return static_cast<double>(side.rows);
    }
    bool is_lighter(Side<Slot> side, Side<Slot> other, const Context&,
                    std::vector<int64_t>&) const {
        return side.rows < other.rows;
    }
    double share(Side<Slot> side, size_t, const Context&, std::vector<int64_t>&) const {
        return static_cast<double>(side.slots[0]) / (static_cast<double>(side.slots[1]) + 1.0);
    }
    Description describe(const Totals& totals, std::span<const uint32_t> rows, const Context&,
                         double* value, std::vector<int64_t>&) const {
        *value = -share(totals.side(), 0, {}, unused_);
        Description node;
        node.weight = static_cast<double>(totals.rows);
        node.is_pure = std::all_of(rows.begin(), rows.end(), [&](uint32_t row) {
            return gradients[row] == gradients[rows[0]] && hessians[row] == hessians[rows[0]];
        });
        node.impurity = node.is_pure ? 0.0 : 1.0;
        return node;
    }

private:
    static inline std::vector<int64_t> unused_;
};
static_assert(Statistics<GradientPairs>);

}  // namespace treefold

namespace {

using namespace treefold;

struct Case {
    std::vector<std::vector<double>> columns;
    std::vector<int64_t> gradients, hessians;
    Rules rules;
    size_t n_rows() const { return gradients.size(); }
};

Case draw_case(std::mt19937_64& random) {
    auto below = [&](uint64_t n) { return random() % n; };
    Case drawn;
    size_t n_rows = 1 + below(below(4) == 0 ? 600 : 40), n_columns = 1 + below(5);
    for (size_t row = 0; row < n_rows; ++row) {
        drawn.gradients.push_back(static_cast<int64_t>(below(41)) - 20);
        drawn.hessians.push_back(static_cast<int64_t>(1 + below(5)));
    }
    for (size_t at = 0; at < n_columns; ++at) {
        uint64_t n_values = below(3) == 0 ? 1'000'000 : 1 + below(12);
        bool has_missing = below(3) == 0;
        std::vector<double> column;
        for (size_t row = 0; row < n_rows; ++row)
            column.push_back(has_missing && below(4) == 0 ? std::nan("")
                                                          : static_cast<double>(below(n_values)));
        drawn.columns.push_back(std::move(column));
    }
    drawn.rules.min_samples_leaf = static_cast<int64_t>(1 + below(4));
    drawn.rules.max_depth = static_cast<int64_t>(1 + below(9));
    drawn.rules.order = below(2) == 0 ? Order::last : Order::level;
    return drawn;
}

// The tree as the contract says, cut by cut.
class EveryCut {
public:
    EveryCut(const Case& drawn, const Tree& tree) : case_(drawn), tree_(tree) {
        stats_.gradients = drawn.gradients, stats_.hessians = drawn.hessians;
    }

    // Is the subtree from this node on the one that these rows have?
    bool agrees(const std::vector<uint32_t>& rows, int64_t depth = 0) {
        size_t node = next_++;
        if (static_cast<size_t>(tree_.n_node_samples[node]) != rows.size()) return false;
        double value;
        auto totals = stats_.sum_rows(rows);
        bool is_pure = stats_.describe(totals, rows, {}, &value, scratch_).is_pure;
        if (tree_.value[node] != value) return false;
        auto n_rows = static_cast<int64_t>(rows.size());
        Found best;
        if (!is_pure && depth < case_.rules.max_depth && n_rows >= 2)
            for (size_t at = 0; at < case_.columns.size(); ++at) search(at, rows, totals, best);
        if (best.column == SIZE_MAX) return tree_.children_left[node] == kLeafChild;
        if (tree_.children_left[node] == kLeafChild ||
            tree_.feature[node] != static_cast<int32_t>(best.column) ||
            tree_.threshold[node] != best.threshold)
            return false;
        return agrees(best.left, depth + 1) && agrees(best.right, depth + 1);
    }

private:
    struct Found {
        double quality = 0.0, threshold = 0.0;
        size_t column = SIZE_MAX;
        std::vector<uint32_t> left, right;
    };

    void search(size_t at, const std::vector<uint32_t>& rows, const GradientPairs::Totals& totals,
                Found& best) {
        const std::vector<double>& column = case_.columns[at];
        std::vector<double> values;
        bool has_missing = false;
        for (uint32_t row : rows) {
            if (std::isnan(column[row]))
                has_missing = true;
            else
                values.push_back(column[row]);
        }
        std::sort(values.begin(), values.end());
        values.erase(std::unique(values.begin(), values.end()), values.end());
        for (size_t k = 0; k < values.size(); ++k) {
            bool is_last = k + 1 == values.size();
            double threshold = is_last ? std::numeric_limits<double>::infinity()
                                       : threshold_between(values[k], values[k + 1]);
            for (bool missing_left : {true, false}) {
                if ((is_last && (missing_left || !has_missing)) || (missing_left && !has_missing))
                    continue;
                consider(at, threshold, missing_left, rows, totals, best);
            }
        }
    }

    void consider(size_t at, double threshold, bool missing_left, const std::vector<uint32_t>& rows,
                  const GradientPairs::Totals& totals, Found& best) {
        Found found;
        for (uint32_t row : rows) {
            double value = case_.columns[at][row];
            bool is_left = std::isnan(value) ? missing_left : value <= threshold;
            (is_left ? found.left : found.right).push_back(row);
        }
        auto least = static_cast<size_t>(case_.rules.min_samples_leaf);
        if (found.left.size() < least || found.right.size() < least) return;
        auto left = stats_.sum_rows(found.left);
        auto right = totals;
        right -= left;
        found.quality = stats_.quality(left.side(), right.side(), {}, scratch_);
        if (best.column != SIZE_MAX && found.quality <= best.quality) return;
        found.threshold = threshold, found.column = at;
        best = std::move(found);
    }

    const Case& case_;
    const Tree& tree_;
    GradientPairs stats_;
    std::vector<int64_t> scratch_;
    size_t next_ = 0;  // in preorder
};

Tree grow_case(const Case& drawn, Work& work) {
    Workers workers(1, nullptr);
    Source source(drawn.n_rows(), drawn.columns.size());
    for (size_t at = 0; at < drawn.columns.size(); ++at)
        source.add_dense(at, 1, {drawn.columns[at].data(), 1, Type::float64}, 0);
    Table table = encode(source, workers);
    GradientPairs stats;
    stats.gradients = drawn.gradients, stats.hessians = drawn.hessians;
    Family family;
    family.members.emplace_back();
    family.members[0].rules = drawn.rules;
    family.members[0].rows = TrainingRows::all_but({}, drawn.n_rows());
    TargetView view;
    auto grown =
        grow_members<GrowingTree>(table, view, family, std::vector{&std::as_const(stats)}, workers);
    grown.sinks[0]->settle_all();
    work.merge(grown.work);
    std::vector<int64_t> leaves;
    return std::move(*grown.sinks[0]).in_preorder(0, leaves);
}

}  // namespace

int main(int, char** arguments) {
    std::mt19937_64 random(std::strtoull(arguments[1], nullptr, 10));
    size_t n_nodes = 0;
    Work work;
    constexpr size_t kTrees = 2'000;
    for (size_t k = 0; k < kTrees; ++k) {
        Case drawn = draw_case(random);
        Tree tree = grow_case(drawn, work);
        std::vector<uint32_t> rows(drawn.n_rows());
        std::iota(rows.begin(), rows.end(), 0u);
        if (!EveryCut(drawn, tree).agrees(rows)) {
            std::printf("tree %zu of %zu rows differs\n", k, drawn.n_rows());
            return 1;
        }
        n_nodes += tree.size();
    }
    std::printf("trees %zu\nnodes %zu\n", kTrees, n_nodes);
    for (size_t way = 0; way < kWays; ++way)
        if (work.columns_by_way.n[way] != 0)
            std::printf("%s %llu\n", kWayNames[way],
                        static_cast<unsigned long long>(work.columns_by_way.n[way]));
    return 0;
}
