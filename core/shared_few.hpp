// Dense columns with few codes, for all shares of a group: one histogram by code, pattern and class (or one line of
// sums per code), out of which each share's own is made by taking away what does not count for it.
#pragma once

#include "shared_scans.hpp"

namespace treefold {

class SharedClassHistograms {
public:
    using Target = ClassTarget<int64_t>;

    explicit SharedClassHistograms(const Crew<Target>& crew) : crew_(crew) {
        const Group<Target>& group = *crew.group;
        size_t n_classes = crew.views[0].totals.slots.size();
        label_of_.assign(n_classes, 0);
        std::vector<bool> is_present(n_classes);
        for (const NodeView<Target>& view : crew.views)
            for (size_t k = 0; k < n_classes; ++k)
                if (view.totals.slots[k] != 0) is_present[k] = true;
        for (size_t k = 0; k < n_classes; ++k)
            if (is_present[k]) {
                label_of_[k] = static_cast<uint32_t>(classes_.size());
                classes_.push_back(k);
            }
        n_patterns_ = group.patterns.size();
        stride_ = n_patterns_ * classes_.size();
        list_excluded();
        prepare_lanes();
        const std::vector<uint32_t>& rows = group.layout.rows;
        offset_.resize(rows.size());
        for (size_t k = 0; k < rows.size(); ++k) {
            auto label = static_cast<size_t>(crew.views[0].target.classes[rows[k]]);
            offset_[k] =
                static_cast<uint32_t>(group.pattern_of[k] * classes_.size()) + label_of_[label];
        }
    }

    size_t n_labels() const { return classes_.size(); }

    // Columns first .. last - 1 of the plan's few columns; exact(column, lane) where only the exact scans can decide.
    template <class Exact>
    void search(size_t first, size_t last, Scratch<int64_t>& scratch,
                std::vector<Findings>& findings, Exact&& exact) {
        while (first < last) {
            size_t next = count(first, last);
            bounds_.assign((next - first) * crew_.n_lanes, kUnbounded);
            for (size_t k = first; k < next; ++k) {
                list_used(k, k - first);
                bound_column(k, k - first);
            }
            for (size_t lane = 0; lane < crew_.shares.size(); ++lane)
                search_lane(first, next, lane, scratch, findings[lane], exact);
            first = next;
        }
    }

private:
    static constexpr size_t kEntries = 1 << 15;  // filled together: they stay in cache
    static constexpr size_t kBoundedCategories = 6;  // of more, too many subsets would be looked at
    static constexpr double kUnbounded = std::numeric_limits<double>::infinity();

    // The most promising columns first; the others then seldom can win.
    template <class Exact>
    void search_lane(size_t first, size_t next, size_t lane, Scratch<int64_t>& scratch,
                     Findings& findings, Exact&& exact) {
        groups_.prepare_labels(crew_.views[lane], classes_);
        auto bound = [&](size_t k) { return bounds_[(k - first) * crew_.n_lanes + lane]; };
        by_bound_.clear();
        for (size_t k = first; k < next; ++k) by_bound_.push_back(k);
        std::sort(by_bound_.begin(), by_bound_.end(),
                  [&](size_t a, size_t b) { return bound(a) > bound(b); });
        for (size_t k : by_bound_) {
            if (bound(k) * (1 + kSlack) < findings.floor) break;
            scan(k, k - first, lane, scratch, findings, exact);
        }
    }

    // An upper bound of the quality of a column's cuts or sets for each lane, all lanes at once: the best of
    // all its cuts, or of all divisions of its categories in two (the missing rows as one of them).
    void bound_column(size_t column, size_t k) {
        const Column& source = layout().table->columns[layout().few_columns[column]];
        bool has_missing = !used_[k].empty() && used_[k].back() == source.missing_code();
        double* bounds = bounds_.data() + k * crew_.n_lanes;
        if (used_[k].size() < 2) {
            std::fill_n(bounds, crew_.n_lanes, -kUnbounded);
            return;
        }
        bool is_bounded =
            source.is_categorical ? used_[k].size() <= kBoundedCategories : !has_missing;
        if (!is_bounded) return;
        make_lane_lines(k);
        start_bound();
        if (source.is_categorical) {
            // Subsets in Gray order: one category changes sides at each step; the last one stays on the right.
            for (uint32_t step = 1; step < uint32_t{1} << (used_[k].size() - 1); ++step) {
                auto changed = static_cast<size_t>(std::countr_zero(step));
                bool is_added = ((step ^ step >> 1) >> changed & 1) != 0;
                move_line(changed, is_added ? 1.0 : -1.0);
                raise_bound();
            }
        } else {
            for (size_t i = 0; i + 1 < used_[k].size(); ++i) {
                move_line(i, 1.0);
                raise_bound();
            }
        }
        std::copy_n(reinterpret_cast<const double*>(best_.data()), crew_.n_lanes, bounds);
    }

