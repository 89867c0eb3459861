// Columns whose order nobody keeps, coarse to fine: those that a node draws.
//
//   gather   the codes of the node's rows in the column, their least and their largest
//   count    rows and classes of coarse buckets of codes, about one for eight rows
//   rate     the cuts between buckets; the quality of a cut inside one is convex in its class counts, so it is largest in a
//            corner of the box that the bucket's counts span
//   refine   only buckets of which a corner reaches the best so far: their rows are sorted, and every cut is rated
//
// Columns are refined in the order of their best coarse cut, after all have been counted. What may win is decided by the exact
// quality, so the split is the one that any other search finds. (A forest of 100,000 x 20, two classes, 4 columns of 20 to a
// node: a node's rows would have to be sorted, or the orders of all columns divided.)
#pragma once

#include <algorithm>
#include <array>
#include <cstring>

#include "search/filter.hpp"

namespace treefold {

// Of statistics that it does not serve.
template <class Stats>
class CoarseToFine {
public:
    static bool serves(const Stats&, const Rules&, size_t) { return false; }
    void start(const NodeView<Stats>&) {}
    bool add(uint32_t, const Column&, Findings&) { return false; }
    void finish(Findings&) {}
};

template <>
class CoarseToFine<ClassStats<int64_t>> {
public:
    using Stats = ClassStats<int64_t>;
    using Node = NodeView<Stats>;

    CoarseToFine() {}  // not filled with zeros: it is large, and small trees are many

    // Gini of at most three classes whose rows count once, or a few times.
    static bool serves(const Stats& stats, const Rules& rules, size_t n_rows) {
        return filters_classes(rules) && stats.width() <= kMostClasses && n_rows <= kMostRows &&
               (stats.is_unit() || stats.counts);
    }

    void start(const Node& node) {
        node_ = &node;
        n_columns_ = 0;
        n_ = node.filter.weight;
        const size_t n_rows = node.rows.size(), n_classes = node.totals.slots.size();
        for (size_t k = 0; k < kMostClasses; ++k)
            totals_[k] = k < n_classes ? static_cast<double>(node.totals.slots[k]) : 0.0;
        n1_ = totals_[1];
        adds_.resize(n_rows + kPadding);
        const uint32_t* counts = node.stats.counts ? node.stats.counts->data() : nullptr;
        uint32_t largest = 0;
        for (size_t i = 0; i < n_rows; ++i) {
            uint32_t row = node.rows[i];
            auto label = static_cast<uint32_t>(node.stats.classes[row]);
            adds_[i] = label | (counts == nullptr ? 1 : counts[row]) << kLabelBits;
            largest = std::max(largest, adds_[i]);
        }
        is_compared_ = n_rows <= kSmall && n_classes == 2 && largest >> kLabelBits <= kMostCount;
        if (!is_compared_) return;
        for (size_t i = 0; i < n_rows; ++i) {
            uint32_t count = adds_[i] >> kLabelBits;
            packed_[i] = 1 + (count << kPackedBits[adds_[i] & 1]);
        }
    }

    // Counts a column. Returns whether it has more than one value in this node.
    bool add(uint32_t at, const Column& column, Findings& findings) {
        if (counted_.size() == n_columns_) counted_.emplace_back();
        Counted& counted = counted_[n_columns_];
        counted.column = at;
        counted.missing_code = column.missing_code();
        bool varies = column.codes.with([&](auto* codes) { return gather(counted, codes); });
        if (!varies) return false;
        ++n_columns_;
        if (is_compared_ && !counted.has_missing) {
            counted.shift = 0;  // nothing is left to refine
            compare(counted, findings);
        } else {
            count(counted);
            rate(counted, findings);
        }
        return true;
    }

