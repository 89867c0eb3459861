// The best split of one column in one node, by the way that the plan says:
//
//   order       many codes: the kept order, a stretch per node
//   codes       few codes against rows: one line of slots per code
//   sorted      few rows against codes, or no order kept: the rows of the node are sorted
//   list        sparse: the rows that are not zero, kept in order, and all others at zero
//   looked_up   sparse, no order kept: the paper's choice of binary search or look-up finds the listed rows
//
// All feed the same exact scans (numeric.hpp, categorical.hpp). Filters go first where they serve (filter.hpp).
#pragma once

#include <algorithm>
#include <cmath>

#include "search/few_columns.hpp"

namespace treefold {

template <class Stats>
class ColumnSearch {
public:
    using Slot = typename Stats::Slot;

    explicit ColumnSearch(const SearchJob<Stats>& job)
        : layout_(job.layout), node_(job.node), scratch_(job.scratch), findings_(job.findings),
          ways_(job.ways) {}

    // A column that is not a list. Returns whether it has more than one value here.
    bool run(uint32_t at) {
        bool is_ordered = layout_.order_of[at] >= 0;
        return run(at, is_ordered ? layout_.order(at, node_.begin, node_.end)
                                  : std::span<const uint32_t>{});
    }
    // The same with the order of its rows, if it is an ordered column.
    bool run(uint32_t at, std::span<const uint32_t> words) {
        const Column& column = layout_.table->columns[at];
        Way way = layout_.way_of(at, node_.rows.size());
        if (way == Way::looked_up) return looked_up(at, column);
        return column.codes.with([&](auto* codes) {
            if (way == Way::order) return ordered(at, column, codes, words);
            if (way == Way::codes) return by_code(at, column, codes);
            return sorted(at, column, codes);
        });
    }

    // A sparse column whose listed rows are kept in order.
    bool run(const Stretch& stretch) {
        const Column& column = layout_.table->columns[stretch.column];
        size_t n_listed = stretch.end - stretch.begin;
        std::span<const uint32_t> words(layout_.listed_words.data() + stretch.begin, n_listed);
        std::span<const uint32_t> codes(layout_.listed_codes.data() + stretch.begin, n_listed);
        ListView list{stretch.column,
                      words,
                      codes,
                      layout_.class_bits,
                      column.zero_code,
                      n_listed < node_.rows.size()};
        if (codes.back() != column.missing_code() &&
            Filter<Stats>::scan(node_, list, scratch_, findings_)) {
            ways_.add(Way::filtered_list);
            return list.has_zero || codes.front() != codes.back();
        }
        ways_.add(Way::list);
        scratch_.pairs.clear();
        for (size_t k = 0; k < n_listed; ++k)
            scratch_.pairs.push_back(uint64_t{codes[k]} << 32 | words[k] >> layout_.class_bits);
        return scan_pairs(stretch.column, column, node_.rows.size() - scratch_.pairs.size());
    }

private:
    template <class Code>
    bool sorted(uint32_t at, const Column& column, const Code* codes) {
        ways_.add(Way::sorted);
        scratch_.pairs.clear();
        for (uint32_t row : node_.rows) scratch_.pairs.push_back(uint64_t{codes[row]} << 32 | row);
        std::sort(scratch_.pairs.begin(), scratch_.pairs.end());
        return scan_pairs(at, column, 0);
    }

    template <class Code>
    bool ordered(uint32_t at, const Column& column, const Code* codes,
                 std::span<const uint32_t> words) {
        int bits = layout_.class_bits;
        auto code_at = [&](size_t k) { return static_cast<uint32_t>(codes[words[k] >> bits]); };
        bool has_missing = column.has_missing && code_at(words.size() - 1) == column.missing_code();
        OrderView<Code> order{at, words, bits, codes};
        if (!has_missing && Filter<Stats>::scan(node_, order, scratch_, findings_)) {
            ways_.add(Way::filtered_order);
            return code_at(0) != code_at(words.size() - 1);
        }
        ways_.add(Way::order);
        size_t n_present = words.size();
        NumericScan<Stats> scan(node_, at, column.n_codes, scratch_, findings_);
        if (has_missing)
            for (; n_present > 0 && code_at(n_present - 1) == column.missing_code();
                 --n_present, ++scan.missing_rows)
                node_.stats.add(words[n_present - 1] >> bits, scan.missing());
        uint32_t previous = UINT32_MAX;
        for (size_t k = 0; k < n_present; ++k, ++scan.left_rows) {
            uint32_t row = words[k] >> bits;
            if (codes[row] != previous) scan.next_value(previous = codes[row]);
            node_.stats.add(row, scan.left());
        }
        return scan.finish();
    }

