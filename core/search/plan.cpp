#include "search/plan.hpp"

#include <algorithm>
#include <bit>

#include "search/cut_filter.hpp"

namespace treefold {

namespace {

// Histograms need many rows to a code, which only the upper nodes have. The scan of a mean is cheap enough to beat them
// in the nodes below (Abalone: 1.1 times as fast a growth), unless those are few.
bool is_scanned(const Column& column, size_t n_rows, const PlanWishes& wishes) {
    constexpr size_t kRowsPerCode = 512;
    return wishes.n_classes == 0 && wishes.is_single && wishes.keeps_orders &&
           !column.is_categorical && n_rows < kRowsPerCode * column.n_codes;
}

}  // namespace

PlanOwner::PlanOwner(const Table& table, const PlanWishes& wishes, Workers& workers) {
    plan_.table = &table;
    auto [n_classes, keeps_orders, is_single] = wishes;
    plan_.keeps_orders = keeps_orders;
    int label_bits = n_classes > 1 ? std::bit_width(static_cast<unsigned>(n_classes - 1)) : 0;
    int row_bits = std::bit_width(table.n_rows);
    plan_.class_bits = label_bits + row_bits <= 32 ? label_bits : 0;
    order_of_.assign(table.columns.size(), -1);
    for (uint32_t k = 0; k < table.columns.size(); ++k) {
        const Column& column = table.columns[k];
        if (column.is_sparse && keeps_orders) continue;
        bool is_few = !column.is_sparse && !column.codes.narrow.empty() &&
                      !is_scanned(column, table.n_rows, wishes);
        (is_few ? few_columns_ : other_columns_).push_back(k);
        plan_.has_lookups |= column.is_sparse;
        if (!keeps_orders || column.is_categorical || is_few || column.is_sparse) continue;
        order_of_[k] = static_cast<int32_t>(plan_.n_orders++);
    }
    auto is_numeric = [&](uint32_t k) { return !table.columns[k].is_categorical; };
    auto categorical = std::stable_partition(few_columns_.begin(), few_columns_.end(), is_numeric);
    plan_.n_few_numeric = static_cast<size_t>(categorical - few_columns_.begin());
    few_starts_.assign(1, 0);
    few_of_.assign(table.columns.size(), -1);
    for (uint32_t k : few_columns_) {
        few_of_[k] = static_cast<int32_t>(few_starts_.size() - 1);
        few_starts_.push_back(few_starts_.back() + table.columns[k].n_lines());
        few_lines_.resize(few_starts_.back(), static_cast<uint32_t>(few_of_[k]));
    }
    bool is_lined_up = few_columns_ == table.lines.columns;
    if (!is_lined_up) lines_ = line_up(table, few_columns_, workers);
    plan_.few_codes = {(is_lined_up ? table.lines : lines_).codes.data(), few_columns_.size()};
    plan_.order_of = order_of_;
    plan_.few_columns = few_columns_;
    plan_.few_of = few_of_;
    plan_.few_starts = few_starts_;
    plan_.few_lines = few_lines_;
    plan_.other_columns = other_columns_;
}

// Columns of many codes are sorted in small nodes, as most codes of a histogram would be in use by nobody.
Way Plan::way_of(uint32_t at, size_t n_rows) const {
    constexpr size_t kCodesPerRow = 4;
    const Column& column = table->columns[at];
    if (column.is_sparse) return Way::looked_up;
    if (order_of[at] >= 0) return Way::order;
    if (column.is_categorical || column.n_codes <= kCodesPerRow * n_rows) return Way::codes;
    return Way::sorted;
}

bool Plan::has_few_rows(size_t n_codes, size_t n_rows, size_t n_labels) {
    size_t n_weighed = n_codes > kDenseCodes && n_labels > 2 ? n_rows : 3 * n_rows;
    return n_weighed < n_codes * n_labels;
}

bool filters_classes(const Rules& rules) {
    return rules.criterion == Criterion::gini && rules.class_multipliers.empty() &&
           rules.min_weight_leaf <= 0.0 && rules.search == Search::fastest;
}

bool can_search_together(const Table& table, const Rules& rules) {
    return filters_classes(rules) && rules.max_leaf_nodes == 0 &&
           rules.max_features >= table.columns.size() &&
           std::none_of(table.columns.begin(), table.columns.end(),
                        [](const Column& column) { return column.is_sparse; });
}

Way Plan::way_of_few(size_t n_rows) {
    constexpr size_t kSmall = 64;
    return n_rows <= kSmall ? Way::small_histogram : Way::histogram;
}

// Missing values, sparse columns, draws and least weights ask for the other ways; so do sets of three and more categories
// where rows are not compared.
size_t most_rows_at_once(const Table& table, const Rules& rules, bool compares) {
    bool is_exact = rules.search == Search::exact;
    if (rules.max_features < table.columns.size() || rules.min_weight_leaf > 0.0 || is_exact)
        return 0;
    compares = compares && table.n_rows < INT32_MAX;
    size_t most = compares ? kComparedRows : 3;
    for (const Column& column : table.columns) {
        if (column.is_sparse || column.has_missing) return 0;
        if (column.is_categorical && !compares) most = 2;
    }
    return most;
}

size_t find_unkept_rows(const Plan& plan, size_t n_classes) {
    constexpr size_t kTypical = 128, kPerRow = 20;  // instructions, beside those of the cuts
    size_t n_few = plan.few_columns.size();
    bool is_filtered = plan.n_few_numeric == n_few &&
                       std::none_of(plan.few_columns.begin(), plan.few_columns.end(),
                                    [&](uint32_t k) { return plan.table->columns[k].has_missing; });
    if (!is_filtered) return kUnkeptRows;
    CutFilter filter;
    filter.choose(plan, 0, n_few);
    size_t filtering = filter.expect_work(kTypical, n_classes, 1) + kPerRow * kTypical;
    size_t keeping = n_few * kTypical * 5 / 4 + 3 * plan.n_few_lines() * n_classes;
    return filtering < keeping ? kFilteredRows : kUnkeptRows;
}

}  // namespace treefold
