// Small nodes: which of the few-valued numeric columns can have the best cut? Sixteen columns at a time, without a histogram or
// a jump that depends on the data.
//
//   lane        a column; a row's codes stand side by side (Plan::few_codes)
//   cut         after a code, where columns have few; else after the code of a row. Rows with codes up to it go left
//   searcher    who looks for a cut: a node of a single tree, or a share of a group (family/slot_numbers.hpp says which rows count for it)
//   quality     (A n_r + B n_l) / (n_l n_r), where A and B sum the squared class counts of either side: whole numbers
//               that float32 holds for up to kFilteredRows rows, divided in float32
//
// What remains is searched exactly. Rows stand by label and slot, so that what a slot adds is the difference of two running
// sums. (Ten folds one at a time, against cuts after the rows of nodes of up to 63 and leaves of one row: Connect-4 1.6
// times as fast a growth, Internet Ads 1.45, Letter 1.3; together: 1.55, 1.4, 1.2.)
#pragma once

#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "base/lanes.hpp"
#include "search/plan.hpp"

namespace treefold {

inline constexpr size_t kFilteredRows = 255;  // of one label, in a byte; n^3 / 4 < 2^24

class CutFilter {
public:
    CutFilter() {
        below_one_[0] = below_other_[0] = Codes{};
    }  // the rest is written before it is read

    // One searcher, for whom all rows count. totals: rows of each label, all of them at most kFilteredRows.
    void prepare(std::span<const uint32_t> rows, std::span<const uint32_t> labels,
                 std::span<const int64_t> totals, int64_t smallest) {
        n_labels_ = totals.size();
        sort_rows(rows, 1, [labels](size_t i) { return labels[i]; });
        searchers_.resize(1);
        set_searcher(0, rows.size(), smallest);
        for (size_t label = 0; label < n_labels_; ++label)
            counts_[label] = static_cast<uint16_t>(totals[label]);
    }

    // The shares of a group: keys[i] is label * n_slots + slot of row i.
    void prepare_group(std::span<const uint32_t> rows, std::span<const uint32_t> keys,
                       size_t n_labels, size_t n_slots, size_t n_searchers) {
        n_labels_ = n_labels;
        sort_rows(rows, n_slots, [keys](size_t i) { return keys[i]; });
        searchers_.resize(n_searchers);
    }
    // Then each of them: all rows count for it but those of its own slot, if it has one. total_of(label): how many.
    static constexpr size_t kNoSlot = SIZE_MAX;
    template <class TotalOf>
    void add_searcher(size_t at, size_t n_rows, int64_t smallest, size_t own_slot,
                      TotalOf&& total_of) {
        set_searcher(at, n_rows, smallest);
        searchers_[at].own_slot = own_slot;
        for (size_t label = 0; label < n_labels_; ++label)
            counts_[at * n_labels_ + label] = static_cast<uint16_t>(total_of(label));
    }
    // And those of another slot.
    void leave_out(size_t searcher, size_t slot) { searchers_[searcher].odd_slots.push_back(slot); }

    // The columns first .. last - 1 of the plan are next, of the same plan each time.
    void choose(const Plan& plan, size_t first, size_t last) {
        if (first == first_ && last == last_) return;
        first_ = first, last_ = last;
        n_codes_ = plan.few_starts[last] - plan.few_starts[first];
        cuts_.clear();
        for (size_t from = first; from < last; from += kColumns)
            cuts_.push_back(count_cuts(plan, from, std::min(from + kColumns, last)));
    }
    size_t n_columns() const { return last_ - first_; }
    size_t n_codes() const { return n_codes_; }

    // How much work they are, in about instructions.
    size_t expect_work(size_t n_rows, size_t n_labels, size_t n_searchers) const {
        size_t n_cuts = 0;
        for (size_t cuts : cuts_) n_cuts += std::min(cuts, n_rows);
        return n_cuts * (4 * n_rows + n_searchers * (10 * n_labels + 30));
    }

    // The best quality of each of them, for each searcher, up to roundings of float32; 0 where there is no cut.
    void run(const Plan& plan) {
        n_lanes_ = cuts_.size() * kColumns;
        best_.assign(searchers_.size() * n_lanes_, 0.0f);
        for (size_t block = 0; block < cuts_.size(); ++block) {
            CodeRows codes = plan.few_codes_from(first_ + block * kColumns);
            for (size_t i = 0; i < n_rows_; ++i)
                std::memcpy(&codes_[i], codes.of(rows_[i]), kColumns);
            codes_[n_rows_] = codes_[n_rows_ - 1];  // cuts come in pairs
            float* best = best_.data() + block * kColumns;
            if (cuts_[block] <= n_rows_)
                for (size_t code = 0; code < cuts_[block]; code += 2)
                    try_cuts(Codes{} + static_cast<uint8_t>(code),
                             Codes{} + static_cast<uint8_t>(code + 1), best);
            else
                for (size_t i = 0; i < n_rows_; i += 2) try_cuts(codes_[i], codes_[i + 1], best);
        }
    }
    std::span<const float> best_of(size_t searcher) const {
        return {best_.data() + searcher * n_lanes_, n_columns()};  // what is behind is nobody's
    }
    // What a column must reach, where some column or the best so far reaches as much as this.
    static double least_of(std::span<const float> best, double floor) {
        constexpr double kRoundings = 1.0 / (1 << 22);
        double reached = *std::max_element(best.begin(), best.end());
        return std::max(reached, floor) * (1 - kRoundings);
    }

private:
    static constexpr size_t kColumns = kLinePadding;
    static constexpr float kTiny =
        1e-30f;  // lost beside any whole number but zero: 0 / 0 becomes 0
    using Codes = uint8_t __attribute__((vector_size(kColumns)));
    using Counts = uint16_t __attribute__((vector_size(2 * kColumns)));

