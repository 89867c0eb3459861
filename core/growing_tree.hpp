// A tree while it grows: nodes in the order in which they were made. in_preorder() gives the Tree.
#pragma once

#include <algorithm>
#include <memory>

#include "split.hpp"
#include "table.hpp"
#include "target.hpp"
#include "tree.hpp"

namespace treefold {

// Lines of equal length, added and dropped at the end. Chunks instead of one array: a vector that doubles needs
// three times its size while it moves, which was the peak of a fit.
template <class T>
class Lines {
public:
    explicit Lines(size_t length) : length_(length) {}
    size_t size() const { return size_; }
    T* operator[](size_t k) { return chunks_[k / kLines].get() + k % kLines * length_; }
    const T* operator[](size_t k) const { return chunks_[k / kLines].get() + k % kLines * length_; }
    void resize(size_t size) {
        while (chunks_.size() * kLines < size)
            chunks_.push_back(std::make_unique<T[]>(kLines * length_));
        for (size_t k = size_; k < size; ++k) std::fill_n((*this)[k], length_, T{});
        size_ = size;
    }

private:
    static constexpr size_t kLines = 1024;
    size_t length_, size_ = 0;
    std::vector<std::unique_ptr<T[]>> chunks_;
};

class GrowingTree {
public:
    // Without weights a node weighs as many as it has rows, and nothing is kept of that.
    GrowingTree(size_t n_values, bool is_weighted, const Table& table)
        : n_values_(n_values), is_weighted_(is_weighted), table_(&table), records_(1),
          values_(n_values), weights_(is_weighted ? 1 : 0) {}

    size_t add_nodes(size_t count) {
        size_t first = records_.size();
        resize(first + count);
        return first;
    }
    void drop_nodes(size_t count) { resize(records_.size() - count); }
    double* value(size_t node) { return values_[node]; }
    void describe(size_t node, const Description& description, int64_t n_rows) {
        if (is_weighted_) *weights_[node] = description.weight;
        records_[node]->impurity = description.impurity;
        records_[node]->n_rows = static_cast<uint32_t>(n_rows);
    }
    void set_split(size_t node, const Split& split, size_t children) {
        Record& record = *records_[node];
        record.children = static_cast<uint32_t>(children);
        record.column_and_side = split.column << 1 | (split.missing_left ? 1 : 0);
        record.code = split.code;
        record.next_code = split.next_code;
        record.set_begin = static_cast<uint32_t>(sets_.size());
        sets_.insert(sets_.end(), split.left_set.begin(), split.left_set.end());
    }

    // A tree of its own that begins with a copy of one node, and its return.
    GrowingTree start_subtree(size_t node) const {
        GrowingTree subtree(n_values_, is_weighted_, *table_);
        subtree.add_nodes(1);
        subtree.copy_node(*this, node, 0);
        return subtree;
    }
    void graft(size_t node, const GrowingTree& subtree) {
        size_t offset =
            add_nodes(subtree.records_.size() - 1) - 1;  // where record k > 0 goes, less k
        for (size_t k = 0; k < subtree.records_.size(); ++k) {
            size_t here = k == 0 ? node : offset + k;
            copy_node(subtree, k, here);
            Record& record = *records_[here];
            if (record.children != 0) record.children += static_cast<uint32_t>(offset);
            record.set_begin += static_cast<uint32_t>(sets_.size());
        }
        sets_.insert(sets_.end(), subtree.sets_.begin(), subtree.sets_.end());
    }

