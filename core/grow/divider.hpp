// Dividing a node: its rows when the split is known, its orders, lists and histograms when the children grow on.
#pragma once

#include <algorithm>
#include <numeric>

#include "grow/growing_tree.hpp"
#include "grow/growth.hpp"

namespace treefold {

// last: the highest code that goes left, of numbers.
inline bool code_goes_left(const Split& split, const Column& column, uint32_t last, uint32_t code) {
    return goes_left(code, last, code == column.missing_code(), split.missing_left,
                     split.is_categorical ? split.left_set.data() : nullptr);
}

inline bool code_goes_left(const Split& split, const Column& column, uint32_t code) {
    return code_goes_left(split, column, split.code, code);
}

// Of rows whose values need not be among the node's: these follow the threshold, as in prediction.
inline uint32_t last_code_left(const Split& split, const Column& column) {
    if (split.is_categorical || split.next_code == column.n_codes) return column.n_codes;
    const double* values = column.values.data();
    const double* after = std::upper_bound(values + split.code, values + split.next_code,
                                           threshold_of(split, column));
    return static_cast<uint32_t>(after - values) - 1;
}

// Do categories that the node does not have, or that nobody knows, go left? With the rare ones, or as missing values do.
inline bool sends_unseen_left(const Split& split) {
    return split.unseen == Unseen::as_missing ? split.missing_left : split.unseen == Unseen::left;
}
inline void send_absent_left(Split& split, const Column& column,
                             const std::vector<uint64_t>& present) {
    auto send_left = [&](uint32_t code) {
        split.left_set[code / 64] |= uint64_t{1} << (code % 64);
    };
    for (uint32_t code = 0; code < column.n_codes; ++code)
        if (!has_bit(present.data(), code)) send_left(code);
    send_left(column.n_codes);
}

template <class Stats>
class Divider {
public:
    Divider(Growth<Stats>& growth, std::vector<uint32_t> asked)
        : growth_(growth), asking_rows_(std::move(asked)), asked_(asking_rows_.size()) {
        std::iota(asked_.begin(), asked_.end(), 0u);
    }

    std::span<const uint32_t> asked() const { return asked_; }
    // Who asks in this node, by place in the list of all who ask.
    std::span<const uint32_t> asked_of(const NodePart<Stats>& part) const {
        return {asked_.data() + part.asked_begin, part.asked_end - part.asked_begin};
    }

    // The rows of both children, what they add up to, and where missing values go.
    void divide_rows(MemberNode<Stats>& node, int worker) {
        WorkerScratch<Stats>& mine = growth_.scratch(worker);
        size_t middle = node.begin + move_rows(node, mine);
        node.left.begin = node.begin;
        node.left.end = node.right.begin = middle;
        node.right.end = node.end;
        Layout& layout = *node.layout;
        if (!layout.position.empty())
            for (size_t k = node.begin; k < node.end; ++k)
                layout.position[layout.rows[k]] = static_cast<uint32_t>(k);
        sum_children(node);
        settle_missing(node, mine);
        divide_asked(node, node.split, node.left, node.right, worker);
    }

    // The rows that ask.
    void divide_asked(const NodePart<Stats>& node, const Split& split, NodePart<Stats>& left,
                      NodePart<Stats>& right, int worker) {
        left.asked_begin = left.asked_end = right.asked_begin = right.asked_end = node.asked_begin;
        if (node.asked_begin == node.asked_end) return;
        std::span<uint32_t> asked(asked_.data() + node.asked_begin,
                                  node.asked_end - node.asked_begin);
        const Column& column = growth_.table.columns[split.column];
        uint32_t* spare = growth_.scratch(worker).spare(asked.size());
        size_t n_left = 0;
        if (growth_.questions == nullptr)
            n_left = divide_by_codes(asked, spare, split, column, last_code_left(split, column),
                                     [&](uint32_t place) { return asking_rows_[place]; });
        else
            n_left = divide_questions(asked, spare, split, column);
        left.asked_end = right.asked_begin = node.asked_begin + n_left;
        right.asked_end = node.asked_end;
    }

