// Dense columns with few codes, for all shares of a group: one histogram by code, class and slot (or one line of sums
// per code), out of which each share's own is made by taking away what does not count for it (crew.hpp).
#pragma once

#include "shared_scans.hpp"

namespace treefold {

class SharedClassHistograms {
public:
    using Target = ClassTarget<int64_t>;

    void prepare(const Crew<Target>& crew) {
        crew_ = &crew;
        list_labels();
        prepare_lanes();
        stride_ = crew.n_slots * classes_.size();
        if (!crew.group->kept.empty()) return;
        const std::vector<uint32_t>& rows = layout().rows;
        const int32_t* classes = crew.views[0].target.classes.data();
        offset_.resize(rows.size());
        for (size_t k = 0; k < rows.size(); ++k)
            offset_[k] = label_start_[static_cast<size_t>(classes[rows[k]])] +
                         crew.slot_of(crew.group->pattern_of[k]);
    }

    size_t n_labels() const { return classes_.size(); }

    // Columns first .. last - 1 of the plan's few columns; exact(column, lane) where only the exact scans can decide.
    template <class Exact>
    void search(size_t first, size_t last, Scratch<int64_t>& scratch,
                std::vector<Findings>& findings, Exact&& exact) {
        while (first < last) {
            if (!is_kept() && n_codes(first) * stride_ > kMostEntries) {
                for (size_t lane = 0; lane < crew_->shares.size(); ++lane)
                    exact(layout().few_columns[first], lane);
                ++first;
                continue;
            }
            size_t next = is_kept() ? look_up(first, last) : count(first, last);
            bounds_.resize((next - first) * crew_->n_lanes);
            for (size_t k = first; k < next; ++k) bound_column(k, k - first);
            for (size_t lane = 0; lane < crew_->shares.size(); ++lane)
                search_lane(first, next, lane, scratch, findings[lane], exact);
            first = next;
        }
    }

private:
    static constexpr size_t kEntries = 1 << 15;  // filled together: they stay in cache
    static constexpr size_t kMostEntries = 1 << 22;
    static constexpr size_t kFewCategories = 5;  // of more, too many subsets would be looked at
    static constexpr double kUnbounded = std::numeric_limits<double>::infinity();

    const Layout& layout() const { return crew_->group->layout; }
    bool is_kept() const { return !crew_->group->kept.empty(); }
    size_t n_codes(size_t k) const { return layout().few_starts[k + 1] - layout().few_starts[k]; }
    const Column& column_of(size_t k) const {
        return layout().table->columns[layout().few_columns[k]];
    }

    // Classes that somebody has, or all, as in kept histograms.
    void list_labels() {
        size_t n_classes = crew_->views[0].totals.slots.size();
        label_start_.assign(n_classes, 0);
        for (const NodeView<Target>& view : crew_->views)
            for (size_t k = 0; k < n_classes; ++k)
                label_start_[k] |= static_cast<uint32_t>(view.totals.slots[k] != 0);
        classes_.clear();
        for (size_t k = 0; k < n_classes; ++k) {
            if (label_start_[k] == 0 && !is_kept()) continue;
            label_start_[k] = static_cast<uint32_t>(classes_.size() * crew_->n_slots);
            classes_.push_back(k);
        }
    }

    void prepare_lanes() {
        n_vectors_ = crew_->n_lanes / 4;
        n_.assign(crew_->n_lanes, std::numeric_limits<double>::quiet_NaN());
        squares_.assign(crew_->n_lanes);
        smallest_.assign(crew_->n_lanes, 1.0);
        lane_totals_.assign(classes_.size() * n_vectors_, Lanes{});
        for (size_t lane = 0; lane < crew_->shares.size(); ++lane) {
            const NodeView<Target>& view = crew_->views[lane];
            n_[lane] = static_cast<double>(view.totals.rows);
            squares_[lane] = view.squares;
            smallest_[lane] =
                static_cast<double>(std::max<int64_t>(1, view.rules.min_samples_leaf));
            for (size_t c = 0; c < classes_.size(); ++c)
                lane_totals_[c * n_vectors_ + lane / 4][lane % 4] =
                    static_cast<double>(view.totals.slots[classes_[c]]);
        }
    }

