// How good the cuts and sets of a few-valued column can be, for all shares of a group at once: upper bounds out of one
// histogram by code, label and slot (slot_numbers.hpp).
#pragma once

#include "family/lane_members.hpp"

namespace treefold {

// What a column has for one lane.
struct CutBound {
    // No cut is better; numeric columns without missing rows have one that is as good, up to rounding. -infinity if another
    // column has a better one.
    double best;
    double second;  // no other cut is better
    uint32_t code;  // the best cut is behind it
};

template <class Vector>
class CutBounds {
public:
    using Traits = VectorTraits<Vector>;
    using Scalar = typename Traits::Scalar;
    using Stats = ClassStats<int64_t>;

    // classes: of each label.
    void prepare(const LaneMembers<Stats>& members, const std::vector<size_t>& classes) {
        members_ = &members;
        n_labels_ = classes.size();
        n_vectors_ = (members.n_lanes + Traits::kWidth - 1) / Traits::kWidth;
        n_.assign(n_vectors_, fill(std::numeric_limits<Scalar>::quiet_NaN()));
        squares_.assign(n_vectors_, Vector{});
        smallest_.assign(n_vectors_, fill(1));
        totals_.assign(n_labels_ * n_vectors_, Vector{});
        left_.resize(n_labels_ * n_vectors_);
        floor_.assign(n_vectors_, fill(kNever));
        running_.resize(n_vectors_);
        for (size_t lane = 0; lane < members.shares.size(); ++lane) {
            const NodeView<Stats>& view = members.views[lane];
            at(n_, lane) = static_cast<Scalar>(view.totals.rows);
            at(squares_, lane) = static_cast<Scalar>(view.filter.squares);
            at(smallest_, lane) =
                static_cast<Scalar>(std::max<int64_t>(1, view.rules.min_samples_leaf));
            for (size_t c = 0; c < n_labels_; ++c)
                totals_[c * n_vectors_ + lane / Traits::kWidth][lane % Traits::kWidth] =
                    static_cast<Scalar>(view.totals.slots[classes[c]]);
        }
        list_odd_slots();
    }

    // One bound per lane for a column. Writes the rows of each code and label down, over all slots.
    void bound(const Column& column, const uint32_t* slots, uint32_t* all, CutBound* bounds) {
        slots_ = slots, all_ = all;
        is_sparse_ = column.n_codes >= kDenseCodes || !has_lone_;
        bool has_sets =
            column.is_categorical || (column.has_missing && has_rows(column.missing_code()));
        if (has_sets)
            bound_sets(column);
        else if (n_vectors_ == 1 && members_->n_slots == 8)
            bound_cuts<1, 8>(column);
        else if (n_vectors_ == 1 && members_->n_slots == 16)
            bound_cuts<1, 16>(column);
        else if (n_vectors_ == 2 && members_->n_slots == 16)
            bound_cuts<2, 16>(column);
        else
            bound_cuts<0, 0>(column);
        for (size_t lane = 0; lane < members_->shares.size(); ++lane) {
            const Running& running = running_[lane / Traits::kWidth];
            size_t place = lane % Traits::kWidth;
            double best = running.best[place];
            bounds[lane] = {best, has_sets ? best : running.least[place],
                            static_cast<uint32_t>(running.where[place])};
        }
    }

private:
    static constexpr size_t kFewCategories = 5;  // of more, too many subsets would be looked at
    static constexpr Scalar kNever = -std::numeric_limits<Scalar>::infinity();

    using Mask = decltype(Vector{} > Vector{});

    struct Running {
        Vector a, b, n_left;
        Vector least;  // the second best, or what another column has: cuts must be better
        Vector n_before, best;
        Mask where;
    };

    // The rows of one slot, and for which lanes they do not count.
    struct OddRows {
        const Vector* lacks;
        Scalar count;
    };

    static Vector fill(Scalar value) { return Vector{} + value; }
    static Scalar& at(std::vector<Vector>& vectors, size_t lane) {
        return reinterpret_cast<Scalar*>(vectors.data())[lane];
    }

    // Slots behind those of single lanes and of everybody: for whom their rows do not count.
    void list_odd_slots() {
        const SlotNumbers& numbers = members_->slots();
        has_lone_ = numbers.n_lone() != 0;
        first_odd_ = numbers.n_lone() + 1, n_used_ = numbers.n_used();
        odd_.assign((n_used_ - first_odd_) * n_vectors_, Vector{});
        odd_rows_.resize(n_used_ - first_odd_ + 1);
        for (size_t slot = first_odd_; slot < n_used_; ++slot)
            for (size_t lane = 0; lane < members_->shares.size(); ++lane)
                odd_[(slot - first_odd_) * n_vectors_ + lane / Traits::kWidth]
                    [lane % Traits::kWidth] =
                        static_cast<Scalar>(1 - members_->ones[slot * members_->n_lanes + lane]);
    }