    // What only children that grow on need; a child is null if it is a leaf or needs nothing.
    void divide_rest(MemberNode<Stats>& node, MemberNode<Stats>* left, MemberNode<Stats>* right,
                     int worker) {
        divide_histogram(node, left, right);
        const Layout& layout = *node.layout;
        if ((left == nullptr && right == nullptr) ||
            (layout.n_orders == 0 && node.stretches.empty()))
            return;
        Sides& sides = growth_.scratch(worker).sides;
        for (uint32_t row : node.rows_of(node.left)) sides.set(row, true);
        for (uint32_t row : node.rows_of(node.right)) sides.set(row, false);
        divide_orders(node, left != nullptr, right != nullptr, worker);
        divide_stretches(node, left, right, worker);
    }

private:
    // Returns how many rows go left.
    size_t move_rows(const MemberNode<Stats>& node, WorkerScratch<Stats>& mine) {
        const Column& column = growth_.table.columns[node.split.column];
        std::span<uint32_t> rows = node.rows();
        uint32_t* spare = mine.spare(rows.size());
        if (column.is_sparse) {
            mark_sparse(node, column, mine.sides);
            return divide(rows, spare, [&](uint32_t row) { return mine.sides.is_left(row); });
        }
        return divide_by_codes(rows, spare, node.split, column, node.split.code,
                               [](uint32_t row) { return row; });
    }

    // By the codes of the rows that the items stand for; last: the highest code that goes left, of numbers.
    template <class RowOf>
    static size_t divide_by_codes(std::span<uint32_t> items, uint32_t* spare, const Split& split,
                                  const Column& column, uint32_t last, RowOf row_of) {
        if (column.is_sparse)
            return divide(items, spare, [&](uint32_t item) {
                return code_goes_left(split, column, last, column.code_of(row_of(item)));
            });
        return column.codes.with([&](auto* codes) {
            if (!column.has_missing && !split.is_categorical)
                return divide(items, spare,
                              [=](uint32_t item) { return codes[row_of(item)] <= last; });
            return divide(items, spare, [&](uint32_t item) {
                return code_goes_left(split, column, last, codes[row_of(item)]);
            });
        });
    }

    // By values that are not the table's.
    size_t divide_questions(std::span<uint32_t> asked, uint32_t* spare, const Split& split,
                            const Column& column) {
        double threshold = threshold_of(split, column);
        return divide(asked, spare, [&](uint32_t place) {
            double value = growth_.questions->at(asking_rows_[place], split.column);
            if (value != value) return split.missing_left;
            return goes_left(value, threshold, false, false,
                             column.is_categorical ? split.left_set.data() : nullptr);
        });
    }

    void mark_sparse(const MemberNode<Stats>& node, const Column& column, Sides& sides) {
        const Layout& layout = *node.layout;
        bool is_zero_left = code_goes_left(node.split, column, column.zero_code);
        for (uint32_t row : node.rows()) sides.set(row, is_zero_left);
        auto mark = [&](uint32_t row, uint32_t code) {
            sides.set(row, code_goes_left(node.split, column, code));
        };
        if (const Stretch* stretch = node.find_stretch(node.split.column)) {
            for (size_t k = stretch->begin; k < stretch->end; ++k)
                mark(layout.listed_words[k] >> layout.class_bits, layout.listed_codes[k]);
            return;
        }
        for (size_t k = 0; k < column.listed_rows.size(); ++k) {
            uint32_t place = layout.position[column.listed_rows[k]];
            if (place >= node.begin && place < node.end)
                mark(column.listed_rows[k], column.listed_codes[k]);
        }
    }

    // The smaller side is added up, the other is what remains.
    void sum_children(MemberNode<Stats>& node) {
        bool is_left_smaller = node.left.size() <= node.right.size();
        RowPart<Stats>& smaller = is_left_smaller ? node.left : node.right;
        RowPart<Stats>& larger = is_left_smaller ? node.right : node.left;
        smaller.totals = node.member->stats->sum_rows(node.rows_of(smaller));
        larger.totals = node.totals;
        larger.totals -= smaller.totals;
    }