    struct Searcher {
        uint16_t n_rows, smallest;
        size_t own_slot;  // whose rows do not count for it,
        std::vector<size_t> odd_slots;  // nor those of these
    };

    // Cuts of the column that has most of them.
    static size_t count_cuts(const Plan& plan, size_t first, size_t last) {
        size_t most = 1;
        for (size_t k = first; k < last; ++k)
            most = std::max<size_t>(most, plan.table->columns[plan.few_columns[k]].n_codes);
        return most - 1;
    }

    template <class KeyOf>
    void sort_rows(std::span<const uint32_t> rows, size_t n_slots, KeyOf&& key_of) {
        n_rows_ = rows.size(), n_slots_ = n_slots;
        starts_.assign(n_labels_ * n_slots + 2, 0);
        for (size_t i = 0; i < n_rows_; ++i) ++starts_[key_of(i) + 2];
        for (size_t key = 2; key < starts_.size(); ++key)
            starts_[key] = static_cast<uint16_t>(starts_[key] + starts_[key - 1]);
        for (size_t i = 0; i < n_rows_; ++i) rows_[starts_[key_of(i) + 1]++] = rows[i];
    }
    void set_searcher(size_t at, size_t n_rows, int64_t smallest) {
        searchers_[at].n_rows = static_cast<uint16_t>(n_rows);
        searchers_[at].smallest =
            static_cast<uint16_t>(std::clamp<int64_t>(smallest, 1, kFilteredRows + 1));
        searchers_[at].own_slot = kNoSlot;
        searchers_[at].odd_slots.clear();
        if (counts_.size() < (at + 1) * n_labels_) counts_.resize((at + 1) * n_labels_);
    }

    void try_cuts(Codes one, Codes other, float* best) {
        Codes sum_one{}, sum_other{};
        for (size_t i = 0; i < n_rows_; ++i) {
            sum_one -= reinterpret_cast<Codes>(codes_[i] <= one);
            sum_other -= reinterpret_cast<Codes>(codes_[i] <= other);
            below_one_[i + 1] = sum_one;
            below_other_[i + 1] = sum_other;
        }
        try_cut(below_one_.data(), best);
        try_cut(below_other_.data(), best);
    }

    // below: per row, in how many before it the codes are up to the cut.
    void try_cut(const Codes* below, float* best) {
        all_.resize(n_labels_);
        for (size_t label = 0; label < n_labels_; ++label)
            all_[label] = below[starts_[(label + 1) * n_slots_]] - below[starts_[label * n_slots_]];
        const uint16_t* counts = counts_.data();
        for (const Searcher& searcher : searchers_) {
            Counts a{}, b{};
            Codes n_left{};
            for (size_t label = 0; label < n_labels_; ++label) {
                Codes on_left = all_[label];
                const uint16_t* starts = starts_.data() + label * n_slots_;
                auto leave_out = [&](size_t slot) {
                    on_left -= below[starts[slot + 1]] - below[starts[slot]];
                };
                if (searcher.own_slot != kNoSlot) leave_out(searcher.own_slot);
                for (size_t slot : searcher.odd_slots) leave_out(slot);
                n_left += on_left;
                Counts left = __builtin_convertvector(on_left, Counts);
                Counts right = *counts++ - left;
                a += left * left;
                b += right * right;
            }
            judge(searcher, a, b, __builtin_convertvector(n_left, Counts), best);
            best += n_lanes_;
        }
    }

    static void judge(const Searcher& searcher, Counts a, Counts b, Counts left, float* best) {
        Counts right = searcher.n_rows - left;
        auto counts = (left >= searcher.smallest) & (right >= searcher.smallest);
        a &= reinterpret_cast<Counts>(counts);
        b &= reinterpret_cast<Counts>(counts);
        for (size_t half : {0, 1}) {
            FloatLanes n_left = to_floats(left, half), n_right = to_floats(right, half), before;
            FloatLanes top = to_floats(a, half) * n_right + to_floats(b, half) * n_left;
            FloatLanes quality = top / (n_left * n_right + kTiny);
            std::memcpy(&before, best + 8 * half, sizeof before);
            before = quality > before ? quality : before;
            std::memcpy(best + 8 * half, &before, sizeof before);
        }
    }
    static FloatLanes to_floats(Counts counts, size_t half) {
        uint16_t __attribute__((vector_size(16))) part;
        std::memcpy(&part, reinterpret_cast<const char*>(&counts) + 16 * half, sizeof part);
        return __builtin_convertvector(__builtin_convertvector(part, IntLanes), FloatLanes);
    }

    size_t first_ = 0, last_ = 0, n_codes_ = 0;  // the columns
    std::vector<size_t> cuts_;  // of each block of them
    size_t n_rows_ = 0, n_labels_ = 0, n_slots_ = 1, n_lanes_ = 0;
    std::array<size_t, kFilteredRows> rows_;  // by label and slot
    std::vector<uint16_t> starts_;  // (label, slot): its first row
    std::vector<Searcher> searchers_;
    std::vector<uint16_t> counts_;  // (searcher, label): rows
    std::array<Codes, kFilteredRows + 1> codes_;  // of the columns at hand
    std::array<Codes, kFilteredRows + 1> below_one_, below_other_;
    std::vector<Codes> all_;  // per label
    std::vector<float> best_;  // (searcher, lane)
};

}  // namespace treefold