    Tree in_preorder(int n_classes) const {
        Tree tree;
        tree.n_classes = n_classes;
        for (const Column& column : table_->columns)
            tree.n_categories.push_back(column.is_categorical ? static_cast<int32_t>(column.n_codes)
                                                              : 0);
        resize_arrays(tree, records_.size());
        size_t n_nodes = 0;
        struct Visit {
            size_t record;
            int64_t parent;  // whose right child this is, or -1
        };
        std::vector<Visit> stack{{0, -1}};
        while (!stack.empty()) {
            Visit visit = stack.back();
            stack.pop_back();
            auto node = static_cast<int64_t>(n_nodes);
            if (visit.parent >= 0) tree.children_right[static_cast<size_t>(visit.parent)] = node;
            write(tree, n_nodes++, visit.record);
            size_t children = records_[visit.record]->children;
            if (children == 0) continue;
            stack.push_back({children + 1, node});
            stack.push_back({children, -1});
        }
        resize_arrays(tree,
                      n_nodes);  // what a best-first search opened and did not divide stays behind
        return tree;
    }

private:
    struct Record {
        double impurity = 0;
        uint32_t children = 0;  // 0: a leaf (the root is nobody's child)
        uint32_t set_begin = 0;  // in sets_
        uint32_t n_rows = 0, code = 0, next_code = 0;
        uint32_t column_and_side = 0;  // column << 1 | missing_left
        uint32_t column() const { return column_and_side >> 1; }
    };

    void resize(size_t size) {
        records_.resize(size);
        values_.resize(size);
        if (is_weighted_) weights_.resize(size);
    }
    void copy_node(const GrowingTree& from, size_t node, size_t here) {
        *records_[here] = *from.records_[node];
        std::copy_n(from.values_[node], n_values_, values_[here]);
        if (is_weighted_) *weights_[here] = *from.weights_[node];
    }

    // All arrays at the size they may reach: one check for all nodes, not one per node and array.
    void resize_arrays(Tree& tree, size_t n) const {
        tree.children_left.resize(n), tree.children_right.resize(n), tree.feature.resize(n);
        tree.threshold.resize(n), tree.missing_go_to_left.resize(n), tree.impurity.resize(n);
        tree.n_node_samples.resize(n), tree.weighted_n_node_samples.resize(n);
        tree.value.resize(n * n_values_), tree.category_begin.resize(n + 1);
    }

    void write(Tree& tree, size_t node, size_t at) const {
        const Record& record = *records_[at];
        bool is_leaf = record.children == 0;
        tree.children_left[node] = is_leaf ? kLeafChild : static_cast<int64_t>(node) + 1;
        tree.children_right[node] = kLeafChild;
        tree.feature[node] = is_leaf ? kLeafFeature : record.column();
        tree.threshold[node] = is_leaf ? kLeafThreshold : threshold(record);
        tree.missing_go_to_left[node] = !is_leaf && (record.column_and_side & 1) != 0;
        tree.impurity[node] = record.impurity;
        tree.n_node_samples[node] = record.n_rows;
        tree.weighted_n_node_samples[node] = is_weighted_ ? *weights_[at] : record.n_rows;
        std::copy_n(values_[at], n_values_, tree.value.data() + node * n_values_);
        if (!is_leaf && table_->columns[record.column()].is_categorical) {
            auto n_words =
                static_cast<ptrdiff_t>(table_->columns[record.column()].n_codes + 63) / 64;
            auto words = sets_.begin() + static_cast<ptrdiff_t>(record.set_begin);
            tree.category_words.insert(tree.category_words.end(), words, words + n_words);
        }
        tree.category_begin[node + 1] = static_cast<int64_t>(tree.category_words.size());
    }

    double threshold(const Record& record) const {
        const Column& column = table_->columns[record.column()];
        if (column.is_categorical) return std::numeric_limits<double>::quiet_NaN();
        if (record.next_code == column.n_codes) return std::numeric_limits<double>::infinity();
        return threshold_between(column.values[record.code], column.values[record.next_code]);
    }

    size_t n_values_;
    bool is_weighted_;
    const Table* table_;
    Lines<Record> records_;
    Lines<double> values_, weights_;
    std::vector<uint64_t> sets_;  // the left sets of categorical splits
};

}  // namespace treefold
