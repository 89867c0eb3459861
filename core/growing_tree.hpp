// A tree while it grows: nodes in the order in which they were made. in_preorder() gives the Tree.
#pragma once

#include "split.hpp"
#include "table.hpp"
#include "target.hpp"
#include "tree.hpp"

namespace treefold {

class GrowingTree {
public:
    GrowingTree(size_t n_values, const Table& table) : n_values_(n_values), table_(&table) {}

    size_t add_nodes(size_t count) {
        size_t first = records_.size();
        records_.resize(first + count);
        values_.resize((first + count) * n_values_);
        return first;
    }
    void drop_nodes(size_t count) {
        records_.resize(records_.size() - count);
        values_.resize(records_.size() * n_values_);
    }
    double* value(size_t node) { return values_.data() + node * n_values_; }
    void describe(size_t node, const Description& description, int64_t n_rows) {
        records_[node].weight = description.weight;
        records_[node].impurity = description.impurity;
        records_[node].n_rows = static_cast<uint32_t>(n_rows);
    }
    void set_split(size_t node, const Split& split, size_t children) {
        Record& record = records_[node];
        record.children = static_cast<uint32_t>(children);
        record.column = split.column;
        record.code = split.code;
        record.next_code = split.next_code;
        record.missing_left = split.missing_left;
        record.set_begin = static_cast<uint32_t>(sets_.size());
        sets_.insert(sets_.end(), split.left_set.begin(), split.left_set.end());
    }

    // A tree of its own that begins with a copy of one node, and its return.
    GrowingTree start_subtree(size_t node) const {
        GrowingTree subtree(n_values_, *table_);
        subtree.records_.push_back(records_[node]);
        subtree.values_.assign(values_.begin() + static_cast<ptrdiff_t>(node * n_values_),
                               values_.begin() + static_cast<ptrdiff_t>((node + 1) * n_values_));
        return subtree;
    }
    void graft(size_t node, GrowingTree& subtree) {
        size_t offset = records_.size() - 1;  // record k > 0 of the subtree becomes offset + k
        for (Record& record : subtree.records_) {
            if (record.children != 0) record.children += static_cast<uint32_t>(offset);
            record.set_begin += static_cast<uint32_t>(sets_.size());
        }
        sets_.insert(sets_.end(), subtree.sets_.begin(), subtree.sets_.end());
        records_[node] = std::move(subtree.records_[0]);
        for (size_t k = 1; k < subtree.records_.size(); ++k)
            records_.push_back(std::move(subtree.records_[k]));
        values_.insert(values_.end(), subtree.values_.begin() + static_cast<ptrdiff_t>(n_values_),
                       subtree.values_.end());
    }

    Tree in_preorder(int n_classes) const {
        Tree tree;
        tree.n_classes = n_classes;
        for (const Column& column : table_->columns)
            tree.n_categories.push_back(column.is_categorical ? static_cast<int32_t>(column.n_codes)
                                                              : 0);
        resize(tree, records_.size());
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
            size_t children = records_[visit.record].children;
            if (children == 0) continue;
            stack.push_back({children + 1, node});
            stack.push_back({children, -1});
        }
        resize(tree,
               n_nodes);  // nodes that a best-first search opened and did not divide stay behind
        return tree;
    }

private:
    struct Record {
        double weight = 0, impurity = 0;
        uint32_t children = 0;   // 0: a leaf (the root is nobody's child)
        uint32_t set_begin = 0;  // in sets_
        uint32_t n_rows = 0, column = 0, code = 0, next_code = 0;
        bool missing_left = false;
    };

    // All arrays at the size they may reach: pushing to each of them, node by node, took twice as long.
    void resize(Tree& tree, size_t n) const {
        tree.children_left.resize(n), tree.children_right.resize(n), tree.feature.resize(n);
        tree.threshold.resize(n), tree.missing_go_to_left.resize(n), tree.impurity.resize(n);
        tree.n_node_samples.resize(n), tree.weighted_n_node_samples.resize(n);
        tree.value.resize(n * n_values_), tree.category_begin.resize(n + 1);
    }

    void write(Tree& tree, size_t node, size_t at) const {
        const Record& record = records_[at];
        bool is_leaf = record.children == 0;
        tree.children_left[node] = is_leaf ? kLeafChild : static_cast<int64_t>(node) + 1;
        tree.children_right[node] = kLeafChild;
        tree.feature[node] = is_leaf ? kLeafFeature : record.column;
        tree.threshold[node] = is_leaf ? kLeafThreshold : threshold(record);
        tree.missing_go_to_left[node] = !is_leaf && record.missing_left;
        tree.impurity[node] = record.impurity;
        tree.n_node_samples[node] = record.n_rows;
        tree.weighted_n_node_samples[node] = record.weight;
        std::copy_n(values_.data() + at * n_values_, n_values_,
                    tree.value.data() + node * n_values_);
        if (!is_leaf && table_->columns[record.column].is_categorical) {
            auto n_words = static_cast<ptrdiff_t>(table_->columns[record.column].n_codes + 63) / 64;
            auto words = sets_.begin() + static_cast<ptrdiff_t>(record.set_begin);
            tree.category_words.insert(tree.category_words.end(), words, words + n_words);
        }
        tree.category_begin[node + 1] = static_cast<int64_t>(tree.category_words.size());
    }

    double threshold(const Record& record) const {
        const Column& column = table_->columns[record.column];
        if (column.is_categorical) return std::numeric_limits<double>::quiet_NaN();
        if (record.next_code == column.n_codes) return std::numeric_limits<double>::infinity();
        return threshold_between(column.values[record.code], column.values[record.next_code]);
    }

    size_t n_values_;
    const Table* table_;
    std::vector<Record> records_;
    std::vector<double> values_;
    std::vector<uint64_t> sets_;  // the left sets of categorical splits
};

}  // namespace treefold