    // Fills histograms of as many columns as fit; returns the first that does not.
    size_t count(size_t first, size_t last) {
        size_t n_entries = 0, next = first;
        starts_.clear();
        do {
            starts_.push_back(static_cast<uint32_t>(n_entries));
            n_entries += n_codes(next) * stride_;
        } while (++next < last && n_entries + n_codes(next) * stride_ <= kEntries);
        counted_.assign(n_entries, 0);
        histogram_ = counted_.data();
        all_.resize(n_entries / crew_->n_slots);
        std::span<const uint32_t> rows = layout().rows;
        RowCells cells(starts_, stride_);
        visit_lines(
            layout(), rows.size(), first, [rows](size_t i) -> size_t { return rows[i]; },
            [&cells, entries = counted_.data(), offsets = offset_.data()](size_t i,
                                                                          const uint8_t* codes) {
                uint32_t* place = entries + offsets[i];
                cells.visit(codes, [place](uint32_t offset) { ++place[offset]; });
            });
        return next;
    }

    // The same where the group has kept them.
    size_t look_up(size_t first, size_t last) {
        const uint32_t* starts = layout().few_starts.data();
        starts_.clear();
        for (size_t k = first; k < last; ++k)
            starts_.push_back(static_cast<uint32_t>((starts[k] - starts[first]) * stride_));
        histogram_ = crew_->group->kept.entries.data() + starts[first] * stride_;
        all_.resize((starts[last] - starts[first]) * classes_.size());
        return last;
    }

    // An upper bound of the quality of a column's cuts or sets for each lane, all lanes at once.
    void bound_column(size_t column, size_t k) {
        const Column& source = column_of(column);
        make_lane_lines(column, k);
        double* bounds = bounds_.data() + k * crew_->n_lanes;
        bool has_missing = !used_.empty() && used_.back() == source.missing_code();
        if (used_.size() < 2) {
            std::fill_n(bounds, crew_->n_lanes, -kUnbounded);
            return;
        }
        if (source.is_categorical && used_.size() <= kFewCategories)
            bound_subsets();
        else if (source.is_categorical || has_missing)
            bound_groups();
        else if (classes_.size() == 2)
            bound_cuts_of_two();
        else
            bound_cuts();
        std::copy_n(reinterpret_cast<const double*>(best_.data()), crew_->n_lanes, bounds);
    }

    // lane_lines_: (used code, label, lane) rows.
    void make_lane_lines(size_t column, size_t k) {
        size_t n_labels = classes_.size(), n = n_codes(column), n_slots = crew_->n_slots;
        used_.clear(), used_all_.clear();
        lane_lines_.resize(n * n_labels * n_vectors_);
        Lanes* lanes = lane_lines_.data();
        const uint32_t* slots = histogram_ + starts_[k];
        uint32_t* all = all_.data() + starts_[k] / n_slots;
        for (uint32_t code = 0; code < n; ++code, slots += stride_, all += n_labels) {
            uint32_t any = 0;
            for (size_t c = 0; c < n_labels; ++c) {
                all[c] = crew_->to_lanes(slots + c * n_slots, lanes + c * n_vectors_);
                any |= all[c];
            }
            if (any == 0) continue;
            used_.push_back(code);
            used_all_.push_back(all);
            lanes += n_labels * n_vectors_;
        }
    }
    // Of used code i; nothing is there where it has no row of the label.
    const Lanes* line(size_t i, size_t label) const {
        return lane_lines_.data() + (i * classes_.size() + label) * n_vectors_;
    }
    Lanes rows(size_t i, size_t label, size_t v) const {
        return used_all_[i][label] == 0 ? Lanes{} : line(i, label)[v];
    }

    // The best of all cuts. Two labels: TwoClassScan has the algebra.
    void bound_cuts_of_two() {
        best_.assign(crew_->n_lanes, -kUnbounded);
        for (size_t v = 0; v < n_vectors_; ++v) {
            Lanes n = n_.data()[v], n1 = lane_totals_[n_vectors_ + v], at{}, ones{};
            Lanes most = best_.data()[v], smallest = smallest_.data()[v];
            for (size_t i = 0; i + 1 < used_.size(); ++i) {
                Lanes added = rows(i, 1, v);
                ones += added;
                at += rows(i, 0, v) + added;
                Lanes d = n * ones - at * n1, quality = d * d / (at * (n - at));
                LaneMask counts = (at >= smallest) & (n - at >= smallest) & (quality > most);
                most = counts ? quality : most;
            }
            best_.data()[v] = (squares_.data()[v] + 2 * most) / n;
        }
    }
    void bound_cuts() {
        start_bound();
        for (size_t i = 0; i + 1 < used_.size(); ++i) {
            move_line(i, 1.0);
            raise_bound();
        }
    }
    // The best of all divisions of the categories in two (the missing rows as one of them), in Gray order: one
    // category changes sides at each step; the last one stays on the right.
    void bound_subsets() {
        start_bound();
        for (uint32_t step = 1; step < uint32_t{1} << (used_.size() - 1); ++step) {
            auto changed = static_cast<size_t>(std::countr_zero(step));
            bool is_added = ((step ^ step >> 1) >> changed & 1) != 0;
            move_line(changed, is_added ? 1.0 : -1.0);
            raise_bound();
        }
    }
    // No division in two is better than one into all groups: the quality is convex.
    void bound_groups() {
        best_.assign(crew_->n_lanes);
        for (size_t i = 0; i < used_.size(); ++i)
            for (size_t v = 0; v < n_vectors_; ++v) {
                Lanes squares{}, all{};
                for (size_t c = 0; c < classes_.size(); ++c) {
                    Lanes x = rows(i, c, v);
                    squares += x * x;
                    all += x;
                }
                best_.data()[v] += all > 0 ? squares / all : Lanes{};
            }
    }