    // Where the node saw no missing value: the child with more weight. Absent categories go along.
    void settle_missing(MemberNode<Stats>& node, WorkerScratch<Stats>& mine) {
        Split& split = node.split;
        if (!split.saw_missing)
            split.missing_left = !node.member->stats->is_lighter(
                side_of(node.left), side_of(node.right), node.context, mine.search.scaled);
        if (!split.is_categorical || !sends_unseen_left(split)) return;
        const Column& column = growth_.table.columns[split.column];
        std::vector<uint64_t> present(split.left_set.size());
        for (uint32_t row : node.rows()) {
            uint32_t code = column.codes[row];
            present[code / 64] |= uint64_t{1} << (code % 64);
        }
        send_absent_left(split, column, present);
    }

    // The smaller child is counted, the larger one takes what remains.
    void divide_histogram(MemberNode<Stats>& node, MemberNode<Stats>* left,
                          MemberNode<Stats>* right) {
        bool is_left_smaller = node.left.size() <= node.right.size();
        MemberNode<Stats>*smaller = is_left_smaller ? left : right,
        *larger = is_left_smaller ? right : left;
        if (node.kept.empty() || larger == nullptr ||
            !growth_.keeps_histogram(*node.member, *larger))
            return;
        KeptHistogram<Stats> counted;
        growth_.count_histogram(node, is_left_smaller ? node.left : node.right, counted);
        node.kept.subtract(counted);
        larger->kept = std::move(node.kept);
        if (smaller != nullptr && growth_.keeps_histogram(*node.member, *smaller))
            smaller->kept = std::move(counted);
    }

    void divide_orders(const MemberNode<Stats>& node, bool needs_left, bool needs_right,
                       int worker) {
        Layout& layout = *node.layout;
        const Sides& sides = growth_.scratch(worker).sides;
        int bits = Stats::is_classification ? layout.class_bits : 0;
        auto is_left = [&](uint32_t word) { return sides.is_left(word >> bits); };
        auto divide_one = [&](size_t order, int at) {
            std::span<uint32_t> words(layout.words_of(order) + node.begin, node.size());
            if (needs_left && needs_right)
                divide(words, growth_.scratch(at).spare(node.size()), is_left);
            else if (needs_left)
                keep_left(words, is_left);
            else
                keep_right(words, growth_.scratch(at).spare(node.size()), is_left);
        };
        if (growth_.is_shared(node.size() * layout.n_orders))
            growth_.workers.for_each(layout.n_orders, divide_one);
        else
            for (size_t order = 0; order < layout.n_orders; ++order) divide_one(order, worker);
    }

    void divide_stretches(const MemberNode<Stats>& node, MemberNode<Stats>* left,
                          MemberNode<Stats>* right, int worker) {
        WorkerScratch<Stats>& mine = growth_.scratch(worker);
        Layout& layout = *node.layout;
        for (const Stretch& stretch : node.stretches) {
            size_t n = stretch.end - stretch.begin, n_left = 0, n_right = 0;
            uint32_t* spare = mine.spare(2 * n);
            uint32_t* words = layout.listed_words.data() + stretch.begin;
            uint32_t* codes = layout.listed_codes.data() + stretch.begin;
            for (size_t k = 0; k < n; ++k) {
                uint32_t word = words[k], code = codes[k];
                bool is_left = mine.sides.is_left(word >> layout.class_bits);
                words[n_left] = word, codes[n_left] = code;
                spare[n_right] = word, spare[n + n_right] = code;
                n_left += is_left, n_right += !is_left;
            }
            std::copy_n(spare, n_right, words + n_left);
            std::copy_n(spare + n, n_right, codes + n_left);
            size_t middle = stretch.begin + n_left;
            if (left != nullptr && n_left != 0)
                left->stretches.push_back({stretch.column, stretch.begin, middle});
            if (right != nullptr && n_right != 0)
                right->stretches.push_back({stretch.column, middle, stretch.end});
        }
    }

    Growth<Stats>& growth_;
    std::vector<uint32_t> asking_rows_;
    std::vector<uint32_t> asked_;  // places in asking_rows_, divided as rows are
};

}  // namespace treefold