    bool has_rows(uint32_t code) const {
        const uint32_t* slots = slots_ + code * n_labels_ * members_->n_slots;
        return std::any_of(slots, slots + n_labels_ * members_->n_slots,
                           [](uint32_t count) { return count != 0; });
    }

    // give(v, rows) for each vector of lanes, out of rows per slot; returns all rows. Lanes without a share get
    // nonsense. Where most cells are empty, nothing is given of those.
    template <size_t kVectors, size_t kSlots, class Give>
    uint32_t visit(const uint32_t* slots, Give&& give) {
        CountLanes sums = sum_vectors(slots, kSlots != 0 ? kSlots : members_->n_slots);
        if (is_sparse_ && is_zero(sums)) return 0;
        CountLanes all = spread_sum(sums);
        std::span<const OddRows> here = list_odd_rows(slots);
        size_t n_vectors = kVectors != 0 ? kVectors : n_vectors_;
        for (size_t v = 0; v < n_vectors; ++v) {
            typename Traits::Integers lacking{}, counts;
            if (has_lone_) std::memcpy(&lacking, slots + Traits::kWidth * v, sizeof lacking);
            std::memcpy(&counts, &all, sizeof counts);
            Vector rows = __builtin_convertvector(counts - lacking, Vector);
            for (const OddRows& odd : here) rows -= odd.lacks[v] * odd.count;
            give(v, rows);
        }
        return all[0];
    }
    // Those slots that have rows.
    std::span<const OddRows> list_odd_rows(const uint32_t* slots) {
        size_t n = 0;
        for (size_t slot = first_odd_; slot < n_used_; ++slot) {
            odd_rows_[n] = {odd_.data() + (slot - first_odd_) * n_vectors_,
                            static_cast<Scalar>(slots[slot])};
            n += slots[slot] != 0;
        }
        return {odd_rows_.data(), n};
    }

    // The best of all cuts; there is none after the last code. The numbers of vectors and slots, if they are
    // known. (Letter, ten folds together: 1.01 times as fast.)
    template <size_t kVectors, size_t kSlots>
    void bound_cuts(const Column& column) {
        std::array<Running, kVectors> fixed;
        Running* running = kVectors != 0 ? fixed.data() : running_.data();
        size_t n_vectors = kVectors != 0 ? kVectors : n_vectors_;
        size_t n_slots = kSlots != 0 ? kSlots : members_->n_slots;
        start(running, n_vectors);
        const uint32_t* slots = slots_;
        uint32_t* all = all_;
        for (size_t code = 0; code + 1 < column.n_codes; ++code, all += n_labels_) {
            uint32_t any = 0;
            for (size_t c = 0; c < n_labels_; ++c, slots += n_slots)
                any |= all[c] = visit<kVectors, kSlots>(slots, [&](size_t v, Vector rows) {
                    move(running[v], c * n_vectors + v, rows);
                });
            if (any == 0) continue;
            for (size_t v = 0; v < n_vectors; ++v)
                raise(running[v], v, static_cast<uint32_t>(code));
        }
        for (; all < all_ + column.n_lines() * n_labels_; ++all, slots += n_slots)
            *all = spread_sum(sum_vectors(slots, n_slots))[0];
        for (size_t v = 0; v < n_vectors; ++v)
            floor_[v] = running[v].best > floor_[v] ? running[v].best : floor_[v];
        if (kVectors != 0) std::copy_n(running, n_vectors, running_.data());
    }

