#include "search/rows.hpp"

#include <algorithm>
#include <bit>

namespace treefold {

namespace {

// Rows by ascending code: one pass of a counting sort, since the codes are ranks.
void order_rows(const Column& column, std::span<const uint32_t> rows,
                std::span<const int32_t> classes, int class_bits, uint32_t* words) {
    std::vector<uint32_t> next(column.n_codes + 2, 0);
    column.codes.with([&](auto* codes) {
        for (uint32_t row : rows) ++next[codes[row] + 1];
        for (size_t code = 1; code < next.size(); ++code) next[code] += next[code - 1];
        for (uint32_t row : rows) {
            uint32_t label = class_bits == 0 ? 0 : static_cast<uint32_t>(classes[row]);
            words[next[codes[row]]++] = row << class_bits | label;
        }
    });
}

// The listed rows of a sparse column that are in the root, by code.
void order_listed(const Column& column, const std::vector<bool>& is_member,
                  std::span<const int32_t> classes, uint32_t at, Layout& layout) {
    std::vector<std::pair<uint32_t, uint32_t>> entries;
    for (size_t k = 0; k < column.listed_rows.size(); ++k)
        if (is_member.empty() || is_member[column.listed_rows[k]])
            entries.emplace_back(column.listed_codes[k], column.listed_rows[k]);
    if (entries.empty()) return;
    std::sort(entries.begin(), entries.end());
    size_t begin = layout.listed_words.size();
    for (auto [code, row] : entries) {
        uint32_t label = layout.class_bits == 0 ? 0 : static_cast<uint32_t>(classes[row]);
        layout.listed_words.push_back(row << layout.class_bits | label);
        layout.listed_codes.push_back(code);
    }
    layout.root_stretches.push_back({at, begin, layout.listed_words.size()});
}

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
    if (few_columns_ == table.lines.columns) {
        plan_.few_codes = table.lines.codes;
    } else {
        lines_ = line_up(table, few_columns_, workers);
        plan_.few_codes = lines_.codes;
    }
    plan_.order_of = order_of_;
    plan_.few_columns = few_columns_;
    plan_.few_of = few_of_;
    plan_.few_starts = few_starts_;
    plan_.few_lines = few_lines_;
    plan_.other_columns = other_columns_;
}

Layout lay_out(const Plan& plan, Words members, std::span<const int32_t> classes,
               Workers& workers) {
    Layout layout;
    static_cast<Plan&>(layout) = plan;
    const Table& table = *plan.table;
    layout.n_rows = members.size();
    layout.rows = std::move(members);
    std::span<const uint32_t> rows = layout.rows;
    std::vector<uint32_t> ordered, listed;
    for (uint32_t k = 0; k < table.columns.size(); ++k) {
        if (plan.order_of[k] >= 0) ordered.push_back(k);
        if (table.columns[k].is_sparse && plan.keeps_orders) listed.push_back(k);
    }
    std::vector<bool> is_member;
    if (!listed.empty() && rows.size() < table.n_rows) {
        is_member.resize(table.n_rows);
        for (uint32_t row : rows) is_member[row] = true;
    }
    for (uint32_t k : listed) order_listed(table.columns[k], is_member, classes, k, layout);
    layout.order_words.resize(plan.n_orders * rows.size());
    workers.for_each(ordered.size(), [&](size_t task, int) {
        order_rows(table.columns[ordered[task]], rows, classes, plan.class_bits,
                   layout.words_of(task));
    });
    if (plan.has_lookups) {
        layout.position.assign(table.n_rows, UINT32_MAX);
        for (size_t k = 0; k < rows.size(); ++k)
            layout.position[rows[k]] = static_cast<uint32_t>(k);
    }
    return layout;
}

}  // namespace treefold