    void start_bound() {
        left_.assign(classes_.size() * n_vectors_, Lanes{});
        a_.assign(crew_->n_lanes), b_.assign(crew_->n_lanes), n_left_.assign(crew_->n_lanes);
        best_.assign(crew_->n_lanes, -kUnbounded);
    }
    void move_line(size_t i, double sign) {
        const uint32_t n_labels = static_cast<uint32_t>(classes_.size());
        for (size_t v = 0; v < n_vectors_; ++v) {
            Lanes a = a_.data()[v], b = b_.data()[v], n_left = n_left_.data()[v];
            const Lanes* lines = line(i, 0) + v;
            for (size_t c = 0; c < n_labels; ++c) {
                if (used_all_[i][c] == 0) continue;
                Lanes x = lines[c * n_vectors_] * sign, &left = left_[c * n_vectors_ + v];
                a += x * (2 * left + x);
                b += x * lane_totals_[c * n_vectors_ + v];
                left += x;
                n_left += x;
            }
            a_.data()[v] = a, b_.data()[v] = b, n_left_.data()[v] = n_left;
        }
    }
    // The quality of what is on the left, where both sides are large enough (ClassScan has the algebra).
    void raise_bound() {
        for (size_t v = 0; v < n_vectors_; ++v) {
            Lanes n = n_.data()[v], n_left = n_left_.data()[v], n_right = n - n_left;
            Lanes reached = a_.data()[v] * n + (squares_.data()[v] - 2 * b_.data()[v]) * n_left;
            Lanes quality = reached / (n_left * n_right);
            LaneMask counts = (n_left >= smallest_.data()[v]) & (n_right >= smallest_.data()[v]) &
                              (quality > best_.data()[v]);
            best_.data()[v] = counts ? quality : best_.data()[v];
        }
    }

    // The most promising columns first; the others then seldom can win. The bound of a numeric column is the quality
    // of one of its cuts.
    template <class Exact>
    void search_lane(size_t first, size_t next, size_t lane, Scratch<int64_t>& scratch,
                     Findings& findings, Exact&& exact) {
        bool is_prepared = false;
        for (;;) {
            size_t best = 0;
            double bound = -kUnbounded;
            for (size_t k = 0; k < next - first; ++k)
                if (double other = bounds_[k * crew_->n_lanes + lane]; other > bound)
                    best = k, bound = other;
            if (bound == -kUnbounded || bound * (1 + kSlack) < findings.floor) return;
            if (!is_prepared) groups_.prepare_labels(crew_->views[lane], classes_);
            is_prepared = true;
            bounds_[best * crew_->n_lanes + lane] = -kUnbounded;
            scan(first + best, best, lane, bound, scratch, findings, exact);
        }
    }

    template <class Exact>
    void scan(size_t k, size_t at, size_t lane, double bound, Scratch<int64_t>& scratch,
              Findings& findings, Exact&& exact) {
        uint32_t column_at = layout().few_columns[k];
        const Column& column = column_of(k);
        make_lines(k, at, lane);
        if (codes_.size() < 2) return;
        if (column.is_categorical) return scan_categories(column_at, lane, scratch, findings);
        if (codes_.back() == column.missing_code()) {
            exact(column_at, lane);
            return;
        }
        bool has_missing = all_of(at, column.missing_code()) != 0;
        if (!has_missing) findings.floor = std::max(findings.floor, bound * (1 - kSlack));
        auto line_at = [&](size_t i) { return lines_.data() + i * classes_.size(); };
        groups_.scan_cuts(crew_->views[lane], column_at, codes_, line_at, findings);
    }

