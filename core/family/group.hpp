// Members that go on together: one node of a family.
//
//   shares     who takes part, and what the node adds up to for each
//   patterns   for which shares a row counts; rows that count for nobody are not in the layout
//   forks      once opened: shares that send (nearly) all rows the same way stay together, others part
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "family/slot_numbers.hpp"
#include "grow/growth.hpp"

namespace treefold {

// Do most columns have more codes than trees of folds often agree on?
inline bool has_many_codes(const Table& table) {
    constexpr uint32_t kMany = 32;
    auto n = std::count_if(table.columns.begin(), table.columns.end(),
                           [](const Column& column) { return column.n_codes > kMany; });
    return 2 * static_cast<size_t>(n) > table.columns.size();
}

template <class Stats>
struct Share : NodePart<Stats> {
    const MemberContext<Stats>* member = nullptr;
    int64_t n_rows() const { return this->totals.rows; }
};

// The codes of one column, divided by who sends them left: within a bin all agree with its representative.
class Bins {
public:
    void divide(const Column& column, const std::vector<const Split*>& splits) {
        column_ = &column;
        cuts_.clear(), representatives_.clear();
        if (column.is_categorical)
            sort_categories(splits);
        else
            sort_cuts(splits);
        if (column.has_missing) representatives_.push_back(column.missing_code());
    }
    size_t size() const { return representatives_.size(); }
    bool is_one_cut() const { return cuts_.size() == 1; }
    uint32_t missing_code() const { return column_->missing_code(); }
    uint32_t representative(size_t bin) const { return representatives_[bin]; }

    uint32_t of_code(uint32_t code) const {
        if (code == column_->missing_code()) return static_cast<uint32_t>(size() - 1);
        if (column_->is_categorical) return bin_of_[code];
        uint32_t bin = 0;
        while (bin < cuts_.size() && cuts_[bin] < code) ++bin;
        return bin;
    }

private:
    void sort_cuts(const std::vector<const Split*>& splits) {
        for (const Split* split : splits)
            if (cuts_.empty() || cuts_.back() != split->code) cuts_.push_back(split->code);
        std::sort(cuts_.begin(), cuts_.end());
        cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
        representatives_ = cuts_;
        representatives_.push_back(cuts_.back() + 1);  // to the right of all
    }
    void sort_categories(const std::vector<const Split*>& splits) {
        Patterns left_of(splits.size());
        std::vector<uint64_t> set(left_of.n_words());
        bin_of_.resize(column_->n_codes);
        for (uint32_t code = 0; code < column_->n_codes; ++code) {
            std::fill(set.begin(), set.end(), 0);
            for (size_t k = 0; k < splits.size(); ++k)
                if (has_bit(splits[k]->left_set.data(), code))
                    set[k / 64] |= uint64_t{1} << (k % 64);
            uint32_t bin = left_of.intern(set.data());
            bin = bin == Patterns::kNone ? 0 : bin + 1;  // bin 0: everybody's right
            if (bin >= representatives_.size()) representatives_.resize(bin + 1, column_->n_codes);
            representatives_[bin] = code;
            bin_of_[code] = bin;
        }
    }

    const Column* column_ = nullptr;
    std::vector<uint32_t> cuts_;  // numeric: ascending
    std::vector<uint32_t> bin_of_;  // categorical: per category
    std::vector<uint32_t> representatives_;
};

// One side of a fork.
template <class Stats>
struct ForkSide {
    std::vector<Share<Stats>> shares;  // those that grow on
    Patterns patterns;  // over them
    std::vector<uint32_t> child_of;  // (pattern, bin) of the parent -> pattern of the child
    // Where histograms are kept: pattern of the parent -> pattern of the child without those who do not go on,
    // kNone if no row has it.
    std::vector<uint32_t> along;
    size_t n_rows = 0;  // that count for one of them

    void clear() {
        shares.clear();
        child_of.clear(), along.clear();
        n_rows = 0;
    }
};

template <class Stats>
struct Fork {
    size_t n_shares = 0;
    size_t n_bins = 0;
    size_t cells_begin = 0;  // of Group::cells: pattern * n_bins + bin of each row
    std::vector<uint8_t> has_rows;  // per cell, where histograms are kept
    ForkSide<Stats> left, right;