    // lane_lines_: (used code, label, lane) rows.
    void make_lane_lines(size_t k) {
        size_t n_labels = classes_.size(), n_vectors = crew_.n_lanes / 4;
        lane_lines_.resize(used_[k].size() * n_labels * n_vectors);
        Lanes* lanes = lane_lines_.data();
        for (size_t i = 0; i < used_[k].size(); ++i) {
            const uint32_t* counted = histogram_.data() + starts_[k] + used_[k][i] * stride_;
            for (size_t c = 0; c < n_labels; ++c, lanes += n_vectors) {
                auto total = static_cast<double>(totals_[k][i * n_labels + c]);
                for (size_t v = 0; v < n_vectors; ++v) lanes[v] = Lanes{total, total, total, total};
                if (total == 0.0) continue;
                auto* each = reinterpret_cast<double*>(lanes);
                for (size_t p = 0; p < n_patterns_; ++p)
                    if (uint32_t count = counted[p * n_labels + c])
                        for (uint32_t lane : lacking_[p]) each[lane] -= count;
            }
        }
    }
    void start_bound() {
        size_t n_vectors = crew_.n_lanes / 4;
        left_.assign(classes_.size() * n_vectors, Lanes{});
        a_ = b_ = n_left_ = LaneArray(crew_.n_lanes);
        best_ = LaneArray(crew_.n_lanes, -kUnbounded);
    }
    void move_line(size_t i, double sign) {
        size_t n_labels = classes_.size(), n_vectors = crew_.n_lanes / 4;
        const Lanes* lines = lane_lines_.data() + i * n_labels * n_vectors;
        for (size_t v = 0; v < n_vectors; ++v) {
            Lanes a = a_.data()[v], b = b_.data()[v], n_left = n_left_.data()[v];
            for (size_t c = 0; c < n_labels; ++c) {
                Lanes x = lines[c * n_vectors + v] * sign, &left = left_[c * n_vectors + v];
                a += x * (2 * left + x);
                b += x * lane_totals_[c * n_vectors + v];
                left += x;
                n_left += x;
            }
            a_.data()[v] = a, b_.data()[v] = b, n_left_.data()[v] = n_left;
        }
    }
    // The quality of what is on the left, where both sides are large enough (scan_classes has the algebra).
    void raise_bound() {
        for (size_t v = 0; v < crew_.n_lanes / 4; ++v) {
            Lanes n = n_.data()[v], n_left = n_left_.data()[v], n_right = n - n_left;
            Lanes reached = a_.data()[v] * n + (squares_.data()[v] - 2 * b_.data()[v]) * n_left;
            Lanes quality = reached / (n_left * n_right);
            LaneMask counts = (n_left >= smallest_.data()[v]) & (n_right >= smallest_.data()[v]) &
                              (quality > best_.data()[v]);
            best_.data()[v] = counts ? quality : best_.data()[v];
        }
    }

    const Layout& layout() const { return crew_.group->layout; }

    void prepare_lanes() {
        size_t n_vectors = crew_.n_lanes / 4;
        n_ = squares_ = LaneArray(crew_.n_lanes);
        smallest_ = LaneArray(crew_.n_lanes, 1.0);
        lane_totals_.assign(classes_.size() * n_vectors, Lanes{});
        for (size_t lane = 0; lane < crew_.shares.size(); ++lane) {
            const NodeView<Target>& view = crew_.views[lane];
            n_[lane] = static_cast<double>(view.totals.rows);
            squares_[lane] = view.squares;
            smallest_[lane] =
                static_cast<double>(std::max<int64_t>(1, view.rules.min_samples_leaf));
            for (size_t c = 0; c < classes_.size(); ++c)
                lane_totals_[c * n_vectors + lane / 4][lane % 4] =
                    static_cast<double>(view.totals.slots[classes_[c]]);
        }
        lacking_.resize(n_patterns_);
        for (uint32_t lane = 0; lane < excluded_.size(); ++lane)
            for (uint32_t pattern : excluded_[lane]) lacking_[pattern].push_back(lane);
    }

