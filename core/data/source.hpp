// Columns as the caller holds them: borrowed views, read by encode (per column) and predict (per block).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace treefold {

struct Table;

// Wrong data, said in words for the user; the bindings make a ValueError of it.
struct DataError : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

enum class Type : uint8_t {
    boolean,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    float32,
    float64
};

// Calls visit(const T*) for the element type behind an untyped pointer.
template <class Visit>
decltype(auto) with_type(Type type, const void* data, Visit&& visit) {
    switch (type) {
        case Type::boolean: return visit(static_cast<const uint8_t*>(data));
        case Type::int8: return visit(static_cast<const int8_t*>(data));
        case Type::int16: return visit(static_cast<const int16_t*>(data));
        case Type::int32: return visit(static_cast<const int32_t*>(data));
        case Type::int64: return visit(static_cast<const int64_t*>(data));
        case Type::uint8: return visit(static_cast<const uint8_t*>(data));
        case Type::uint16: return visit(static_cast<const uint16_t*>(data));
        case Type::uint32: return visit(static_cast<const uint32_t*>(data));
        case Type::uint64: return visit(static_cast<const uint64_t*>(data));
        case Type::float32: return visit(static_cast<const float*>(data));
        case Type::float64: return visit(static_cast<const double*>(data));
    }
    throw std::logic_error("unknown element type");
}

// One dense column: element row * stride of data (stride in elements).
struct DenseView {
    const void* data = nullptr;
    ptrdiff_t stride = 1;
    Type type = Type::float64;
};

// int32 or int64 positions, read as int64.
struct IndexView {
    const void* data = nullptr;
    bool is_wide = false;
    size_t size = 0;
    int64_t operator[](size_t k) const {
        return is_wide ? static_cast<const int64_t*>(data)[k]
                       : static_cast<const int32_t*>(data)[k];
    }
};

// A compressed matrix, by columns (to encode) or by rows (to predict).
struct SparseView {
    DenseView values;
    IndexView indices, begins;
    size_t first_column = 0, n_columns = 0;
};

struct ColumnView {
    enum class Kind : uint8_t { absent, dense, csc, csr, table } kind = Kind::absent;
    uint32_t block = 0;  // which SparseView or table
    uint32_t within = 0;  // which of its columns
    uint32_t n_categories = 0;  // 0: numeric, or
    bool has_labels = false;  // every distinct number is a category
    DenseView dense;
};

// An encoded table, and which of its rows these are.
struct TableView {
    const Table* table = nullptr;
    std::span<const uint32_t> rows;  // empty: all, in their order
    size_t row(size_t k) const { return rows.empty() ? k : rows[k]; }
};

struct Source {
    size_t n_rows = 0;
    std::vector<ColumnView> columns;
    std::vector<SparseView> blocks;
    std::vector<TableView> tables;

    Source(size_t rows, size_t n_columns);
    // A whole 2-D array: strides in elements.
    void add_dense(size_t first, size_t count, DenseView corner, ptrdiff_t column_stride);
    void add_sparse(const SparseView& view, bool by_columns);
    void add_table(const Table& table, std::span<const uint32_t> rows);
    void set_categories(size_t column, uint32_t n_categories);
    void set_labels(size_t column);
};

}  // namespace treefold