    void start(Running* running, size_t n_vectors) {
        std::fill(left_.begin(), left_.end(), Vector{});
        constexpr auto kSurely = static_cast<Scalar>(1 - 2 * Traits::kSlack);  // both are rounded
        for (size_t v = 0; v < n_vectors; ++v)
            running[v] = {Vector{}, Vector{},     Vector{}, floor_[v] * kSurely,
                          Vector{}, fill(kNever), Mask{}};
    }
    // Rows of one label go to the left. a: the squares of what is there; b: the products with the totals.
    void move(Running& running, size_t line, Vector rows) {
        Vector& left = left_[line];
        running.a += rows * (2 * left + rows);
        running.b += rows * totals_[line];
        running.n_left += rows;
        left += rows;
    }
    // The quality of what is on the left (ClassScan has the algebra). Few cuts are worth a division.
    void raise(Running& running, size_t v, uint32_t code) const {
        Vector n_left = running.n_left, n_right = n_[v] - n_left, product = n_left * n_right;
        Vector reached = running.a * n_right + (squares_[v] - 2 * running.b + running.a) * n_left;
        Mask is_over = reached > running.least * product;
        if (any_lane(is_over)) note(running, v, code, reached / product, is_over);
        running.n_before = n_left;
    }
    // Where both sides are large enough, and something has changed.
    void note(Running& running, size_t v, uint32_t code, Vector quality, Mask is_over) const {
        Vector n_left = running.n_left, n_right = n_[v] - n_left;
        Mask counts = is_over & (n_left >= smallest_[v]) & (n_right >= smallest_[v]) &
                      (n_left != running.n_before);
        Mask is_more = counts & (quality > running.best);
        Vector second = is_more ? running.best : quality;
        running.least = counts & (second > running.least) ? second : running.least;
        running.best = is_more ? quality : running.best;
        running.where = is_more ? Mask{} + code : running.where;
    }

    // Categories, or cuts with missing rows on either side.
    void bound_sets(const Column& column) {
        list_lines(column.n_lines());
        start(running_.data(), n_vectors_);
        if (n_lines_ < 2) return;
        if (column.is_categorical && n_lines_ <= kFewCategories)
            bound_subsets();
        else
            bound_groups();
    }
    // (used code, label): rows per lane.
    void list_lines(size_t n_lines) {
        lines_.resize(n_lines * n_labels_ * n_vectors_);
        n_lines_ = 0;
        for (size_t code = 0; code < n_lines; ++code) {
            uint32_t any = 0;
            for (size_t c = 0; c < n_labels_; ++c) {
                Vector* to = line(n_lines_, c);
                std::fill_n(to, n_vectors_, Vector{});
                size_t cell = code * n_labels_ + c;
                all_[cell] = visit<0, 0>(slots_ + cell * members_->n_slots,
                                         [&](size_t v, Vector rows) { to[v] = rows; });
                any |= all_[cell];
            }
            n_lines_ += any != 0;
        }
    }
    Vector* line(size_t i, size_t label) {
        return lines_.data() + (i * n_labels_ + label) * n_vectors_;
    }
    // The best of all divisions of the categories in two (the missing rows as one of them), in Gray order: one
    // category changes sides at each step; the last one stays on the right.
    void bound_subsets() {
        for (uint32_t step = 1; step < uint32_t{1} << (n_lines_ - 1); ++step) {
            auto changed = static_cast<size_t>(std::countr_zero(step));
            Scalar sign = ((step ^ step >> 1) >> changed & 1) != 0 ? 1 : -1;
            for (size_t v = 0; v < n_vectors_; ++v) {
                for (size_t c = 0; c < n_labels_; ++c)
                    move(running_[v], c * n_vectors_ + v, line(changed, c)[v] * sign);
                raise(running_[v], v, 0);
            }
        }
    }
    // No division in two is better than one into all groups: the quality is convex.
    void bound_groups() {
        for (size_t v = 0; v < n_vectors_; ++v) {
            Vector best{};
            for (size_t i = 0; i < n_lines_; ++i) {
                Vector squares{}, all{};
                for (size_t c = 0; c < n_labels_; ++c) {
                    Vector rows = line(i, c)[v];
                    squares += rows * rows;
                    all += rows;
                }
                best += all > 0 ? squares / all : Vector{};
            }
            running_[v].best = best;
        }
    }

    const LaneMembers<Stats>* members_ = nullptr;
    size_t n_labels_ = 0, n_vectors_ = 0, n_lines_ = 0;
    bool has_lone_ = false;
    bool is_sparse_ = false;  // the column at hand
    size_t first_odd_ = 0, n_used_ = 0;  // slots
    const uint32_t* slots_ = nullptr;  // (code, label, slot) of the column at hand
    uint32_t* all_ = nullptr;  // (code, label)
    std::vector<Vector> n_, squares_, smallest_;  // per lane
    std::vector<Vector> totals_, left_;  // (label, lane)
    std::vector<Vector> floor_;  // per lane: the best numeric cut so far
    std::vector<Vector> odd_;  // (slot, lane)
    std::vector<OddRows> odd_rows_;  // of the cell at hand
    std::vector<Vector> lines_;
    std::vector<Running> running_;
};

}  // namespace treefold
