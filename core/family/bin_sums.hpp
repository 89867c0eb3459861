// What the rows of a group add up to, by pattern and bin of one column: what a fork of its members divides.
#pragma once

#include <array>
#include <numeric>

#include "base/random.hpp"
#include "family/group.hpp"

namespace treefold {

// Adds the k-th of some rows to the line of slots that line_of(k) names, and counts the rows of each line. Lines are empty
// before. (Ten folds of Mushroom: 263 us instead of 271 if the weights are looked at for each row of the strata.)
template <class Stats, class LineOf>
void add_each(const Stats& stats, std::span<const uint32_t> rows, LineOf&& line_of,
              std::span<int64_t> n_rows, typename Stats::Slot* slots) {
    size_t width = stats.width();
    if constexpr (Stats::kCounts) {
        if (!stats.weights) {
            const int32_t* classes = stats.classes.data();
            for (size_t k = 0; k < rows.size(); ++k)
                ++slots[line_of(k) * width + static_cast<size_t>(classes[rows[k]])];
            for (size_t line = 0; line < n_rows.size(); ++line, slots += width)
                n_rows[line] = std::accumulate(slots, slots + width, int64_t{0});
            return;
        }
    }
    for (size_t k = 0; k < rows.size(); ++k) {
        size_t line = line_of(k);
        ++n_rows[line];
        stats.add(rows[k], slots + line * width);
    }
}

// Used for column after column.
template <class Stats>
class BinSums {
public:
    using Slot = typename Stats::Slot;

    // The cells of the rows are appended to those of the group. at: which column it is.
    void count(Group<Stats>& group, uint32_t at, const Bins& bins, const Stats& stats) {
        const Column& column = group.layout.table->columns[at];
        n_bins = bins.size();
        begin = group.cells.size();
        group.cells.resize(begin + group.n_rows());
        width_ = stats.width();
        n_rows.assign(group.patterns.size() * n_bins, 0);
        slots_.assign(n_rows.size() * width_, Slot(0));
        n_words_ = column.is_categorical ? column.n_codes / 64 + 1 : 0;
        present_.assign(group.patterns.size() * n_words_, 0);
        const Words& rows = group.layout.rows;
        if (is_kept(group, at))
            look_up(group, at, bins);
        else if (column.is_sparse)
            add_rows(group, stats, bins, [&](size_t k) { return column.code_of(rows[k]); });
        else
            column.codes.with([&](auto* codes) {
                add_rows(group, stats, bins, [&](size_t k) { return uint32_t{codes[rows[k]]}; });
            });
        sum_bins();
    }

    const Slot* slots(size_t cell) const { return slots_.data() + cell * width_; }
    const Slot* bin_slots(size_t bin) const { return bin_slots_.data() + bin * width_; }

    // The categories that a share has.
    std::vector<uint64_t> list_present(const Patterns& patterns, size_t share) const {
        std::vector<uint64_t> present(n_words_);
        for (uint32_t pattern = 0; pattern < patterns.size(); ++pattern)
            if (patterns.has(pattern, share))
                for (size_t k = 0; k < n_words_; ++k)
                    present[k] |= present_[pattern * n_words_ + k];
        return present;
    }