    void clear() { left.clear(), right.clear(); }
};

// The forks of a group; those of a group before it are used again, with their memory.
template <class Stats>
class Forks {
public:
    Fork<Stats>& add() {
        if (size_ == forks_.size()) forks_.emplace_back();
        forks_[size_].clear();
        return forks_[size_++];
    }
    void clear() { size_ = 0; }
    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    Fork<Stats>& operator[](size_t at) { return forks_[at]; }
    Fork<Stats>* begin() { return forks_.data(); }
    Fork<Stats>* end() { return forks_.data() + size_; }
    const Fork<Stats>* begin() const { return forks_.data(); }
    const Fork<Stats>* end() const { return forks_.data() + size_; }

private:
    std::vector<Fork<Stats>> forks_;
    size_t size_ = 0;
};

template <class Stats>
struct Group {
    std::vector<Share<Stats>> shares;
    Patterns patterns;
    Words pattern_of;  // per row of the layout
    Layout layout;
    GroupHistogram kept;
    Forks<Stats> forks;
    Words cells;  // per forked column and row: its pattern and bin
    Metered bytes;
    bool is_additive = true;  // does a row add the same to everybody's statistics?

    size_t n_rows() const { return layout.rows.size(); }
    size_t nbytes() const {
        return layout.nbytes() + (pattern_of.size() + kept.counts.size()) * sizeof(uint32_t) +
               shares.size() * sizeof(Share<Stats>);
    }

    // Nothing is left but the memory.
    void clear() {
        shares.clear(), pattern_of.clear();
        layout.clear();
        kept.counts.clear();
        forks.clear();
        cells.clear();
        bytes = Metered();
        is_additive = true;
    }

    // The rows that count for one share.
    void list_rows(size_t share, std::vector<uint32_t>& rows) const {
        rows.clear();
        for (size_t k = 0; k < layout.rows.size(); ++k)
            if (patterns.has(pattern_of[k], share)) rows.push_back(layout.rows[k]);
    }
};

// A node of members that go on together: a group, or a part of one that goes on by itself. Children are made when their turn
// comes, out of the parent's layout, so that forks that wait take no memory.
template <class Stats>
struct GroupNode {
    enum class Part : uint8_t { all, fork, share };

    std::shared_ptr<Group<Stats>> group;
    Part part = Part::all;
    size_t at = 0;  // which fork or share
    int64_t depth = 0;
    uint64_t key = 0;  // of the draws (random.hpp)

