// Where the members of a group part, and which rows their children have.
#pragma once

#include <numeric>

#include "divider.hpp"
#include "group.hpp"
#include "random.hpp"

namespace treefold {

// Members whose splits of one column differ stay together if the rows in between are at most this share of
// the node's: those rows then go both ways, for different members.
inline constexpr double kAmbiguousShare = 0.1;

// What the rows of a group add up to, by pattern and bin of one column.
template <class Target>
class Cells {
public:
    using Slot = typename Target::Slot;

    Cells(const Group<Target>& group, const Column& column, const Bins& bins, const Target& target,
          bool signs_rows)
        : n_bins(bins.size()), bin_of(std::make_shared<Words>(group.n_rows())),
          n_rows(group.patterns.size() * n_bins), width_(target.width()),
          slots_(n_rows.size() * width_) {
        if (column.is_categorical) {
            n_words_ = column.n_codes / 64 + 1;
            present_.resize(group.patterns.size() * n_words_);
        }
        const std::vector<uint32_t>& rows = group.layout.rows;
        if (column.is_sparse)
            add_rows(group, target, bins, [&](size_t k) { return column.code_of(rows[k]); });
        else
            column.codes.with([&](auto* codes) {
                add_rows(group, target, bins, [&](size_t k) { return uint32_t{codes[rows[k]]}; });
            });
        if (signs_rows) count_arrivals(rows);
    }

    const Slot* slots(size_t cell) const { return slots_.data() + cell * width_; }

    // The categories that a share has.
    std::vector<uint64_t> list_present(const Patterns& patterns, size_t share) const {
        std::vector<uint64_t> present(n_words_);
        for (uint32_t pattern = 0; pattern < patterns.size(); ++pattern)
            if (patterns.has(pattern, share))
                for (size_t k = 0; k < n_words_; ++k)
                    present[k] |= present_[pattern * n_words_ + k];
        return present;
    }

    size_t n_bins;
    std::shared_ptr<Words> bin_of;  // per row of the group
    std::vector<int64_t> n_rows;   // per cell
    std::vector<Arrival> arrivals;  // per bin, if asked for

private:
    void count_arrivals(const std::vector<uint32_t>& rows) {
        arrivals.resize(n_bins);
        for (size_t k = 0; k < rows.size(); ++k) arrivals[(*bin_of)[k]].signature += mix(rows[k]);
        for (size_t cell = 0; cell < n_rows.size(); ++cell)
            arrivals[cell % n_bins].n_rows += static_cast<size_t>(n_rows[cell]);
    }

    template <class CodeOf>
    void add_rows(const Group<Target>& group, const Target& target, const Bins& bins,
                  CodeOf&& code_of) {
        if (n_words_ != 0)
            return add_rows_by(group, target, code_of, [&](size_t k, uint32_t code) {
                present_[group.pattern_of[k] * n_words_ + code / 64] |= uint64_t{1} << (code % 64);
                return bins.of_code(code);
            });
        if (!bins.is_one_cut())
            return add_rows_by(group, target, code_of,
                               [&](size_t, uint32_t code) { return bins.of_code(code); });
        add_rows_by(
            group, target, code_of,
            [cut = bins.representative(0), missing = bins.missing_code()](
                size_t, uint32_t code) -> uint32_t { return (code > cut) + (code == missing); });
    }
    template <class CodeOf, class BinOf>
    void add_rows_by(const Group<Target>& group, const Target& target, CodeOf&& code_of,
                     BinOf&& find_bin) {
        uint32_t* bin_of_row = bin_of->data();
        const uint32_t *pattern_of = group.pattern_of.data(), *rows = group.layout.rows.data();
        auto visit = [&](auto&& add) {
            for (size_t k = 0; k < group.n_rows(); ++k) {
                uint32_t bin = find_bin(k, code_of(k));
                bin_of_row[k] = bin;
                add(rows[k], pattern_of[k] * n_bins + bin);
            }
        };
        if constexpr (std::is_same_v<Target, ClassTarget<int64_t>>) {
            if (!target.weights) {
                visit([slots = slots_.data(), classes = target.classes.data(), width = width_](
                          uint32_t row, size_t cell) {
                    ++slots[cell * width + static_cast<size_t>(classes[row])];
                });
                for (size_t cell = 0; cell < n_rows.size(); ++cell)
                    n_rows[cell] = std::accumulate(slots(cell), slots(cell) + width_, int64_t{0});
                return;
            }
        }
        visit([&](uint32_t row, size_t cell) {
            ++n_rows[cell];
            target.add(row, slots_.data() + cell * width_);
        });
    }

    size_t width_, n_words_ = 0;
    std::vector<Slot> slots_;
    std::vector<uint64_t> present_;  // categorical: (pattern, category), as bits
};

// Groups shares by column and by what they do with it. settle(share, split, left, right) describes both children
// and says whether the split is made; grows_on(part, seat) whether a child goes on.
template <class Target>
class Forker {
public:
    // signs_rows: say which rows arrive.
    Forker(const Table& table, Group<Target>& group, std::vector<Split>& splits, bool signs_rows)
        : table_(table), group_(group), splits_(splits), signs_rows_(signs_rows) {}

