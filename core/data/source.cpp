#include "data/source.hpp"

#include "data/table.hpp"

namespace treefold {

namespace {

void require_range(size_t first, size_t count, size_t n_columns) {
    if (first > n_columns || count > n_columns - first)
        throw DataError("columns " + std::to_string(first) + " to " +
                        std::to_string(first + count) + " do not fit a source of " +
                        std::to_string(n_columns) + " columns");
}

size_t element_size(Type type) {
    return with_type(type, nullptr, [](auto* data) { return sizeof(*data); });
}

// Offsets within the arrays, ascending indices in range: nothing below reads out of bounds.
void validate(const SparseView& view, size_t n_lines, size_t n_positions) {
    if (view.begins.size != n_lines + 1 || view.begins[0] != 0)
        throw DataError(
            "sparse data: indptr must start at 0 and have one entry per line and one more");
    for (size_t line = 0; line < n_lines; ++line) {
        int64_t begin = view.begins[line], end = view.begins[line + 1];
        if (begin > end || static_cast<size_t>(end) > view.indices.size)
            throw DataError("sparse data: indptr falls or leaves the data at line " +
                            std::to_string(line));
        int64_t previous = -1;
        for (int64_t k = begin; k < end; ++k) {
            int64_t position = view.indices[static_cast<size_t>(k)];
            if (position <= previous || static_cast<size_t>(position) >= n_positions)
                throw DataError("sparse data: indices must ascend within the matrix (line " +
                                std::to_string(line) + ")");
            previous = position;
        }
    }
}

}  // namespace

Source::Source(size_t rows, size_t n_columns) : n_rows(rows), columns(n_columns) {
    if (rows >= UINT32_MAX || n_columns >= INT32_MAX)
        throw DataError("treefold holds at most 2**32 - 2 rows and 2**31 - 2 columns");
}

void Source::add_dense(size_t first, size_t count, DenseView corner, ptrdiff_t column_stride) {
    require_range(first, count, columns.size());
    auto* data = static_cast<const std::byte*>(corner.data);
    ptrdiff_t step = column_stride * static_cast<ptrdiff_t>(element_size(corner.type));
    for (size_t k = 0; k < count; ++k) {
        ColumnView& column = columns[first + k];
        column.kind = ColumnView::Kind::dense;
        column.dense = {data + static_cast<ptrdiff_t>(k) * step, corner.stride, corner.type};
    }
}

void Source::add_sparse(const SparseView& view, bool by_columns) {
    require_range(view.first_column, view.n_columns, columns.size());
    validate(view, by_columns ? view.n_columns : n_rows, by_columns ? n_rows : view.n_columns);
    for (size_t k = 0; k < view.n_columns; ++k) {
        ColumnView& column = columns[view.first_column + k];
        column.kind = by_columns ? ColumnView::Kind::csc : ColumnView::Kind::csr;
        column.block = static_cast<uint32_t>(blocks.size());
        column.within = static_cast<uint32_t>(k);
    }
    blocks.push_back(view);
}

void Source::add_table(const Table& table, std::span<const uint32_t> rows) {
    if ((rows.empty() ? table.n_rows : rows.size()) != n_rows ||
        table.columns.size() != columns.size())
        throw DataError("the table's shape differs from the source's");
    if (table.borrows_values()) throw DataError("a table that borrows its values has none to lend");
    for (size_t k = 0; k < columns.size(); ++k) {
        columns[k].kind = ColumnView::Kind::table;
        columns[k].block = static_cast<uint32_t>(tables.size());
        columns[k].within = static_cast<uint32_t>(k);
        columns[k].n_categories = table.columns[k].is_categorical ? table.columns[k].n_codes : 0;
    }
    for (uint32_t row : rows)
        if (row >= table.n_rows) throw DataError("the source names a row that is not in the table");
    tables.push_back({&table, rows});
}

void Source::set_categories(size_t column, uint32_t n_categories) {
    require_range(column, 1, columns.size());
    columns[column].n_categories = n_categories;
}

void Source::set_labels(size_t column) {
    require_range(column, 1, columns.size());
    columns[column].has_labels = true;
}

}  // namespace treefold
