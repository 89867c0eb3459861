// Dense columns of few codes, searched together: one pass over a node's rows fills the histograms of all of
// them, because a row's codes stand side by side (Plan::few_codes).
//
// What a line of a histogram holds is said by its cells:
//
//   ClassCells   rows that count alike, or whole numbers of times, by class
//   MeanCells    sums of short numbers with their rows
//   SlotCells    the slots of any statistics with their rows: real weights, wide numbers
//
// Cells find the cuts of numeric columns by a filter, if they have one for the criterion; all else is decided by the exact
// scans of the same lines. In a small node a bit per code tells which lines are in use, so that nothing is cleared or read
// in vain. (100,000 x 20 columns of 32 values: 4 times the exact scan of one column at a time.)
//
// A large node keeps its histograms: of its two children only the smaller is counted, the other is the difference.
#pragma once

#include <array>
#include <bit>

#include "search/class_cells.hpp"
#include "search/cut_filter.hpp"
#include "search/mean_cells.hpp"
#include "search/slot_cells.hpp"
#include "split/categorical.hpp"
#include "split/numeric.hpp"

namespace treefold {

// Some codes of one column: at most 255, and the missing one. (A vector asks with each whether there is room; Adult: 1.05
// times as fast a growth.)
class CodeList {
public:
    void clear() { size_ = 0; }
    void push_back(uint32_t code) { codes_[size_++] = code; }
    void pop_back() { --size_; }
    size_t size() const { return size_; }
    uint32_t back() const { return codes_[size_ - 1]; }
    const uint32_t* data() const { return codes_.data(); }
    const uint32_t* begin() const { return data(); }
    const uint32_t* end() const { return data() + size_; }

private:
    size_t size_ = 0;
    std::array<uint32_t, 256> codes_;
};

// What a search of columns works with.
template <class Stats>
struct SearchJob {
    const Layout& layout;
    const NodeView<Stats>& node;
    Scratch<typename Stats::Slot>& scratch;
    Findings& findings;
    WayCounts& ways;
};

template <class Cells>
class FewColumns {
public:
    using Stats = typename Cells::Stats;
    using Cell = typename Cells::Cell;
    using Slot = typename Stats::Slot;
    using Job = SearchJob<Stats>;

    FewColumns() {}  // not filled with zeros: it is large, and small trees are many

    // Columns first .. last - 1 of the plan's few columns. alone(column) is called for those that only a search of their own
    // can decide.
    template <class Alone>
    void search(const Job& job, size_t first, size_t last, Alone&& alone) {
        if (first == last) return;
        cells_.prepare(job.node);
        size_t numeric = std::clamp(job.layout.n_few_numeric, first, last);
        first = search_promising(job, first, numeric, alone);
        if (Plan::way_of_few(job.node.rows.size()) == Way::small_histogram) {
            job.ways.add(Way::small_histogram, last - first);
            for (; first < last; ++first) search_small(job, first, alone);
        }
        job.ways.add(Way::histogram, last - first);
        while (first < last) first = search_large(job, first, last, alone);
    }

    // The same from the histograms that the node has kept.
    template <class Alone>
    void search_kept(const Job& job, size_t first, size_t last, const Histogram<Cell>& kept,
                     Alone&& alone) {
        job.ways.add(Way::kept_histogram, last - first);
        cells_.prepare_kept(job.node);
        scan_columns(job, first, last,
                     kept.cells() + job.layout.few_starts[first] * cells_.stride(), alone);
    }

private:
    static constexpr size_t kCells = 1 << 15;  // filled together: they stay in cache

    // Numeric columns, of which a filter leaves few to be searched; returns where the others begin.
    template <class Alone>
    size_t search_promising(const Job& job, size_t first, size_t last, Alone&& alone) {
        if constexpr (Cells::kHasCutFilter) {
            if (!filters(job, first, last)) return first;
            job.ways.add(Way::cut_filter, last - first);
            filter_.prepare(job.node.rows, cells_.labels(), cells_.totals(),
                            job.node.rules.min_samples_leaf);
            filter_.run(job.layout);
            std::span<const float> best = filter_.best_of(0);
            double least = CutFilter::least_of(best, job.findings.floor);
            for (size_t k = first; k < last; ++k)
                if ((best[k - first] > 0 && best[k - first] >= least) ||
                    job.layout.few_column(k).has_missing)
                    search_small(job, k, alone);
            return last;
        }
        return first;
    }
    // Is it less work to look for those that can win first, in about instructions?
    bool filters(const Job& job, size_t first, size_t last) {
        size_t n_rows = job.node.rows.size(), n_labels = cells_.stride();
        if (first == last || n_rows > kFilteredRows || !job.node.filter.serves ||
            !cells_.knows_rows())
            return false;
        filter_.choose(job.layout, first, last);
        size_t n_cells = n_rows * filter_.n_columns();
        size_t without = 9 * n_cells + std::min(n_cells, filter_.n_codes()) * (10 + 2 * n_labels);
        return filter_.expect_work(n_rows, n_labels, 1) <= without;
    }

