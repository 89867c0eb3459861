// Histograms that groups keep, as large nodes of single trees do (few.hpp): rows by column, code, class and slot.
//
// Of the children of a fork only the rows of the smaller side are counted, in the slots of the parent. The larger side takes
// what remains, and each child finds its slots in those of the parent: a row that goes one way for all has the parent's
// pattern there, without those who do not go on. Rows that go both ways are moved one by one. What is left of a
// single share is the histogram that the node of a single tree keeps. (Ten folds together, one thread: Internet Ads 1.75
// times as fast, Mushroom 1.15, Connect-4 and Adult 1.04.)
#pragma once

#include <numeric>

#include "group.hpp"

namespace treefold {

template <class Target>
class Keeper {
public:
    static constexpr bool kServes = std::is_same_v<Target, ClassTarget<int64_t>>;

    explicit Keeper(Workshop<Target>& shop) : shop_(shop) {}

    // Counts the rows of a group whose shares all have kernels, if it is large enough and has inherited nothing.
    void keep(Group<Target>& group) const {
        if (!group.kept.empty()) return;
        Shape shape = shape_of(group);
        SlotNumbers slots = number_slots(group.patterns, group.shares.size());
        if (!shape.is_worth(group.n_rows(), slots)) return;
        group.kept.slots = std::move(slots);
        group.kept.entries.assign(shape.n_entries(group.kept.slots), 0);
        std::vector<uint32_t> all(group.n_rows());
        std::iota(all.begin(), all.end(), 0);
        shop_.for_few_columns(all.size(), [&](size_t first, size_t last) {
            count(group, all, first, last, group.kept.entries.data());
        });
        group.bytes = Metered();  // off the meter first, or the layout would count twice
        group.bytes = Metered(shop_.meter, group.nbytes());
    }

    // Gives the children of a fork what is worth keeping of the parent's.
    void hand_on(const Group<Target>& parent, const Fork<Target>& fork, Group<Target>& left,
                 Group<Target>& right, Work& work) const {
        if (parent.kept.empty()) return;
        Shape shape = shape_of(parent);
        bool is_left_larger = fork.left.n_rows > fork.right.n_rows;
        Heir larger(parent, is_left_larger ? fork.left : fork.right);
        Heir smaller(parent, is_left_larger ? fork.right : fork.left);
        if (!shape.is_worth(larger.side.n_rows, larger.kept.slots)) return;
        Moves moves = list_moves(parent, Fates(fork, larger.side, smaller.side));
        if (moves.n_rows() > larger.side.n_rows) return;
        larger.kept.entries.resize(shape.n_entries(larger.kept.slots));
        bool keeps_smaller = shape.is_worth(smaller.side.n_rows, smaller.kept.slots);
        if (keeps_smaller) smaller.kept.entries.resize(shape.n_entries(smaller.kept.slots));
        std::vector<uint32_t> moved(parent.kept.entries.size());
        shop_.for_few_columns(moves.n_rows(), [&](size_t first, size_t last) {
            count(parent, moves.rows, first, last, moved.data());
            size_t begin = shape.n_lines(first), end = shape.n_lines(last);
            larger.add(parent.kept.entries, begin, end);
            larger.subtract(moved, begin, end);
            mend(parent, larger.kept, moves.in_larger, first, last);
            if (!keeps_smaller) return;
            smaller.add(moved, begin, end);
            mend(parent, smaller.kept, moves.in_smaller, first, last);
        });
        work.histograms_handed_on += keeps_smaller ? 2 : 1;
        (is_left_larger ? left : right).kept = std::move(larger.kept);
        if (keeps_smaller) (is_left_larger ? right : left).kept = std::move(smaller.kept);
    }