    // Patterns that do not count for a lane.
    void list_excluded() {
        excluded_.resize(crew_.shares.size());
        for (size_t lane = 0; lane < crew_.shares.size(); ++lane)
            for (uint32_t pattern = 0; pattern < n_patterns_; ++pattern)
                if (!crew_.group->patterns.has(pattern, crew_.shares[lane]))
                    excluded_[lane].push_back(pattern);
    }

    // Fills histograms of as many columns as fit; returns the first that does not.
    size_t count(size_t first, size_t last) {
        size_t n_entries = 0, next = first;
        starts_.clear();
        do {
            starts_.push_back(n_entries);
            n_entries += n_codes(next) * stride_;
        } while (++next < last && n_entries < kEntries);
        histogram_.assign(n_entries, 0);
        const std::vector<uint32_t>& rows = layout().rows;
        size_t n_columns = next - first;
        uint32_t* histogram = histogram_.data();
        for (size_t i = 0; i < rows.size(); ++i) {
            const uint8_t* codes = layout().few_line(rows[i]) + first;
            for (size_t k = 0; k < n_columns; ++k)
                ++histogram[starts_[k] + codes[k] * stride_ + offset_[i]];
        }
        used_.assign(n_columns, {});
        totals_.assign(n_columns, {});
        return next;
    }

    size_t n_codes(size_t k) const { return layout().few_starts[k + 1] - layout().few_starts[k]; }

    // Codes that any row has, and their counts over all patterns.
    void list_used(size_t column, size_t k) {
        size_t n_labels = classes_.size();
        for (uint32_t code = 0; code < n_codes(column); ++code) {
            const uint32_t* lines = histogram_.data() + starts_[k] + code * stride_;
            std::vector<uint32_t>& totals = totals_[k];
            size_t begin = totals.size();
            totals.resize(begin + n_labels);
            uint32_t any = 0;
            for (size_t p = 0; p < n_patterns_; ++p)
                for (size_t c = 0; c < n_labels; ++c) {
                    totals[begin + c] += lines[p * n_labels + c];
                    any |= lines[p * n_labels + c];
                }
            if (any != 0)
                used_[k].push_back(code);
            else
                totals.resize(begin);
        }
    }

    template <class Exact>
    void scan(size_t k, size_t at, size_t lane, Scratch<int64_t>& scratch, Findings& findings,
              Exact&& exact) {
        uint32_t column_at = layout().few_columns[k];
        const Column& column = layout().table->columns[column_at];
        make_lines(at, lane);
        if (codes_.size() < 2) return;
        if (column.is_categorical) return scan_categories(column_at, lane, scratch, findings);
        if (codes_.back() == column.missing_code()) {
            exact(column_at, lane);
            return;
        }
        auto line_at = [&](size_t i) { return lines_.data() + i * classes_.size(); };
        groups_.scan_cuts(crew_.views[lane], column_at, codes_, line_at, findings);
    }

    // One lane's own histogram: its codes, and a line for each.
    void make_lines(size_t at, size_t lane) {
        size_t n_labels = classes_.size();
        codes_.clear();
        lines_.resize(used_[at].size() * n_labels);
        uint32_t* line = lines_.data();
        for (size_t i = 0; i < used_[at].size(); ++i) {
            uint32_t code = used_[at][i], any = 0;
            const uint32_t* counted = histogram_.data() + starts_[at] + code * stride_;
            const uint32_t* total = totals_[at].data() + i * n_labels;
            for (size_t c = 0; c < n_labels; ++c) line[c] = total[c];
            for (uint32_t pattern : excluded_[lane])
                for (size_t c = 0; c < n_labels; ++c) line[c] -= counted[pattern * n_labels + c];
            for (size_t c = 0; c < n_labels; ++c) any |= line[c];
            if (any == 0) continue;
            codes_.push_back(code);
            line += n_labels;
        }
    }

