// Dense columns with few codes, for all shares of a group and classes: one histogram by code, class and slot, out of which
// each share's own is made by taking away what does not count for it (members.hpp).
#pragma once

#include "family/cut_bounds.hpp"
#include "family/shared_scans.hpp"
#include "search/cut_filter.hpp"

namespace treefold {

class SharedClassHistograms {
public:
    using Stats = ClassStats<int64_t>;

    void prepare(const LaneMembers<Stats>& members) {
        members_ = &members;
        list_labels();
        is_small_ = members.group->n_rows() <= VectorTraits<FloatLanes>::kMostRows;
        slack_ = is_small_ ? VectorTraits<FloatLanes>::kSlack : kSlack;
        with_bounds([&](auto& bounds) { bounds.prepare(members, classes_); });
        stride_ = members.n_slots * classes_.size();
        if (!members.group->kept.empty()) return;
        const Words& rows = layout().rows;
        const int32_t* classes = members.views[0].stats.classes.data();
        offset_.resize(rows.size());
        for (size_t k = 0; k < rows.size(); ++k)
            offset_[k] = label_start_[static_cast<size_t>(classes[rows[k]])] +
                         members.slot_of(members.group->pattern_of[k]);
    }

    size_t n_labels() const { return classes_.size(); }

    // Of the columns first .. last - 1 of the plan's few columns, those that can have the best cut of somebody.
    void list_promising(size_t first, size_t last, const std::vector<Findings>& findings,
                        std::vector<size_t>& columns) {
        columns.clear();
        size_t numeric = std::clamp(layout().n_few_numeric, first, last);
        if (filters(first, numeric)) {
            filter(first, numeric, findings, columns);
            first = numeric;
        }
        for (; first < last; ++first) columns.push_back(first);
    }

    // Columns first .. last - 1 of the plan's few columns; exact(column, lane) where only the exact scans can decide.
    template <class Exact>
    void search(size_t first, size_t last, Scratch<int64_t>& scratch,
                std::vector<Findings>& findings, Exact&& exact) {
        while (first < last) {
            if (!is_kept() && n_lines(first) * stride_ > kMostEntries) {
                for (size_t lane = 0; lane < members_->shares.size(); ++lane)
                    exact(layout().few_columns[first], lane);
                ++first;
                continue;
            }
            size_t next = is_kept() ? look_up(first, last) : count(first, last);
            bounds_.resize((next - first) * members_->n_lanes);
            with_bounds([&](auto& bounds) {
                for (size_t k = first; k < next; ++k) {
                    size_t start = starts_[k - first];
                    bounds.bound(column_of(k), histogram_ + start,
                                 all_.data() + start / members_->n_slots,
                                 bounds_.data() + (k - first) * members_->n_lanes);
                }
            });
            for (size_t lane = 0; lane < members_->shares.size(); ++lane)
                search_lane(first, next, lane, scratch, findings[lane], exact);
            first = next;
        }
    }

private:
    static constexpr size_t kEntries =
        1 << 17;  // filled together: they stay in a cache of half a megabyte
    static constexpr size_t kMostEntries = 1 << 22;
    static constexpr size_t kMostKeys = 1 << 11;
    static constexpr double kUnbounded = std::numeric_limits<double>::infinity();

    const Layout& layout() const { return members_->group->layout; }
    bool is_kept() const { return !members_->group->kept.empty(); }
    size_t n_lines(size_t k) const { return layout().few_starts[k + 1] - layout().few_starts[k]; }
    const Column& column_of(size_t k) const {
        return layout().table->columns[layout().few_columns[k]];
    }