    // Refines what can win, and finds the codes next to the best cut.
    void finish(Findings& findings) {
        std::sort(counted_.begin(), counted_.begin() + static_cast<ptrdiff_t>(n_columns_),
                  [](const Counted& a, const Counted& b) {
                      return a.best != b.best ? a.best > b.best : a.column < b.column;
                  });
        for (size_t k = 0; k < n_columns_; ++k) refine(counted_[k], findings);
        for (size_t k = 0; k < n_columns_; ++k)
            if (counted_[k].column == findings.best.column)
                find_neighbours(counted_[k], node_->rows.size(), findings.best);
    }

private:
    static constexpr size_t kMostClasses = 3;
    static constexpr uint32_t kLabelBits = 2, kUnknown = UINT32_MAX;
    // Nodes of so many rows, of two classes: every row is compared with every other, eight at a time. Packed are the rows
    // (8 bits) and the weights of both classes (12 each).
    static constexpr size_t kSmall = 64, kPadding = 8, kAhead = 32;
    static constexpr uint32_t kMostCount = 63;
    static constexpr uint32_t kPackedBits[2] = {8, 20};

    // Rows, and the weights of three classes.
    using Sums = uint32_t __attribute__((vector_size(16)));

    struct Counted {
        uint32_t column = 0;
        uint32_t missing_code = 0;
        uint32_t lowest = 0;  // code
        int shift = 0;
        double best = 0.0;  // of the cuts between buckets, roughly
        std::vector<uint32_t> codes;  // per row of the node
        std::vector<Sums> below;  // per bucket: what it and those below it add up to
        Sums missing{};  // what rows without a value add up to
        bool has_missing = false;

        size_t bucket_of(uint32_t code) const { return (code - lowest) >> shift; }
        uint32_t last_code_of(size_t bucket) const {
            uint32_t last = lowest + ((static_cast<uint32_t>(bucket) + 1) << shift) - 1;
            return std::min(last, missing_code - 1);
        }
    };

    template <class Code>
    bool gather(Counted& counted, const Code* codes) const {
        const size_t n_rows = node_->rows.size();
        const uint32_t* rows = node_->rows.data();
        counted.codes.resize(n_rows + kPadding);
        uint32_t lowest = UINT32_MAX, highest = 0;
        size_t n_missing = 0;
        for (size_t i = 0; i < n_rows; ++i) {
            // Rows are far from each other: they are fetched before they are needed.
            __builtin_prefetch(codes + rows[std::min(i + kAhead, n_rows - 1)]);
            uint32_t code = codes[rows[i]];
            counted.codes[i] = code;
            lowest = std::min(lowest, code);
            highest = std::max(highest, code == counted.missing_code ? 0 : code);
            n_missing += code == counted.missing_code;
        }
        counted.missing = Sums{};
        counted.has_missing = n_missing != 0;
        if (n_missing == n_rows) return false;
        counted.lowest = lowest;
        counted.shift = 0;
        size_t most = n_rows <= kSmall ? 1 : n_rows / (n_rows <= 512 ? 2 : 8);
        while (((highest - lowest) >> counted.shift) >= most) ++counted.shift;
        counted.below.assign(counted.bucket_of(highest) + 1, Sums{});
        return lowest != highest || counted.has_missing;
    }

    static Sums sums_of(uint32_t add) {
        Sums sums{1, 0, 0, 0};
        sums[1 + (add & ((1u << kLabelBits) - 1))] = add >> kLabelBits;
        return sums;
    }

