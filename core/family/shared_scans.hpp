// Scans of one order for all shares of a group at once, for classes. As filters they only leave out what cannot
// win; what survives is decided for the share by the exact quality from its own counts.
//
// A row adds to the lanes of the shares that it counts for: a pattern is a line of ones and zeros. A cut is looked at before
// the first row of a code, with what stands to the left of it; for a share it lies between the last row before that
// counts and this code, if a row of this code counts.
#pragma once

#include "family/lane_members.hpp"
#include "search/few_columns.hpp"

namespace treefold {

// Does a code begin at row k, which is not the first?
template <class Code>
bool begins_code(const OrderView<Code>& order, size_t k) {
    return order.code(k - 1) != order.code(k);
}

// The codes on both sides of a lane's cut before row k, where a code begins; nothing if no row of that code counts for the
// lane. Some row before counts.
template <class Stats, class Code>
std::optional<std::pair<uint32_t, uint32_t>> find_sides(const LaneMembers<Stats>& members,
                                                        const OrderView<Code>& order, size_t k,
                                                        size_t lane) {
    uint32_t next = order.code(k);
    auto counts = [&](size_t at) { return members.counts(order.words[at] >> order.bits, lane); };
    size_t first = k, last = k - 1;
    while (!counts(first))
        if (++first == order.words.size() || order.code(first) != next) return {};
    while (!counts(last)) --last;
    return std::pair{order.code(last), next};
}

// Two classes (TwoClassScan has the algebra). Blocks of rows are counted by slot and class. The best cut between blocks
// is tried first, so that few blocks are left in which a corner lets a lane hope; only their rows are looked at.
class SharedTwoClassScan {
public:
    using Stats = ClassStats<int64_t>;

    void prepare(const LaneMembers<Stats>& members) {
        members_ = &members;
        n_vectors_ = members.n_lanes / 4;
        constexpr double kNobody = std::numeric_limits<double>::quiet_NaN();
        n_.assign(members.n_lanes, kNobody), n0_.assign(members.n_lanes),
            n1_.assign(members.n_lanes);
        limit_.assign(members.n_lanes);
        for (size_t lane = 0; lane < members.shares.size(); ++lane) {
            const ShortLine<int64_t>& totals = members.views[lane].totals.slots;
            n0_[lane] = static_cast<double>(totals[0]);
            n1_[lane] = static_cast<double>(totals[1]);
            n_[lane] = n0_[lane] + n1_[lane];
        }
    }

    template <class Code>
    void run(const OrderView<Code>& order, std::vector<Findings>& findings) {
        findings_ = &findings;
        for (size_t lane = 0; lane < members_->shares.size(); ++lane) update_limit(lane);
        size_t n_rows = order.words.size();
        block_ = std::clamp(n_rows / kBlocks, 8 * n_vectors_ + 8,
                            std::max(kLargestBlock, 8 * n_vectors_ + 8));
        count_blocks(order);
        try_boundaries(order);
        for (size_t first = 0, at = 0; first < n_rows; first += block_, ++at)
            test_block(order, first, std::min(first + block_, n_rows), at);
    }

private:
    // So many at least, if they are not too small then. (Blocks of 64 rows: 1.05 times the instructions of MAGIC's ten folds.)
    static constexpr size_t kBlocks = 64, kLargestBlock = 256;

    // What stands to the left of each block.
    Lanes* left(size_t block) { return before_.data() + 2 * block * n_vectors_; }
    Lanes* left1(size_t block) { return left(block) + n_vectors_; }

    template <class Code>
    void count_blocks(const OrderView<Code>& order) {
        size_t n_rows = order.words.size(), n_blocks = (n_rows + block_ - 1) / block_;
        size_t n_slots = members_->n_slots;
        const uint16_t* slot_of_row = members_->slot_of_row;
        before_.resize(2 * (n_blocks + 1) * n_vectors_);
        std::fill_n(before_.begin(), 2 * n_vectors_, Lanes{});
        rows_.resize(2 * n_vectors_);
        counts_.resize(2 * n_slots);
        for (size_t at = 0; at < n_blocks; ++at) {
            std::fill(counts_.begin(), counts_.end(), 0);
            uint32_t* counts = counts_.data();
            size_t last = std::min((at + 1) * block_, n_rows);
            for (size_t k = at * block_; k < last; ++k) {
                uint32_t word = order.words[k];
                ++counts[(word & 1) * n_slots + slot_of_row[word >> order.bits]];
            }
            bool has_zeros = members_->to_lanes(counts, rows_.data()) != 0;
            bool has_ones = members_->to_lanes(counts + n_slots, rows_.data() + n_vectors_) != 0;
            for (size_t v = 0; v < n_vectors_; ++v) {
                Lanes zeros = has_zeros ? rows_[v] : Lanes{};
                Lanes ones = has_ones ? rows_[n_vectors_ + v] : Lanes{};
                left(at + 1)[v] = left(at)[v] + zeros + ones;
                left1(at + 1)[v] = left1(at)[v] + ones;
            }
        }
    }