    // Is it less work to look for those that can win first?
    bool filters(size_t first, size_t last) {
        size_t n_rows = layout().rows.size(), n_lanes = members_->shares.size(),
               n_labels = classes_.size();
        if (first == last || is_kept() || n_rows > kFilteredRows ||
            n_labels * members_->n_slots > kMostKeys)
            return false;
        filter_.choose(layout(), first, last);
        size_t filtering = filter_.expect_work(n_rows, n_labels, n_lanes),
               preparing = 100 * (n_lanes + 3) + 2 * n_labels * members_->n_slots;
        size_t n_vectors = (n_lanes + 7) / 8, counting = 3 * filter_.n_columns() * n_rows,
               bounding = filter_.n_codes() * (n_labels * (6 + 6 * n_vectors) + 12 * n_vectors);
        return filtering * 3 / 2 + preparing < counting + bounding;
    }
    void filter(size_t first, size_t last, const std::vector<Findings>& findings,
                std::vector<size_t>& columns) {
        size_t n_lanes = members_->shares.size();
        const SlotNumbers& slots = members_->slots();
        filter_.prepare_group(layout().rows, offset_, classes_.size(), slots.n_slots(), n_lanes);
        for (size_t lane = 0; lane < n_lanes; ++lane) {
            const NodeView<Stats>& view = members_->views[lane];
            filter_.add_searcher(lane, static_cast<size_t>(view.totals.rows),
                                 view.rules.min_samples_leaf,
                                 slots.n_lone() != 0 ? lane : CutFilter::kNoSlot,
                                 [&](size_t label) { return view.totals.slots[classes_[label]]; });
            for (size_t slot = slots.n_lone() + 1; slot < slots.n_used(); ++slot)
                if (members_->ones[slot * members_->n_lanes + lane] == 0.0)
                    filter_.leave_out(lane, slot);
        }
        filter_.run(layout());
        is_promising_.assign(last - first, 0);
        for (size_t lane = 0; lane < n_lanes; ++lane) {
            std::span<const float> best = filter_.best_of(lane);
            double least = CutFilter::least_of(best, findings[lane].floor);
            for (size_t k = 0; k < best.size(); ++k)
                is_promising_[k] |= best[k] > 0 && best[k] >= least;
        }
        for (size_t k = first; k < last; ++k)
            if (is_promising_[k - first] || column_of(k).has_missing) columns.push_back(k);
    }

    // Classes that somebody has, or all, as in kept histograms.
    void list_labels() {
        size_t n_classes = members_->views[0].totals.slots.size();
        label_start_.assign(n_classes, 0);
        for (const NodeView<Stats>& view : members_->views)
            for (size_t k = 0; k < n_classes; ++k)
                label_start_[k] |= static_cast<uint32_t>(view.totals.slots[k] != 0);
        classes_.clear();
        for (size_t k = 0; k < n_classes; ++k) {
            if (label_start_[k] == 0 && !is_kept()) continue;
            label_start_[k] = static_cast<uint32_t>(classes_.size() * members_->n_slots);
            classes_.push_back(k);
        }
    }

    template <class Use>
    void with_bounds(Use&& use) {
        is_small_ ? use(small_bounds_) : use(large_bounds_);
    }

    // Fills histograms of as many columns as fit; returns the first that does not.
    size_t count(size_t first, size_t last) {
        const uint32_t* starts = layout().few_starts.data();
        size_t next = first + 1;
        while (next < last && (starts[next + 1] - starts[first]) * stride_ <= kEntries) ++next;
        lines_of_columns_.set_by_column(layout().few_starts.subspan(first, next - first + 1),
                                        stride_);
        starts_.clear();
        for (size_t k = first; k < next; ++k)
            starts_.push_back(static_cast<uint32_t>(lines_of_columns_.start(k - first)));
        counted_.reset(lines_of_columns_.size());
        histogram_ = counted_.cells();
        all_.resize(counted_.size() / members_->n_slots);
        std::span<const uint32_t> rows = layout().rows;
        counted_.fill_alike(
            0, lines_of_columns_, layout().few_codes_from(first), rows.size(),
            [rows](size_t i) -> size_t { return rows[i]; },
            [offsets = offset_.data()](size_t i) { return offsets[i]; },
            [](uint32_t* cell) { ++*cell; });
        return next;
    }

    // The same where the group has kept them.
    size_t look_up(size_t first, size_t last) {
        const uint32_t* starts = layout().few_starts.data();
        starts_.clear();
        for (size_t k = first; k < last; ++k)
            starts_.push_back(static_cast<uint32_t>((starts[k] - starts[first]) * stride_));
        histogram_ = members_->group->kept.counts.cells() + starts[first] * stride_;
        all_.resize((starts[last] - starts[first]) * classes_.size());
        return last;
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
                if (double other = bounds_[k * members_->n_lanes + lane].best; other > bound)
                    best = k, bound = other;
            if (bound == -kUnbounded || bound * (1 + slack_) < findings.floor) return;
            CutBound& own = bounds_[best * members_->n_lanes + lane];
            own.best = -kUnbounded;
            if (own.second * (1 + slack_) < bound * (1 - slack_)) {
                decide_cut(first + best, best, lane, own.code, findings);
                continue;
            }
            if (!is_prepared) groups_.prepare_labels(members_->views[lane], classes_);
            is_prepared = true;
            scan(first + best, best, lane, bound, scratch, findings, exact);
        }
    }

