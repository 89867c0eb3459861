// Nodes of two or three rows: a split singles out one row, so a glance at the codes of each column is enough.
//
// Half of the inner nodes of a full regression tree are such. They need no kept order, so none is divided for them
// (kin8nm: 1.2 times as fast a growth). Only where no column asks for more: see most_rows_at_once().
#pragma once

#include <array>
#include <optional>

#include "search/layout.hpp"
#include "split/findings.hpp"

namespace treefold {

template <class Stats>
class FewRows {
public:
    using Slot = typename Stats::Slot;
    FewRows(const Table& table, const NodeView<Stats>& node, Scratch<Slot>& scratch)
        : table_(table), node_(node), scratch_(scratch) {}

    Split run() {
        for (uint32_t at = 0; at < table_.columns.size(); ++at)
            if (node_.rows.size() == 2 ? two_rows(at) : three_rows(at)) break;
        return std::move(best_);
    }

private:
    // Every split of two rows is as good as any other: the first column in which they differ has it.
    bool two_rows(uint32_t at) {
        const Column& column = table_.columns[at];
        uint32_t a = column.codes[node_.rows[0]], b = column.codes[node_.rows[1]];
        if (a == b) return false;
        best_ = numeric_split(0.0, at, std::min(a, b), std::max(a, b));
        if (column.is_categorical) single_out(best_, column.n_codes);
        return true;
    }

    bool three_rows(uint32_t at) {
        std::array<std::pair<uint32_t, uint32_t>, 3> order;  // (code, which row)
        table_.columns[at].codes.with([&](auto* codes) {
            for (uint32_t k = 0; k < 3; ++k) order[k] = {codes[node_.rows[k]], k};
        });
        if (order[1] < order[0]) std::swap(order[0], order[1]);
        if (order[2] < order[1]) std::swap(order[1], order[2]);
        if (order[1] < order[0]) std::swap(order[0], order[1]);
        for (size_t cut : {0, 1})
            if (order[cut].first != order[cut + 1].first)
                offer(quality_of(order[2 * cut].second), at, order[cut].first,
                      order[cut + 1].first);
        return false;
    }

    // Columns and cuts come in the order of the tie rule: the first of equals stays.
    void offer(double quality, uint32_t at, uint32_t code, uint32_t next_code) {
        if (!best_.exists() || quality > best_.quality)
            best_ = numeric_split(quality, at, code, next_code);
    }

    // Of the split that singles out one row.
    double quality_of(uint32_t single) {
        if (known_[single]) return *known_[single];
        scratch_.left.assign(node_.stats.width(), Slot(0));
        node_.stats.add(node_.rows[single], scratch_.left.data());
        subtract(node_.totals.slots, scratch_.left, scratch_.right);
        known_[single] = node_.stats.quality({1, scratch_.left.data()}, {2, scratch_.right.data()},
                                             node_.context, scratch_.scaled);
        return *known_[single];
    }

    const Table& table_;
    const NodeView<Stats>& node_;
    Scratch<Slot>& scratch_;
    std::array<std::optional<double>, 3> known_{};
    Split best_;
};

}  // namespace treefold