    size_t n_bins = 0, begin = 0;  // begin: in the cells of the group
    std::vector<int64_t> n_rows;  // per cell
    std::vector<int64_t> bin_rows;  // per bin

private:
    // Has the group kept this column, and are there fewer entries than rows to look at?
    bool is_kept(const Group<Stats>& group, uint32_t at) const {
        size_t n_codes = group.layout.table->columns[at].n_codes + 1;
        return !group.kept.empty() && group.layout.few_of[at] >= 0 &&
               n_codes * width_ * group.patterns.size() < group.n_rows();
    }
    // What the group has kept of a column tells what is in the cells; rows only find theirs. (group_histograms.hpp has the
    // gain.)
    void look_up(Group<Stats>& group, uint32_t at, const Bins& bins) {
        const Layout& layout = group.layout;
        const GroupHistogram& kept = group.kept;
        uint32_t n_codes = layout.table->columns[at].n_codes;
        auto n_patterns = static_cast<uint32_t>(group.patterns.size());
        std::array<uint16_t, 256> bin_of{};  // of 255 codes and the missing one, at most
        const uint32_t* line =
            kept.counts.cells() + layout.few_starts[static_cast<size_t>(layout.few_of[at])] *
                                      width_ * kept.slots.n_slots();
        uint32_t n_lines = n_codes + layout.table->columns[at].has_missing;
        for (uint32_t code = 0; code < n_lines; ++code) {
            uint32_t bin = bins.of_code(code);
            bin_of[code] = static_cast<uint16_t>(bin);
            for (size_t k = 0; k < width_; ++k, line += kept.slots.n_slots())
                for (uint32_t pattern = 0; pattern < n_patterns; ++pattern) {
                    uint32_t n = line[kept.slots.of(pattern)];
                    n_rows[pattern * n_bins + bin] += n;
                    slots_[(pattern * n_bins + bin) * width_ + k] += Slot(n);
                    if (n_words_ != 0 && n != 0)
                        present_[pattern * n_words_ + code / 64] |= uint64_t{1} << (code % 64);
                }
        }
        const uint8_t* codes = layout.table->columns[at].codes.narrow.data();
        const uint32_t *pattern_of = group.pattern_of.data(), *rows = layout.rows.data();
        uint32_t* cells = group.cells.data() + begin;
        for (size_t k = 0, n = group.n_rows(); k < n; ++k)
            cells[k] = pattern_of[k] * static_cast<uint32_t>(n_bins) + bin_of[codes[rows[k]]];
    }

    void sum_bins() {
        bin_rows.assign(n_bins, 0);
        bin_slots_.assign(n_bins * width_, Slot(0));
        for (size_t cell = 0; cell < n_rows.size(); cell += n_bins) {
            for (size_t bin = 0; bin < n_bins; ++bin) bin_rows[bin] += n_rows[cell + bin];
            const Slot* own = slots(cell);  // of all bins
            for (size_t k = 0; k < bin_slots_.size(); ++k) bin_slots_[k] += own[k];
        }
    }

    template <class CodeOf>
    void add_rows(Group<Stats>& group, const Stats& stats, const Bins& bins, CodeOf&& code_of) {
        if (n_words_ != 0)
            return add_rows_by(group, stats, code_of, [&](size_t k, uint32_t code) {
                present_[group.pattern_of[k] * n_words_ + code / 64] |= uint64_t{1} << (code % 64);
                return bins.of_code(code);
            });
        if (!bins.is_one_cut())
            return add_rows_by(group, stats, code_of,
                               [&](size_t, uint32_t code) { return bins.of_code(code); });
        add_rows_by(
            group, stats, code_of,
            [cut = bins.representative(0), missing = bins.missing_code()](
                size_t, uint32_t code) -> uint32_t { return (code > cut) + (code == missing); });
    }
    template <class CodeOf, class BinOf>
    void add_rows_by(Group<Stats>& group, const Stats& stats, CodeOf&& code_of, BinOf&& find_bin) {
        uint32_t* cells = group.cells.data() + begin;
        const uint32_t* pattern_of = group.pattern_of.data();
        add_each(
            stats, group.layout.rows,
            [&, n_bins = static_cast<uint32_t>(n_bins)](size_t k) {
                return cells[k] = pattern_of[k] * n_bins + find_bin(k, code_of(k));
            },
            n_rows, slots_.data());
    }

    size_t width_ = 0, n_words_ = 0;
    std::vector<Slot> slots_, bin_slots_;
    std::vector<uint64_t> present_;  // categorical: (pattern, category), as bits
};

}  // namespace treefold
