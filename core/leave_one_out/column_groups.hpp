// The rows of a node by their values in one column.
#pragma once

#include <algorithm>

#include "search/layout.hpp"
#include "split/findings.hpp"

namespace treefold {

// Calls visit(row, code) for all rows of a layout, by ascending code.
template <class Visit>
void visit_by_code(const Layout& layout, uint32_t at, std::vector<uint64_t>& pairs, Visit&& visit) {
    const Column& column = layout.table->columns[at];
    if (layout.order_of[at] >= 0) {
        column.codes.with([&](auto* codes) {
            for (uint32_t word : layout.order(at, 0, layout.n_rows)) {
                uint32_t row = word >> layout.class_bits;
                visit(row, static_cast<uint32_t>(codes[row]));
            }
        });
        return;
    }
    pairs.clear();
    for (uint32_t row : layout.rows) pairs.push_back(uint64_t{column.code_of(row)} << 32 | row);
    std::sort(pairs.begin(), pairs.end());
    for (uint64_t pair : pairs)
        visit(static_cast<uint32_t>(pair), static_cast<uint32_t>(pair >> 32));
}

// Does an ordered column lack values in this layout? Missing ones come last.
inline bool has_missing(const Layout& layout, uint32_t at) {
    const Column& column = layout.table->columns[at];
    uint32_t last = layout.order(at, 0, layout.n_rows).back() >> layout.class_bits;
    return column.has_missing && column.codes[last] == column.missing_code();
}

// Few codes against rows, and no order kept: rows are better counted than sorted.
inline bool is_counted(const Layout& layout, uint32_t at) {
    const Column& column = layout.table->columns[at];
    return layout.order_of[at] < 0 && !column.is_sparse && column.n_codes <= 2 * layout.rows.size();
}

// Values that a node has in a column, ascending, with how many rows have each. Missing ones come apart.
struct Presence {
    std::vector<uint32_t> codes;
    std::vector<int64_t> n_rows;
    int64_t n_missing = 0;

    void add(uint32_t code, int64_t count) {
        if (codes.empty() || codes.back() != code) codes.push_back(code), n_rows.push_back(0);
        n_rows.back() += count;
    }
    size_t find(uint32_t code) const {
        return static_cast<size_t>(std::lower_bound(codes.begin(), codes.end(), code) -
                                   codes.begin());
    }
};

inline Presence list_presence(const Layout& layout, uint32_t at, std::vector<uint64_t>& pairs) {
    Presence presence;
    const Column& column = layout.table->columns[at];
    uint32_t missing = column.missing_code();
    if (is_counted(layout, at)) {
        std::vector<int64_t> counts(column.n_codes + 1);
        column.codes.with([&](auto* codes) {
            for (uint32_t row : layout.rows) ++counts[codes[row]];
        });
        for (uint32_t code = 0; code < column.n_codes; ++code)
            if (counts[code] != 0) presence.add(code, counts[code]);
        presence.n_missing = counts[missing];
        return presence;
    }
    visit_by_code(layout, at, pairs, [&](uint32_t, uint32_t code) {
        if (code == missing)
            ++presence.n_missing;
        else
            presence.add(code, 1);
    });
    return presence;
}

// A candidate of a numeric column, by what it sends left of all rows.
struct Cut {
    uint32_t code, next_code;
    int64_t rows_left;
    bool missing_left;
};

// Candidates of a numeric column in the order of the tie rule, with their statistics.
template <class Slot>
struct Cuts {
    std::vector<Cut> cuts;
    std::vector<Slot> left;  // (cut, slot)
    int64_t n_missing = 0;
    int64_t n_first = 0;  // rows that have the lowest value; known where values are missing

    size_t size() const { return cuts.size(); }
    void clear() { cuts.clear(), left.clear(), n_missing = n_first = 0; }
    void add(const Cut& cut, const Slot* slots, size_t width) {
        cuts.push_back(cut);
        left.insert(left.end(), slots, slots + width);
    }
    const Slot* slots(size_t cut, size_t width) const { return left.data() + cut * width; }
};

// Lists all candidates of a column in one node.
template <class Stats>
class CutLister {
public:
    using Slot = typename Stats::Slot;
    CutLister(const Layout& layout, uint32_t at, const Stats& stats, Scratch<Slot>& scratch,
              Cuts<Slot>& cuts)
        : layout_(layout), at_(at), column_(layout.table->columns[at]), target_(stats),
          scratch_(scratch), cuts_(cuts), width_(stats.width()) {}

    void run() {
        scratch_.left.assign(width_, Slot(0));
        scratch_.missing.assign(width_, Slot(0));
        cuts_.clear();
        if (is_counted(layout_, at_))
            count();
        else
            walk();
        if (cuts_.n_missing != 0 && last_ != UINT32_MAX)
            cuts_.add({last_, column_.missing_code(), n_left_, false}, scratch_.left.data(),
                      width_);
    }

private:
    void walk() {
        uint32_t missing = column_.missing_code();
        if (column_.has_missing)
            for (uint32_t row : layout_.rows)
                if (column_.code_of(row) == missing)
                    target_.add(row, scratch_.missing.data()), ++cuts_.n_missing;
        visit_by_code(layout_, at_, scratch_.pairs, [&](uint32_t row, uint32_t code) {
            if (code == missing) return;
            if (code != last_) begin_value(code);
            target_.add(row, scratch_.left.data());
            ++n_left_;
        });
    }

    void count() {
        reserve_histogram(scratch_, column_.n_codes, width_);
        Slot* slots = scratch_.histogram.cells();
        int64_t* counts = scratch_.histogram_rows.data();
        column_.codes.with([&](auto* codes) {
            for (uint32_t row : layout_.rows) {
                target_.add(row, slots + codes[row] * width_);
                ++counts[codes[row]];
            }
        });
        uint32_t missing = column_.missing_code();
        std::copy_n(slots + missing * width_, width_, scratch_.missing.begin());
        cuts_.n_missing = counts[missing];
        for (uint32_t code = 0; code < missing; ++code) {
            if (counts[code] == 0) continue;
            begin_value(code);
            for (size_t k = 0; k < width_; ++k) scratch_.left[k] += slots[code * width_ + k];
            n_left_ += counts[code];
        }
        clear_histogram(scratch_, column_.n_codes, width_);
    }

    // The cut before a value.
    void begin_value(uint32_t code) {
        if (last_ != UINT32_MAX) {
            if (cuts_.n_first == 0) cuts_.n_first = n_left_;
            if (cuts_.n_missing != 0) {
                scratch_.moved = scratch_.left;
                for (size_t k = 0; k < width_; ++k) scratch_.moved[k] += scratch_.missing[k];
                cuts_.add({last_, code, n_left_ + cuts_.n_missing, true}, scratch_.moved.data(),
                          width_);
            }
            cuts_.add({last_, code, n_left_, cuts_.n_missing == 0}, scratch_.left.data(), width_);
        }
        last_ = code;
    }

    const Layout& layout_;
    uint32_t at_;
    const Column& column_;
    const Stats& target_;
    Scratch<Slot>& scratch_;
    Cuts<Slot>& cuts_;
    size_t width_;
    uint32_t last_ = UINT32_MAX;
    int64_t n_left_ = 0;
};

// Without the only row of the lowest value, a cut above it has only missing values on its left: it is no cut.
template <class Slot>
bool is_no_cut(const Cuts<Slot>& cuts, const Cut& cut, uint32_t code) {
    return cuts.n_missing != 0 && cut.missing_left && cut.code == code && cuts.n_first == 1 &&
           cut.rows_left == cuts.n_missing + 1;
}

}  // namespace treefold
