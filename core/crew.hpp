// The shares of a group that are searched together, one lane each.
//
// Rows are counted in slots, by the lanes that they do not count for:
//   slot k below n_lanes   everybody but lane k: in a cross-validation, the rows of one fold
//   slot n_lanes           everybody
//   further slots          the other patterns, each with the list of the lanes that it lacks
// What counts for a lane is then all rows without its own slot, which is one subtraction of vectors for all lanes.
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
        n_slots = n_lanes + 1;
        slot_of_.resize(patterns.size());
        odd_.clear(), odd_lanes_.clear();
        for (uint32_t pattern = 0; pattern < patterns.size(); ++pattern) number_slot(pattern);
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
        uint32_t all = sum_lanes(sums);
        if (all == 0) return 0;
        for (size_t v = 0; v < n_lanes / 4; ++v) {
            IntLanes4 lacking;
            std::memcpy(&lacking, slots + 4 * v, sizeof lacking);
            lanes[v] = static_cast<double>(all) - __builtin_convertvector(lacking, Lanes);
        }
        for (const Odd& odd : odd_)
            if (slots[odd.slot] != 0)
                for (size_t k = odd.begin; k < odd.end; ++k)
                    lanes[odd_lanes_[k] / 4][odd_lanes_[k] % 4] -= slots[odd.slot];
        return all;
    }

    // The same for one lane, if all rows are known.
    uint32_t to_lane(const uint32_t* slots, uint32_t all, uint32_t lane) const {
        uint32_t count = all - slots[lane];
        for (const Odd& odd : odd_)
            for (size_t k = odd.begin; k < odd.end; ++k)
                if (odd_lanes_[k] == lane) count -= slots[odd.slot];
        return count;
    }

private:
    struct Odd {
        uint32_t slot;
        size_t begin, end;  // of odd_lanes_
    };

    void number_slot(uint32_t pattern) {
        size_t begin = odd_lanes_.size();
        for (uint32_t lane = 0; lane < shares.size(); ++lane)
            if (!group->patterns.has(pattern, shares[lane])) odd_lanes_.push_back(lane);
        size_t n_lacking = odd_lanes_.size() - begin;
        if (n_lacking <= 1) {
            slot_of_[pattern] = static_cast<uint16_t>(n_lacking == 0 ? n_lanes : odd_lanes_[begin]);
            odd_lanes_.resize(begin);
            return;
        }
        slot_of_[pattern] = static_cast<uint16_t>(n_slots);
        odd_.push_back({static_cast<uint32_t>(n_slots++), begin, odd_lanes_.size()});
    }

    std::vector<uint16_t> slot_of_;  // per pattern
    std::vector<Odd> odd_;
    std::vector<uint32_t> odd_lanes_;
};

}  // namespace treefold
