// Cells of any statistics (few_columns.hpp): the slots themselves, and behind them the number of rows. Cuts are decided by the
// exact scans.
#pragma once

#include "search/filter.hpp"

namespace treefold {

template <class AnyStats>
class SlotCells {
public:
    using Stats = AnyStats;
    using Cell = typename Stats::Slot;
    static constexpr bool kHasCutFilter = false;

    static bool serves(const NodeView<Stats>& node) { return serves(node.stats, node.rules); }
    static bool serves(const Stats&, const Rules& rules) { return rules.search == Search::fastest; }
    static size_t n_kept_cells(const Stats& stats) { return stats.width() + 1; }

    size_t stride() const { return width_ + 1; }
    static constexpr bool knows_rows() { return true; }

    void prepare(const NodeView<Stats>& node) {
        stats_ = &node.stats;
        rows_ = node.rows.data();
        width_ = node.stats.width();
    }
    void prepare_kept(const NodeView<Stats>& node) { prepare(node); }

    void fill(Histogram<Cell>& histogram, const HistogramLayout& layout, CodeRows codes,
              std::span<const uint32_t> rows) const {
        fill_rows(histogram, 0, layout, codes, *stats_, rows);
    }
    template <class Run>
    void with_adding(Run&& run) const {
        run([this](size_t i, Cell* line) { add(*stats_, rows_[i], line); });
    }
    static void fill_kept(Histogram<Cell>& histogram, const Plan& plan, const Stats& stats,
                          std::span<const uint32_t> rows, size_t first, size_t last) {
        size_t n_cells = n_kept_cells(stats);
        fill_rows(histogram, plan.few_starts[first] * n_cells,
                  plan.few_layout(first, last, n_cells), plan.few_codes_from(first), stats, rows);
    }

    bool is_used(const Cell* line) const { return !(line[width_] == Cell(0)); }

    template <class LineAt>
    static bool can_reach(const NodeView<Stats>&, size_t, LineAt&&, double) {
        return true;
    }
    static constexpr bool rates_columns(const NodeView<Stats>&) { return false; }
    static void scan_columns(const NodeView<Stats>&, const Plan&, size_t, size_t, const Cell*,
                             Findings&) {}
    template <class LineAt>
    static bool scan_cuts(const NodeView<Stats>&, uint32_t, std::span<const uint32_t>, LineAt&&,
                          Findings&) {
        return false;
    }

    template <class LineAt>
    static bool scan_categories(const NodeView<Stats>&, uint32_t, const Column&,
                                std::span<const uint32_t>, LineAt&&, Scratch<Cell>&, Findings&) {
        return false;
    }

    int64_t give(const Cell* line, Cell* slots) const {
        for (size_t k = 0; k < width_; ++k) slots[k] += line[k];
        return to_integer(line[width_]);
    }

private:
    static void add(const Stats& stats, uint32_t row, Cell* line) {
        stats.add(row, line);
        line[stats.width()] += Cell(1);
    }
    static void fill_rows(Histogram<Cell>& histogram, size_t first, const HistogramLayout& layout,
                          CodeRows codes, const Stats& stats, std::span<const uint32_t> rows) {
        histogram.fill(
            first, layout, codes, rows.size(), [rows](size_t i) -> size_t { return rows[i]; },
            [](size_t) { return 0u; },
            [&stats, rows](size_t i) {
                return [&stats, row = rows[i]](Cell* line) { add(stats, row, line); };
            });
    }
    static int64_t to_integer(int64_t rows) { return rows; }
    template <int N>
    static int64_t to_integer(const Fixed<N>& rows) {
        return static_cast<int64_t>(rows.limb[0]);
    }

    const Stats* stats_ = nullptr;
    const uint32_t* rows_ = nullptr;  // of the node
    size_t width_ = 0;
};

}  // namespace treefold
