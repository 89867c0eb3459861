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

    explicit Keeper(Workshop<Target>& shop) : shop_(shop), tools_(shop.desks.size()) {}

    // Counts the rows of a group whose shares all have kernels, in these slots, if it is large enough and has inherited nothing.
    void keep(Group<Target>& group, const SlotNumbers& slots, int worker) {
        if (!group.kept.empty()) return;
        Shape shape = shape_of(group);
        if (!shape.is_worth(group.n_rows(), slots)) return;
        group.kept.slots = slots;
        group.kept.entries.assign(shape.n_entries(slots), 0);
        CountedRows& rows = tools_[static_cast<size_t>(worker)].rows;
        rows.list(group, group.n_rows(), [](size_t i) { return i; });
        shop_.for_few_columns(group.n_rows(), [&](size_t first, size_t last) {
            count(group, rows, first, last, group.kept.entries.data());
        });
        group.bytes = Metered();  // off the meter first, or the layout would count twice
        group.bytes = Metered(shop_.meter, group.nbytes());
    }

    // Gives the children of a fork what is worth keeping of the parent's.
    void hand_on(const Group<Target>& parent, const Fork<Target>& fork, Group<Target>& left,
                 Group<Target>& right, int worker) {
        if (parent.kept.empty()) return;
        Shape shape = shape_of(parent);
        bool is_left_larger = fork.left.n_rows > fork.right.n_rows;
        Heir larger(parent, is_left_larger ? fork.left : fork.right,
                    (is_left_larger ? left : right).kept);
        if (!shape.is_worth(larger.side.n_rows, larger.kept.slots)) return;
        Heir smaller(parent, is_left_larger ? fork.right : fork.left,
                     (is_left_larger ? right : left).kept);
        auto& [moves, rows, moved] = tools_[static_cast<size_t>(worker)];
        moves.list(parent, Fates(fork, larger.side, smaller.side));
        if (moves.n_rows() > larger.side.n_rows) return;
        rows.list(parent, moves.places.size(), [&](size_t i) { return moves.places[i]; });
        larger.kept.entries.assign(shape.n_entries(larger.kept.slots), 0);
        bool keeps_smaller = shape.is_worth(smaller.side.n_rows, smaller.kept.slots);
        if (keeps_smaller) smaller.kept.entries.assign(shape.n_entries(smaller.kept.slots), 0);
        moved.assign(parent.kept.entries.size(), 0);
        shop_.for_few_columns(moves.n_rows(), [&](size_t first, size_t last) {
            count(parent, rows, first, last, moved.data());
            size_t begin = shape.n_lines(first), end = shape.n_lines(last);
            larger.add(parent.kept.entries, begin, end);
            larger.subtract(moved, begin, end);
            mend(parent, larger.kept, moves.in_larger, first, last);
            if (!keeps_smaller) return;
            smaller.add(moved, begin, end);
            mend(parent, smaller.kept, moves.in_smaller, first, last);
        });
        shop_.desk(worker).work.histograms_handed_on += keeps_smaller ? 2 : 1;
    }

    // What a group has kept of one share with so many rows, as the node of a single tree keeps it; empty if it is too small.
    std::vector<uint32_t> extract(const Group<Target>& group, size_t share, size_t n_rows,
                                  Work& work) const {
        std::vector<uint32_t> entries;
        Shape shape = shape_of(group);
        SlotNumbers own = number_slots(Patterns(1));
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
        KeptHistogram& kept;
        size_t n_inherited;  // slots of the parent
        std::vector<std::pair<uint32_t, uint32_t>> slots;  // the parent's, and the child's
        bool is_same;  // are they all the same?

        Heir(const Group<Target>& parent, const ForkSide<Target>& side, KeptHistogram& kept)
            : side(side), kept(kept), n_inherited(parent.kept.slots.n_slots()) {
            kept.slots = number_slots(side.patterns);
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

    Shape shape_of(const Group<Target>& group) const {
        return {shop_.plan, group.shares[0].seat->target->width()};
    }
    static SlotNumbers number_slots(const Patterns& patterns) {
        ShareSet everybody(patterns.n_members());
        for (size_t share = 0; share < patterns.n_members(); ++share) everybody.add(share);
        SlotNumbers slots;
        slots.number(patterns, everybody);
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

    struct Moves {
        std::vector<uint32_t> places;  // of the parent's rows that are not in the larger child
        std::vector<Move> in_larger, in_smaller;

        size_t n_rows() const { return places.size() + in_larger.size() + in_smaller.size(); }

        void list(const Group<Target>& parent, const Fates& fates) {
            places.resize(parent.n_rows() + 1);
            in_larger.clear(), in_smaller.clear();
            size_t n_moved = 0;
            const uint32_t* cell_of = parent.cells.data() + fates.fork.cells_begin;
            for (uint32_t k = 0; k < parent.n_rows(); ++k) {
                size_t cell = cell_of[k];
                places[n_moved] = k;
                n_moved += fates.of[cell] & kIsMoved;
                if ((fates.of[cell] & kIsMended) == 0) continue;
                in_larger.push_back({k, fates.from_larger(cell), fates.larger.child_of[cell]});
                in_smaller.push_back({k, fates.from_smaller(cell), fates.smaller.child_of[cell]});
            }
            places.resize(n_moved);
        }
    };

    // Rows of a group, and where in a line of its histogram they count: by class and slot.
    struct CountedRows {
        Words rows, offsets;

        template <class PlaceOf>
        void list(const Group<Target>& group, size_t n, PlaceOf&& place_of) {
            const SlotNumbers& slots = group.kept.slots;
            const int32_t* classes = group.shares[0].seat->target->classes.data();
            auto n_slots = static_cast<uint32_t>(slots.n_slots());
            rows.resize(n), offsets.resize(n);
            for (size_t i = 0; i < n; ++i) {
                size_t place = place_of(i);
                uint32_t row = group.layout.rows[place];
                rows[i] = row;
                offsets[i] = static_cast<uint32_t>(classes[row]) * n_slots +
                             slots.of(group.pattern_of[place]);
            }
        }
    };

    // Some rows, in the slots of the group itself.
    void count(const Group<Target>& group, const CountedRows& counted, size_t first, size_t last,
               uint32_t* entries) const {
        size_t width = group.shares[0].seat->target->width();
        RowCells cells = cells_of(shop_.plan, first, last, width * group.kept.slots.n_slots());
        visit_lines(
            shop_.plan, counted.rows.size(), first,
            [at = counted.rows.data()](size_t i) -> size_t { return at[i]; },
            [&cells, entries, at = counted.offsets.data()](size_t i, const uint8_t* codes) {
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

    // What each worker needs, used for node after node.
    struct Tools {
        Moves moves;
        CountedRows rows;
        std::vector<uint32_t> moved;  // the histogram of what is not in the larger child
    };

    Workshop<Target>& shop_;
    std::vector<Tools> tools_;
};

}  // namespace treefold