    template <class Settle, class GrowsOn>
    void run(Settle&& settle, GrowsOn&& grows_on, Work& work) {
        std::vector<size_t> order;
        for (size_t k = 0; k < splits_.size(); ++k)
            if (splits_[k].exists()) order.push_back(k);
        std::stable_sort(order.begin(), order.end(),
                         [&](size_t a, size_t b) { return splits_[a].column < splits_[b].column; });
        for (size_t first = 0; first < order.size();) {
            size_t last = first;
            while (last < order.size() &&
                   splits_[order[last]].column == splits_[order[first]].column)
                ++last;
            fork_column({order.data() + first, last - first}, settle, grows_on, work);
            first = last;
        }
        if (!group_.forks.empty()) work.forks += group_.forks.size() - 1;
    }

private:
    template <class Settle, class GrowsOn>
    void fork_column(std::span<const size_t> shares, Settle&& settle, GrowsOn&& grows_on,
                     Work& work) {
        const Column& column = table_.columns[splits_[shares[0]].column];
        std::vector<const Split*> splits;
        for (size_t share : shares) splits.push_back(&splits_[share]);
        Bins bins(column, splits);
        Cells<Target> cells(group_, column, bins, *group_.shares[shares[0]].seat->target,
                            signs_rows_);
        goes_left_.assign(group_.shares.size() * bins.size(), 0);
        for (size_t share : shares)
            for (size_t bin = 0; bin < bins.size(); ++bin)
                goes_left_[share * bins.size() + bin] =
                    code_goes_left(splits_[share], column, bins.representative(bin));
        for (const std::vector<size_t>& together : cluster(shares, cells, work)) {
            Fork<Target> fork;
            fork.n_shares = together.size();
            fork.n_bins = bins.size();
            fork.bin_of = cells.bin_of;
            if (signs_rows_ && agree(together, bins.size())) sign(together[0], cells, fork);
            for (size_t share : together) settle_share(share, cells, fork, settle, grows_on);
            list_children(fork.left, cells, true);
            list_children(fork.right, cells, false);
            group_.forks.push_back(std::move(fork));
        }
    }

    void sign(size_t share, const Cells<Target>& cells, Fork<Target>& fork) const {
        for (size_t bin = 0; bin < cells.n_bins; ++bin) {
            Arrival& side = (is_left(share, bin, cells.n_bins) ? fork.left : fork.right).arrival;
            side.signature += cells.arrivals[bin].signature;
            side.n_rows += cells.arrivals[bin].n_rows;
        }
    }

    bool is_left(size_t share, size_t bin, size_t n_bins) const {
        return goes_left_[share * n_bins + bin] != 0;
    }

    // Do all send every bin the same way?
    bool agree(std::span<const size_t> shares, size_t n_bins) const {
        const uint8_t* first = goes_left_.data() + shares[0] * n_bins;
        return std::all_of(shares.begin(), shares.end(), [&](size_t share) {
            return std::equal(first, first + n_bins, goes_left_.data() + share * n_bins);
        });
    }

    // Greedy: each share joins the first cluster in which few enough rows then go both ways.
    std::vector<std::vector<size_t>> cluster(std::span<const size_t> shares,
                                             const Cells<Target>& cells, Work& work) const {
        if (agree(shares, cells.n_bins)) return {{shares.begin(), shares.end()}};
        std::vector<std::vector<size_t>> clusters;
        std::vector<std::vector<uint8_t>> sides;  // per cluster and cell: bit 0 left, bit 1 right
        double most = kAmbiguousShare * static_cast<double>(group_.n_rows());
        std::vector<int64_t> n_ambiguous;
        for (size_t share : shares) {
            size_t at = 0;
            for (; at < clusters.size(); ++at) {
                int64_t n = join(share, cells, sides[at], false);
                if (static_cast<double>(n) <= most) break;
            }
            if (at == clusters.size()) {
                clusters.emplace_back();
                sides.emplace_back(cells.n_rows.size());
                n_ambiguous.push_back(0);
            }
            clusters[at].push_back(share);
            n_ambiguous[at] = join(share, cells, sides[at], true);
        }
        for (int64_t n : n_ambiguous) work.ambiguous_rows += static_cast<uint64_t>(n);
        return clusters;
    }