    // The cut of a numeric column behind this code, for one lane that has rows of it: no other of the column is as good.
    void decide_cut(size_t k, size_t at, size_t lane, uint32_t code, Findings& findings) {
        const NodeView<Stats>& view = members_->views[lane];
        size_t n_labels = classes_.size(), n_slots = members_->n_slots;
        const uint32_t* slots = histogram_ + starts_[at];
        const uint32_t* all = all_.data() + starts_[at] / n_slots;
        auto count = [&](size_t cell) -> uint32_t {
            return all[cell] == 0 ? 0
                                  : members_->to_lane(slots + cell * n_slots, all[cell],
                                                      static_cast<uint32_t>(lane));
        };
        on_left_.assign(n_labels, 0), on_right_.resize(n_labels);
        for (size_t cell = 0; cell < (code + 1) * n_labels;)
            for (size_t c = 0; c < n_labels; ++c, ++cell) on_left_[c] += count(cell);
        for (size_t c = 0; c < n_labels; ++c)
            on_right_[c] = view.totals.slots[classes_[c]] - on_left_[c];
        double quality = class_quality(Criterion::gini, on_left_, on_right_, 0, view.stats.logs);
        if (quality < findings.floor) return;
        size_t cell = (code + 1) * n_labels;  // there is a row behind
        while (count(cell) == 0) ++cell;
        findings.offer(numeric_split(quality, layout().few_columns[k], code,
                                     static_cast<uint32_t>(cell / n_labels)));
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
        bool has_missing = column.has_missing && all_of(at, column.missing_code()) != 0;
        if (!has_missing) findings.floor = std::max(findings.floor, bound * (1 - slack_));
        auto line_at = [&](size_t i) { return lines_.data() + i * classes_.size(); };
        groups_.scan_cuts(members_->views[lane], column_at, codes_, line_at, findings);
    }

    // Rows of one code, for anybody.
    uint32_t all_of(size_t at, uint32_t code) const {
        const uint32_t* all =
            all_.data() + starts_[at] / members_->n_slots + code * classes_.size();
        return std::accumulate(all, all + classes_.size(), 0u);
    }

    // One lane's own histogram: its codes, and a line for each.
    void make_lines(size_t k, size_t at, size_t lane) {
        size_t n_labels = classes_.size(), n = n_lines(k), n_slots = members_->n_slots;
        codes_.clear();
        lines_.resize(n * n_labels);
        uint32_t* line = lines_.data();
        const uint32_t* slots = histogram_ + starts_[at];
        const uint32_t* all = all_.data() + starts_[at] / n_slots;
        for (uint32_t code = 0; code < n; ++code, slots += stride_, all += n_labels) {
            uint32_t any = 0;
            for (size_t c = 0; c < n_labels; ++c) {
                line[c] = all[c] == 0 ? 0
                                      : members_->to_lane(slots + c * n_slots, all[c],
                                                          static_cast<uint32_t>(lane));
                any |= line[c];
            }
            if (any == 0) continue;
            codes_.push_back(code);
            line += n_labels;
        }
    }

    void scan_categories(uint32_t at, size_t lane, Scratch<int64_t>& scratch, Findings& findings) {
        const NodeView<Stats>& node = members_->views[lane];
        const Column& column = layout().table->columns[at];
        size_t width = node.stats.width();
        reserve_histogram(scratch, column.n_codes, width);
        scratch.present.clear();
        for (size_t i = 0; i < codes_.size(); ++i) {
            scratch.histogram_rows[codes_[i]] = groups_.give(
                lines_.data() + i * classes_.size(), scratch.histogram.cells() + codes_[i] * width);
            if (codes_[i] != column.missing_code()) scratch.present.push_back(codes_[i]);
        }
        CategoricalScan<Stats>(node, at, column.n_codes, scratch, findings).run();
        for (uint32_t code : codes_) {
            scratch.histogram_rows[code] = 0;
            std::fill_n(scratch.histogram.cells() + code * width, width, 0);
        }
    }

    const LaneMembers<Stats>* members_ = nullptr;
    CutFilter filter_;
    std::vector<uint8_t> is_promising_;  // per column
    ClassCells groups_;
    size_t stride_ = 0;
    bool is_small_ = false;
    double slack_ = 0;  // of the bounds
    CutBounds<FloatLanes> small_bounds_;
    CutBounds<Lanes> large_bounds_;
    std::vector<uint32_t> label_start_;  // per class: where in a line its slots begin
    std::vector<size_t> classes_;  // per label
    std::vector<uint32_t> offset_;  // per row of the group: label and slot
    std::vector<uint32_t> starts_;  // per column
    HistogramLayout lines_of_columns_;
    Histogram<uint32_t> counted_;  // here, unless the group has kept it
    const uint32_t* histogram_ = nullptr;  // (column, code, label, slot)
    std::vector<uint32_t> all_;  // (column, code, label): over all slots
    std::vector<uint32_t> codes_, lines_;  // of one lane
    std::vector<int64_t> on_left_, on_right_;  // per label
    std::vector<CutBound> bounds_;  // (column, lane)
};

}  // namespace treefold