    // Per lane, the best cut between two blocks.
    template <class Code>
    void try_boundaries(const OrderView<Code>& order) {
        size_t n_rows = order.words.size(), n_blocks = (n_rows + block_ - 1) / block_;
        for (size_t v = 0; v < n_vectors_; ++v) {
            Lanes best{}, n = n_.data()[v], n1 = n1_.data()[v];
            LaneMask where{};
            for (size_t at = 1; at < n_blocks; ++at) {
                if (!begins_code(order, at * block_)) continue;
                Lanes n_left = left(at)[v], d = n * left1(at)[v] - n_left * n1;
                Lanes reached = d * d / (n_left * (n - n_left));
                LaneMask is_more = reached > best;
                best = is_more ? reached : best;
                where = is_more ? LaneMask{} + static_cast<int64_t>(at) : where;
            }
            for (size_t k = 0; k < 4; ++k)
                if (where[k] != 0 && best[k] >= limit_[4 * v + k])
                    try_boundary(order, static_cast<size_t>(where[k]), 4 * v + k);
        }
    }

    template <class Code>
    void try_boundary(const OrderView<Code>& order, size_t at, size_t lane) {
        decide(order, at * block_, lane, static_cast<int64_t>(left(at)[lane / 4][lane % 4]),
               static_cast<int64_t>(left1(at)[lane / 4][lane % 4]));
    }

    template <class Code>
    void test_block(const OrderView<Code>& order, size_t first, size_t last, size_t block) {
        uint64_t n_hoping = 0;
        if (order.code(std::max<size_t>(first, 1) - 1) == order.code(last - 1)) return;  // no cut
        hopes_.resize(n_vectors_);
        for (size_t v = 0; v < n_vectors_; ++v) {
            Lanes n = n_.data()[v], n0 = n0_.data()[v], n1 = n1_.data()[v];
            Lanes from = left(block)[v], from1 = left1(block)[v];
            Lanes ones = left1(block + 1)[v] - from1, zeros = left(block + 1)[v] - from - ones;
            Lanes at = n * from1 - from * n1;
            Lanes up = at + ones * n0, down = at - zeros * n1, all = up - zeros * n1;
            Lanes limit = limit_.data()[v];
            Lanes with_ones = from + ones, with_zeros = from + zeros, with_all = with_ones + zeros;
            LaneMask hopes = (at * at >= limit * (from * (n - from))) |
                             (up * up >= limit * (with_ones * (n - with_ones))) |
                             (down * down >= limit * (with_zeros * (n - with_zeros))) |
                             (all * all >= limit * (with_all * (n - with_all)));
            hopes_[v] = lane_bits(hopes);
            n_hoping += static_cast<uint64_t>(std::popcount(hopes_[v]));
        }
        if (n_hoping == 0) return;
        if (n_hoping > 2) return scan_lanes(order, first, last, block);
        for (size_t v = 0; v < n_vectors_; ++v)
            for (uint64_t bits = hopes_[v]; bits != 0; bits &= bits - 1)
                scan_lane(order, first, last, block,
                          4 * v + static_cast<size_t>(std::countr_zero(bits)));
    }

    // The rows of a block, for one lane.
    template <class Code>
    void scan_lane(const OrderView<Code>& order, size_t first, size_t last, size_t block,
                   size_t lane) {
        double n = n_[lane], n0 = n0_[lane], n1 = n1_[lane];
        double at = left(block)[lane / 4][lane % 4], ones = left1(block)[lane / 4][lane % 4];
        double d = n * ones - at * n1;
        for (size_t k = first; k < last; ++k) {
            uint32_t word = order.words[k];
            if (d * d >= limit_[lane] * (at * (n - at)))
                decide(order, k, lane, static_cast<int64_t>(at), static_cast<int64_t>(ones));
            if (!members_->counts(word >> order.bits, lane)) continue;
            at += 1;
            ones += word & 1;
            d += (word & 1) != 0 ? n0 : -n1;
        }
    }

