// Where the members of a group part, and which rows their children have.
#pragma once

#include "family/bin_sums.hpp"
#include "grow/divider.hpp"

namespace treefold {

// Members whose splits of one column differ stay together if the rows in between are at most this share of
// the node's: those rows then go both ways, for different members.
inline constexpr double kAmbiguousShare = 0.1;

// Groups shares by column and by what they do with it. Used for group after group.
//
// settle(share, split, left, right, cells) describes both children and says whether the split is made; grows_on(part) says
// whether a child goes on.
template <class Stats>
class Forker {
public:
    template <class Settle, class GrowsOn>
    void run(const Table& table, Group<Stats>& group, std::vector<Split>& splits, Settle&& settle,
             GrowsOn&& grows_on, Work& work) {
        group_ = &group, splits_ = splits.data();
        order_.clear();
        for (size_t k = 0; k < splits.size(); ++k)
            if (splits[k].exists()) order_.push_back(k);
        auto is_before = [&](size_t a, size_t b) { return splits[a].column < splits[b].column; };
        if (!std::is_sorted(order_.begin(), order_.end(), is_before))
            std::stable_sort(order_.begin(), order_.end(), is_before);
        for (size_t first = 0; first < order_.size();) {
            size_t last = first;
            while (last < order_.size() &&
                   splits[order_[last]].column == splits[order_[first]].column)
                ++last;
            fork_column(table, {order_.data() + first, last - first}, settle, grows_on, work);
            first = last;
        }
        if (!group.forks.empty()) work.forks += group.forks.size() - 1;
    }

private:
    template <class Settle, class GrowsOn>
    void fork_column(const Table& table, std::span<const size_t> shares, Settle&& settle,
                     GrowsOn&& grows_on, Work& work) {
        uint32_t at = splits_[shares[0]].column;
        const Column& column = table.columns[at];
        splits_of_column_.clear();
        for (size_t share : shares) splits_of_column_.push_back(&splits_[share]);
        bins_.divide(column, splits_of_column_);
        bin_sums_.count(*group_, at, bins_, *group_->shares[shares[0]].member->stats);
        n_words_ = group_->patterns.n_words();
        left_.assign(bins_.size() * n_words_, 0);
        for (size_t share : shares)
            for (size_t bin = 0; bin < bins_.size(); ++bin)
                if (code_goes_left(splits_[share], column, bins_.representative(bin)))
                    left_[bin * n_words_ + share / 64] |= uint64_t{1} << (share % 64);
        if (agree(shares)) return fork(shares, settle, grows_on);
        for (const std::vector<size_t>& together : cluster(shares, work))
            fork(together, settle, grows_on);
    }

    template <class Settle, class GrowsOn>
    void fork(std::span<const size_t> together, Settle&& settle, GrowsOn&& grows_on) {
        Fork<Stats>& fork = group_->forks.add();
        fork.n_shares = together.size();
        fork.n_bins = bin_sums_.n_bins;
        fork.cells_begin = bin_sums_.begin;
        if (!group_->kept.empty()) {
            fork.has_rows.resize(bin_sums_.n_rows.size());
            std::transform(bin_sums_.n_rows.begin(), bin_sums_.n_rows.end(), fork.has_rows.begin(),
                           [](int64_t n) { return n != 0; });
        }
        fork.left.shares.reserve(together.size()), fork.right.shares.reserve(together.size());
        on_left_.reset(group_->shares.size()), on_right_.reset(group_->shares.size());
        for (size_t share : together) settle_share(share, fork, settle, grows_on);
        list_children(fork.left, on_left_, true);
        list_children(fork.right, on_right_, false);
    }

    bool is_left(size_t share, size_t bin) const {
        return has_bit(left_.data() + bin * n_words_, static_cast<uint32_t>(share));
    }

    // Do all send every bin the same way?
    bool agree(std::span<const size_t> shares) const {
        for (size_t bin = 0; bin < bin_sums_.n_bins; ++bin)
            for (size_t share : shares)
                if (is_left(share, bin) != is_left(shares[0], bin)) return false;
        return true;
    }

    // Greedy: each share joins the first cluster in which few enough rows then go both ways.
    std::vector<std::vector<size_t>> cluster(std::span<const size_t> shares, Work& work) const {
        std::vector<std::vector<size_t>> clusters;
        std::vector<std::vector<uint8_t>> sides;  // per cluster and cell: bit 0 left, bit 1 right
        double most = kAmbiguousShare * static_cast<double>(group_->n_rows());
        std::vector<int64_t> n_ambiguous;
        for (size_t share : shares) {
            size_t at = 0;
            for (; at < clusters.size(); ++at) {
                int64_t n = join(share, sides[at], false);
                if (static_cast<double>(n) <= most) break;
            }
            if (at == clusters.size()) {
                clusters.emplace_back();
                sides.emplace_back(bin_sums_.n_rows.size());
                n_ambiguous.push_back(0);
            }
            clusters[at].push_back(share);
            n_ambiguous[at] = join(share, sides[at], true);
        }
        for (int64_t n : n_ambiguous) work.ambiguous_rows += static_cast<uint64_t>(n);
        return clusters;
    }

    // How many rows go both ways once the share has joined.
    int64_t join(size_t share, std::vector<uint8_t>& sides, bool is_final) const {
        int64_t n = 0;
        for (uint32_t pattern = 0; pattern < group_->patterns.size(); ++pattern) {
            bool counts = group_->patterns.has(pattern, share);
            for (size_t bin = 0; bin < bin_sums_.n_bins; ++bin) {
                size_t cell = pattern * bin_sums_.n_bins + bin;
                uint8_t side = sides[cell];
                if (counts) side |= is_left(share, bin) ? 1 : 2;
                if (side == 3) n += bin_sums_.n_rows[cell];
                if (is_final) sides[cell] = side;
            }
        }
        return n;
    }

