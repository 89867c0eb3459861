// Dense columns with few codes, searched together: one pass over a node's rows fills the histograms of all of
// them, because a row's codes stand side by side (Layout::few_codes).
//
// As the kernels of kernels.hpp this needs unit weights. Columns that it cannot decide go to the exact scans. In a
// small node a bit per code tells which entries are in use, so that nothing is cleared or read in vain.
// (100,000 x 20 columns of 32 values: 4 times the exact scan of one column at a time.)
//
// A large node keeps its histograms of classes: of its two children only the smaller is counted, the other is the
// difference. Smaller nodes count only the classes that they have.
#pragma once

#include <bit>

#include "categorical.hpp"
#include "kernels.hpp"
#include "numeric.hpp"

namespace treefold {

// Histograms of classes, renumbered to the labels of the classes that are present in the node.
class ClassGroups {
public:
    using Target = ClassTarget<int64_t>;
    using Entry = uint32_t;  // (code, label): rows
    static constexpr bool serves_categories = true;

    size_t stride() const { return totals_.size(); }

    // all_classes: labels are the classes themselves, as in kept histograms.
    void prepare_labels(const NodeView<Target>& node, bool all_classes) {
        label_of_.resize(node.totals.slots.size());
        class_of_.clear();
        totals_.clear();
        squares_ = 0;
        for (size_t k = 0; k < label_of_.size(); ++k) {
            int64_t count = node.totals.slots[k];
            if (count == 0 && !all_classes) continue;
            label_of_[k] = static_cast<uint32_t>(totals_.size());
            class_of_.push_back(k);
            totals_.push_back(count);
            squares_ += static_cast<double>(count) * static_cast<double>(count);
        }
    }
    // The same for a given list of classes, which holds at least those of the node.
    void prepare_labels(const NodeView<Target>& node, const std::vector<size_t>& classes) {
        class_of_ = classes;
        totals_.clear();
        squares_ = node.squares;
        for (size_t k : classes) totals_.push_back(node.totals.slots[k]);
    }
    void prepare(const NodeView<Target>& node) {
        prepare_labels(node, false);
        labels_.resize(node.rows.size());
        for (size_t i = 0; i < node.rows.size(); ++i)
            labels_[i] = label_of_[static_cast<size_t>(node.target.classes[node.rows[i]])];
    }

    void add_row(Entry* line, size_t i) const { ++line[labels_[i]]; }
    bool is_used(const Entry* line) const {
        Entry any = 0;
        for (size_t k = 0; k < stride(); ++k) any |= line[k];
        return any != 0;
    }

    // Cuts between groups in ascending order; see scan_classes for the test.
    void start_cuts() {
        left_.assign(stride(), 0);
        a_ = b_ = 0;
        n_left_ = 0;
    }
    void next_group(const NodeView<Target>& node, uint32_t column, uint32_t code, const Entry* line,
                    Findings& findings) {
        if (n_left_ != 0) try_cut(node, column, code, findings);
        for (size_t k = 0; k < stride(); ++k) {
            auto count = static_cast<double>(line[k]), before = static_cast<double>(left_[k]);
            a_ += count * (2 * before + count);
            b_ += count * static_cast<double>(totals_[k]);
            left_[k] += line[k];
            n_left_ += line[k];
        }
        code_ = code;
    }

    // Hands a category (or the missing rows) to the exact scan; returns its rows.
    int64_t give(const Entry* line, int64_t* slots) const {
        int64_t rows = 0;
        for (size_t k = 0; k < stride(); ++k) {
            slots[class_of_[k]] = line[k];
            rows += line[k];
        }
        return rows;
    }

private:
    void try_cut(const NodeView<Target>& node, uint32_t column, uint32_t next_code,
                 Findings& findings) {
        double n = static_cast<double>(node.totals.rows), n_left = static_cast<double>(n_left_);
        double reached = a_ * n + (squares_ - 2 * b_) * n_left;
        if (reached < findings.floor * (1 - kSlack) * (n_left * (n - n_left))) return;
        int64_t smallest = node.rules.min_samples_leaf;
        if (n_left_ < smallest || node.totals.rows - n_left_ < smallest) return;
        subtract(totals_, left_, right_);
        double quality = class_quality(Criterion::gini, left_, right_, 0, node.target.logs);
        if (quality >= findings.floor)
            findings.offer(numeric_split(quality, column, code_, next_code));
    }

    std::vector<uint32_t> labels_;  // per row of the node
    std::vector<uint32_t> label_of_;  // per class
    std::vector<size_t> class_of_;  // per label
    std::vector<int64_t> totals_, left_, right_;  // per label
    double squares_ = 0, a_ = 0, b_ = 0;
    int64_t n_left_ = 0;
    uint32_t code_ = 0;
};

// Histograms of a mean: sums of y - mean in float64.
class MeanGroups {
public:
    using Target = MeanTarget<2>;
    struct Entry {
        double sum = 0;
        int64_t count = 0;
    };
    static constexpr bool serves_categories = false;  // their order needs exact means

