// Members that go on together: one node of a family.
//
//   shares     who takes part, and what the node adds up to for each
//   patterns   for which shares a row counts; rows that count for nobody are not in the layout
//   forks      once opened: shares that send (nearly) all rows the same way stay together, others part
//
// A child is born when its turn comes, out of the parent's layout, so that forks that wait take no memory.
#pragma once

#include <memory>
#include <vector>

#include "patterns.hpp"
#include "workshop.hpp"

namespace treefold {

template <class Target>
struct Share : Part<Target> {  // begin and end are not used
    const Seat<Target>* seat = nullptr;
    int64_t n_rows() const { return this->totals.rows; }
};

// The codes of one column, divided by who sends them left: within a bin all agree with its representative.
class Bins {
public:
    Bins(const Column& column, const std::vector<const Split*>& splits) : column_(&column) {
        if (column.is_categorical)
            sort_categories(splits);
        else
            sort_cuts(splits);
        representatives_.push_back(column.missing_code());
    }
    size_t size() const { return representatives_.size(); }
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
        for (const Split* split : splits) cuts_.push_back(split->code);
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

    const Column* column_;
    std::vector<uint32_t> cuts_;  // numeric: ascending
    std::vector<uint32_t> bin_of_;  // categorical: per category
    std::vector<uint32_t> representatives_;
};

// One side of a fork.
template <class Target>
struct ForkSide {
    std::vector<Share<Target>> shares;  // those that grow on
    Patterns patterns;  // over them
    std::vector<uint32_t> child_of;  // (pattern, bin) of the parent -> pattern of the child
    size_t n_rows = 0;  // that count for one of them
};

template <class Target>
struct Fork {
    uint32_t column = 0;
    std::shared_ptr<const Bins> bins;
    ForkSide<Target> left, right;
};

template <class Target>
struct Group {
    std::vector<Share<Target>> shares;
    Patterns patterns;
    std::vector<uint32_t> pattern_of;  // per row of the layout
    Layout layout;
    std::vector<Fork<Target>> forks;
    bool is_additive = true;  // does a row add the same to everybody's statistics?

    size_t n_rows() const { return layout.rows.size(); }

    // The rows that count for one share.
    void list_rows(size_t share, std::vector<uint32_t>& rows) const {
        rows.clear();
        for (size_t k = 0; k < layout.rows.size(); ++k)
            if (patterns.has(pattern_of[k], share)) rows.push_back(layout.rows[k]);
    }
};

// A child that is yet to come: all shares of one side of a fork, or one of them alone.
template <class Target>
struct Birth {
    static constexpr size_t kAll = SIZE_MAX;
    std::shared_ptr<Group<Target>> parent;
    size_t fork = 0;
    bool is_left = true;
    size_t only = kAll;

    ForkSide<Target>& side() const {
        Fork<Target>& from = parent->forks[fork];
        return is_left ? from.left : from.right;
    }
};

// The part of a layout whose rows are marked (anything but kNone), in the same order.
inline void derive(const Layout& from, const uint32_t* marks, size_t n_rows, bool needs_orders,
                   Layout& to) {
    static_cast<Plan&>(to) = from;
    auto is_in = [&](uint32_t row) { return marks[row] != Patterns::kNone; };
    auto keep = [&](const uint32_t* words, size_t n, int bits, uint32_t* out) {
        size_t n_kept = 0;
        for (size_t k = 0; k < n && n_kept < n_rows; ++k) {
            out[n_kept] = words[k];
            n_kept += is_in(words[k] >> bits);
        }
    };
    to.n_rows = n_rows;
    to.rows.resize(n_rows);
    keep(from.rows.data(), from.rows.size(), 0, to.rows.data());
    if (from.has_lookups) {
        to.position.assign(from.position.size(), UINT32_MAX);
        for (size_t k = 0; k < n_rows; ++k) to.position[to.rows[k]] = static_cast<uint32_t>(k);
    }
    if (!needs_orders) return;
    to.order_words.resize(from.n_orders * n_rows);
    for (size_t order = 0; order < from.n_orders; ++order)
        keep(from.order_words.data() + order * from.n_rows, from.n_rows, from.class_bits,
             to.words_of(order));
    for (const Stretch& stretch : from.root_stretches) {
        size_t begin = to.listed_words.size();
        for (size_t k = stretch.begin; k < stretch.end; ++k) {
            if (!is_in(from.listed_words[k] >> from.class_bits)) continue;
            to.listed_words.push_back(from.listed_words[k]);
            to.listed_codes.push_back(from.listed_codes[k]);
        }
        if (to.listed_words.size() > begin)
            to.root_stretches.push_back({stretch.column, begin, to.listed_words.size()});
    }
}

}  // namespace treefold