    Fork<Stats>& fork() const { return group->forks[at]; }
    bool is_one_share() const {
        return part == Part::share || (part == Part::fork && fork().n_shares == 1) ||
               (part == Part::all && group->shares.size() == 1);
    }
    size_t n_rows() const {
        return part == Part::fork ? fork().left.n_rows + fork().right.n_rows : group->n_rows();
    }
    // visit(share) for all that take part.
    void for_each_share(auto&& visit) const {
        auto visit_all = [&](std::vector<Share<Stats>>& shares) {
            for (Share<Stats>& share : shares) visit(share);
        };
        if (part == Part::share)
            visit(group->shares[at]);
        else if (part == Part::all)
            visit_all(group->shares);
        else
            visit_all(fork().left.shares), visit_all(fork().right.shares);
    }
};

// Groups to be used again, with the memory of a dozen vectors each.
template <class Stats>
class GroupPool {
public:
    std::shared_ptr<Group<Stats>> take() {
        if (groups_.empty()) return std::make_shared<Group<Stats>>();
        std::shared_ptr<Group<Stats>> group = std::move(groups_.back());
        groups_.pop_back();
        return group;
    }
    // Of somebody who needs it no longer. Others may; large ones and many would be memory that nobody counts.
    void give_back(std::shared_ptr<Group<Stats>> group) {
        if (group.use_count() != 1 || groups_.size() == kMost || group->nbytes() > kMostBytes)
            return;
        std::atomic_thread_fence(std::memory_order_acquire);  // another worker may have had it
        group->clear();
        groups_.push_back(std::move(group));
    }

private:
    static constexpr size_t kMost = 8, kMostBytes = size_t{1} << 18;
    std::vector<std::shared_ptr<Group<Stats>>> groups_;
};

// Which way a row goes: bits of one byte per row of the table.
inline constexpr uint8_t kGoesLeft = 1, kGoesRight = 2;

// Where the words of one side go.
struct WordSink {
    uint32_t *words, *codes = nullptr;
    size_t n = 0;
};

// Divides words out of place; a row may go both ways, or none. The sinks need room for kPacked more words than they get.
inline void divide_words(std::span<const uint32_t> words, int bits, const uint8_t* ways,
                         WordSink& left, WordSink& right) {
    size_t k = 0;
    for (; kPacks && k + kPacked <= words.size(); k += kPacked) {
        const uint32_t* eight = words.data() + k;
        uint64_t bytes = 0;
        for (size_t i = 0; i < kPacked; ++i) bytes |= uint64_t{ways[eight[i] >> bits]} << (8 * i);
        uint32_t on_left = low_bits(bytes), on_right = low_bits(bytes >> 1);
        Packable(eight).pack(on_left, left.words + left.n);
        Packable(eight).pack(on_right, right.words + right.n);
        left.n += static_cast<size_t>(std::popcount(on_left));
        right.n += static_cast<size_t>(std::popcount(on_right));
    }
    for (; k < words.size(); ++k) {
        uint8_t way = ways[words[k] >> bits];
        left.words[left.n] = right.words[right.n] = words[k];
        left.n += way & 1;
        right.n += way >> 1;
    }
}

// The same for words with codes; the sinks need room for one more.
inline void divide_listed(std::span<const uint32_t> words, const uint32_t* codes, int bits,
                          const uint8_t* ways, WordSink& left, WordSink& right) {
    for (size_t k = 0; k < words.size(); ++k) {
        uint8_t way = ways[words[k] >> bits];
        left.words[left.n] = right.words[right.n] = words[k];
        left.codes[left.n] = right.codes[right.n] = codes[k];
        left.n += way & 1;
        right.n += way >> 1;
    }
}

// The part of a layout that one side of a fork has. Rows and patterns are there; orders and lists follow them.
inline void prepare_side(const Layout& from, Layout& to) {
    static_cast<Plan&>(to) = from;
    to.n_rows = to.rows.size();
    if (from.n_orders != 0) to.order_words.resize(from.n_orders * to.n_rows + kPacked);
    if (!from.has_lookups) return;
    to.position.assign(from.position.size(), UINT32_MAX);
    for (size_t k = 0; k < to.n_rows; ++k) to.position[to.rows[k]] = static_cast<uint32_t>(k);
}

// Orders and lists of both children of a fork, each in a layout of its own.
inline void divide_layout(const Layout& from, const uint8_t* ways, Layout& left, Layout& right) {
    prepare_side(from, left);
    prepare_side(from, right);
    for (size_t order = 0; order < from.n_orders; ++order) {  // the next one mends what is too much
        WordSink to_left{left.words_of(order)}, to_right{right.words_of(order)};
        std::span<const uint32_t> words(from.order_words.data() + order * from.n_rows, from.n_rows);
        divide_words(words, from.class_bits, ways, to_left, to_right);
    }
    for (const Stretch& stretch : from.root_stretches) {
        size_t n = stretch.end - stretch.begin;
        auto open = [&](Layout& to) {
            size_t begin = to.listed_words.size();
            to.listed_words.resize(begin + n + 1), to.listed_codes.resize(begin + n + 1);
            return WordSink{to.listed_words.data() + begin, to.listed_codes.data() + begin};
        };
        WordSink to_left = open(left), to_right = open(right);
        divide_listed({from.listed_words.data() + stretch.begin, n},
                      from.listed_codes.data() + stretch.begin, from.class_bits, ways, to_left,
                      to_right);
        auto close = [&](Layout& to, const WordSink& sink) {
            size_t end = to.listed_words.size() - n - 1 + sink.n;
            to.listed_words.resize(end), to.listed_codes.resize(end);
            if (sink.n != 0) to.root_stretches.push_back({stretch.column, end - sink.n, end});
        };
        close(left, to_left), close(right, to_right);
    }
}

// The part of a layout whose rows go left, in the same order.
inline void derive(const Layout& from, const uint8_t* ways, size_t n_rows, Layout& to) {
    to.rows.resize(n_rows + kPacked);
    WordSink rows{to.rows.data()};
    std::array<uint32_t, kPacked> nowhere;
    WordSink none{nowhere.data()};
    divide_words(from.rows, 0, ways, rows, none);
    to.rows.resize(n_rows);
    prepare_side(from, to);
    for (size_t order = 0; order < from.n_orders; ++order) {
        WordSink words{to.words_of(order)};
        divide_words({from.order_words.data() + order * from.n_rows, from.n_rows}, from.class_bits,
                     ways, words, none);
    }
    for (const Stretch& stretch : from.root_stretches) {
        size_t begin = to.listed_words.size();
        for (size_t k = stretch.begin; k < stretch.end; ++k) {
            if (ways[from.listed_words[k] >> from.class_bits] == 0) continue;
            to.listed_words.push_back(from.listed_words[k]);
            to.listed_codes.push_back(from.listed_codes[k]);
        }
        if (to.listed_words.size() > begin)
            to.root_stretches.push_back({stretch.column, begin, to.listed_words.size()});
    }
}

}  // namespace treefold