    size_t stride() const { return 1; }

    void prepare(const NodeView<Target>& node) {
        MeanStep step = step_of(node);
        deviations_.resize(node.rows.size());
        for (size_t i = 0; i < node.rows.size(); ++i) deviations_[i] = step(node.rows[i]);
    }

    void add_row(Entry* line, size_t i) const {
        line->sum += deviations_[i];
        ++line->count;
    }
    bool is_used(const Entry* line) const { return line->count != 0; }

    // Cuts between groups in ascending order; see scan_means for the test.
    void start_cuts() {
        d_ = 0;
        n_left_ = 0;
    }
    void next_group(const NodeView<Target>& node, uint32_t column, uint32_t code, const Entry* line,
                    Findings& findings) {
        int64_t smallest = node.rules.min_samples_leaf, n_right = node.totals.rows - n_left_;
        if (n_left_ >= smallest && n_right >= smallest)
            offer_mean(node, {column, code_, code, 0.0}, d_,
                       static_cast<double>(n_left_) * static_cast<double>(n_right), findings);
        d_ += line->sum;
        n_left_ += line->count;
        code_ = code;
    }

private:
    std::vector<double> deviations_;  // per row of the node
    double d_ = 0;
    int64_t n_left_ = 0;
    uint32_t code_ = 0;
};

template <class Groups>
class FewSearch {
public:
    using Target = typename Groups::Target;
    using Entry = typename Groups::Entry;
    using Slot = typename Target::Slot;

    // What a search works on; exact(column) is called for columns that only the exact scans can decide.
    struct Job {
        const Layout& layout;
        const NodeView<Target>& node;
        Scratch<Slot>& scratch;
        Findings& findings;
    };

    // Columns first .. last - 1 of layout.few_columns.
    template <class Exact>
    void search(const Job& job, size_t first, size_t last, Exact&& exact) {
        if (!Groups::serves_categories) {
            size_t numeric = std::clamp(job.layout.n_few_numeric, first, last);
            for (size_t k = numeric; k < last; ++k) exact(job.layout.few_columns[k]);
            last = numeric;
        }
        if (first == last) return;
        groups_.prepare(job.node);
        if (job.node.rows.size() <= kSmall) {
            for (size_t k = first; k < last; ++k) search_small(job, k, exact);
            return;
        }
        while (first < last) first = search_large(job, first, last, exact);
    }

    // The same from the histograms that the node has kept.
    template <class Exact>
    void search_kept(const Job& job, size_t first, size_t last, const Entry* histogram,
                     Exact&& exact) {
        groups_.prepare_labels(job.node, true);
        for (size_t k = first; k < last; ++k) {
            size_t start = job.layout.few_starts[k], n_codes = job.layout.few_starts[k + 1] - start;
            list_used(histogram + start * groups_.stride(), n_codes);
            scan(job, job.layout.few_columns[k], histogram + start * groups_.stride(), exact);
        }
    }

private:
    static constexpr size_t kSmall = 64;  // rows
    static constexpr size_t kEntries = 1 << 15;  // filled together: they stay in cache

    template <class Exact>
    void search_small(const Job& job, size_t at, Exact&& exact) {
        uint32_t column = job.layout.few_columns[at];
        size_t stride = groups_.stride();
        reserve(256 * stride);
        std::array<uint64_t, 4> used{};
        for (size_t i = 0; i < job.node.rows.size(); ++i) {
            uint32_t code = job.layout.few_line(job.node.rows[i])[at];
            used[code / 64] |= uint64_t{1} << (code % 64);
            groups_.add_row(histogram_.data() + code * stride, i);
        }
        used_.clear();
        for (uint32_t part = 0; part < 4; ++part)
            for (uint64_t bits = used[part]; bits != 0; bits &= bits - 1)
                used_.push_back(part * 64 + static_cast<uint32_t>(std::countr_zero(bits)));
        scan(job, column, histogram_.data(), exact);
        for (uint32_t code : used_) std::fill_n(histogram_.data() + code * stride, stride, Entry{});
    }

