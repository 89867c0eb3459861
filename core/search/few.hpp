// Dense columns with few codes, searched together: one pass over a node's rows fills the histograms of all of
// them, because a row's codes stand side by side (Layout::few_codes).
//
// As the kernels of kernels.hpp this needs weights that can be counted. Columns that it cannot decide go to the exact scans. In a
// small node a bit per code tells which entries are in use, so that nothing is cleared or read in vain.
// (100,000 x 20 columns of 32 values: 4 times the exact scan of one column at a time.)
//
// A large node keeps its histograms of classes: of its two children only the smaller is counted, the other is the
// difference. Smaller nodes count only the classes that they have.
#pragma once

#include <array>
#include <bit>

#include "search/class_groups.hpp"
#include "search/cut_filter.hpp"
#include "search/kernels.hpp"
#include "search/row_cells.hpp"
#include "split/categorical.hpp"
#include "split/numeric.hpp"

namespace treefold {

// Histograms of a mean: sums of y - mean in float64.
class MeanGroups {
public:
    using Stats = MeanStats<2>;
    struct Entry {
        double sum = 0;
        int64_t count = 0;
    };
    static constexpr bool serves_categories = false;  // their order needs exact means

    size_t stride() const { return 1; }

    void prepare(const NodeView<Stats>& node) {
        MeanStep step = step_of(node);
        deviations_.resize(node.rows.size());
        for (size_t i = 0; i < node.rows.size(); ++i) deviations_[i] = step(node.rows[i]);
    }

    uint32_t base(size_t) const { return 0; }
    template <class Run>
    void with_rows(Run&& run) const {
        run([this](size_t i) { return deviations_[i]; });
    }
    static void add(Entry* entry, double deviation) {
        entry->sum += deviation;
        ++entry->count;
    }
    bool is_used(const Entry* line) const { return line->count != 0; }

    // Cuts between the groups of the given codes, which ascend; see MeanScan for the test.
    template <class LineAt>
    void scan_cuts(const NodeView<Stats>& node, uint32_t column, std::span<const uint32_t> codes,
                   LineAt&& line_at, Findings& findings) {
        d_ = 0;
        n_left_ = 0;
        for (size_t k = 0; k < codes.size(); ++k)
            next_group(node, column, codes[k], line_at(k), findings);
    }

private:
    void next_group(const NodeView<Stats>& node, uint32_t column, uint32_t code, const Entry* line,
                    Findings& findings) {
        if (line->count == 0) return;
        int64_t smallest = node.rules.min_samples_leaf, n_right = node.totals.rows - n_left_;
        if (n_left_ >= smallest && n_right >= smallest)
            offer_mean(node, {column, code_, code, 0.0}, d_,
                       static_cast<double>(n_left_) * static_cast<double>(n_right), findings);
        d_ += line->sum;
        n_left_ += line->count;
        code_ = code;
    }

    std::vector<double> deviations_;  // per row of the node
    double d_ = 0;
    int64_t n_left_ = 0;
    uint32_t code_ = 0;
};

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

template <class Groups>
class FewSearch {
public:
    using Stats = typename Groups::Stats;
    using Entry = typename Groups::Entry;
    using Slot = typename Stats::Slot;

    FewSearch() {}  // not filled with zeros: it is large, and small trees are many

    // What a search works on; exact(column) is called for columns that only the exact scans can decide.
    struct Job {
        const Layout& layout;
        const NodeView<Stats>& node;
        Scratch<Slot>& scratch;
        Findings& findings;
    };

    // Columns first .. last - 1 of layout.few_columns.
    template <class Exact>
    void search(const Job& job, size_t first, size_t last, Exact&& exact) {
        if (!Groups::serves_categories) {
            size_t numeric = std::clamp(job.layout.n_few_numeric, first, last);
            for (size_t k = numeric; k < last; ++k) exact(job.layout.few_columns[k]);
            last = numeric;
        }
        if (first == last) return;
        groups_.prepare(job.node);
        first =
            search_promising(job, first, std::clamp(job.layout.n_few_numeric, first, last), exact);
        if (job.node.rows.size() <= kSmall)
            for (; first < last; ++first) search_small(job, first, exact);
        while (first < last) first = search_large(job, first, last, exact);
    }

