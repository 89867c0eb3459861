// Where the rows of a node count in the histograms of few-valued columns.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/lanes.hpp"
#include "search/rows.hpp"

namespace treefold {

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

// Where the cells of rows lie in histograms: at starts[k] + codes[k] * stride + base of the row.
//
// The offsets of sixteen rows are computed in vectors and read back from memory. One that comes straight out of a vector register makes
// some processors wait at every addition (one host with AMD EPYC 9004: 4 to 8 ns an addition instead of 0.4, so that Mushroom's
// trees grow five times as fast; on others, and against one row at a time, additions are 1.2 to 1.6 times as fast).
class RowCells {
public:
    RowCells() = default;
    RowCells(const std::vector<uint32_t>& starts, size_t stride) { set(starts, stride); }
    void set(const std::vector<uint32_t>& starts, size_t stride) {
        starts_ = starts;
        n_columns_ = starts.size();
        stride_ = static_cast<uint32_t>(stride);
        starts_.resize((n_columns_ + kPadding - 1) / kPadding * kPadding);
    }

    // visit(block) for the cells of row_at(i), i < n_rows, in the columns of the plan from the few-valued column `first` on.
    template <class RowAt, class BaseAt, class Visit>
    void visit(const Plan& plan, size_t first, size_t n_rows, RowAt&& row_at, BaseAt&& base_at,
               Visit&& visit_block) const {
        alignas(32) uint32_t offsets[kRows * kColumns + kPadding];
        const size_t line_width = plan.few_columns.size();
        for (size_t row = 0; row < n_rows; row += kRows)
            for (size_t column = 0; column < n_columns_; column += kColumns) {
                CellBlock block{row, std::min(kRows, n_rows - row),
                                std::min(kColumns, n_columns_ - column), offsets};
                const uint8_t* codes = plan.few_codes.data() + first + column;
                uint32_t* to = offsets;
                for (size_t i = row; i < row + block.n_rows; ++i, to += block.width) {
                    if (i + kRows < n_rows)  // fetched before it is needed
                        __builtin_prefetch(codes + row_at(i + kRows) * line_width);
                    locate(codes + row_at(i) * line_width, starts_.data() + column, base_at(i),
                           block.width, to);
                }
                keep_in_memory(offsets);
                visit_block(block);
            }
    }

private:
    static constexpr size_t kRows = 16, kColumns = 64, kPadding = 8;

    // Writes up to kPadding more.
    void locate(const uint8_t* codes, const uint32_t* starts, uint32_t base, size_t width,
                uint32_t* offsets) const {
        for (size_t k = 0; k < width; k += kPadding) {
            CountLanes from;
            std::memcpy(&from, starts + k, sizeof from);
            from += widen_bytes(codes + k) * stride_ + base;
            std::memcpy(offsets + k, &from, sizeof from);
        }
    }

    std::vector<uint32_t> starts_;  // padded
    size_t n_columns_ = 0;
    uint32_t stride_ = 0;
};

}  // namespace treefold