    template <class Code>
    bool by_code(uint32_t at, const Column& column, const Code* codes) {
        if (column.is_categorical)
            if (std::optional<bool> varies = FloatCategories<Stats>::run(
                    node_, at, column, codes, scratch_.mean_categories, findings_)) {
                ways_.add(Way::float_categories);
                return *varies;
            }
        ways_.add(Way::codes);
        size_t width = node_.stats.width();
        reserve_histogram(scratch_, column.n_codes, width);
        for (uint32_t row : node_.rows) {
            node_.stats.add(row, scratch_.histogram.cells() + codes[row] * width);
            ++scratch_.histogram_rows[codes[row]];
        }
        bool varies =
            column.is_categorical ? scan_categories(at, column) : scan_histogram(at, column);
        clear_histogram(scratch_, column.n_codes, width);
        return varies;
    }

    bool scan_categories(uint32_t at, const Column& column) {
        scratch_.present.clear();
        for (uint32_t code = 0; code < column.n_codes; ++code)
            if (scratch_.histogram_rows[code] != 0) scratch_.present.push_back(code);
        return CategoricalScan<Stats>(node_, at, column.n_codes, scratch_, findings_).run();
    }

    bool scan_histogram(uint32_t at, const Column& column) {
        size_t width = node_.stats.width();
        NumericScan<Stats> scan(node_, at, column.n_codes, scratch_, findings_);
        auto add = [&](uint32_t code, Slot* slots, int64_t& rows) {
            for (size_t k = 0; k < width; ++k)
                slots[k] += scratch_.histogram.cells()[code * width + k];
            rows += scratch_.histogram_rows[code];
        };
        add(column.missing_code(), scan.missing(), scan.missing_rows);
        for (uint32_t code = 0; code < column.n_codes; ++code) {
            if (scratch_.histogram_rows[code] == 0) continue;
            scan.next_value(code);
            add(code, scan.left(), scan.left_rows);
        }
        return scan.finish();
    }

    // scratch.pairs in order, and n_zero rows that no pair lists (sparse columns).
    bool scan_pairs(uint32_t at, const Column& column, size_t n_zero) {
        const std::vector<uint64_t>& pairs = scratch_.pairs;
        NumericScan<Stats> scan(node_, at, column.n_codes, scratch_, findings_);
        auto code_of = [](uint64_t pair) { return static_cast<uint32_t>(pair >> 32); };
        auto row_of = [](uint64_t pair) { return static_cast<uint32_t>(pair); };
        size_t n_present = pairs.size();
        for (; n_present > 0 && code_of(pairs[n_present - 1]) == column.missing_code();
             --n_present, ++scan.missing_rows)
            node_.stats.add(row_of(pairs[n_present - 1]), scan.missing());
        if (n_zero != 0) sum_unlisted(n_present);
        bool is_zero_due = n_zero != 0;
        auto add_zero = [&] {
            scan.next_value(column.zero_code);
            for (size_t k = 0; k < scratch_.zero.size(); ++k) scan.left()[k] += scratch_.zero[k];
            scan.left_rows += static_cast<int64_t>(n_zero);
            is_zero_due = false;
        };
        uint32_t previous = UINT32_MAX;
        for (size_t k = 0; k < n_present; ++k, ++scan.left_rows) {
            uint32_t code = code_of(pairs[k]);
            if (is_zero_due && code > column.zero_code) add_zero();
            if (code != previous) scan.next_value(previous = code);
            node_.stats.add(row_of(pairs[k]), scan.left());
        }
        if (is_zero_due) add_zero();
        return scan.finish();
    }

    // The node's total without the rows of scratch.pairs: what is at zero.
    void sum_unlisted(size_t n_present) {
        scratch_.moved = scratch_.missing;
        for (size_t k = 0; k < n_present; ++k)
            node_.stats.add(static_cast<uint32_t>(scratch_.pairs[k]), scratch_.moved.data());
        subtract(node_.totals.slots, scratch_.moved, scratch_.zero);
    }

    // "Sparsified trees": few rows against listed ones are found by binary search, otherwise each
    // listed row tells by its position whether it is in this node.
    bool looked_up(uint32_t at, const Column& column) {
        const std::vector<uint32_t>& listed = column.listed_rows;
        ways_.add(Way::looked_up);
        scratch_.pairs.clear();
        auto list = [&](size_t k) {
            scratch_.pairs.push_back(uint64_t{column.listed_codes[k]} << 32 | listed[k]);
        };
        double n_rows = static_cast<double>(node_.rows.size()),
               n_listed = static_cast<double>(listed.size());
        if (n_rows * (std::log2(n_rows) + std::log2(n_listed + 1)) < 0.1 * n_listed) {
            auto from = listed.begin();
            for (uint32_t row : node_.rows) {
                from = std::lower_bound(from, listed.end(), row);
                if (from == listed.end()) break;
                if (*from == row) list(static_cast<size_t>(from - listed.begin()));
            }
        } else {
            for (size_t k = 0; k < listed.size(); ++k) {
                uint32_t place = layout_.position[listed[k]];
                if (place >= node_.begin && place < node_.end) list(k);
            }
        }
        std::sort(scratch_.pairs.begin(), scratch_.pairs.end());
        return scan_pairs(at, column, node_.rows.size() - scratch_.pairs.size());
    }

    const Layout& layout_;
    const NodeView<Stats>& node_;
    Scratch<Slot>& scratch_;
    Findings& findings_;
    WayCounts& ways_;
};

}  // namespace treefold