    template <class Alone>
    void search_small(const Job& job, size_t at, Alone&& alone) {
        uint32_t column = job.layout.few_columns[at];
        if (Filter<Stats>::is_settled(job.node, column, job.findings)) return;
        size_t stride = cells_.stride();
        histogram_.reserve_zeros(256 * stride);
        std::array<uint64_t, 4> used{};
        cells_.with_adding([&](auto&& add) {
            for (size_t i = 0; i < job.node.rows.size(); ++i) {
                uint32_t code = job.layout.few_codes.of(job.node.rows[i])[at];
                used[code / 64] |= uint64_t{1} << (code % 64);
                add(i, histogram_.cells() + code * stride);
            }
        });
        used_.clear();
        for (uint32_t part = 0; part < 4; ++part)
            for (uint64_t bits = used[part]; bits != 0; bits &= bits - 1)
                used_.push_back(part * 64 + static_cast<uint32_t>(std::countr_zero(bits)));
        scan(job, column, histogram_.cells(), alone);
        for (uint32_t code : used_) std::fill_n(histogram_.cells() + code * stride, stride, Cell{});
    }

    // As many columns as fit; returns the first that does not.
    template <class Alone>
    size_t search_large(const Job& job, size_t first, size_t last, Alone&& alone) {
        const uint32_t* starts = job.layout.few_starts.data();
        size_t stride = cells_.stride(), next = first + 1;
        while (next < last && (starts[next] - starts[first]) * stride < kCells) ++next;
        lines_.set_by_column(job.layout.few_starts.subspan(first, next - first + 1), stride);
        histogram_.reserve_zeros(lines_.size());
        cells_.fill(histogram_, lines_, job.layout.few_codes_from(first), job.node.rows);
        scan_columns(job, first, next, histogram_.cells(), alone);
        std::fill_n(histogram_.cells(), lines_.size(), Cell{});
        return next;
    }

    // Columns whose lines stand one after another.
    template <class Alone>
    void scan_columns(const Job& job, size_t first, size_t last, const Cell* lines, Alone&& alone) {
        auto lines_of = [&, begin = job.layout.few_starts[first]](size_t k) {
            return lines + (job.layout.few_starts[k] - begin) * cells_.stride();
        };
        for (; (first = scan_together(job, first, last, lines_of)) < last; ++first)
            scan_all(job, job.layout.few_columns[first], lines_of(first), alone);
    }

    // All columns up to one with missing rows or categories, which is returned, if their cuts can be rated at once.
    template <class LinesOf>
    size_t scan_together(const Job& job, size_t first, size_t last, LinesOf&& lines_of) {
        if (!cells_.rates_columns(job.node)) return first;
        size_t next = first, end = std::min(last, job.layout.n_few_numeric);
        auto has_missing = [&](size_t k) {
            return job.layout.few_column(k).has_missing &&
                   cells_.is_used(lines_of(k + 1) - cells_.stride());
        };
        while (next < end && !has_missing(next)) ++next;
        if (next > first &&
            !Filter<Stats>::is_settled(job.node, job.layout.few_columns[first], job.findings))
            cells_.scan_columns(job.node, job.layout, first, next, lines_of(first), job.findings);
        return next;
    }

    // One column, from the lines of all its codes; numeric cuts skip those of no row.
    template <class Alone>
    void scan_all(const Job& job, uint32_t at, const Cell* lines, Alone&& alone) {
        const Column& column = job.layout.table->columns[at];
        if (Filter<Stats>::is_settled(job.node, at, job.findings)) return;
        used_.clear();
        for (uint32_t code = 0; code < column.n_lines(); ++code)
            if (!column.is_categorical || cells_.is_used(lines + code * cells_.stride()))
                used_.push_back(code);
        if (!column.is_categorical && column.has_missing &&
            !cells_.is_used(lines + column.missing_code() * cells_.stride()))
            used_.pop_back();
        scan(job, at, lines, alone);
    }

    // One column, from the lines of the codes in used_ (ascending; the missing code, if any, is the last).
    template <class Alone>
    void scan(const Job& job, uint32_t at, const Cell* lines, Alone&& alone) {
        const Column& column = job.layout.table->columns[at];
        if (used_.size() < 2) return;
        auto line_at = [lines, codes = used_.data(), stride = cells_.stride()](size_t k) {
            return lines + codes[k] * stride;
        };
        bool has_missing = used_.back() == column.missing_code();
        bool is_plain = !column.is_categorical && !has_missing;
        if (!is_plain && !cells_.can_reach(job.node, used_.size(), line_at, job.findings.floor))
            return;
        if (!is_plain && !cells_.knows_rows()) return alone(at);
        if (column.is_categorical) {
            if (!cells_.scan_categories(job.node, at, column, {used_.data(), used_.size()}, line_at,
                                        job.scratch, job.findings))
                scan_categories(job, at, column, lines);
            return;
        }
        if (has_missing ||
            !cells_.scan_cuts(job.node, at, {used_.data(), used_.size()}, line_at, job.findings))
            scan_cuts_exactly(job, at, column, lines);
    }

