#include "search/layout.hpp"

#include <algorithm>

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

}  // namespace

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
