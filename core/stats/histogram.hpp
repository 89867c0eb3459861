// Histograms: what the rows of each code add up to, for a block of columns at once.
//
//   cell     a packed part of the statistics: the rows of one class, a sum with its rows, both sums of a gradient pair
//   line     the cells of one code of one column
//   layout   where lines stand: that of code c of column k begins at starts[k] + c * step
//
// Lines of columns may stand one column after another, or those of eight columns side by side ([code][8 columns]); to fill,
// subtract and merge is the same. Cells are integers, so a histogram is the same whatever the order of its rows, and that
// of a node less that of one child is that of the other.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "base/lanes.hpp"
#include "base/memory.hpp"

namespace treefold {

// Codes of one byte, row by row: those of a row stand side by side, and so many may be read behind the last one.
struct CodeRows {
    const uint8_t* codes = nullptr;  // of row 0, in the first column of the block
    size_t width = 0;  // from one row to the next

    const uint8_t* of(size_t row) const { return codes + row * width; }
};

// Some cells of a block of rows, row by row.
struct CellBlock {
    size_t first_row, n_rows, width;
    const uint32_t* offsets;

    template <class Add>
    void for_each(Add&& add) const {
#pragma GCC unroll 8
        for (size_t k = 0; k < n_rows * width; ++k) add(offsets[k]);
    }
    // add_of(row) tells how to add the cells of a row.
    template <class AddOf>
    void for_each_row(AddOf&& add_of) const {
        const uint32_t* own = offsets;
        for (size_t i = 0; i < n_rows; ++i, own += width) {
            auto add = add_of(first_row + i);
            for (size_t k = 0; k < width; ++k) add(own[k]);
        }
    }
};

// Where the lines of a block of columns stand.
//
// The offsets of sixteen rows are computed in vectors and read back from memory. One that comes straight out of a vector
// register makes some processors wait at every addition (one host with AMD EPYC 9004: 4 to 8 ns an addition instead of 0.4,
// so that Mushroom's trees grow five times as fast; on others, and against one row at a time, additions are 1.2 to 1.6
// times as fast).
class HistogramLayout {
public:
    HistogramLayout() = default;

    // Columns one after another. line_starts: how many lines stand before each column, and in all.
    static HistogramLayout by_column(std::span<const uint32_t> line_starts, size_t n_cells) {
        HistogramLayout layout;
        layout.set_by_column(line_starts, n_cells);
        return layout;
    }
    void set_by_column(std::span<const uint32_t> line_starts, size_t n_cells) {
        n_columns_ = line_starts.size() - 1;
        step_ = static_cast<uint32_t>(n_cells);
        starts_.resize(n_padded());
        for (size_t k = 0; k < n_columns_; ++k)
            starts_[k] = (line_starts[k] - line_starts[0]) * step_;
        size_ = (line_starts[n_columns_] - line_starts[0]) * n_cells;
    }
    // Cells of eight columns side by side, one cell to a line: [column / 8][code][column % 8].
    static HistogramLayout interleaved(size_t n_columns, size_t n_codes) {
        HistogramLayout layout;
        layout.n_columns_ = n_columns;
        layout.step_ = kPadding;
        layout.starts_.resize(layout.n_padded());
        for (size_t k = 0; k < n_columns; ++k)
            layout.starts_[k] =
                static_cast<uint32_t>(k / kPadding * kPadding * n_codes + k % kPadding);
        layout.size_ = layout.n_padded() * n_codes;
        return layout;
    }

    size_t n_columns() const { return n_columns_; }
    size_t step() const { return step_; }
    size_t size() const { return size_; }  // cells
    size_t start(size_t column) const { return starts_[column]; }
    size_t offset(size_t column, size_t code) const { return starts_[column] + code * step_; }