    void scan_categories(const Job& job, uint32_t at, const Column& column, const Cell* lines) {
        size_t width = job.node.stats.width();
        reserve_histogram(job.scratch, column.n_codes, width);
        job.scratch.present.clear();
        for (uint32_t code : used_) {
            job.scratch.histogram_rows[code] = cells_.give(
                lines + code * cells_.stride(), job.scratch.histogram.cells() + code * width);
            if (code != column.missing_code()) job.scratch.present.push_back(code);
        }
        CategoricalScan<Stats>(job.node, at, column.n_codes, job.scratch, job.findings).run();
        for (uint32_t code : used_) {
            job.scratch.histogram_rows[code] = 0;
            std::fill_n(job.scratch.histogram.cells() + code * width, width, Slot(0));
        }
    }

    void scan_cuts_exactly(const Job& job, uint32_t at, const Column& column, const Cell* lines) {
        NumericScan<Stats> scan(job.node, at, column.n_codes, job.scratch, job.findings);
        auto line_of = [&](uint32_t code) { return lines + code * cells_.stride(); };
        if (used_.back() == column.missing_code())
            scan.missing_rows = cells_.give(line_of(used_.back()), scan.missing());
        for (uint32_t code : used_) {
            if (code == column.missing_code() || !cells_.is_used(line_of(code))) continue;
            scan.next_value(code);
            scan.left_rows += cells_.give(line_of(code), scan.left());
        }
        scan.finish();
    }

    struct NoFilter {};

    Cells cells_;
    std::conditional_t<Cells::kHasCutFilter, CutFilter, NoFilter> filter_;
    HistogramLayout lines_;
    CodeList used_;
    Histogram<Cell> histogram_;  // all zero between searches
};

// Which cells the few-valued columns of some statistics have, beside their slots.
template <class Stats>
struct PackedCellsOf {
    using Type = SlotCells<Stats>;
};
template <>
struct PackedCellsOf<ClassStats<int64_t>> {
    using Type = ClassCells;
};
template <>
struct PackedCellsOf<MeanStats<2>> {
    using Type = MeanCells;
};

// The histograms of a node's few-valued columns, in packed cells or in slots; or none.
template <class Stats>
struct KeptHistogram {
    using Packed = typename PackedCellsOf<Stats>::Type;

    Histogram<typename Packed::Cell> packed;
    Histogram<typename Stats::Slot> slots;

    bool empty() const { return packed.empty() && slots.empty(); }
    void clear() { packed.clear(), slots.clear(); }
    void subtract(const KeptHistogram& part) {
        packed.empty() ? slots.subtract(part.slots) : packed.subtract(part.packed);
    }

    // Is it worth keeping for so many rows of a member? Otherwise they are counted when they are needed.
    static bool is_worth(const Plan& plan, size_t n_rows, const Stats& stats, const Rules& rules,
                         size_t n_unkept_rows) {
        constexpr size_t kWord = 16;  // bytes that are taken away at a time, about
        if (rules.search == Search::exact) return false;
        if (Packed::serves(stats, rules))
            return plan.keeps_histograms(n_rows, Packed::n_kept_cells(stats), n_unkept_rows);
        size_t n_bytes = SlotCells<Stats>::n_kept_cells(stats) * sizeof(typename Stats::Slot);
        return plan.keeps_histograms(n_rows, (n_bytes + kWord - 1) / kWord, n_unkept_rows);
    }

    // All zero, to be filled.
    void start(const Plan& plan, const Stats& stats, const Rules& rules) {
        if (Packed::serves(stats, rules))
            packed.reset(plan.n_few_lines() * Packed::n_kept_cells(stats));
        else
            slots.reset(plan.n_few_lines() * SlotCells<Stats>::n_kept_cells(stats));
    }
    // Adds rows, in the columns first .. last - 1.
    void fill(const Plan& plan, const Stats& stats, std::span<const uint32_t> rows, size_t first,
              size_t last) {
        if (!packed.empty())
            Packed::fill_kept(packed, plan, stats, rows, first, last);
        else
            SlotCells<Stats>::fill_kept(slots, plan, stats, rows, first, last);
    }
};

// Few-valued columns of nodes of any member, by the cells that serve it.
template <class Stats>
class FewColumnSearch {
public:
    using Packed = typename PackedCellsOf<Stats>::Type;
    using Slots = SlotCells<Stats>;

    // Columns first .. last - 1 of the plan's few columns; kept: the node's histograms, if it has any.
    template <class Alone>
    void run(const SearchJob<Stats>& job, size_t first, size_t last,
             const KeptHistogram<Stats>& kept, Alone&& alone) {
        if (!kept.packed.empty())
            packed_.search_kept(job, first, last, kept.packed, alone);
        else if (!kept.slots.empty())
            slots_.search_kept(job, first, last, kept.slots, alone);
        else if (Packed::serves(job.node))
            packed_.search(job, first, last, alone);
        else if (Slots::serves(job.node))
            slots_.search(job, first, last, alone);
        else
            for (size_t k = first; k < last; ++k) alone(job.layout.few_columns[k]);
    }

private:
    FewColumns<Packed> packed_;
    FewColumns<Slots> slots_;
};

}  // namespace treefold