    // How many rows go both ways once the share has joined.
    int64_t join(size_t share, const Cells<Target>& cells, std::vector<uint8_t>& sides,
                 bool is_final) const {
        int64_t n = 0;
        for (uint32_t pattern = 0; pattern < group_.patterns.size(); ++pattern) {
            bool counts = group_.patterns.has(pattern, share);
            for (size_t bin = 0; bin < cells.n_bins; ++bin) {
                size_t cell = pattern * cells.n_bins + bin;
                uint8_t side = sides[cell];
                if (counts) side |= is_left(share, bin, cells.n_bins) ? 1 : 2;
                if (side == 3) n += cells.n_rows[cell];
                if (is_final) sides[cell] = side;
            }
        }
        return n;
    }

    template <class Settle, class GrowsOn>
    void settle_share(size_t at, const Cells<Target>& cells, Fork<Target>& fork, Settle&& settle,
                      GrowsOn&& grows_on) {
        const Share<Target>& share = group_.shares[at];
        Share<Target> left, right;
        left.seat = right.seat = share.seat;
        sum_left(at, cells, left);
        right.totals = share.totals;
        right.totals.rows -= left.totals.rows;
        for (size_t k = 0; k < share.seat->target->width(); ++k)
            right.totals.slots[k] -= left.totals.slots[k];
        auto goes = [&](size_t k) { return is_left(at, (*cells.bin_of)[k], cells.n_bins); };
        if (!settle(at, splits_[at], left, right, cells, goes)) return;
        if (grows_on(left)) {
            fork.left.shares.push_back(std::move(left));
            from_left_.push_back(at);
        }
        if (grows_on(right)) {
            fork.right.shares.push_back(std::move(right));
            from_right_.push_back(at);
        }
    }

    void sum_left(size_t at, const Cells<Target>& cells, Share<Target>& left) const {
        left.totals = group_.shares[at].totals;
        left.totals.rows = 0;
        const Target& target = *group_.shares[at].seat->target;
        size_t width = target.width();
        for (size_t k = 0; k < width; ++k) left.totals.slots[k] = typename Target::Slot(0);
        if (!group_.is_additive) {
            for (size_t k = 0; k < group_.n_rows(); ++k) {
                if (!group_.patterns.has(group_.pattern_of[k], at) ||
                    !is_left(at, (*cells.bin_of)[k], cells.n_bins))
                    continue;
                target.add(group_.layout.rows[k], left.totals.slots.data());
                ++left.totals.rows;
            }
            return;
        }
        for (uint32_t pattern = 0; pattern < group_.patterns.size(); ++pattern) {
            if (!group_.patterns.has(pattern, at)) continue;
            for (size_t bin = 0; bin < cells.n_bins; ++bin) {
                size_t cell = pattern * cells.n_bins + bin;
                if (cells.n_rows[cell] == 0 || !is_left(at, bin, cells.n_bins)) continue;
                left.totals.rows += cells.n_rows[cell];
                for (size_t k = 0; k < width; ++k) left.totals.slots[k] += cells.slots(cell)[k];
            }
        }
    }

    // Which pattern the rows of a cell have in the child, and how many it has.
    void list_children(ForkSide<Target>& side, const Cells<Target>& cells, bool wants_left) {
        std::vector<size_t>& from = wants_left ? from_left_ : from_right_;
        side.patterns = Patterns(from.size());
        side.child_of.assign(cells.n_rows.size(), Patterns::kNone);
        std::vector<uint64_t> set(side.patterns.n_words());
        for (size_t cell = 0; cell < cells.n_rows.size(); ++cell) {
            if (cells.n_rows[cell] == 0 || from.empty()) continue;
            auto pattern = static_cast<uint32_t>(cell / cells.n_bins);
            std::fill(set.begin(), set.end(), 0);
            for (size_t k = 0; k < from.size(); ++k)
                if (group_.patterns.has(pattern, from[k]) &&
                    is_left(from[k], cell % cells.n_bins, cells.n_bins) == wants_left)
                    set[k / 64] |= uint64_t{1} << (k % 64);
            side.child_of[cell] = side.patterns.intern(set.data());
            if (side.child_of[cell] != Patterns::kNone)
                side.n_rows += static_cast<size_t>(cells.n_rows[cell]);
        }
        if (!group_.kept.empty()) list_along(side, from);
        from.clear();
    }
    void list_along(ForkSide<Target>& side, const std::vector<size_t>& from) const {
        side.along.resize(group_.patterns.size());
        std::vector<uint64_t> set(side.patterns.n_words());
        for (uint32_t pattern = 0; pattern < group_.patterns.size(); ++pattern) {
            std::fill(set.begin(), set.end(), 0);
            for (size_t k = 0; k < from.size(); ++k)
                if (group_.patterns.has(pattern, from[k])) set[k / 64] |= uint64_t{1} << (k % 64);
            side.along[pattern] = side.patterns.find(set.data());
        }
    }

    const Table& table_;
    Group<Target>& group_;
    std::vector<Split>& splits_;
    bool signs_rows_;
    std::vector<uint8_t> goes_left_;  // (share, bin) of the column at hand
    std::vector<size_t> from_left_, from_right_;  // shares of the parent that the children have
};

}  // namespace treefold
