// Slots: the rows of a group are counted by the lanes that they count for, one lane for each share that is searched.
//
//   slot k below n_lone    everybody but lane k: in a cross-validation, the rows of one fold
//   the next slot          everybody
//   further slots          the other patterns
//
// What counts for a lane is then all rows without its own slot, which is one subtraction of vectors for all lanes. Where
// hardly any pattern lacks a single lane (the inner folds of a nested cross-validation lack pairs of strata) the slots of
// lanes are left out. A single lane needs one slot only.
#pragma once

#include "family/patterns.hpp"
#include "stats/histogram.hpp"

namespace treefold {

class SlotNumbers {
public:
    static constexpr size_t kMost = 4096;  // of more, lanes have too little in common

    // lanes: the shares that take part.
    void number(const Patterns& patterns, const ShareSet& lanes) {
        n_lanes_ = (lanes.size() + 3) / 4 * 4;
        size_t n_lone = 0;
        of_.resize(patterns.size());
        for (uint32_t pattern = 0; pattern < patterns.size(); ++pattern)
            n_lone += (of_[pattern] = find_lacking(patterns, pattern, lanes)) < n_lanes_;
        n_lone_ = kLoneShare * n_lone >= lanes.size() ? lanes.size() : 0;
        n_used_ = n_lone_ + 1;
        for (uint32_t& slot : of_) slot = static_cast<uint32_t>(number_one(slot));
        n_slots_ = lanes.size() == 1 ? 1 : (n_used_ + 7) / 8 * 8;
    }

    uint32_t of(uint32_t pattern) const { return of_[pattern]; }
    size_t n_lanes() const { return n_lanes_; }  // whole vectors
    size_t n_slots() const { return n_slots_; }  // 1, or a multiple of eight
    size_t n_lone() const { return n_lone_; }
    size_t n_used() const { return n_used_; }

private:
    static constexpr size_t kLoneShare = 4;  // of the lanes, one in so many needs its slot
    static constexpr uint32_t kSeveral = UINT32_MAX;

    // The lane that a pattern lacks; n_lanes if none, kSeveral if more.
    uint32_t find_lacking(const Patterns& patterns, uint32_t pattern, const ShareSet& lanes) const {
        auto found = static_cast<uint32_t>(n_lanes_);
        uint32_t n_before = 0;
        for (size_t k = 0; k < patterns.n_words(); ++k) {
            uint64_t all = lanes.words()[k], lacking = all & ~patterns.words(pattern)[k];
            if (lacking != 0) {
                if (found != n_lanes_ || (lacking & (lacking - 1)) != 0) return kSeveral;
                found = n_before + static_cast<uint32_t>(std::popcount(all & (lacking - 1)));
            }
            n_before += static_cast<uint32_t>(std::popcount(all));
        }
        return found;
    }
    size_t number_one(uint32_t lacking) {
        if (lacking == n_lanes_) return n_lone_;
        return lacking < n_lone_ ? lacking : n_used_++;
    }

    size_t n_lanes_ = 0, n_slots_ = 0, n_lone_ = 0, n_used_ = 0;
    std::vector<uint32_t> of_;  // per pattern
};

// What a group keeps of its rows: (column, code, class, slot) of the few-valued columns, or nothing (group_histograms.hpp).
struct GroupHistogram {
    SlotNumbers slots;  // of all shares
    Histogram<uint32_t> counts;

    bool empty() const { return counts.empty(); }
};

}  // namespace treefold
