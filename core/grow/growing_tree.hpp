// A tree while it grows: nodes in the order in which they were made. in_preorder() turns it into the Tree.
#pragma once

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

#include "base/memory.hpp"
#include "data/table.hpp"
#include "model/tree.hpp"
#include "split/split.hpp"
#include "stats/statistics.hpp"

namespace treefold {

// Lines of equal length, added and dropped at the end. Chunks instead of one array: a vector that doubles needs
// three times its size while it moves, and a chunk can go as soon as nobody needs its lines.
template <class T>
class Lines {
public:
    Lines(size_t length, bool gives_back) : length_(length), gives_back_(gives_back) {}
    size_t size() const { return size_; }
    T* operator[](size_t k) { return chunks_[k / kLines].lines.get() + k % kLines * length_; }
    const T* operator[](size_t k) const {
        return chunks_[k / kLines].lines.get() + k % kLines * length_;
    }
    // Lines are not cleared. Returns the first of the new ones.
    size_t add(size_t count) {
        size_t first = size_;
        size_ += count;
        while (capacity_ < size_) enlarge();
        return first;
    }
    void drop(size_t count) { size_ -= count; }
    // Each line is released once at most; a chunk goes with its last line.
    void release(size_t k) {
        Chunk& chunk = chunks_[k / kLines];
        if (--chunk.n_kept != 0) return;
        if (gives_back_)  // a heap would keep them
            release_pages(chunk.lines.get(), kLines * length_ * sizeof(T));
        chunk.lines.reset();
    }

private:
    static constexpr size_t kFirstLines = 64, kLines = 4096;
    struct Chunk {
        std::unique_ptr<T[]> lines;
        size_t n_kept = kLines;
    };

    // The first chunk doubles until it has the size of all others: families have many small trees.
    void enlarge() {
        if (capacity_ == 0 || capacity_ >= kLines) {
            size_t n_lines = capacity_ == 0 ? kFirstLines : kLines;
            chunks_.push_back({std::make_unique_for_overwrite<T[]>(n_lines * length_)});
            capacity_ += n_lines;
            return;
        }
        auto larger = std::make_unique_for_overwrite<T[]>(2 * capacity_ * length_);
        std::copy_n(chunks_[0].lines.get(), capacity_ * length_, larger.get());
        chunks_[0].lines = std::move(larger);
        capacity_ *= 2;
    }

    size_t length_, size_ = 0, capacity_ = 0;
    bool gives_back_;
    std::vector<Chunk> chunks_;
};

// What a numeric split compares with: from the codes next to the cut (of a Split or a Record).
template <class Cut>
double threshold_of(const Cut& cut, const Column& column) {
    if (column.is_categorical) return std::numeric_limits<double>::quiet_NaN();
    if (cut.next_code == column.n_codes) return std::numeric_limits<double>::infinity();
    return threshold_between(column.values[cut.code], column.values[cut.next_code]);
}

class GrowingTree {
public:
    static constexpr bool serves_groups = true;
    static constexpr bool keeps_nodes = true;

    // Without weights a node weighs as many as it has rows, and nothing is kept of that.
    GrowingTree(size_t n_values, bool is_weighted, const Table& table)
        : n_values_(n_values), is_weighted_(is_weighted), table_(&table),
          records_(1, gives_back(table)), splits_(1, gives_back(table)),
          values_(n_values, gives_back(table)), weights_(1, gives_back(table)) {}