    // The same from the histograms that the node has kept.
    template <class Exact>
    void search_kept(const Job& job, size_t first, size_t last, const Entry* histogram,
                     Exact&& exact) {
        groups_.prepare_labels(job.node, true);
        scan_columns(job, first, last, histogram + job.layout.few_starts[first] * groups_.stride(),
                     exact);
    }

private:
    static constexpr size_t kSmall = 64;  // rows
    static constexpr size_t kEntries = 1 << 15;  // filled together: they stay in cache

    // Numeric columns, of which a filter leaves few to be searched; returns where the others begin.
    template <class Exact>
    size_t search_promising(const Job& job, size_t first, size_t last, Exact&& exact) {
        if constexpr (Groups::serves_categories) {
            size_t n_rows = job.node.rows.size(), n_labels = groups_.stride();
            if (first == last || n_rows > kFilteredRows || job.node.counts != nullptr) return first;
            filter_.choose(job.layout, first, last);
            if (filter_.expect_work(n_rows, n_labels, 1) > expect_work(n_rows, n_labels))
                return first;
            filter_.prepare(job.node.rows, groups_.labels(), groups_.totals(),
                            job.node.rules.min_samples_leaf);
            filter_.run(job.layout);
            std::span<const float> best = filter_.best_of(0);
            double least = CutFilter::least_of(best, job.findings.floor);
            for (size_t k = first; k < last; ++k)
                if ((best[k - first] > 0 && best[k - first] >= least) ||
                    job.layout.table->columns[job.layout.few_columns[k]].has_missing)
                    search_small(job, k, exact);
            return last;
        }
        return first;
    }
    // What the same columns are without a filter, in about instructions.
    size_t expect_work(size_t n_rows, size_t n_labels) const {
        size_t n_cells = n_rows * filter_.n_columns();
        return 9 * n_cells + std::min(n_cells, filter_.n_codes()) * (10 + 2 * n_labels);
    }

    template <class Exact>
    void search_small(const Job& job, size_t at, Exact&& exact) {
        uint32_t column = job.layout.few_columns[at];
        if (is_settled(job.node, column, job.findings)) return;
        size_t stride = groups_.stride();
        reserve(256 * stride);
        std::array<uint64_t, 4> used{};
        groups_.with_rows([&](auto&& row) {
            for (size_t i = 0; i < job.node.rows.size(); ++i) {
                uint32_t code = job.layout.few_line(job.node.rows[i])[at];
                used[code / 64] |= uint64_t{1} << (code % 64);
                Groups::add(histogram_.data() + code * stride + groups_.base(i), row(i));
            }
        });
        used_.clear();
        for (uint32_t part = 0; part < 4; ++part)
            for (uint64_t bits = used[part]; bits != 0; bits &= bits - 1)
                used_.push_back(part * 64 + static_cast<uint32_t>(std::countr_zero(bits)));
        scan(job, column, histogram_.data(), exact);
        for (uint32_t code : used_) std::fill_n(histogram_.data() + code * stride, stride, Entry{});
    }

    // As many columns as fit; returns the first that does not.
    template <class Exact>
    size_t search_large(const Job& job, size_t first, size_t last, Exact&& exact) {
        size_t stride = groups_.stride(), n_entries = 0, next = first;
        starts_.clear();
        do {
            starts_.push_back(static_cast<uint32_t>(n_entries));
            n_entries += job.layout.table->columns[job.layout.few_columns[next]].n_lines() * stride;
        } while (++next < last && n_entries < kEntries);
        reserve(n_entries);
        fill(job, first);
        scan_columns(job, first, next, histogram_.data(), exact);
        std::fill_n(histogram_.begin(), n_entries, Entry{});
        return next;
    }

