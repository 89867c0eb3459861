// Cuts of a numeric column, exactly: values arrive in ascending order, a group of rows for each.
#pragma once

#include "split/findings.hpp"

namespace treefold {

// Additions to missing() first, then for each value next_value(code) and additions to left(), then finish().
// This is the scan that decides; the filters of search/ only leave out what cannot win.
template <class Stats>
class NumericScan {
public:
    using Slot = typename Stats::Slot;

    NumericScan(const NodeView<Stats>& node, uint32_t column, uint32_t n_codes,
                Scratch<Slot>& scratch, Findings& findings)
        : node_(node), column_(column), n_codes_(n_codes), scratch_(scratch), findings_(findings) {
        scratch_.left.assign(node.stats.width(), Slot(0));
        scratch_.missing.assign(node.stats.width(), Slot(0));
    }

    Slot* left() { return scratch_.left.data(); }
    int64_t left_rows = 0;
    Slot* missing() { return scratch_.missing.data(); }
    int64_t missing_rows = 0;

    void next_value(uint32_t code) {
        if (n_values_++ != 0) try_cut(code);
        code_ = code;
    }
    // Returns whether the column has more than one value in this node (missing counts as one).
    bool finish() {
        if (missing_rows == 0) return n_values_ > 1;
        if (n_values_ == 0) return false;
        offer(scratch_.left, left_rows, n_codes_, false);
        return true;
    }

private:
    void try_cut(uint32_t next_code) {
        if (missing_rows != 0) {
            scratch_.moved = scratch_.left;
            for (size_t k = 0; k < scratch_.moved.size(); ++k)
                scratch_.moved[k] += scratch_.missing[k];
            offer(scratch_.moved, left_rows + missing_rows, next_code, true);
        }
        offer(scratch_.left, left_rows, next_code, false);
    }

    void offer(const std::vector<Slot>& left, int64_t rows_left, uint32_t next_code,
               bool missing_left) {
        std::optional<double> quality = judge(node_, left, rows_left, scratch_, findings_);
        if (!quality) return;
        Split split;
        split.quality = *quality;
        split.column = column_;
        split.code = code_;
        split.next_code = next_code;
        split.missing_left = missing_left;
        split.saw_missing = missing_rows != 0;
        findings_.offer(std::move(split));
    }

    const NodeView<Stats>& node_;
    uint32_t column_, n_codes_;
    Scratch<Slot>& scratch_;
    Findings& findings_;
    uint32_t code_ = 0;
    size_t n_values_ = 0;
};

}  // namespace treefold