    template <class Settle, class GrowsOn>
    void settle_share(size_t at, Fork<Stats>& fork, Settle&& settle, GrowsOn&& grows_on) {
        const Share<Stats>& share = group_->shares[at];
        Share<Stats>&left = fork.left.shares.emplace_back(),
        &right = fork.right.shares.emplace_back();
        left.member = right.member = share.member;
        if (!group_->is_additive) list_ways(at);
        sum_left(at, left);
        right.totals = share.totals;
        right.totals -= left.totals;
        bool is_made = settle(at, splits_[at], left, right, bin_sums_);
        keep_last(fork.left, on_left_, at, is_made && grows_on(left));
        keep_last(fork.right, on_right_, at, is_made && grows_on(right));
    }
    static void keep_last(ForkSide<Stats>& side, ShareSet& from, size_t at, bool goes_on) {
        if (goes_on)
            from.add(at);
        else
            side.shares.pop_back();
    }

    // Where the rows of each cell go.
    void list_ways(size_t share) {
        ways_.resize(bin_sums_.n_rows.size());
        for (uint32_t pattern = 0; pattern < group_->patterns.size(); ++pattern) {
            bool counts = group_->patterns.has(pattern, share);
            for (size_t bin = 0; bin < bin_sums_.n_bins; ++bin)
                ways_[pattern * bin_sums_.n_bins + bin] = !counts               ? 0
                                                          : is_left(share, bin) ? kGoesLeft
                                                                                : kGoesRight;
        }
    }

    // Most rows count for most shares: what does not is taken away.
    void sum_left(size_t at, Share<Stats>& left) {
        const Stats& stats = *group_->shares[at].member->stats;
        size_t width = stats.width(), n_bins = bin_sums_.n_bins;
        left.totals = group_->shares[at].totals;
        left.totals.rows = 0;
        std::fill_n(left.totals.slots.data(), width, typename Stats::Slot(0));
        if (!group_->is_additive) return add_rows(stats, left);
        auto add = [&](int64_t n_rows, const typename Stats::Slot* slots) {
            left.totals.rows += n_rows;
            for (size_t k = 0; k < width; ++k) left.totals.slots[k] += slots[k];
        };
        for (size_t bin = 0; bin < n_bins; ++bin)
            if (is_left(at, bin)) add(bin_sums_.bin_rows[bin], bin_sums_.bin_slots(bin));
        for (uint32_t pattern = 0; pattern < group_->patterns.size(); ++pattern) {
            if (group_->patterns.has(pattern, at)) continue;
            for (size_t bin = 0; bin < n_bins; ++bin) {
                size_t cell = pattern * n_bins + bin;
                if (bin_sums_.n_rows[cell] == 0 || !is_left(at, bin)) continue;
                left.totals.rows -= bin_sums_.n_rows[cell];
                for (size_t k = 0; k < width; ++k) left.totals.slots[k] -= bin_sums_.slots(cell)[k];
            }
        }
    }
    void add_rows(const Stats& stats, Share<Stats>& left) const {
        const uint32_t* cells = group_->cells.data() + bin_sums_.begin;
        for (size_t k = 0; k < group_->n_rows(); ++k) {
            if (ways_[cells[k]] != kGoesLeft) continue;
            stats.add(group_->layout.rows[k], left.totals.slots.data());
            ++left.totals.rows;
        }
    }

    // Which pattern the rows of a cell have in the child, and how many it has.
    void list_children(ForkSide<Stats>& side, const ShareSet& from, bool wants_left) {
        const Patterns& patterns = group_->patterns;
        side.patterns.reset(from.size());
        side.child_of.assign(bin_sums_.n_rows.size(), Patterns::kNone);
        uint64_t flip = wants_left ? 0 : ~uint64_t{0};
        last_.assign(n_words_, 0);
        uint32_t number =
            Patterns::kNone;  // of the last set: those of one pattern are mostly alike
        size_t cell = 0;
        for (uint32_t pattern = 0; pattern < patterns.size() && from.size() != 0; ++pattern) {
            const uint64_t *members = patterns.words(pattern), *left = left_.data();
            for (size_t bin = 0; bin < bin_sums_.n_bins; ++bin, ++cell, left += n_words_) {
                if (bin_sums_.n_rows[cell] == 0) continue;
                auto word = [&](size_t k) { return members[k] & (left[k] ^ flip); };
                if (from.differs(word, last_)) {
                    from.number(word, set_);
                    number = side.patterns.intern(set_.data());
                }
                side.child_of[cell] = number;
                if (number != Patterns::kNone)
                    side.n_rows += static_cast<size_t>(bin_sums_.n_rows[cell]);
            }
        }
        if (group_->kept.empty()) return;
        side.along.resize(patterns.size());
        for (uint32_t pattern = 0; pattern < patterns.size(); ++pattern) {
            from.number([&](size_t k) { return patterns.words(pattern)[k]; }, set_);
            side.along[pattern] = side.patterns.find(set_.data());
        }
    }

    Group<Stats>* group_ = nullptr;
    Split* splits_ = nullptr;  // per share
    std::vector<size_t> order_;  // shares by column
    // Of the column at hand:
    std::vector<const Split*> splits_of_column_;
    Bins bins_;
    BinSums<Stats> bin_sums_;
    size_t n_words_ = 0;
    std::vector<uint64_t> left_;  // per bin: the shares that send it left
    // Of the fork at hand:
    ShareSet on_left_, on_right_;  // those whose children go on
    std::vector<uint8_t> ways_;  // per cell, for the share at hand
    std::vector<uint64_t> set_, last_;
};

}  // namespace treefold
