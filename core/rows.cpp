#include "rows.hpp"

#include <algorithm>
#include <bit>

namespace treefold {

namespace {

// Rows by ascending code: one pass of a counting sort, since the codes are ranks.
void order_rows(const Column& column, std::span<const uint32_t> rows,
                std::span<const int32_t> classes, int class_bits, std::vector<uint32_t>& words) {
    std::vector<uint32_t> next(column.n_codes + 2, 0);
    words.resize(rows.size());
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

// The codes of the few-valued columns, row by row: a node's rows then bring all of them in one cache line.
void line_up_few(const Table& table, Layout& layout, Workers& workers) {
    size_t width = layout.few_columns.size();
    layout.few_codes.resize(width * table.n_rows);
    constexpr size_t kStretch = 4096;
    workers.for_each((table.n_rows + kStretch - 1) / kStretch, [&](size_t task, int) {
        size_t first = task * kStretch, last = std::min(first + kStretch, table.n_rows);
        for (size_t k = 0; k < width; ++k) {
            const uint8_t* codes = table.columns[layout.few_columns[k]].codes.narrow.data();
            for (size_t row = first; row < last; ++row)
                layout.few_codes[row * width + k] = codes[row];
        }
    });
}

}  // namespace

Layout lay_out(const Table& table, std::vector<uint32_t> members, std::span<const int32_t> classes,
               int n_classes, bool keeps_orders, Workers& workers) {
    Layout layout;
    layout.table = &table;
    layout.n_rows = members.size();
    layout.rows = std::move(members);
    std::span<const uint32_t> rows = layout.rows;
    int label_bits = n_classes > 1 ? std::bit_width(static_cast<unsigned>(n_classes - 1)) : 0;
    int row_bits = std::bit_width(table.n_rows);
    layout.class_bits = label_bits + row_bits <= 32 ? label_bits : 0;
    layout.order_of.assign(table.columns.size(), -1);
    std::vector<bool> is_member;
    if (rows.size() < table.n_rows) {
        is_member.resize(table.n_rows);
        for (uint32_t row : rows) is_member[row] = true;
    }
    std::vector<uint32_t> ordered;
    bool has_lookups = false;
    for (uint32_t k = 0; k < table.columns.size(); ++k) {
        const Column& column = table.columns[k];
        if (column.is_sparse && keeps_orders) {
            order_listed(column, is_member, classes, k, layout);
            continue;
        }
        bool is_few = !column.is_sparse && !column.codes.narrow.empty();
        (is_few ? layout.few_columns : layout.other_columns).push_back(k);
        has_lookups |= column.is_sparse;
        if (!keeps_orders || column.is_categorical || is_few || column.is_sparse) continue;
        layout.order_of[k] = static_cast<int32_t>(ordered.size());
        ordered.push_back(k);
    }
    layout.orders.resize(ordered.size());
    workers.for_each(ordered.size(), [&](size_t task, int) {
        order_rows(table.columns[ordered[task]], rows, classes, layout.class_bits,
                   layout.orders[task]);
    });
    auto is_numeric = [&](uint32_t k) { return !table.columns[k].is_categorical; };
    auto categorical =
        std::stable_partition(layout.few_columns.begin(), layout.few_columns.end(), is_numeric);
    layout.n_few_numeric = static_cast<size_t>(categorical - layout.few_columns.begin());
    layout.few_starts.assign(1, 0);
    for (uint32_t k : layout.few_columns)
        layout.few_starts.push_back(layout.few_starts.back() + table.columns[k].n_codes + 1);
    line_up_few(table, layout, workers);
    if (has_lookups) {
        layout.position.assign(table.n_rows, UINT32_MAX);
        for (size_t k = 0; k < rows.size(); ++k)
            layout.position[rows[k]] = static_cast<uint32_t>(k);
    }
    return layout;
}

}  // namespace treefold