    void fill(const Job& job, size_t first) {
        std::span<const uint32_t> rows = job.node.rows;
        RowCells cells(starts_, groups_.stride());
        groups_.with_rows([&](auto&& added_of) {
            cells.visit(
                job.layout, first, rows.size(), [rows](size_t i) -> size_t { return rows[i]; },
                [&](size_t i) { return groups_.base(i); },
                [&, histogram = histogram_.data()](const CellBlock& block) {
                    block.for_each_row([&](size_t i) {
                        return [histogram, added = added_of(i)](uint32_t offset) {
                            Groups::add(histogram + offset, added);
                        };
                    });
                });
        });
    }

    // Columns whose lines stand one after another.
    template <class Exact>
    void scan_columns(const Job& job, size_t first, size_t last, const Entry* lines,
                      Exact&& exact) {
        auto lines_of = [&, begin = job.layout.few_starts[first]](size_t k) {
            return lines + (job.layout.few_starts[k] - begin) * groups_.stride();
        };
        for (; (first = scan_together(job, first, last, lines_of)) < last; ++first)
            scan_all(job, job.layout.few_columns[first], lines_of(first), exact);
    }

    // Two classes: all columns up to one with missing rows or categories, which is returned.
    template <class LinesOf>
    size_t scan_together(const Job& job, size_t first, size_t last, LinesOf&& lines_of) {
        if constexpr (Groups::serves_categories) {
            size_t next = first, end = std::min(last, job.layout.n_few_numeric);
            auto has_missing = [&](size_t k) {
                return job.layout.table->columns[job.layout.few_columns[k]].has_missing &&
                       groups_.is_used(lines_of(k + 1) - 2);
            };
            while (groups_.stride() == 2 && next < end && !has_missing(next)) ++next;
            if (next > first && !is_settled(job.node, job.layout.few_columns[first], job.findings))
                groups_.scan_columns(job.node, job.layout, first, next, lines_of(first),
                                     job.findings);
            return next;
        }
        return first;
    }

    // One column, from the lines of all its codes; numeric cuts skip those of no row.
    template <class Exact>
    void scan_all(const Job& job, uint32_t at, const Entry* lines, Exact&& exact) {
        const Column& column = job.layout.table->columns[at];
        if (is_settled(job.node, at, job.findings)) return;
        used_.clear();
        for (uint32_t code = 0; code < column.n_lines(); ++code)
            if (!column.is_categorical || groups_.is_used(lines + code * groups_.stride()))
                used_.push_back(code);
        if (!column.is_categorical && column.has_missing &&
            !groups_.is_used(lines + column.missing_code() * groups_.stride()))
            used_.pop_back();
        scan(job, at, lines, exact);
    }

    // One column, from the lines of the codes in used_ (ascending; the missing code, if any, is the last).
    template <class Exact>
    void scan(const Job& job, uint32_t at, const Entry* lines, Exact&& exact) {
        const Column& column = job.layout.table->columns[at];
        if (used_.size() < 2) return;
        auto line_at = [lines, codes = used_.data(), stride = groups_.stride()](size_t k) {
            return lines + codes[k] * stride;
        };
        bool has_missing = used_.back() == column.missing_code();
        if constexpr (Groups::serves_categories)
            if ((column.is_categorical || has_missing) &&
                !groups_.can_reach(used_.size(), line_at, job.findings.floor))
                return;
        if (column.is_categorical && job.node.counts == nullptr)
            return scan_categories(job, at, column, lines);
        if (column.is_categorical || has_missing) {
            exact(at);
            return;
        }
        groups_.scan_cuts(job.node, at, {used_.data(), used_.size()}, line_at, job.findings);
    }

    void scan_categories(const Job& job, uint32_t at, const Column& column, const Entry* lines) {
        if constexpr (Groups::serves_categories) {
            size_t width = job.node.stats.width();
            reserve_histogram(job.scratch, column.n_codes, width);
            job.scratch.present.clear();
            for (uint32_t code : used_) {
                job.scratch.histogram_rows[code] = groups_.give(
                    lines + code * groups_.stride(), job.scratch.histogram.data() + code * width);
                if (code != column.missing_code()) job.scratch.present.push_back(code);
            }
            CategoricalScan<Stats>(job.node, at, column.n_codes, job.scratch, job.findings).run();
            for (uint32_t code : used_) {
                job.scratch.histogram_rows[code] = 0;
                std::fill_n(job.scratch.histogram.data() + code * width, width, Slot(0));
            }
        }
    }