    void scan_categories(uint32_t at, size_t lane, Scratch<int64_t>& scratch, Findings& findings) {
        const NodeView<Target>& node = crew_.views[lane];
        const Column& column = layout().table->columns[at];
        size_t width = node.target.width();
        reserve_histogram(scratch, column.n_codes, width);
        scratch.present.clear();
        for (size_t i = 0; i < codes_.size(); ++i) {
            scratch.histogram_rows[codes_[i]] = groups_.give(
                lines_.data() + i * classes_.size(), scratch.histogram.data() + codes_[i] * width);
            if (codes_[i] != column.missing_code()) scratch.present.push_back(codes_[i]);
        }
        CategoricalScan<Target>(node, at, column.n_codes, scratch, findings).run();
        for (uint32_t code : codes_) {
            scratch.histogram_rows[code] = 0;
            std::fill_n(scratch.histogram.data() + code * width, width, 0);
        }
    }

    const Crew<Target>& crew_;
    ClassGroups groups_;
    size_t n_patterns_ = 0, stride_ = 0;
    std::vector<uint32_t> label_of_;  // per class
    std::vector<size_t> classes_;  // per label
    std::vector<std::vector<uint32_t>> excluded_;  // per lane
    std::vector<uint32_t> offset_;  // per row of the group: pattern and label
    std::vector<size_t> starts_;
    std::vector<uint32_t> histogram_;  // (column, code, pattern, label)
    std::vector<std::vector<uint32_t>> used_;  // per column: codes
    std::vector<std::vector<uint32_t>> totals_;  // per column: (used code, label)
    std::vector<uint32_t> codes_, lines_;  // of one lane
    std::vector<std::vector<uint32_t>> lacking_;  // per pattern: lanes that it does not count for
    std::vector<double> bounds_;  // (column, lane)
    std::vector<size_t> by_bound_;
    std::vector<Lanes> lane_lines_, lane_totals_, left_;
    LaneArray n_, squares_, smallest_, a_, b_, n_left_, best_;
};

// Numeric columns for means: a line of sums and counts per code.
class SharedMeanHistograms {
public:
    using Target = MeanTarget<2>;

    explicit SharedMeanHistograms(const Crew<Target>& crew) : crew_(crew) {}

    // A column of the plan's few columns that has no missing value in the group.
    void search(size_t k, std::vector<Findings>& findings) {
        const Layout& layout = crew_.group->layout;
        size_t n_vectors = crew_.n_lanes / 4,
               n_codes = layout.few_starts[k + 1] - layout.few_starts[k];
        sums_.assign(n_codes * n_vectors, Lanes{});
        counts_.assign(n_codes * n_vectors, Lanes{});
        factor_ = mean_ = LaneArray(crew_.n_lanes);
        for (size_t lane = 0; lane < crew_.shares.size(); ++lane) {
            MeanStep step = step_of(crew_.views[lane]);
            factor_[lane] = step.factor;
            mean_[lane] = step.mean;
        }
        const double* numbers = crew_.views[0].target.y.data();
        for (uint32_t row : layout.rows) {
            size_t line = layout.few_line(row)[k] * n_vectors;
            const Lanes* ones = crew_.line(row);
            double y = numbers[row];
            for (size_t v = 0; v < n_vectors; ++v) {
                sums_[line + v] += ones[v] * (factor_.data()[v] * y - mean_.data()[v]);
                counts_[line + v] += ones[v];
            }
        }
        SharedMeanScan scan(crew_, findings);
        for (size_t lane = 0; lane < crew_.shares.size(); ++lane)
            scan_lane(layout.few_columns[k], n_codes, lane, scan);
    }

private:
    void scan_lane(uint32_t column, size_t n_codes, size_t lane, SharedMeanScan& scan) {
        size_t n_vectors = crew_.n_lanes / 4, vector = lane / 4, place = lane % 4;
        double d = 0, n_left = 0;
        uint32_t previous = 0;
        for (uint32_t code = 0; code < n_codes; ++code) {
            double count = counts_[code * n_vectors + vector][place];
            if (count == 0.0) continue;
            if (n_left != 0.0) scan.offer_between(lane, {column, previous, code, 0.0}, d, n_left);
            d += sums_[code * n_vectors + vector][place];
            n_left += count;
            previous = code;
        }
    }

    const Crew<Target>& crew_;
    std::vector<Lanes> sums_, counts_;  // (code, lane)
    LaneArray factor_, mean_;
};

}  // namespace treefold
