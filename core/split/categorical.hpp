// Sets of categories, exactly: which categories of a node go left.
//
// Two classes or a mean: the best set is a prefix of the order by mean (Breiman et al. 1984), so C categories
// have C - 1 candidates. More classes: every subset up to kExhaustive categories, else prefixes per class.
//
// Sets must not win by their number. Of more than two categories those of few rows go together as one group, and all
// candidates give up what so many groups gain by chance.
#pragma once

#include <algorithm>

#include "split/findings.hpp"

namespace treefold {

// Of the categories in a node, those of fewer rows than `least`; and all, where the first of these stands for them. Two
// categories divide in one way only: they stay apart.
template <class RowsOf, class Codes>
void list_rare(std::span<const uint32_t> present, int64_t least, RowsOf&& rows_of, Codes& rare,
               Codes& groups) {
    rare.clear(), groups.clear();
    for (uint32_t code : present) {
        bool is_rare = present.size() > 2 && rows_of(code) < least;
        if (!is_rare || rare.empty()) groups.push_back(code);
        if (is_rare) rare.push_back(code);
    }
}

// What the best set of so many groups owes to chance beyond what a number owes to its choice of cuts, in units of quality.
template <class Stats>
double allowance_for(const NodeView<Stats>& node, size_t n_groups, std::vector<int64_t>& scratch) {
    if (node.rules.min_samples_category == 1 || n_groups <= kFreeGroups) return 0.0;
    return chance_of_groups(n_groups) *
           node.stats.chance_gain(node.totals, node.context, node.variance, scratch);
}

template <class Stats>
class CategoricalScan {
public:
    using Slot = typename Stats::Slot;
    static constexpr size_t kExhaustive = 8;

    // scratch.present lists the categories of the node; scratch.histogram and histogram_rows have their
    // statistics and, at n_codes, those of the missing rows.
    CategoricalScan(const NodeView<Stats>& node, uint32_t column, uint32_t n_codes,
                    Scratch<Slot>& scratch, Findings& findings)
        : node_(node), column_(column), n_codes_(n_codes), width_(node.stats.width()),
          scratch_(scratch), findings_(findings) {
        missing_rows_ = scratch.histogram_rows[n_codes];
    }

    // Returns whether the column varies in this node; a group of rare categories is one value.
    bool run() {
        join_rare();
        bool varies = try_groups();
        part_rare();
        return varies;
    }

private:
    bool try_groups() {
        const std::vector<uint32_t>& groups = scratch_.groups;
        if (groups.empty() || groups.size() + (missing_rows_ != 0) < 2) return false;
        allowance_ = allowance_for(node_, groups.size(), scratch_.scaled);
        if (missing_rows_ != 0) {
            start();
            for (uint32_t code : groups) add(code);
            offer(groups.size(), groups, false);
        }
        if (groups.size() < 2) return true;
        if constexpr (!Stats::is_classification) {
            try_prefixes(0);
        } else {
            size_t n_classes = 0, first = 0;
            for (size_t k = width_; k-- > 0;)
                if (node_.totals.slots[k] != Slot(0)) ++n_classes, first = k;
            if (n_classes <= 2)
                try_prefixes(first);
            else if (groups.size() <= kExhaustive)
                try_subsets();
            else
                for (size_t k = 0; k < width_; ++k)
                    if (node_.totals.slots[k] != Slot(0)) try_prefixes(k);
        }
        return true;
    }

    // The first of the rare categories takes what the others have, and gives it back.
    void join_rare() {
        list_rare(
            scratch_.present, node_.rules.min_samples_category,
            [&](uint32_t code) { return scratch_.histogram_rows[code]; }, scratch_.rare,
            scratch_.groups);
        move_rare([](auto& to, const auto& from) { to += from; });
    }
    void part_rare() {
        move_rare([](auto& to, const auto& from) { to -= from; });
    }
    template <class Move>
    void move_rare(Move&& move) {
        const std::vector<uint32_t>& rare = scratch_.rare;
        for (size_t k = 1; k < rare.size(); ++k) {
            move(scratch_.histogram_rows[rare[0]], scratch_.histogram_rows[rare[k]]);
            for (size_t slot = 0; slot < width_; ++slot)
                move(scratch_.histogram.cells()[rare[0] * width_ + slot],
                     scratch_.histogram.cells()[rare[k] * width_ + slot]);
        }
    }

    Side<Slot> category(uint32_t code) const {
        return {scratch_.histogram_rows[code], scratch_.histogram.cells() + code * width_};
    }
    void start() {
        scratch_.left.assign(width_, Slot(0));
        rows_ = 0;
    }
    void add(uint32_t code) {
        Side<Slot> side = category(code);
        rows_ += side.rows;
        for (size_t k = 0; k < width_; ++k) scratch_.left[k] += side.slots[k];
    }

    // Categories of equal share move together. If all are equal the lowest goes alone, so that a node can split at
    // zero gain (XOR of two categorical columns).
    void try_prefixes(size_t k) {
        auto& order = scratch_.by_share;
        order.clear();
        for (uint32_t code : scratch_.groups)
            order.emplace_back(node_.stats.share(category(code), k, node_.context, scratch_.scaled),
                               code);
        std::sort(order.begin(), order.end());
        start();
        std::vector<uint32_t>& codes = scratch_.chosen;
        codes.clear();
        for (auto [share, code] : order) codes.push_back(code);
        bool all_equal = order.front().first == order.back().first;
        for (size_t i = 0; i + 1 < order.size(); ++i) {
            add(order[i].second);
            if (all_equal) return offer_both(1, codes);
            if (order[i].first != order[i + 1].first) offer_both(i + 1, codes);
        }
    }

    void try_subsets() {
        // Bit i of `others` decides about groups[i + 1]; groups[0] is always left.
        const std::vector<uint32_t>& groups = scratch_.groups;
        std::vector<uint32_t>& codes = scratch_.chosen;
        for (uint32_t others = 0; others + 1 < uint32_t{1} << (groups.size() - 1); ++others) {
            codes.assign(1, groups[0]);
            for (size_t i = 1; i < groups.size(); ++i)
                if (others >> (i - 1) & 1) codes.push_back(groups[i]);
            start();
            for (uint32_t code : codes) add(code);
            offer_both(codes.size(), codes);
        }
    }

    // The first `count` of codes, which scratch.left adds up, with and without the missing rows.
    void offer_both(size_t count, const std::vector<uint32_t>& codes) {
        if (missing_rows_ != 0) {
            scratch_.moved = scratch_.left;
            int64_t rows = rows_;
            add(n_codes_);
            offer(count, codes, true);
            scratch_.left = scratch_.moved;
            rows_ = rows;
        }
        offer(count, codes, false);
    }

    void offer(size_t count, const std::vector<uint32_t>& codes, bool with_missing) {
        std::optional<double> quality =
            judge(node_, scratch_.left, rows_, scratch_, findings_, allowance_);
        if (!quality) return;
        Split split = categorical_split(*quality, column_, n_codes_, {codes.data(), count},
                                        scratch_.present, scratch_.rare);
        split.saw_missing = missing_rows_ != 0;
        bool holds_codes = has_bit(split.left_set.data(), codes[0]);
        split.missing_left = holds_codes == with_missing;
        findings_.offer(std::move(split));
    }

    const NodeView<Stats>& node_;
    uint32_t column_, n_codes_;
    size_t width_;
    Scratch<Slot>& scratch_;
    Findings& findings_;
    int64_t missing_rows_ = 0, rows_ = 0;
    double allowance_ = 0.0;  // of every candidate's quality, what it owes to chance
};

}  // namespace treefold