    // What a group has kept of one share with so many rows, as the node of a single tree keeps it; empty if it is too small.
    std::vector<uint32_t> extract(const Group<Target>& group, size_t share, size_t n_rows,
                                  Work& work) const {
        std::vector<uint32_t> entries;
        Shape shape = shape_of(group);
        SlotNumbers own = number_slots(Patterns(1), 1);
        if (group.kept.empty() || !shape.is_worth(n_rows, own)) return entries;
        ++work.histograms_handed_on;
        entries.resize(shape.n_entries(own));
        std::vector<size_t> slots;
        for (uint32_t pattern = 0; pattern < group.patterns.size(); ++pattern)
            if (group.patterns.has(pattern, share)) slots.push_back(group.kept.slots.of(pattern));
        const uint32_t* line = group.kept.entries.data();
        for (uint32_t& entry : entries) {
            for (size_t slot : slots) entry += line[slot];
            line += group.kept.slots.n_slots();
        }
        return entries;
    }

private:
    // A line: the slots of one code and class.
    struct Shape {
        static constexpr size_t kMostEntries = size_t{1} << 22;
        const Plan& plan;
        size_t n_classes;

        size_t n_lines(size_t n_columns) const { return plan.few_starts[n_columns] * n_classes; }
        size_t n_entries(const SlotNumbers& slots) const {
            return n_lines(plan.few_columns.size()) * slots.n_slots();
        }
        bool is_worth(size_t n_rows, const SlotNumbers& slots) const {
            return slots.n_slots() <= SlotNumbers::kMost && n_entries(slots) <= kMostEntries &&
                   keeps_histograms(plan, n_rows, n_classes * slots.n_slots());
        }
    };

    // One child of a fork.
    struct Heir {
        const ForkSide<Target>& side;
        KeptHistogram kept;
        size_t n_inherited;  // slots of the parent
        std::vector<std::pair<uint32_t, uint32_t>> slots;  // the parent's, and the child's
        bool is_same;  // are they all the same?

        Heir(const Group<Target>& parent, const ForkSide<Target>& side)
            : side(side), n_inherited(parent.kept.slots.n_slots()) {
            kept.slots = number_slots(side.patterns, side.shares.size());
            for (uint32_t pattern = 0; pattern < parent.patterns.size(); ++pattern)
                if (uint32_t along = side.along[pattern]; along != Patterns::kNone)
                    slots.emplace_back(parent.kept.slots.of(pattern), kept.slots.of(along));
            is_same = kept.slots.n_slots() == n_inherited && slots.size() == parent.patterns.size();
            for (auto [from, to] : slots) is_same &= from == to;
        }
        void add(const std::vector<uint32_t>& from, size_t begin, size_t end) {
            visit(begin, end, [at = from.data()](uint32_t& to, size_t k) { to += at[k]; });
        }
        void subtract(const std::vector<uint32_t>& from, size_t begin, size_t end) {
            visit(begin, end, [at = from.data()](uint32_t& to, size_t k) { to -= at[k]; });
        }

    private:
        template <class Visit>
        void visit(size_t begin, size_t end, Visit&& visit_entry) {
            if (is_same) {
                uint32_t* entries = kept.entries.data();
                for (size_t k = begin * n_inherited; k < end * n_inherited; ++k)
                    visit_entry(entries[k], k);
                return;
            }
            uint32_t* line = kept.entries.data() + begin * kept.slots.n_slots();
            for (size_t from = begin * n_inherited; from < end * n_inherited; from += n_inherited) {
                for (auto [parent, child] : slots) visit_entry(line[child], from + parent);
                line += kept.slots.n_slots();
            }
        }
    };

    // A row that counts for others in the child than the parent's pattern says: patterns of the child, or kNone.
    struct Move {
        uint32_t place;  // among the parent's rows
        uint32_t from, to;
    };
    struct Moves {
        std::vector<uint32_t> rows;  // places of those that are not in the larger child
        std::vector<Move> in_larger, in_smaller;

        size_t n_rows() const { return rows.size() + in_larger.size() + in_smaller.size(); }
    };

    Shape shape_of(const Group<Target>& group) const {
        return {shop_.plan, group.shares[0].seat->target->width()};
    }
    static SlotNumbers number_slots(const Patterns& patterns, size_t n_shares) {
        std::vector<size_t> lanes(n_shares);
        std::iota(lanes.begin(), lanes.end(), 0);
        SlotNumbers slots;
        slots.number(patterns, lanes);
        return slots;
    }

    // What becomes of the rows of one pattern and bin: they are not in the larger child, or not where their pattern says.
    static constexpr uint8_t kIsMoved = 1, kIsMended = 2;

    // Both sides of a fork, by cell (pattern and bin).
    struct Fates {
        const Fork<Target>& fork;
        const ForkSide<Target>&larger, &smaller;
        std::vector<uint8_t> of;

