// The shares of a group that are searched together, one lane each. Their rows are counted in slots (slot_numbers.hpp).
#pragma once

#include <cstring>

#include "base/lanes.hpp"
#include "family/group.hpp"
#include "split/findings.hpp"

namespace treefold {

// What bounds and scans of many lanes are computed in. In groups of up to 4,096 rows counts, their squares and the sums of
// those are whole numbers that float32 holds, so that eight lanes go in a vector (ten folds together: Pen Digits 1.1 times
// as fast, Letter 1.15); of larger groups four, in float64.
template <class Vector>
struct VectorTraits;
template <>
struct VectorTraits<Lanes> {
    using Scalar = double;
    using Integers = IntLanes4;
    static constexpr size_t kWidth = 4;
    static constexpr double kSlack = treefold::kSlack;
};
template <>
struct VectorTraits<FloatLanes> {
    using Scalar = float;
    using Integers = IntLanes;
    static constexpr size_t kWidth = 8;
    static constexpr double kSlack = 1.0 / (1 << 15);  // 256 additions and a few operations more
    static constexpr size_t kMostRows = 4'096;
};

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

template <class Stats>
class LaneMembers {
public:
    const Group<Stats>* group = nullptr;
    std::vector<size_t> shares;  // lane -> share
    std::vector<NodeView<Stats>> views;  // per lane
    size_t n_lanes = 0;  // shares, filled up to whole vectors
    size_t n_slots = 0;
    LaneArray ones;  // (slot, lane): does it count?
    const uint16_t* slot_of_row = nullptr;  // per row of the table

    bool counts(uint32_t row, size_t lane) const {
        return ones[slot_of_row[row] * n_lanes + lane] != 0.0;
    }
    const Lanes* line(uint32_t row) const { return ones.data() + slot_of_row[row] * (n_lanes / 4); }
    const SlotNumbers& slots() const { return slots_; }
    uint16_t slot_of(uint32_t pattern) const { return static_cast<uint16_t>(slots_.of(pattern)); }

    // Of a cut: fewer rows of the group on either side are too few for anybody.
    size_t smallest_side() const {
        int64_t smallest = INT64_MAX;
        for (const NodeView<Stats>& view : views)
            smallest = std::min(smallest, view.rules.min_samples_leaf);
        return static_cast<size_t>(std::max<int64_t>(1, smallest));
    }

    // Once the shares are known. False: there are too many slots.
    bool number_slots() {
        const Patterns& patterns = group->patterns;
        lanes_.reset(group->shares.size());
        for (size_t share : shares) lanes_.add(share);
        slots_.number(patterns, lanes_);
        n_lanes = slots_.n_lanes(), n_slots = slots_.n_slots();
        if (n_slots > SlotNumbers::kMost) return false;
        ones.assign(n_slots * n_lanes);
        for (uint32_t pattern = 0; pattern < patterns.size(); ++pattern)
            for (size_t lane = 0; lane < shares.size(); ++lane)
                if (patterns.has(pattern, shares[lane]))
                    ones[slots_.of(pattern) * n_lanes + lane] = 1.0;
        return true;
    }

    // Rows per lane (n_lanes / 4 vectors) out of rows per slot; returns all rows. Lanes without a share get nonsense,
    // and nothing is written if there is no row.
    uint32_t to_lanes(const uint32_t* slots, Lanes* lanes) const {
        CountLanes sums = sum_vectors(slots, n_slots);
        if (is_zero(sums)) return 0;
        uint32_t all = sum_lanes(sums);
        uint32_t n_odd = 0;
        for (size_t slot = slots_.n_lone() + 1; slot < slots_.n_used(); ++slot)
            n_odd += slots[slot];
        size_t n_vectors = n_lanes / 4;
        double n_even = all - n_odd;
        for (size_t v = 0; v < n_vectors; ++v) {
            IntLanes4 lacking{};
            if (slots_.n_lone() != 0) std::memcpy(&lacking, slots + 4 * v, sizeof lacking);
            lanes[v] = n_even - __builtin_convertvector(lacking, Lanes);
        }
        for (size_t slot = slots_.n_lone() + 1; n_odd != 0; ++slot) {
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
        uint32_t count = slots_.n_lone() != 0 ? all - slots[lane] : all;
        for (size_t slot = slots_.n_lone() + 1; slot < slots_.n_used(); ++slot)
            if (ones[slot * n_lanes + lane] == 0.0) count -= slots[slot];
        return count;
    }

private:
    ShareSet lanes_;
    SlotNumbers slots_;
};

}  // namespace treefold