    // Rows of one code, for anybody.
    uint32_t all_of(size_t at, uint32_t code) const {
        const uint32_t* all = all_.data() + starts_[at] / crew_->n_slots + code * classes_.size();
        return std::accumulate(all, all + classes_.size(), 0u);
    }

    // One lane's own histogram: its codes, and a line for each.
    void make_lines(size_t k, size_t at, size_t lane) {
        size_t n_labels = classes_.size(), n = n_codes(k), n_slots = crew_->n_slots;
        codes_.clear();
        lines_.resize(n * n_labels);
        uint32_t* line = lines_.data();
        const uint32_t* slots = histogram_ + starts_[at];
        const uint32_t* all = all_.data() + starts_[at] / n_slots;
        for (uint32_t code = 0; code < n; ++code, slots += stride_, all += n_labels) {
            uint32_t any = 0;
            for (size_t c = 0; c < n_labels; ++c) {
                line[c] = all[c] == 0 ? 0
                                      : crew_->to_lane(slots + c * n_slots, all[c],
                                                       static_cast<uint32_t>(lane));
                any |= line[c];
            }
            if (any == 0) continue;
            codes_.push_back(code);
            line += n_labels;
        }
    }

    void scan_categories(uint32_t at, size_t lane, Scratch<int64_t>& scratch, Findings& findings) {
        const NodeView<Target>& node = crew_->views[lane];
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

    const Crew<Target>* crew_ = nullptr;
    ClassGroups groups_;
    size_t stride_ = 0, n_vectors_ = 0;
    std::vector<uint32_t> label_start_;  // per class: where in a line its slots begin
    std::vector<size_t> classes_;  // per label
    std::vector<uint32_t> offset_;  // per row of the group: label and slot
    std::vector<uint32_t> starts_;  // per column
    std::vector<uint32_t> counted_;  // here, unless the group has kept it
    const uint32_t* histogram_ = nullptr;  // (column, code, label, slot)
    std::vector<uint32_t> all_;  // (column, code, label): over all slots
    std::vector<uint32_t> used_;  // codes of one column that some row has
    std::vector<const uint32_t*> used_all_;  // where in all_ these are
    std::vector<uint32_t> codes_, lines_;  // of one lane
    std::vector<double> bounds_;  // (column, lane)
    std::vector<Lanes> lane_lines_, lane_totals_, left_;
    LaneArray n_, squares_, smallest_, a_, b_, n_left_, best_;
};

// Numeric columns for means: a line of sums and counts per code.
class SharedMeanHistograms {
public:
    using Target = MeanTarget<2>;

    void prepare(const Crew<Target>& crew) { crew_ = &crew; }

    // A column of the plan's few columns that has no missing value in the group.
    void search(size_t k, SharedMeanScan& scan) {
        const Layout& layout = crew_->group->layout;
        size_t n_vectors = crew_->n_lanes / 4,
               n_codes = layout.few_starts[k + 1] - layout.few_starts[k];
        sums_.assign(n_codes * n_vectors, Lanes{});
        counts_.assign(n_codes * n_vectors, Lanes{});
        factor_.assign(crew_->n_lanes), mean_.assign(crew_->n_lanes);
        for (size_t lane = 0; lane < crew_->shares.size(); ++lane) {
            MeanStep step = step_of(crew_->views[lane]);
            factor_[lane] = step.factor;
            mean_[lane] = step.mean;
        }
        const double* numbers = crew_->views[0].target.y.data();
        for (uint32_t row : layout.rows) {
            size_t line = layout.few_line(row)[k] * n_vectors;
            const Lanes* ones = crew_->line(row);
            double y = numbers[row];
            for (size_t v = 0; v < n_vectors; ++v) {
                sums_[line + v] += ones[v] * (factor_.data()[v] * y - mean_.data()[v]);
                counts_[line + v] += ones[v];
            }
        }
        for (size_t lane = 0; lane < crew_->shares.size(); ++lane)
            scan_lane(layout.few_columns[k], n_codes, lane, scan);
    }

private:
    void scan_lane(uint32_t column, size_t n_codes, size_t lane, SharedMeanScan& scan) {
        size_t n_vectors = crew_->n_lanes / 4, vector = lane / 4, place = lane % 4;
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

    const Crew<Target>* crew_ = nullptr;
    std::vector<Lanes> sums_, counts_;  // (code, lane)
    LaneArray factor_, mean_;
};

}  // namespace treefold