    // visit(block) for the cells of row_at(i), i < n_rows; base_at(i): which cell of a line.
    template <class RowAt, class BaseAt, class Visit>
    void visit(CodeRows codes, size_t n_rows, RowAt&& row_at, BaseAt&& base_at,
               Visit&& visit_block) const {
        alignas(32) uint32_t offsets[kRows * kColumns + kPadding];
        for (size_t row = 0; row < n_rows; row += kRows)
            for (size_t column = 0; column < n_columns_; column += kColumns) {
                CellBlock block{row, std::min(kRows, n_rows - row),
                                std::min(kColumns, n_columns_ - column), offsets};
                uint32_t* to = offsets;
                for (size_t i = row; i < row + block.n_rows; ++i, to += block.width) {
                    if (i + kRows < n_rows)  // fetched before it is needed
                        __builtin_prefetch(codes.of(row_at(i + kRows)) + column);
                    locate(codes.of(row_at(i)) + column, starts_.data() + column, base_at(i),
                           block.width, to);
                }
                keep_in_memory(offsets);
                visit_block(block);
            }
    }

private:
    static constexpr size_t kRows = 16, kColumns = 64, kPadding = 8;

    size_t n_padded() const { return (n_columns_ + kPadding - 1) / kPadding * kPadding; }
    // Writes up to kPadding more.
    void locate(const uint8_t* codes, const uint32_t* starts, uint32_t base, size_t width,
                uint32_t* offsets) const {
        for (size_t k = 0; k < width; k += kPadding) {
            CountLanes from;
            std::memcpy(&from, starts + k, sizeof from);
            from += widen_bytes(codes + k) * step_ + base;
            std::memcpy(offsets + k, &from, sizeof from);
        }
    }

    std::vector<uint32_t> starts_;  // padded
    size_t n_columns_ = 0, size_ = 0;
    uint32_t step_ = 0;
};

template <class Cell>
class Histogram {
public:
    bool empty() const { return cells_.empty(); }
    size_t size() const { return cells_.size(); }
    Cell* cells() { return cells_.data(); }
    const Cell* cells() const { return cells_.data(); }
    void clear() { cells_.clear(); }

    // So many cells, all zero.
    void reset(size_t size) { cells_.assign(size, Cell{}); }
    // At least so many. Who takes some of them zeroes them again, so that they are all zero between uses.
    void reserve_zeros(size_t size) {
        if (cells_.size() < size) cells_.resize(size, Cell{});
    }
    // What they hold is written before it is read.
    void resize(size_t size) { cells_.resize(size); }

    // Adds rows to the lines from the cell `first` on, where the layout begins. add_of(i) tells how a cell takes what row i
    // adds: add(Cell*).
    template <class RowAt, class BaseAt, class AddOf>
    void fill(size_t first, const HistogramLayout& layout, CodeRows codes, size_t n_rows,
              RowAt&& row_at, BaseAt&& base_at, AddOf&& add_of) {
        layout.visit(codes, n_rows, row_at, base_at,
                     [&, cells = cells_.data() + first](const CellBlock& block) {
                         block.for_each_row([&](size_t i) {
                             return
                                 [cells, add = add_of(i)](uint32_t offset) { add(cells + offset); };
                         });
                     });
    }
    // The same where every row adds as much.
    template <class RowAt, class BaseAt, class Add>
    void fill_alike(size_t first, const HistogramLayout& layout, CodeRows codes, size_t n_rows,
                    RowAt&& row_at, BaseAt&& base_at, Add&& add) {
        layout.visit(codes, n_rows, row_at, base_at,
                     [add, cells = cells_.data() + first](const CellBlock& block) {
                         block.for_each([=](uint32_t offset) { add(cells + offset); });
                     });
    }

    void subtract(const Histogram& part) {
        for (size_t k = 0; k < cells_.size(); ++k) cells_[k] -= part.cells_[k];
    }
    void merge(const Histogram& other) {
        for (size_t k = 0; k < cells_.size(); ++k) cells_[k] += other.cells_[k];
    }

    // visit(code, line) for the codes of a column, in their order.
    template <class Visit>
    void scan(const HistogramLayout& layout, size_t column, uint32_t n_codes, Visit&& visit) const {
        for (uint32_t code = 0; code < n_codes; ++code)
            visit(code, cells_.data() + layout.offset(column, code));
    }

private:
    std::vector<Cell, Unfilled<Cell>> cells_;
};

}  // namespace treefold