    // As many columns as fit; returns the first that does not.
    template <class Exact>
    size_t search_large(const Job& job, size_t first, size_t last, Exact&& exact) {
        size_t stride = groups_.stride(), n_entries = 0, next = first;
        starts_.clear();
        do {
            starts_.push_back(static_cast<uint32_t>(n_entries));
            n_entries +=
                (job.layout.table->columns[job.layout.few_columns[next]].n_codes + 1) * stride;
        } while (++next < last && n_entries < kEntries);
        reserve(n_entries);
        fill(job, first);
        for (size_t k = 0; k < starts_.size(); ++k) {
            uint32_t column = job.layout.few_columns[first + k];
            const Entry* lines = histogram_.data() + starts_[k];
            list_used(lines, job.layout.table->columns[column].n_codes + 1);
            scan(job, column, lines, exact);
        }
        std::fill_n(histogram_.begin(), n_entries, Entry{});
        return next;
    }

    void fill(const Job& job, size_t first) {
        constexpr size_t kAhead = 16;  // rows whose codes are fetched before they are needed
        std::span<const uint32_t> rows = job.node.rows;
        const uint32_t* starts = starts_.data();
        size_t stride = groups_.stride(), n_columns = starts_.size();
        Entry* histogram = histogram_.data();
        for (size_t i = 0; i < rows.size(); ++i) {
            if (i + kAhead < rows.size())
                __builtin_prefetch(job.layout.few_line(rows[i + kAhead]) + first);
            const uint8_t* codes = job.layout.few_line(rows[i]) + first;
            for (size_t k = 0; k < n_columns; ++k)
                groups_.add_row(histogram + starts[k] + codes[k] * stride, i);
        }
    }

    void list_used(const Entry* lines, size_t n_codes) {
        used_.clear();
        for (uint32_t code = 0; code < n_codes; ++code)
            if (groups_.is_used(lines + code * groups_.stride())) used_.push_back(code);
    }

    // One column, from the lines of the codes in used_ (ascending; the missing code is the last).
    template <class Exact>
    void scan(const Job& job, uint32_t at, const Entry* lines, Exact&& exact) {
        const Column& column = job.layout.table->columns[at];
        if (used_.size() < 2) return;
        if (column.is_categorical) return scan_categories(job, at, column, lines);
        if (used_.back() == column.missing_code()) {
            exact(at);
            return;
        }
        groups_.start_cuts();
        for (uint32_t code : used_)
            groups_.next_group(job.node, at, code, lines + code * groups_.stride(), job.findings);
    }

    void scan_categories(const Job& job, uint32_t at, const Column& column, const Entry* lines) {
        if constexpr (Groups::serves_categories) {
            size_t width = job.node.target.width();
            reserve_histogram(job.scratch, column.n_codes, width);
            job.scratch.present.clear();
            for (uint32_t code : used_) {
                job.scratch.histogram_rows[code] = groups_.give(
                    lines + code * groups_.stride(), job.scratch.histogram.data() + code * width);
                if (code != column.missing_code()) job.scratch.present.push_back(code);
            }
            CategoricalScan<Target>(job.node, at, column.n_codes, job.scratch, job.findings).run();
            for (uint32_t code : used_) {
                job.scratch.histogram_rows[code] = 0;
                std::fill_n(job.scratch.histogram.data() + code * width, width, Slot(0));
            }
        }
    }

    void reserve(size_t n_entries) {
        if (histogram_.size() < n_entries) histogram_.resize(n_entries);
    }

    Groups groups_;
    std::vector<uint32_t> starts_, used_;
    std::vector<Entry> histogram_;  // all zero between searches
};

// Kept histograms: rows by (column, code, class) of the few-valued columns first .. last - 1.
inline void count_rows(const Plan& layout, const ClassTarget<int64_t>& target,
                       std::span<const uint32_t> rows, size_t first, size_t last,
                       uint32_t* histogram) {
    constexpr size_t kAhead = 16;  // rows whose codes are fetched before they are needed
    size_t n_classes = target.width();
    for (size_t i = 0; i < rows.size(); ++i) {
        if (i + kAhead < rows.size()) __builtin_prefetch(layout.few_line(rows[i + kAhead]) + first);
        const uint8_t* codes = layout.few_line(rows[i]);
        uint32_t* labelled = histogram + target.classes[rows[i]];
        for (size_t k = first; k < last; ++k)
            ++labelled[(layout.few_starts[k] + codes[k]) * n_classes];
    }
}

// Is a node of so many rows large enough to keep histograms? Then reading them costs less than counting.
inline bool keeps_histograms(const Plan& layout, size_t n_rows, size_t n_classes) {
    return n_rows * layout.few_columns.size() >= 2 * size_t{layout.few_starts.back()} * n_classes &&
           n_rows > 64;
}

// Which search of few-valued columns a target has; the wide ones have none.
template <class Target>
struct FewSearchOf {
    using Type = void*;
};
template <>
struct FewSearchOf<ClassTarget<int64_t>> {
    using Type = FewSearch<ClassGroups>;
};
template <>
struct FewSearchOf<MeanTarget<2>> {
    using Type = FewSearch<MeanGroups>;
};

}  // namespace treefold