    void count(Counted& counted) const {
        // One line per class, so that a row is one addition of a vector.
        const Sums label_of[kMostClasses] = {{0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
        for (size_t i = 0; i < node_->rows.size(); ++i) {
            uint32_t add = adds_[i], code = counted.codes[i];
            Sums& sums = code == counted.missing_code ? counted.missing
                                                      : counted.below[counted.bucket_of(code)];
            sums += label_of[add & 3] * (add >> kLabelBits) + Sums{1, 0, 0, 0};
        }
        Sums sums{};
        for (Sums& bucket : counted.below) bucket = sums += bucket;
    }

    // The quality in float64 less that of no cut, times a constant: of two sides that are not empty.
    double quality_of(Sums left) const {
        double a = 0, b = 0, n_left = 0;
        for (size_t k = 0; k < kMostClasses; ++k) {
            auto l = static_cast<double>(left[k + 1]);
            a += l * l, b += totals_[k] * l, n_left += l;
        }
        double n_right = n_ - n_left;
        return (a * n_right + (node_->filter.squares - 2 * b + a) * n_left) / (n_left * n_right);
    }
    bool is_legal(Sums left) const {
        auto n_left = static_cast<int64_t>(left[0]), n_right = node_->totals.rows - n_left;
        int64_t least = std::max<int64_t>(1, node_->rules.min_samples_leaf);
        return n_left >= least && n_right >= least;
    }
    static double least_of(const Findings& findings) { return findings.floor * (1 - kSlack); }

    // A cut, with rows that have no value on either side.
    void try_cut(const Counted& counted, Sums below, uint32_t code, Findings& findings) {
        for (bool missing_left : {true, false}) {
            if (missing_left && !counted.has_missing) continue;
            Sums left = missing_left ? below + counted.missing : below;
            if (is_legal(left) && !(quality_of(left) < least_of(findings)))
                decide(counted, left, code, kUnknown, missing_left, findings);
        }
    }

    void decide(const Counted& counted, Sums left, uint32_t code, uint32_t next_code,
                bool missing_left, Findings& findings) {
        for (size_t k = 0; k < node_->totals.slots.size(); ++k) {
            left_[k] = left[k + 1];
            right_[k] = node_->totals.slots[k] - left_[k];
        }
        size_t width = node_->totals.slots.size();
        double quality = class_quality(Criterion::gini, std::span(left_).first(width),
                                       std::span(right_).first(width), 0, node_->stats.logs);
        if (quality < findings.floor) return;
        Split split = numeric_split(quality, counted.column, code, next_code);
        if (counted.has_missing) split.missing_left = missing_left, split.saw_missing = true;
        findings.offer(std::move(split));
    }

    void rate(Counted& counted, Findings& findings) {
        counted.best = 0.0;
        const std::vector<Sums>& below = counted.below;
        for (size_t bucket = 0; bucket + 1 < below.size(); ++bucket) {
            if (bucket > 0 && below[bucket][0] == below[bucket - 1][0]) continue;  // the same cut
            if (is_legal(below[bucket]))
                counted.best = std::max(counted.best, quality_of(below[bucket]));
            try_cut(counted, below[bucket], counted.last_code_of(bucket), findings);
        }
        Sums present = below.back();
        if (counted.has_missing && is_legal(present) && !(quality_of(present) < least_of(findings)))
            decide(counted, present, counted.last_code_of(below.size() - 1), counted.missing_code,
                   false, findings);
    }

    // Every row is the last one on the left of a cut: what its left side adds up to, all cuts at once.
    void compare(const Counted& counted, Findings& findings) {
        const size_t n_rows = node_->rows.size();
        for (size_t first = 0; first < n_rows; first += kPadding) {
            IntLanes own;
            CountLanes left{};
            std::memcpy(&own, counted.codes.data() + first, sizeof own);
            for (size_t i = 0; i < n_rows; ++i) {
                auto code = static_cast<int32_t>(counted.codes[i]);
                left += reinterpret_cast<CountLanes>(own >= code) & packed_[i];
            }
            for (size_t lane = 0; lane < std::min(kPadding, n_rows - first); ++lane) {
                uint32_t sums = left[lane];
                Sums below{sums & 255, sums >> kPackedBits[0] & 4095, sums >> kPackedBits[1], 0};
                if (is_legal(below) && reaches_two(below, findings))
                    decide(counted, below, counted.codes[first + lane], kUnknown, false, findings);
            }
        }
    }

    // Of two classes, with D = n l1 - n_l n1: the quality is base + 2 D^2 / (n n_l n_r).
    bool reaches_two(Sums left, const Findings& findings) const {
        auto ones = static_cast<double>(left[2]), n_left = static_cast<double>(left[1]) + ones;
        double d = n_ * ones - n_left * n1_;
        double limit = (least_of(findings) - node_->filter.squares / n_) * n_ / 2;
        double sides = n_left * (n_ - n_left);
        return sides == 0 ? limit <= 0 : !(d * d < limit * sides);  // no cut has an empty side
    }

    // Can a cut between these sums, which both belong to the bucket or to its ends, reach the best so far?
    bool can_win(Sums from, Sums to, const Findings& findings) const {
        const int64_t smallest = std::max<int64_t>(1, node_->rules.min_samples_leaf);
        if (to[0] <= smallest || node_->totals.rows - static_cast<int64_t>(from[0]) <= smallest)
            return false;
        if (node_->totals.slots.size() == 2) {
            for (Sums corner : {Sums{0, to[1], from[2], 0}, Sums{0, from[1], to[2], 0}, from, to})
                if (reaches_two(corner, findings)) return true;
            return false;
        }
        const double least = least_of(findings);
        auto reaches = [&](Sums corner) {
            uint32_t n_left = corner[1] + corner[2] + corner[3];
            if (n_left == 0 || n_left == static_cast<uint32_t>(n_))
                return !(node_->filter.squares / n_ < least);
            return !(quality_of(corner) < least);
        };
        const Sums inside = to - from;
        for (uint32_t corner = 0; corner < 8; ++corner) {
            Sums at = from;
            bool is_new = true;
            for (uint32_t k = 0; k < kMostClasses; ++k) {
                bool is_left = (corner >> k & 1) != 0;
                if (is_left && inside[k + 1] == 0) is_new = false;  // the same as without
                if (is_left) at[k + 1] += inside[k + 1];
            }
            if (is_new && reaches(at)) return true;
        }
        return false;
    }

    void refine(const Counted& counted, Findings& findings) {
        if (counted.shift == 0) return;
        const std::vector<Sums>& below = counted.below;
        chosen_.assign(below.size(), 0);
        bool is_any = false;
        for (size_t bucket = 0; bucket < below.size(); ++bucket) {
            Sums from = bucket == 0 ? Sums{} : below[bucket - 1], to = below[bucket];
            if (to[0] - from[0] < 2) continue;
            bool may_win = can_win(from, to, findings);
            if (counted.has_missing && !may_win)
                may_win = can_win(from + counted.missing, to + counted.missing, findings);
            if (!may_win) continue;
            chosen_[bucket] = 1;
            is_any = true;
        }
        if (!is_any) return;
        pairs_.clear();
        for (size_t i = 0; i < node_->rows.size(); ++i)
            if (counted.codes[i] != counted.missing_code &&
                chosen_[counted.bucket_of(counted.codes[i])] != 0)
                pairs_.push_back(uint64_t{counted.codes[i]} << 32 | adds_[i]);
        std::sort(pairs_.begin(), pairs_.end());
        scan(counted, findings);
    }

    // Cuts between rows of one bucket.
    void scan(const Counted& counted, Findings& findings) {
        size_t bucket = SIZE_MAX;
        Sums left{};
        for (size_t k = 0; k < pairs_.size(); ++k) {
            auto code = static_cast<uint32_t>(pairs_[k] >> 32);
            if (counted.bucket_of(code) != bucket) {
                bucket = counted.bucket_of(code);
                left = bucket == 0 ? Sums{} : counted.below[bucket - 1];
            }
            left += sums_of(static_cast<uint32_t>(pairs_[k]));
            if (k + 1 == pairs_.size()) continue;
            auto next = static_cast<uint32_t>(pairs_[k + 1] >> 32);
            if (next != code && counted.bucket_of(next) == bucket)
                try_cut(counted, left, code, findings);
        }
    }

    // A cut is known by a code between both sides until it has won.
    static void find_neighbours(const Counted& counted, size_t n_rows, Split& split) {
        uint32_t below = 0, above = counted.missing_code;
        for (uint32_t code : std::span(counted.codes).first(n_rows)) {
            if (code <= split.code)
                below = std::max(below, code);
            else
                above = std::min(above, code);
        }
        split.code = below, split.next_code = above;
    }

    const Node* node_ = nullptr;
    double n_ = 0, n1_ = 0;
    bool is_compared_ = false;
    alignas(32) std::array<uint32_t, kSmall> packed_;
    std::array<double, kMostClasses> totals_;
    std::array<int64_t, kMostClasses> left_, right_;
    std::vector<uint32_t> adds_;  // per row of the node: count << kLabelBits | class
    std::vector<Counted> counted_;
    size_t n_columns_ = 0;
    std::vector<uint8_t> chosen_;  // per bucket
    std::vector<uint64_t> pairs_;  // code << 32 | what the row adds
};

}  // namespace treefold
