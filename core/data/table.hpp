// Encoded columns: sorted distinct values and one code per row. The single sort happens in encode.cpp.
//
// A code is the rank of a value among the column's distinct values (float64 order, -0.0 = 0.0), or the
// category number. The code n_codes stands for missing. A sparse column keeps (row, code) of what
// differs from zero, and the code of zero for everything else.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "data/source.hpp"

namespace treefold {

// One code per row, of 1, 2 or 4 bytes.
struct Codes {
    std::vector<uint8_t> narrow;
    std::vector<uint16_t> middle;
    std::vector<uint32_t> wide;

    // Calls visit(const Code*) on the array that is in use.
    template <class Visit>
    decltype(auto) with(Visit&& visit) const {
        if (!narrow.empty()) return visit(narrow.data());
        if (!middle.empty()) return visit(middle.data());
        return visit(wide.data());
    }
    uint32_t operator[](size_t row) const {
        return with([&](auto* codes) { return static_cast<uint32_t>(codes[row]); });
    }
    size_t size() const { return narrow.size() + middle.size() + wide.size(); }
    size_t nbytes() const { return narrow.size() + 2 * middle.size() + 4 * wide.size(); }
};

struct Column {
    uint32_t n_codes = 0;
    bool is_categorical = false;
    bool has_missing = false;
    bool is_sparse = false;
    uint32_t zero_code = 0;  // sparse: the code of every row that is not listed
    std::vector<double> values;  // numeric: the distinct values, ascending; or labels of categories
    DenseView origin;  // where the values are read instead if they are not kept; else without data
    Codes codes;  // dense
    std::vector<uint32_t> listed_rows;  // sparse: rows that differ from zero, ascending
    std::vector<uint32_t> listed_codes;  // sparse: their codes
    uint32_t missing_code() const { return n_codes; }
    uint32_t n_lines() const { return n_codes + has_missing; }  // of a histogram
    uint32_t code_of(size_t row) const;
    bool borrows_values() const { return origin.data != nullptr; }
    // Of a column that borrows: writes the value of each code that is wanted to out[code].
    void read_values(const std::vector<bool>& is_wanted, double* out) const;
    std::vector<double> list_values() const;
};

// Lines of codes are read so many at a time: as many may be read behind the last.
inline constexpr size_t kLinePadding = 16;

// The codes of some columns row by row: a node's rows then bring all of them in one cache line.
struct CodeLines {
    std::vector<uint32_t> columns;  // dense, of one byte
    std::vector<uint8_t, Unfilled<uint8_t>>
        codes;  // one line per row of the table, and kLinePadding
};

struct Table {
    size_t n_rows = 0;
    std::vector<Column> columns;
    CodeLines lines;  // of all columns that can be lined up, numeric ones first
    std::shared_ptr<const void> lender;  // keeps alive what columns borrow from

    bool borrows_values() const;
    size_t nbytes() const;
};

CodeLines line_up(const Table& table, std::vector<uint32_t> columns, Workers& workers);

// may_borrow: columns of kManyRows values and more leave them where they lie, which must stay as it is for as
// long as the table is used. (A value takes twice the memory of a code.)
Table encode(const Source& source, Workers& workers, bool may_borrow = false);

}  // namespace treefold
