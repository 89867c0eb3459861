// The rows of a node by their values in one column.
#pragma once

#include <algorithm>

#include "findings.hpp"
#include "rows.hpp"

namespace treefold {

// Values that a node has in a column, ascending, with how many rows have each. Missing ones come apart.
struct Presence {
    std::vector<uint32_t> codes;
    std::vector<int64_t> n_rows;
    int64_t n_missing = 0;

    void clear() { codes.clear(), n_rows.clear(), n_missing = 0; }
    size_t find(uint32_t code) const {
        return static_cast<size_t>(std::lower_bound(codes.begin(), codes.end(), code) -
                                   codes.begin());
    }
};

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

inline void list_presence(const Layout& layout, uint32_t at, std::vector<uint64_t>& pairs,
                          Presence& presence) {
    presence.clear();
    uint32_t missing = layout.table->columns[at].missing_code();
    visit_by_code(layout, at, pairs, [&](uint32_t, uint32_t code) {
        if (code == missing) {
            ++presence.n_missing;
        } else if (presence.codes.empty() || presence.codes.back() != code) {
            presence.codes.push_back(code);
            presence.n_rows.push_back(1);
        } else {
            ++presence.n_rows.back();
        }
    });
}

// A candidate of a numeric column, by what it sends left of all rows.
struct Cut {
    uint32_t code, next_code;
    int64_t rows_left;
    bool missing_left;
};

// All candidates of a numeric column in the order of the tie rule, with their statistics.
template <class Slot>
struct Cuts {
    std::vector<Cut> cuts;
    std::vector<Slot> left;  // (cut, slot)
    int64_t n_missing = 0;

    size_t size() const { return cuts.size(); }
    void clear() { cuts.clear(), left.clear(), n_missing = 0; }
    void add(const Cut& cut, const std::vector<Slot>& slots) {
        cuts.push_back(cut);
        left.insert(left.end(), slots.begin(), slots.end());
    }
    const Slot* slots(size_t cut, size_t width) const { return left.data() + cut * width; }
};

template <class Target>
void list_cuts(const Layout& layout, uint32_t at, const Target& target,
               Scratch<typename Target::Slot>& scratch, Cuts<typename Target::Slot>& cuts) {
    using Slot = typename Target::Slot;
    const Column& column = layout.table->columns[at];
    uint32_t missing = column.missing_code();
    scratch.left.assign(target.width(), Slot(0));
    scratch.missing.assign(target.width(), Slot(0));
    cuts.clear();
    if (column.has_missing)
        for (uint32_t row : layout.rows)
            if (column.code_of(row) == missing)
                target.add(row, scratch.missing.data()), ++cuts.n_missing;
    uint32_t last = UINT32_MAX;
    int64_t n_left = 0;
    visit_by_code(layout, at, scratch.pairs, [&](uint32_t row, uint32_t code) {
        if (code == missing) return;
        if (code != last && last != UINT32_MAX) {
            if (cuts.n_missing != 0) {
                scratch.moved = scratch.left;
                for (size_t k = 0; k < scratch.moved.size(); ++k)
                    scratch.moved[k] += scratch.missing[k];
                cuts.add({last, code, n_left + cuts.n_missing, true}, scratch.moved);
            }
            cuts.add({last, code, n_left, cuts.n_missing == 0}, scratch.left);
        }
        last = code;
        target.add(row, scratch.left.data());
        ++n_left;
    });
    if (cuts.n_missing != 0 && last != UINT32_MAX)
        cuts.add({last, missing, n_left, false}, scratch.left);
}

}  // namespace treefold
