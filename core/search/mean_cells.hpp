// Cells of means (few_columns.hpp): the sum of the numbers of one code's rows, exactly, and how many these are.
//
// A product of at most 62 bits is added in two halves, so that a cell is one vector and one addition, and no sum of 2^31
// rows overflows.
#pragma once

#include "search/float_categories.hpp"
#include "search/mean_filter.hpp"

namespace treefold {

class MeanCells {
public:
    using Stats = MeanStats<2>;
    struct Cell {
        using Parts = int64_t __attribute__((vector_size(32)));
        Parts
            parts{};  // the upper half of the sum, the lower one (32 bits and what is carried), rows, nothing

        Cell& operator+=(const Cell& other) {
            parts += other.parts;
            return *this;
        }
        Cell& operator-=(const Cell& other) {
            parts -= other.parts;
            return *this;
        }
        static Cell of(int64_t product) {
            return {Parts{product >> kHalf, product & UINT32_MAX, 1, 0}};
        }
        int64_t rows() const { return parts[2]; }
        __int128 sum() const { return (static_cast<__int128>(parts[0]) << kHalf) + parts[1]; }
        static constexpr int kHalf = 32;
    };
    static constexpr bool kHasCutFilter = false;

    static bool serves(const NodeView<Stats>& node) { return serves(node.stats, node.rules); }
    static bool serves(const Stats& stats, const Rules& rules) {
        return stats.is_short() && stats.y.size() < INT32_MAX && rules.search == Search::fastest;
    }
    static size_t n_kept_cells(const Stats&) { return 1; }

    static constexpr size_t stride() { return 1; }
    static constexpr bool knows_rows() { return true; }

    void prepare(const NodeView<Stats>& node) {
        added_.resize(node.rows.size());
        for (size_t i = 0; i < node.rows.size(); ++i)
            added_[i] = Cell::of(node.stats.short_product(node.rows[i]));
    }
    void prepare_kept(const NodeView<Stats>&) {}

    void fill(Histogram<Cell>& histogram, const HistogramLayout& layout, CodeRows codes,
              std::span<const uint32_t> rows) const {
        fill_rows(histogram, 0, layout, codes, rows,
                  [added = added_.data()](size_t i) { return added[i]; });
    }
    template <class Run>
    void with_adding(Run&& run) const {
        run([added = added_.data()](size_t i, Cell* line) { *line += added[i]; });
    }
    static void fill_kept(Histogram<Cell>& histogram, const Plan& plan, const Stats& stats,
                          std::span<const uint32_t> rows, size_t first, size_t last) {
        fill_rows(histogram, plan.few_starts[first], plan.few_layout(first, last, 1),
                  plan.few_codes_from(first), rows,
                  [&stats, rows](size_t i) { return Cell::of(stats.short_product(rows[i])); });
    }

    static bool is_used(const Cell* line) { return line->rows() != 0; }

    template <class LineAt>
    static bool can_reach(const NodeView<Stats>&, size_t, LineAt&&, double) {
        return true;
    }
    static constexpr bool rates_columns(const NodeView<Stats>&) { return false; }
    static void scan_columns(const NodeView<Stats>&, const Plan&, size_t, size_t, const Cell*,
                             Findings&) {}

    // Cuts between the lines of the given codes: in float64 first, with more than the rounding of either product.
    template <class LineAt>
    bool scan_cuts(const NodeView<Stats>& node, uint32_t column, std::span<const uint32_t> codes,
                   LineAt&& line_at, Findings& findings) {
        if (!node.filter.serves) return false;
        constexpr double kRounding = 1.0 / (int64_t{1} << 51);
        const Stats::Slot& total = node.totals.slots[0];
        double n = static_cast<double>(node.totals.rows), sum = to_double(total);
        auto smallest = std::max<int64_t>(1, node.rules.min_samples_leaf);
        Cell left;
        uint32_t previous = 0;
        for (size_t k = 0; k < codes.size(); ++k) {
            const Cell* line = line_at(k);
            if (line->rows() == 0) continue;
            int64_t n_left = left.rows(), n_right = node.totals.rows - n_left;
            if (n_right < smallest) break;
            if (n_left >= smallest) {
                double of_left = static_cast<double>(left.sum()), l = static_cast<double>(n_left);
                double here = of_left * n, there = sum * l;
                double most =
                    std::fabs(here - there) + kRounding * (std::fabs(here) + std::fabs(there));
                if (most * most * (1 + kSlack) >= findings.floor * (l * (n - l)))
                    decide(node, column, previous, codes[k], left, findings);
            }
            left += *line;
            previous = codes[k];
        }
        return true;
    }

    // Categories whose sums are exact in float64; codes: those in use, without missing ones.
    template <class LineAt>
    static bool scan_categories(const NodeView<Stats>& node, uint32_t at, const Column& column,
                                std::span<const uint32_t> codes, LineAt&& line_at,
                                Scratch<Stats::Slot>& scratch, Findings& findings) {
        if (!MeanCategories::serves(node, column)) return false;
        MeanCategories(node, at, column.n_codes, scratch.mean_categories, findings)
            .run(codes, [&](size_t k) {
                const Cell* line = line_at(k);
                return MeanCategory{static_cast<double>(static_cast<int64_t>(line->sum())),
                                    static_cast<double>(line->rows())};
            });
        return true;
    }

    int64_t give(const Cell* line, Stats::Slot* slots) const {
        slots[0] += slot_of(*line);
        return line->rows();
    }

private:
    template <class AddedAt>
    static void fill_rows(Histogram<Cell>& histogram, size_t first, const HistogramLayout& layout,
                          CodeRows codes, std::span<const uint32_t> rows, AddedAt&& added_at) {
        histogram.fill(
            first, layout, codes, rows.size(), [rows](size_t i) -> size_t { return rows[i]; },
            [](size_t) { return 0u; },
            [&](size_t i) { return [added = added_at(i)](Cell* cell) { *cell += added; }; });
    }
    static Stats::Slot slot_of(const Cell& cell) {
        Stats::Slot slot;
        slot.set128(static_cast<Wide128>(cell.sum()));
        return slot;
    }

    static void decide(const NodeView<Stats>& node, uint32_t column, uint32_t code,
                       uint32_t next_code, const Cell& on_left, Findings& findings) {
        Stats::Slot left = slot_of(on_left), right = node.totals.slots[0] - left;
        std::vector<int64_t> unused;
        double quality =
            node.stats.quality({on_left.rows(), &left}, {node.totals.rows - on_left.rows(), &right},
                               node.context, unused);
        if (quality >= findings.floor)
            findings.offer(numeric_split(quality, column, code, next_code));
    }

    std::vector<Cell> added_;  // per row of the node
};

}  // namespace treefold