    // The same for all lanes.
    template <class Code>
    void scan_lanes(const OrderView<Code>& order, size_t first, size_t last, size_t block) {
        at_.assign(left(block), left(block) + n_vectors_);
        ones_.assign(left1(block), left1(block) + n_vectors_);
        for (size_t k = first; k < last; ++k) {
            uint32_t word = order.words[k];
            double is_one = word & 1;
            const Lanes* counts = members_->line(word >> order.bits);
            for (size_t v = 0; v < n_vectors_; ++v) {
                Lanes at = at_[v], n = n_.data()[v], d = n * ones_[v] - at * n1_.data()[v];
                LaneMask hopes = d * d >= limit_.data()[v] * (at * (n - at));
                if (any_lane(hopes)) [[unlikely]]
                    for (size_t lane = 4 * v; lane < 4 * v + 4; ++lane)
                        if (hopes[lane - 4 * v] != 0 && lane < members_->shares.size())
                            decide(order, k, lane, static_cast<int64_t>(at[lane - 4 * v]),
                                   static_cast<int64_t>(ones_[v][lane - 4 * v]));
                at_[v] = at + counts[v];
                ones_[v] += counts[v] * is_one;
            }
        }
    }

    // A cut before row k.
    template <class Code>
    void decide(const OrderView<Code>& order, size_t k, size_t lane, int64_t n_left, int64_t ones) {
        const NodeView<Stats>& node = members_->views[lane];
        Findings& findings = (*findings_)[lane];
        int64_t smallest = std::max<int64_t>(1, node.rules.min_samples_leaf);
        if (n_left < smallest || node.totals.rows - n_left < smallest) return;
        if (!begins_code(order, k)) return;
        auto sides = find_sides(*members_, order, k, lane);
        if (!sides) return;
        int64_t left[2] = {n_left - ones, ones};
        int64_t right[2] = {node.totals.slots[0] - left[0], node.totals.slots[1] - left[1]};
        double quality = class_quality(Criterion::gini, left, right, 0, node.stats.logs);
        if (quality < findings.floor) return;
        findings.offer(numeric_split(quality, order.column, sides->first, sides->second));
        update_limit(lane);
    }

    void update_limit(size_t lane) {
        double base = members_->views[lane].filter.squares / n_[lane];
        limit_[lane] = ((*findings_)[lane].floor * (1 - kSlack) - base) * n_[lane] / 2;
    }

    const LaneMembers<Stats>* members_ = nullptr;
    std::vector<Findings>* findings_ = nullptr;
    size_t n_vectors_ = 0, block_ = 0;
    LaneArray n_, n0_, n1_, limit_;
    std::vector<Lanes> before_;  // (block, rows or ones): what stands to the left
    std::vector<Lanes> rows_, at_, ones_;
    std::vector<uint64_t> hopes_;
    std::vector<uint32_t> counts_;  // (class, slot) in the block
};

// More classes (ClassScan has the algebra), one vector of lanes after another.
template <class Vector>
class ClassScanOfLanes {
public:
    using Stats = ClassStats<int64_t>;
    using Traits = VectorTraits<Vector>;
    using Scalar = typename Traits::Scalar;
    static constexpr size_t kWidth = Traits::kWidth;

    void prepare(const LaneMembers<Stats>& members) {
        members_ = &members;
        n_classes_ = members.views[0].totals.slots.size();
        smallest_ = members.smallest_side();
        size_t n_vectors = (members.n_lanes + kWidth - 1) / kWidth;
        squads_.assign(n_vectors, {});
        totals_.assign(n_vectors * n_classes_, Vector{});
        ones_.assign(n_vectors * members.n_slots, Vector{});
        left_.resize(n_classes_);
        for (size_t lane = 0; lane < members.shares.size(); ++lane) {
            const NodeView<Stats>& node = members.views[lane];
            size_t v = lane / kWidth, place = lane % kWidth;
            squads_[v].n[place] = static_cast<Scalar>(node.totals.rows);
            squads_[v].squares[place] = static_cast<Scalar>(node.filter.squares);
            for (size_t k = 0; k < n_classes_; ++k)
                totals_[v * n_classes_ + k][place] = static_cast<Scalar>(node.totals.slots[k]);
            for (size_t slot = 0; slot < members.n_slots; ++slot)
                ones_[v * members.n_slots + slot][place] =
                    static_cast<Scalar>(members.ones[slot * members.n_lanes + lane]);
        }
    }

    template <class Code>
    void run(const OrderView<Code>& order, std::vector<Findings>& findings) {
        for (size_t v = 0; v < squads_.size(); ++v) scan(order, v, findings);
    }

private:
    // Few codes, of several rows each: cuts are looked at only where one begins.
    template <class Code>
    static constexpr bool kHasRuns = sizeof(Code) == 1;

