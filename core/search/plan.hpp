// Which search serves which column in which node: decided here, once, from data.
//
// All searches find the same split; they differ in what they cost. What a column is searched by as long as a tree grows
// stands in the plan; what depends on a node's rows is decided by its functions.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "data/table.hpp"
#include "split/rules.hpp"
#include "stats/histogram.hpp"

namespace treefold {

enum class Way : uint8_t {
    // All columns of a node at once:
    two_rows,  // the first column in which they differ
    three_rows,  // a split singles out one row
    compared_rows,  // of means: every row with every other
    // Columns of few codes, together:
    kept_histogram,  // handed on by the node above
    histogram,
    small_histogram,  // one after another, with the codes in use as bits
    cut_filter,  // sixteen at a time, without a histogram; what may win by small_histogram
    // One column:
    filtered_order,  // the kept order, in float64: what may win is decided exactly
    order,  // the kept order, exactly
    filtered_list,  // sparse columns whose listed rows are kept in order
    list,
    looked_up,  // sparse columns without kept lists
    codes,  // one line of slots per code
    float_categories,  // the same where sums are exact in float64
    sorted,  // the rows of the node are sorted
    coarse_to_fine,  // a column that is drawn: buckets of codes, of which few are sorted
    // All members of a group at once:
    shared_histogram,
    shared_order,
    shared_sort,
};
inline constexpr std::array kWayNames{"two_rows",
                                      "three_rows",
                                      "compared_rows",
                                      "kept_histogram",
                                      "histogram",
                                      "small_histogram",
                                      "cut_filter",
                                      "filtered_order",
                                      "order",
                                      "filtered_list",
                                      "list",
                                      "looked_up",
                                      "codes",
                                      "float_categories",
                                      "sorted",
                                      "coarse_to_fine",
                                      "shared_histogram",
                                      "shared_order",
                                      "shared_sort"};
inline constexpr size_t kWays = kWayNames.size();

// How many columns of how many nodes each way has served.
struct WayCounts {
    std::array<uint64_t, kWays> n{};

    void add(Way way, uint64_t n_columns = 1) { n[static_cast<size_t>(way)] += n_columns; }
    void merge(const WayCounts& other) {
        for (size_t k = 0; k < kWays; ++k) n[k] += other.n[k];
    }
};

// Rows of means up to which every row is compared with every other.
inline constexpr size_t kComparedRows = 16;

// What all nodes and members have in common.
struct Plan {
    const Table* table = nullptr;
    int class_bits = 0;
    bool keeps_orders = true;
    size_t n_orders = 0;
    std::span<const int32_t> order_of;  // per column: which order, or -1
    std::span<const uint32_t>
        few_columns;  // dense, of few codes, searched together: numeric ones first
    std::span<const int32_t> few_of;  // per column: which of them, or -1
    size_t n_few_numeric = 0;
    std::span<const uint32_t>
        few_starts;  // where the lines of each begin in a histogram of all, and the end
    std::span<const uint32_t> few_lines;  // per line: which of them it is of
    CodeRows few_codes;
    std::span<const uint32_t> other_columns;  // all that are neither few nor listed
    bool has_lookups = false;  // are there sparse columns without kept lists?

    const Column& few_column(size_t k) const { return table->columns[few_columns[k]]; }
    size_t n_few_lines() const { return few_starts.back(); }
    CodeRows few_codes_from(size_t first) const {
        return {few_codes.codes + first, few_codes.width};
    }
    HistogramLayout few_layout(size_t first, size_t last, size_t n_cells) const {
        return HistogramLayout::by_column(few_starts.subspan(first, last - first + 1), n_cells);
    }

    // Columns that are not searched together, in a node of so many rows: by kept order, by code, sorted, or looked up.
    Way way_of(uint32_t at, size_t n_rows) const;
    // The same of a column that a node has drawn, where coarse-to-fine serves the node.
    Way way_of_drawn(uint32_t at, size_t n_rows) const {
        Way way = way_of(at, n_rows);
        const Column& column = table->columns[at];
        return !column.is_categorical && (way == Way::codes || way == Way::sorted)
                   ? Way::coarse_to_fine
                   : way;
    }
    // Columns of few codes, if there is neither a kept histogram nor a filter of cuts.
    static Way way_of_few(size_t n_rows);
    // The k-th of these, for members that go on together: so many rows count, under so many different labels.
    // has_missing(): does the node have missing values there?
    template <class HasMissing>
    Way way_of_shared_few(size_t k, size_t n_rows, size_t n_labels,
                          HasMissing&& has_missing) const {
        bool is_sorted = k < n_few_numeric && class_bits != 0 &&
                         has_few_rows(few_starts[k + 1] - few_starts[k], n_rows, n_labels);
        return is_sorted && !has_missing() ? Way::shared_sort : Way::shared_histogram;
    }

    // Is a node of so many rows large enough to keep its histograms? Then reading them costs less than counting. n_cells:
    // per line, as numbers of four bytes.
    bool keeps_histograms(size_t n_rows, size_t n_cells, size_t n_unkept_rows) const {
        size_t n_few = few_columns.size();
        return n_few != 0 && n_rows > n_unkept_rows &&
               n_rows * n_few >= 2 * n_few_lines() * n_cells;
    }

private:
    // Against the cells of a histogram: it is cheaper to sort the rows and to scan them. Of more where the columns have many
    // codes: most cells are then empty. (Yeast, ten folds together: 1.03 times as fast as with one number for all.)
    static bool has_few_rows(size_t n_codes, size_t n_rows, size_t n_labels);
};

// Of columns with more codes most are not there in a node, and it pays to ask for each; of fewer, nobody could foresee the
// answer. (Ten folds together: Pen Digits 1.2 times as fast as if nobody asked, Letter 1.06 times as if everybody did.)
inline constexpr size_t kDenseCodes = 32;

struct PlanWishes {
    int n_classes;  // 0: regression
    bool keeps_orders;
    bool is_single;  // is there one member only?
};

// The memory behind a plan. Not to be moved or copied: the plan points into it.
class PlanOwner {
public:
    PlanOwner(const Table& table, const PlanWishes& wishes, Workers& workers);
    PlanOwner(const PlanOwner&) = delete;
    PlanOwner& operator=(const PlanOwner&) = delete;
    const Plan& plan() const { return plan_; }

private:
    Plan plan_;
    std::vector<int32_t> order_of_, few_of_;
    std::vector<uint32_t> few_columns_, few_starts_, few_lines_, other_columns_;
    CodeLines lines_;  // unless the table has them
};

// Of one member: what is the largest node that is searched all columns at once, row by row? 0, 2, 3 or kComparedRows.
// compares: are rows of this member's statistics compared with each other?
size_t most_rows_at_once(const Table& table, const Rules& rules, bool compares);
// Which of these ways a node of so many rows takes.
inline Way way_of_rows(size_t n_rows, size_t most_at_once) {
    if (n_rows == 2) return Way::two_rows;
    return most_at_once == kComparedRows ? Way::compared_rows : Way::three_rows;
}

// Do the filters of classes serve these rules, for rows that count once?
bool filters_classes(const Rules& rules);
// Can members of these rules be searched together, if a row counts once for each? Whoever chooses how members share asks before
// any of them grows.
bool can_search_together(const Table& table, const Rules& rules);

// Nodes of so many rows keep no histograms: to count them when they are needed, or to filter columns, is less work.
inline constexpr size_t kUnkeptRows = 64;
size_t find_unkept_rows(const Plan& plan, size_t n_classes);

}  // namespace treefold
