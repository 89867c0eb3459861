// The shares of a group that are searched together, one lane each.
//
// Rows are counted in slots, by the lanes that they count for:
//   slot k below n_lanes   everybody but lane k: in a cross-validation, the rows of one fold
//   the next slot          everybody
//   further slots          the other patterns
// What counts for a lane is then all rows without its own slot, which is one subtraction of vectors for all lanes; of the
// other patterns, only those that have rows are added. Where hardly any pattern lacks a single lane (the inner folds of a
// nested cross-validation lack pairs of strata) the slots of lanes are left out.
#pragma once

#include <cstring>

#include "findings.hpp"
#include "group.hpp"
#include "lanes.hpp"

namespace treefold {

// Numbers per lane, in whole vectors.
class LaneArray {
public:
    LaneArray() = default;
    explicit LaneArray(size_t n_lanes, double value = 0.0) { assign(n_lanes, value); }
    void assign(size_t n_lanes, double value = 0.0) {
        values_.assign(n_lanes / 4, Lanes{value, value, value, value});
    }
    Lanes* data() { return values_.data(); }
    const Lanes* data() const { return values_.data(); }
    double& operator[](size_t lane) { return reinterpret_cast<double*>(values_.data())[lane]; }
    double operator[](size_t lane) const {
        return reinterpret_cast<const double*>(values_.data())[lane];
    }

private:
    std::vector<Lanes> values_;
};

template <class Target>
class Crew {
public:
    static constexpr size_t kMostSlots = 4096;  // of more, lanes have too little in common

    const Group<Target>* group = nullptr;
    std::vector<size_t> shares;  // lane -> share
    std::vector<NodeView<Target>> views;  // per lane
    size_t n_lanes = 0;  // shares, filled up to whole vectors
    size_t n_slots = 0;  // a multiple of eight
    LaneArray ones;  // (slot, lane): does it count?
    const uint16_t* slot_of_row = nullptr;  // per row of the table

    bool counts(uint32_t row, size_t lane) const {
        return ones[slot_of_row[row] * n_lanes + lane] != 0.0;
    }
    const Lanes* line(uint32_t row) const { return ones.data() + slot_of_row[row] * (n_lanes / 4); }
    uint16_t slot_of(uint32_t pattern) const { return slot_of_[pattern]; }

    // Once the shares are known. False: there are too many slots.
    bool number_slots() {
        const Patterns& patterns = group->patterns;
        n_lanes = (shares.size() + 3) / 4 * 4;
        lacking_.resize(patterns.size());
        size_t n_lone = 0;
        for (uint32_t pattern = 0; pattern < patterns.size(); ++pattern)
            n_lone += (lacking_[pattern] = find_lacking(pattern)) < n_lanes;
        n_lone_ = kLoneShare * n_lone >= shares.size() ? n_lanes : 0;
        n_slots = n_lone_ + 1;
        slot_of_.resize(patterns.size());
        for (uint32_t pattern = 0; pattern < patterns.size(); ++pattern)
            slot_of_[pattern] = static_cast<uint16_t>(number_slot(lacking_[pattern]));
        n_odd_end_ = n_slots;
        n_slots = (n_slots + 7) / 8 * 8;
        if (n_slots > kMostSlots) return false;
        ones.assign(n_slots * n_lanes);
        for (uint32_t pattern = 0; pattern < patterns.size(); ++pattern)
            for (size_t lane = 0; lane < shares.size(); ++lane)
                if (patterns.has(pattern, shares[lane]))
                    ones[slot_of_[pattern] * n_lanes + lane] = 1.0;
        return true;
    }

    // Rows per lane (n_lanes / 4 vectors) out of rows per slot; returns all rows. Lanes without a share get nonsense,
    // and nothing is written if there is no row.
    uint32_t to_lanes(const uint32_t* slots, Lanes* lanes) const {
        CountLanes sums{};
        for (size_t k = 0; k < n_slots; k += 8) {
            CountLanes part;
            std::memcpy(&part, slots + k, sizeof part);
            sums += part;
        }
        if (is_zero(sums)) return 0;
        uint32_t all = sum_lanes(sums);
        uint32_t n_odd = 0;
        for (size_t slot = n_lone_ + 1; slot < n_odd_end_; ++slot) n_odd += slots[slot];
        size_t n_vectors = n_lanes / 4;
        double n_even = all - n_odd;
        for (size_t v = 0; v < n_vectors; ++v) {
            IntLanes4 lacking{};
            if (n_lone_ != 0) std::memcpy(&lacking, slots + 4 * v, sizeof lacking);
            lanes[v] = n_even - __builtin_convertvector(lacking, Lanes);
        }
        for (size_t slot = n_lone_ + 1; n_odd != 0; ++slot) {
            if (slots[slot] == 0) continue;
            n_odd -= slots[slot];
            double count = slots[slot];
            const Lanes* counts = ones.data() + slot * n_vectors;
            for (size_t v = 0; v < n_vectors; ++v) lanes[v] += counts[v] * count;
        }
        return all;
    }

    // The same for one lane, if all rows are known.
    uint32_t to_lane(const uint32_t* slots, uint32_t all, uint32_t lane) const {
        uint32_t count = n_lone_ != 0 ? all - slots[lane] : all;
        for (size_t slot = n_lone_ + 1; slot < n_odd_end_; ++slot)
            if (ones[slot * n_lanes + lane] == 0.0) count -= slots[slot];
        return count;
    }

private:
    static constexpr size_t kLoneShare = 4;  // of the lanes, one in so many needs its slot
    static constexpr uint32_t kSeveral = UINT32_MAX;

    // The lane that a pattern lacks; n_lanes if none, kSeveral if more.
    uint32_t find_lacking(uint32_t pattern) const {
        auto found = static_cast<uint32_t>(n_lanes);
        for (uint32_t lane = 0; lane < shares.size(); ++lane) {
            if (group->patterns.has(pattern, shares[lane])) continue;
            if (found != n_lanes) return kSeveral;
            found = lane;
        }
        return found;
    }
    size_t number_slot(uint32_t lacking) {
        if (lacking == n_lanes) return n_lone_;
        return lacking < n_lone_ ? lacking : n_slots++;
    }

    size_t n_lone_ = 0;  // slots of lanes
    size_t n_odd_end_ = 0;
    std::vector<uint16_t> slot_of_;  // per pattern
    std::vector<uint32_t> lacking_;
};

}  // namespace treefold