        Fates(const Fork<Target>& fork, const ForkSide<Target>& larger,
              const ForkSide<Target>& smaller)
            : fork(fork), larger(larger), smaller(smaller), of(larger.child_of.size()) {
            constexpr uint32_t kNone = Patterns::kNone;
            for (size_t cell = 0; cell < of.size(); ++cell) {
                uint32_t in_larger = larger.child_of[cell], in_smaller = smaller.child_of[cell];
                if (in_larger == kNone &&
                    (in_smaller != kNone || larger.along[cell / fork.n_bins] != kNone))
                    of[cell] = kIsMoved;
                if (in_larger != from_larger(cell) || in_smaller != from_smaller(cell))
                    of[cell] |= kIsMended;
            }
        }
        bool is_moved(size_t cell) const { return (of[cell] & kIsMoved) != 0; }
        uint32_t from_larger(size_t cell) const {
            return is_moved(cell) ? Patterns::kNone : larger.along[cell / fork.n_bins];
        }
        uint32_t from_smaller(size_t cell) const {
            return is_moved(cell) ? smaller.along[cell / fork.n_bins] : Patterns::kNone;
        }
    };

    static Moves list_moves(const Group<Target>& parent, const Fates& fates) {
        Moves moves;
        moves.rows.resize(parent.n_rows() + 1);
        size_t n_moved = 0;
        const uint32_t* cell_of = parent.cells.data() + fates.fork.cells_begin;
        for (uint32_t k = 0; k < parent.n_rows(); ++k) {
            size_t cell = cell_of[k];
            moves.rows[n_moved] = k;
            n_moved += fates.of[cell] & kIsMoved;
            if ((fates.of[cell] & kIsMended) == 0) continue;
            moves.in_larger.push_back({k, fates.from_larger(cell), fates.larger.child_of[cell]});
            moves.in_smaller.push_back({k, fates.from_smaller(cell), fates.smaller.child_of[cell]});
        }
        moves.rows.resize(n_moved);
        return moves;
    }

    // The rows at some places, in the slots of the group itself.
    void count(const Group<Target>& group, std::span<const uint32_t> places, size_t first,
               size_t last, uint32_t* entries) const {
        const Target& target = *group.shares[0].seat->target;
        const SlotNumbers& slots = group.kept.slots;
        RowCells cells = cells_of(shop_.plan, first, last, target.width() * slots.n_slots());
        std::vector<uint32_t> rows(places.size()), offsets(places.size());
        for (size_t i = 0; i < places.size(); ++i) {
            rows[i] = group.layout.rows[places[i]];
            offsets[i] = static_cast<uint32_t>(target.classes[rows[i]]) *
                             static_cast<uint32_t>(slots.n_slots()) +
                         slots.of(group.pattern_of[places[i]]);
        }
        visit_lines(
            shop_.plan, rows.size(), first,
            [at = rows.data()](size_t i) -> size_t { return at[i]; },
            [&cells, entries, at = offsets.data()](size_t i, const uint8_t* codes) {
                uint32_t* place = entries + at[i];
                cells.visit(codes, [place](uint32_t offset) { ++place[offset]; });
            });
    }

    void mend(const Group<Target>& parent, KeptHistogram& child, std::span<const Move> moves,
              size_t first, size_t last) const {
        const Target& target = *parent.shares[0].seat->target;
        size_t n_slots = child.slots.n_slots();
        RowCells cells = cells_of(shop_.plan, first, last, target.width() * n_slots);
        for (const Move& move : moves) {
            uint32_t row = parent.layout.rows[move.place];
            uint32_t* line =
                child.entries.data() + static_cast<size_t>(target.classes[row]) * n_slots;
            if (move.from == move.to) continue;
            auto add = [&](uint32_t pattern, uint32_t count) {
                if (pattern == Patterns::kNone) return;
                uint32_t* place = line + child.slots.of(pattern);
                cells.visit(shop_.plan.few_line(row) + first,
                            [&](uint32_t offset) { place[offset] += count; });
            };
            add(move.from, UINT32_MAX);  // one less
            add(move.to, 1);
        }
    }

    Workshop<Target>& shop_;
};

}  // namespace treefold