    // What is the same for every column.
    struct Squad {
        Vector n{}, squares{};
    };

    template <class Code>
    void scan(const OrderView<Code>& order, size_t v, std::vector<Findings>& findings) {
        uint32_t mask = (uint32_t{1} << order.bits) - 1;
        const uint16_t* slot_of_row = members_->slot_of_row;
        const Vector *totals = totals_.data() + v * n_classes_,
                     *ones_of_slot = ones_.data() + v * members_->n_slots;
        Vector n = squads_[v].n, squares = squads_[v].squares, a{}, b{}, n_left{};
        Vector* left = left_.data();
        std::fill_n(left, n_classes_, Vector{});
        limit_ = list_limits(v, findings);
        uint32_t code = order.code(0);
        for (size_t k = 0; k + smallest_ <= order.words.size(); ++k) {
            uint32_t word = order.words[k], label = word & mask;
            if (k >= smallest_ && (!kHasRuns<Code> || order.code(k) != code)) {
                if (kHasRuns<Code>) code = order.code(k);
                Vector n_right = n - n_left;
                Vector reached = a * n_right + (squares - 2 * b + a) * n_left;
                auto hopes = reached >= limit_ * (n_left * n_right);
                if (uint64_t bits = lane_bits(hopes); bits != 0) [[unlikely]]
                    for (; bits != 0; bits &= bits - 1) {
                        auto place = static_cast<size_t>(std::countr_zero(bits));
                        size_t lane = v * kWidth + place;
                        if (lane < members_->shares.size())
                            decide(order, k, lane, static_cast<int64_t>(n_left[place]),
                                   findings[lane]);
                    }
            }
            Vector ones = ones_of_slot[slot_of_row[word >> order.bits]];
            a += ones * (2 * left[label] + 1);
            b += ones * totals[label];
            n_left += ones;
            left[label] += ones;
        }
    }

    Vector list_limits(size_t v, const std::vector<Findings>& findings) const {
        Vector limits = Vector{} + std::numeric_limits<Scalar>::infinity();
        for (size_t lane = v * kWidth; lane < std::min((v + 1) * kWidth, findings.size()); ++lane)
            limits[lane % kWidth] = limit_of(findings[lane]);
        return limits;
    }
    static Scalar limit_of(const Findings& findings) {
        return static_cast<Scalar>(findings.floor * (1 - Traits::kSlack));
    }

    template <class Code>
    void decide(const OrderView<Code>& order, size_t k, size_t lane, int64_t rows_left,
                Findings& findings) {
        const NodeView<Stats>& node = members_->views[lane];
        int64_t smallest = std::max<int64_t>(1, node.rules.min_samples_leaf);
        if (rows_left < smallest || node.totals.rows - rows_left < smallest) return;
        if (!begins_code(order, k)) return;
        auto sides = find_sides(*members_, order, k, lane);
        if (!sides) return;
        on_left_.resize(n_classes_), on_right_.resize(n_classes_);
        for (size_t c = 0; c < n_classes_; ++c) {
            on_left_[c] = static_cast<int64_t>(left_[c][lane % kWidth]);
            on_right_[c] = node.totals.slots[c] - on_left_[c];
        }
        double quality = class_quality(Criterion::gini, on_left_, on_right_, 0, node.stats.logs);
        if (quality < findings.floor) return;
        findings.offer(numeric_split(quality, order.column, sides->first, sides->second));
        limit_[lane % kWidth] = limit_of(findings);
    }

    const LaneMembers<Stats>* members_ = nullptr;
    size_t n_classes_ = 0, smallest_ = 1;
    std::vector<Squad> squads_;
    std::vector<Vector> totals_, ones_;  // (vector, class), (vector, slot)
    std::vector<Vector> left_;  // per class, of the lanes at hand
    Vector limit_{};
    std::vector<int64_t> on_left_, on_right_;
};

class SharedClassScan {
public:
    using Stats = ClassStats<int64_t>;

    void prepare(const LaneMembers<Stats>& members) {
        is_small_ = members.group->n_rows() <= VectorTraits<FloatLanes>::kMostRows;
        is_small_ ? small_.prepare(members) : large_.prepare(members);
    }
    template <class Code>
    void run(const OrderView<Code>& order, std::vector<Findings>& findings) {
        is_small_ ? small_.run(order, findings) : large_.run(order, findings);
    }

private:
    bool is_small_ = false;
    ClassScanOfLanes<FloatLanes> small_;
    ClassScanOfLanes<Lanes> large_;
};

}  // namespace treefold
