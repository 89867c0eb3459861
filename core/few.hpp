// Numeric columns with few codes, searched together: one pass over a node's rows fills the histograms of all of
// them, because a row's codes stand side by side (Layout::few_codes).
//
// As the kernels of kernels.hpp: unit weights, no missing value; anything else goes to the exact scan.
// In a small node a bit per code tells which entries are in use, so that nothing is cleared or read in vain.
#pragma once

#include <bit>

#include "kernels.hpp"

namespace treefold {

// What a histogram of classes needs of a node: classes renumbered to those present in it.
struct ClassGroups {
    using Target = ClassTarget<int64_t>;
    using Entry = uint32_t;  // (code, label)

    size_t n_labels = 0;
    std::vector<uint32_t> labels;   // per row of the node
    std::vector<int64_t> totals;    // per label
    std::vector<uint32_t> label_of; // per class
    double squares = 0;

    size_t stride() const { return n_labels; }

    void prepare(const NodeView<Target>& node) {
        label_of.resize(node.totals.slots.size());
        totals.clear();
        squares = 0;
        for (size_t k = 0; k < label_of.size(); ++k) {
            int64_t count = node.totals.slots[k];
            if (count == 0) continue;
            label_of[k] = static_cast<uint32_t>(totals.size());
            totals.push_back(count);
            squares += static_cast<double>(count) * static_cast<double>(count);
        }
        n_labels = totals.size();
        labels.resize(node.rows.size());
        for (size_t i = 0; i < node.rows.size(); ++i)
            labels[i] = label_of[static_cast<size_t>(node.target.classes[node.rows[i]])];
    }
    void add(Entry* line, size_t i) const { ++line[labels[i]]; }
    static bool is_used(const Entry* line, size_t stride) {
        uint32_t any = 0;
        for (size_t k = 0; k < stride; ++k) any |= line[k];
        return any != 0;
    }
};

// The same of a mean: sums of y - mean.
struct MeanGroups {
    using Target = MeanTarget<2>;
    struct Entry {
        double sum = 0;
        int64_t count = 0;
    };

    std::vector<double> deviations;  // per row of the node

    size_t stride() const { return 1; }
    void prepare(const NodeView<Target>& node) {
        deviations.resize(node.rows.size());
        for (size_t i = 0; i < node.rows.size(); ++i) deviations[i] = node.target.units[node.rows[i]] - node.mean;
    }
    void add(Entry* line, size_t i) const {
        line->sum += deviations[i];
        ++line->count;
    }
    static bool is_used(const Entry* line, size_t) { return line->count != 0; }
};

// Cuts between groups of classes; see scan_classes.
class ClassCuts {
public:
    ClassCuts(const NodeView<ClassGroups::Target>& node, const ClassGroups& groups, uint32_t column, Findings& findings)
        : node_(node), groups_(groups), column_(column), findings_(findings), left_(scratch_left()) {
        left_.assign(groups.n_labels, 0);
        n_ = static_cast<double>(node.totals.rows);
    }
    void add(uint32_t code, const uint32_t* line) {
        if (n_left_ != 0) try_cut(code);
        for (size_t k = 0; k < groups_.n_labels; ++k) {
            auto count = static_cast<double>(line[k]), before = static_cast<double>(left_[k]);
            a_ += count * (2 * before + count);
            b_ += count * static_cast<double>(groups_.totals[k]);
            left_[k] += line[k];
            n_left_ += line[k];
        }
        code_ = code;
    }

private:
    static std::vector<int64_t>& scratch_left() {
        thread_local std::vector<int64_t> left;
        return left;
    }
    void try_cut(uint32_t next_code) {
        double n_left = static_cast<double>(n_left_), product = n_left * (n_ - n_left);
        if (a_ * n_ + (groups_.squares - 2 * b_) * n_left < findings_.floor * (1 - kSlack) * product) return;
        int64_t smallest = node_.rules.min_samples_leaf;
        if (n_left_ < smallest || node_.totals.rows - n_left_ < smallest) return;
        thread_local std::vector<int64_t> right;
        subtract(groups_.totals, left_, right);
        double quality = class_quality(Criterion::gini, left_, right, 0, node_.target.logs);
        if (quality < findings_.floor) return;
        Split split;
        split.quality = quality;
        split.column = column_;
        split.code = code_;
        split.next_code = next_code;
        findings_.offer(std::move(split));
    }

    const NodeView<ClassGroups::Target>& node_;
    const ClassGroups& groups_;
    uint32_t column_, code_ = 0;
    Findings& findings_;
    std::vector<int64_t>& left_;
    double n_ = 0, a_ = 0, b_ = 0;
    int64_t n_left_ = 0;
};

// Cuts between groups of a mean; see scan_means.
class MeanCuts {
public:
    MeanCuts(const NodeView<MeanGroups::Target>& node, const MeanGroups&, uint32_t column, Findings& findings)
        : node_(node), column_(column), findings_(findings), n_(static_cast<double>(node.rows.size())) {}
    void add(uint32_t code, const MeanGroups::Entry* line) {
        if (n_left_ != 0) try_cut(code);
        d_ += line->sum;
        n_left_ += line->count;
        code_ = code;
    }

private:
    void try_cut(uint32_t next_code) {
        int64_t smallest = node_.rules.min_samples_leaf;
        if (n_left_ < smallest || node_.totals.rows - n_left_ < smallest) return;
        double n_left = static_cast<double>(n_left_);
        offer_pending(node_, {column_, code_, next_code, 0.0}, d_, n_left * (n_ - n_left), findings_);
    }