    void reserve(size_t n_entries) {
        if (histogram_.size() < n_entries) histogram_.resize(n_entries);
    }

    Groups groups_;
    CutFilter filter_;
    std::vector<uint32_t> starts_;
    CodeList used_;
    std::vector<Entry> histogram_;  // all zero between searches
};

// Where rows count in kept histograms of the few-valued columns first .. last - 1.
inline RowCells cells_of(const Plan& plan, size_t first, size_t last, size_t stride) {
    std::vector<uint32_t> starts;
    starts.reserve(last - first);
    for (size_t k = first; k < last; ++k)
        starts.push_back(static_cast<uint32_t>(plan.few_starts[k] * stride));
    return RowCells(starts, stride);
}

// Kept histograms: rows, as often as they count, by (column, code, class) of the few-valued columns first .. last - 1.
inline void count_rows(const Plan& layout, const ClassStats<int64_t>& stats,
                       std::span<const uint32_t> rows, size_t first, size_t last,
                       uint32_t* histogram) {
    auto visit = [&](auto&& visit_block) {
        cells_of(layout, first, last, stats.width())
            .visit(
                layout, first, rows.size(), [rows](size_t i) -> size_t { return rows[i]; },
                [rows, classes = stats.classes.data()](size_t i) {
                    return static_cast<uint32_t>(classes[rows[i]]);
                },
                visit_block);
    };
    if (!stats.counts) {
        visit([histogram](const CellBlock& block) {
            block.for_each([histogram](uint32_t offset) { ++histogram[offset]; });
        });
        return;
    }
    visit([histogram, rows, counts = stats.counts->data()](const CellBlock& block) {
        block.for_each_row([=](size_t i) {
            return [=, count = counts[rows[i]]](uint32_t offset) { histogram[offset] += count; };
        });
    });
}

// Nodes of so many rows keep no histograms: to count them when they are needed, or to filter columns, is less work.
inline constexpr size_t kUnkeptRows = 64;
inline size_t find_unkept_rows(const Plan& plan, size_t n_classes) {
    constexpr size_t kTypical = 128, kPerRow = 20;  // instructions, beside those of the cuts
    size_t n_few = plan.few_columns.size();
    bool is_filtered = plan.n_few_numeric == n_few &&
                       std::none_of(plan.few_columns.begin(), plan.few_columns.end(),
                                    [&](uint32_t k) { return plan.table->columns[k].has_missing; });
    if (!is_filtered) return kUnkeptRows;
    CutFilter filter;
    filter.choose(plan, 0, n_few);
    size_t filtering = filter.expect_work(kTypical, n_classes, 1) + kPerRow * kTypical;
    size_t keeping = n_few * kTypical * 5 / 4 + 3 * plan.few_starts.back() * n_classes;
    return filtering < keeping ? kFilteredRows : kUnkeptRows;
}

// Is a node of so many rows large enough to keep histograms? Then reading them costs less than counting. n_entries: per code.
inline bool keeps_histograms(const Plan& layout, size_t n_rows, size_t n_entries,
                             size_t n_unkept_rows) {
    size_t n_few = layout.few_columns.size();
    return n_few != 0 && n_rows > n_unkept_rows &&
           n_rows * n_few >= 2 * size_t{layout.few_starts.back()} * n_entries;
}

// Which search of few-valued columns a target has; the wide ones have none.
template <class Stats>
struct FewSearchOf {
    using Type = void*;
};
template <>
struct FewSearchOf<ClassStats<int64_t>> {
    using Type = FewSearch<ClassGroups>;
};
template <>
struct FewSearchOf<MeanStats<2>> {
    using Type = FewSearch<MeanGroups>;
};

}  // namespace treefold