    size_t size() const { return records_.size(); }
    size_t add_nodes(size_t count) {
        size_t first = records_.add(count);
        for (size_t k = 0; k < count; ++k) records_[first + k]->split = Record::kLeaf;
        values_.add(count);
        if (is_weighted_) weights_.add(count);
        return first;
    }
    void drop_nodes(size_t count) {
        records_.drop(count);
        values_.drop(count);
        if (is_weighted_) weights_.drop(count);
    }
    // Of a node that is described: a leaf, until it has a split.
    double* value(size_t node, std::span<const uint32_t> asked) {
        records_[node]->split = Record::kLeaf | static_cast<uint32_t>(asked.size());
        return values_[node];
    }
    void close(std::span<const uint32_t>) {}
    // Once the tree has grown: the places of the rows that ask, leaf by leaf from left to right.
    void keep_order(std::vector<uint32_t> asked) { asked_ = std::move(asked); }
    void describe(size_t node, const Description& description, int64_t n_rows) {
        if (is_weighted_) *weights_[node] = description.weight;
        records_[node]->impurity = description.impurity;
        records_[node]->n_rows = static_cast<uint32_t>(n_rows);
    }
    // The values next to a cut are far from all that was read before: they are asked for here, and read some splits later
    // (kin8nm: 1.08 times as fast a growth).
    void set_split(size_t node, const Split& split, size_t children) {
        size_t at = splits_.add(1);
        records_[node]->split = static_cast<uint32_t>(at);
        Cut& cut = *splits_[at];
        cut.children = static_cast<uint32_t>(children);
        cut.column_and_sides = split.column << 3 | static_cast<uint32_t>(split.missing_left);
        const Column& column = table_->columns[split.column];
        if (split.is_categorical) {
            cut.place = sets_.size();
            sets_.insert(sets_.end(), split.left_set.begin(), split.left_set.end());
        } else if (split.next_code == column.n_codes) {
            cut.set_threshold(std::numeric_limits<double>::infinity(), Float32Side::left);
        } else {
            cut.set_codes(split.code, split.next_code);
            if (!column.borrows_values()) {
                __builtin_prefetch(column.values.data() + split.code);
                __builtin_prefetch(column.values.data() + split.next_code);
            }
        }
        constexpr size_t kLater = 8;
        if (at >= n_settled_ + kLater) settle(*splits_[n_settled_++]);
    }
    // Gives all cuts their thresholds, but in columns that borrow their values.
    void settle_all() {
        for (; n_settled_ < splits_.size(); ++n_settled_) settle(*splits_[n_settled_]);
    }

    // Cuts of columns that borrow their values: visit(column, code, next_code).
    template <class Visit>
    void visit_open_cuts(Visit&& visit) const {
        for (size_t at = 0; at < splits_.size(); ++at) {
            const Cut& cut = *splits_[at];
            if (cut.is_open()) visit(cut.column(), cut.code(), cut.next_code());
        }
    }
    // values_of(column): by code, or null if the column's turn is yet to come.
    template <class ValuesOf>
    void close_cuts(ValuesOf&& values_of) {
        for (size_t at = 0; at < splits_.size(); ++at) {
            Cut& cut = *splits_[at];
            const double* values = cut.is_open() ? values_of(cut.column()) : nullptr;
            if (values != nullptr) cut.set_neighbours(values[cut.code()], values[cut.next_code()]);
        }
    }

    // A tree of its own that begins with copies of some nodes, and its return.
    GrowingTree start_subtree(std::span<const size_t> nodes) const {
        GrowingTree subtree(n_values_, is_weighted_, *table_);
        subtree.add_nodes(nodes.size());
        for (size_t k = 0; k < nodes.size(); ++k) subtree.copy_node(*this, nodes[k], k);
        return subtree;
    }
    void graft(std::span<const size_t> nodes, GrowingTree&& subtree) {
        settle_all(), subtree.settle_all();
        size_t n_new = subtree.records_.size(), n_roots = nodes.size();
        size_t offset = add_nodes(n_new - n_roots) - n_roots;  // where other records go, less k
        for (size_t k = 0; k < n_new; ++k) {
            size_t here = k < n_roots ? nodes[k] : offset + k;
            copy_node(subtree, k, here);
            subtree.release_node(k);
            Record& record = *records_[here];
            if (record.is_leaf()) continue;
            Cut cut = *subtree.splits_[record.split];
            subtree.splits_.release(record.split);
            cut.children += static_cast<uint32_t>(offset);
            if (table_->columns[cut.column()].is_categorical) cut.place += sets_.size();
            record.split = static_cast<uint32_t>(splits_.add(1));
            *splits_[record.split] = cut;
        }
        n_settled_ = splits_.size();
        sets_.insert(sets_.end(), subtree.sets_.begin(), subtree.sets_.end());
    }