    const NodeView<MeanGroups::Target>& node_;
    uint32_t column_, code_ = 0;
    Findings& findings_;
    double n_, d_ = 0;
    int64_t n_left_ = 0;
};

template <class Groups, class Cuts>
class FewSearch {
public:
    using Target = typename Groups::Target;
    using Entry = typename Groups::Entry;

    // Call once per node, before search().
    void prepare(const NodeView<Target>& node) { groups_.prepare(node); }

    // Columns first .. last - 1 of layout.few_columns; exact(column) is called for those with missing values.
    template <class Exact>
    void search(const Layout& layout, const NodeView<Target>& node, size_t first, size_t last, Findings& findings,
                Exact&& exact) {
        if (node.rows.size() <= kSmall) {
            for (size_t k = first; k < last; ++k) search_small(layout, node, k, findings, exact);
            return;
        }
        while (first < last) {
            size_t next = first, n_entries = 0;
            starts_.clear();
            do {
                starts_.push_back(n_entries);
                n_entries += (layout.table->columns[layout.few_columns[next]].n_codes + 1) * groups_.stride();
            } while (++next < last && n_entries < kEntries);
            search_large(layout, node, first, n_entries, findings, exact);
            first = next;
        }
    }

private:
    static constexpr size_t kSmall = 64;        // rows
    static constexpr size_t kEntries = 1 << 15;  // of the histograms that are filled together: they stay in cache

    template <class Exact>
    void search_small(const Layout& layout, const NodeView<Target>& node, size_t at, Findings& findings, Exact&& exact) {
        uint32_t column = layout.few_columns[at];
        uint32_t missing = layout.table->columns[column].n_codes;
        size_t stride = groups_.stride();
        histogram_.resize(std::max(histogram_.size(), size_t{256} * stride));
        std::array<uint64_t, 4> used{};
        for (size_t i = 0; i < node.rows.size(); ++i) {
            uint32_t code = layout.few_line(node.rows[i])[at];
            used[code / 64] |= uint64_t{1} << (code % 64);
            groups_.add(histogram_.data() + code * stride, i);
        }
        bool has_missing = has_bit(used.data(), missing);
        Cuts cuts(node, groups_, column, findings);
        for (uint32_t part = 0; part < 4; ++part)
            for (uint64_t bits = used[part]; bits != 0; bits &= bits - 1) {
                uint32_t code = part * 64 + static_cast<uint32_t>(std::countr_zero(bits));
                Entry* line = histogram_.data() + code * stride;
                if (!has_missing) cuts.add(code, line);
                std::fill_n(line, stride, Entry{});
            }
        if (has_missing) exact(column);
    }

    template <class Exact>
    void search_large(const Layout& layout, const NodeView<Target>& node, size_t first, size_t n_entries,
                      Findings& findings, Exact&& exact) {
        size_t stride = groups_.stride(), n_columns = starts_.size();
        histogram_.resize(std::max(histogram_.size(), n_entries));
        for (size_t i = 0; i < node.rows.size(); ++i) {
            const uint8_t* codes = layout.few_line(node.rows[i]) + first;
            for (size_t k = 0; k < n_columns; ++k) groups_.add(histogram_.data() + starts_[k] + codes[k] * stride, i);
        }
        for (size_t k = 0; k < n_columns; ++k) {
            uint32_t column = layout.few_columns[first + k], n_codes = layout.table->columns[column].n_codes;
            const Entry* lines = histogram_.data() + starts_[k];
            if (Groups::is_used(lines + n_codes * stride, stride)) {
                exact(column);
                continue;
            }
            Cuts cuts(node, groups_, column, findings);
            for (uint32_t code = 0; code < n_codes; ++code)
                if (Groups::is_used(lines + code * stride, stride)) cuts.add(code, lines + code * stride);
        }
        std::fill_n(histogram_.begin(), n_entries, Entry{});
    }

    Groups groups_;
    std::vector<size_t> starts_;
    std::vector<Entry> histogram_;  // all zero between searches
};

// Which search of few-valued columns a target has.
template <class Target>
struct FewSearchOf {
    using Type = void*;
};
template <>
struct FewSearchOf<ClassTarget<int64_t>> {
    using Type = FewSearch<ClassGroups, ClassCuts>;
};
template <>
struct FewSearchOf<MeanTarget<2>> {
    using Type = FewSearch<MeanGroups, MeanCuts>;
};

}  // namespace treefold