    // Gives its memory back while the arrays of the result fill: they need not be there together.
    // leaves: where each row that asks ends.
    Tree in_preorder(int n_classes, std::vector<int64_t>& leaves) && {
        Tree tree;
        tree.n_classes = n_classes;
        for (const Column& column : table_->columns)
            tree.n_categories.push_back(column.is_categorical ? static_cast<int32_t>(column.n_codes)
                                                              : 0);
        reserve(tree, records_.size());
        struct Visit {
            size_t record;
            int64_t parent;  // whose right child this is, or -1
        };
        std::vector<Visit> stack{{0, -1}};
        leaves.resize(asked_.size());
        size_t node = 0, n_arrived = 0;
        for (; !stack.empty(); ++node) {
            auto [at, parent] = stack.back();
            stack.pop_back();
            if (node == tree.size()) resize(tree, std::min(node + kStep, records_.size()));
            if (parent >= 0)
                tree.children_right[static_cast<size_t>(parent)] = static_cast<int32_t>(node);
            if (records_[at]->is_leaf())
                for (uint32_t n = records_[at]->n_asked(); n > 0; --n)
                    leaves[asked_[n_arrived++]] = static_cast<int64_t>(node);
            if (size_t children = write(tree, at, node)) {
                stack.push_back({children + 1, static_cast<int64_t>(node)});
                stack.push_back({children, -1});
            }
        }
        resize(tree, node);
        return tree;
    }

private:
    struct Record {
        static constexpr uint32_t kLeaf = uint32_t{1} << 31;
        double impurity;
        uint32_t n_rows;
        uint32_t split;  // in splits_, or kLeaf and the number of rows that ask

        bool is_leaf() const { return split >= kLeaf; }
        uint32_t n_asked() const { return split - kLeaf; }
    };
    struct Cut {
        uint64_t place;  // the bits of a threshold, two codes, or where the left set is in sets_
        uint32_t children;  // the left one; the right one follows
        uint32_t column_and_sides;  // column << 3 | float32_side, or kOpen, << 1 | missing_left
        static constexpr uint32_t kOpen = 3;  // the threshold is not known yet, only its codes

        uint32_t column() const { return column_and_sides >> 3; }
        uint32_t side() const { return column_and_sides >> 1 & 3; }
        bool is_open() const { return side() == kOpen; }
        uint32_t code() const { return static_cast<uint32_t>(place); }
        uint32_t next_code() const { return static_cast<uint32_t>(place >> 32); }
        void set_side(uint32_t side) { column_and_sides = (column_and_sides & ~6u) | side << 1; }
        void set_codes(uint32_t code, uint32_t next_code) {
            place = uint64_t{next_code} << 32 | code;
            set_side(kOpen);
        }
        void set_threshold(double threshold, Float32Side side) {
            place = std::bit_cast<uint64_t>(threshold);
            set_side(static_cast<uint32_t>(side));
        }
        void set_neighbours(double below, double above) {
            double threshold = threshold_between(below, above);
            set_threshold(threshold, float32_side(threshold, below, above));
        }
    };

    void settle(Cut& cut) const {
        const Column& column = table_->columns[cut.column()];
        if (column.is_categorical || column.borrows_values() || !cut.is_open()) return;
        cut.set_neighbours(column.values[cut.code()], column.values[cut.next_code()]);
    }

    static bool gives_back(const Table& table) { return table.n_rows >= kManyRows; }

    void copy_node(const GrowingTree& from, size_t node, size_t here) {
        *records_[here] = *from.records_[node];
        std::copy_n(from.values_[node], n_values_, values_[here]);
        if (is_weighted_) *weights_[here] = *from.weights_[node];
    }

    void release_node(size_t node) {
        records_.release(node), values_.release(node);
        if (is_weighted_) weights_.release(node);
    }

    void reserve(Tree& tree, size_t n) const {
        tree.children_left.reserve(n), tree.children_right.reserve(n), tree.feature.reserve(n);
        tree.threshold.reserve(n), tree.missing_go_to_left.reserve(n), tree.impurity.reserve(n);
        tree.n_node_samples.reserve(n), tree.weighted_n_node_samples.reserve(n);
        tree.float32_side.reserve(n), tree.value.reserve(n * n_values_);
        if (tree.has_categories())
            tree.category_begin.reserve(n + 1), tree.unknown_go_to_left.reserve(n);
    }
    // A step at a time: what is not yet written takes no memory.
    static constexpr size_t kStep = 1024;
    void resize(Tree& tree, size_t n) const {
        tree.children_left.resize(n), tree.children_right.resize(n), tree.feature.resize(n);
        tree.threshold.resize(n), tree.missing_go_to_left.resize(n), tree.impurity.resize(n);
        tree.n_node_samples.resize(n), tree.weighted_n_node_samples.resize(n);
        tree.float32_side.resize(n), tree.value.resize(n * n_values_);
        if (tree.has_categories())
            tree.category_begin.resize(n + 1), tree.unknown_go_to_left.resize(n);
    }

    // Returns the record of the left child, or 0.
    size_t write(Tree& tree, size_t at, size_t node) {
        Record record = *records_[at];
        tree.impurity[node] = record.impurity;
        tree.n_node_samples[node] = static_cast<int32_t>(record.n_rows);
        tree.weighted_n_node_samples[node] = is_weighted_ ? *weights_[at] : record.n_rows;
        std::copy_n(values_[at], n_values_, tree.value.data() + node * n_values_);
        tree.children_left[node] = tree.children_right[node] = kLeafChild;
        release_node(at);
        size_t children = 0;
        if (record.is_leaf()) {
            tree.feature[node] = kLeafFeature;
            tree.threshold[node] = kLeafThreshold;
        } else {
            tree.children_left[node] = static_cast<int32_t>(node) + 1;
            children = write_split(tree, *splits_[record.split], node);
            splits_.release(record.split);
        }
        if (!tree.category_begin.empty())
            tree.category_begin[node + 1] = static_cast<int64_t>(tree.category_words.size());
        return children;
    }
    size_t write_split(Tree& tree, const Cut& cut, size_t node) const {
        const Column& column = table_->columns[cut.column()];
        tree.feature[node] = static_cast<int32_t>(cut.column());
        tree.missing_go_to_left[node] = cut.column_and_sides & 1;
        tree.float32_side[node] = static_cast<uint8_t>(cut.side());
        if (column.is_categorical) {
            write_set(tree, sets_.data() + cut.place, column.n_codes, node);
            tree.threshold[node] = std::numeric_limits<double>::quiet_NaN();
        } else {
            tree.threshold[node] = std::bit_cast<double>(cut.place);
        }
        return cut.children;
    }

    // The last bit of a split's set is that of unknown categories.
    static void write_set(Tree& tree, const uint64_t* words, uint32_t n_codes, size_t node) {
        tree.unknown_go_to_left[node] = has_bit(words, n_codes);
        tree.category_words.insert(tree.category_words.end(), words, words + (n_codes + 63) / 64);
        if (n_codes % 64 != 0) tree.category_words.back() &= (uint64_t{1} << (n_codes % 64)) - 1;
    }

    size_t n_values_;
    bool is_weighted_;
    const Table* table_;
    Lines<Record> records_;
    Lines<Cut> splits_;
    size_t n_settled_ = 0;  // the splits before this one have what settle() gives
    Lines<double> values_, weights_;
    std::vector<uint64_t> sets_;  // the left sets of categorical splits
    std::vector<uint32_t> asked_;
};

// Reads the thresholds in columns that borrow their values, a quarter of the columns at a time.
inline void read_thresholds(const Table& table, std::span<const std::unique_ptr<GrowingTree>> trees,
                            Workers& workers) {
    size_t n_columns = table.columns.size(), width = (n_columns + 3) / 4;
    for (size_t first = 0; table.borrows_values() && first < n_columns; first += width) {
        std::vector<std::vector<bool>> is_wanted(width);  // per column and code
        std::vector<std::unique_ptr<double[]>> values(width);
        for (const auto& tree : trees)
            tree->visit_open_cuts([&](size_t column, uint32_t code, uint32_t next_code) {
                if (column - first >= width) return;
                std::vector<bool>& wanted = is_wanted[column - first];
                if (wanted.empty()) wanted.resize(table.columns[column].n_codes + 1);
                wanted[code] = wanted[next_code] = true;
            });
        workers.for_each(width, [&](size_t k, int) {
            if (is_wanted[k].empty()) return;
            const Column& column = table.columns[first + k];
            values[k] = std::make_unique_for_overwrite<double[]>(column.n_codes);
            column.read_values(is_wanted[k], values[k].get());
        });
        for (const auto& tree : trees)
            tree->close_cuts([&](size_t column) {
                return column - first < width ? values[column - first].get() : nullptr;
            });
    }
}

}  // namespace treefold
