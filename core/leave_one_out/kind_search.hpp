// The best split of a node for each left-out row, by kinds: to leave out a row of kind k on the left or on the right makes
// 2K variants of each candidate. A left-out row is on the right of the cuts below its value and on the left of the others,
// so the best variant up to a cut, and from a cut on, give every left-out row its best cut.
#pragma once

#include "leave_one_out/gini_window.hpp"
#include "leave_one_out/without.hpp"
#include "split/categorical.hpp"

namespace treefold {

template <class Stats>
class KindSearch {
public:
    using Slot = typename Stats::Slot;

    // winner: a cut whose sides both stay large enough whoever leaves, if there is one.
    KindSearch(const LeftOutNode<Stats>& node, const MemberContext<Stats>& member,
               const KindsWithout<Stats>& without, const Split& winner, WorkerScratch<Stats>& mine)
        : node_(node), member_(member), without_kinds_(without.sums_without),
          kind_of_(without.kind_of), scratch_(mine), width_(member.stats->width()) {
        if constexpr (kCounts) {
            if (!GiniWindow::serves(*member.rules, *member.stats, node.n_rows())) return;
            is_gini_ = true;
            for (const SumsWithout<Stats>& sums_without_row : without_kinds_)
                labels_.push_back(static_cast<size_t>(
                    std::find(sums_without_row.row.begin(), sums_without_row.row.end(), 1) -
                    sums_without_row.row.begin()));
            double floor = winner.exists() && !winner.is_categorical ? find_floor(winner) : kNone;
            window_.emplace(node.totals.slots, node.totals.rows, member.rules->min_samples_leaf,
                            floor);
        }
    }

    // Whether a winner is of use.
    static bool has_window(const LeftOutNode<Stats>& node, const MemberContext<Stats>& member) {
        if constexpr (kCounts)
            return GiniWindow::serves(*member.rules, *member.stats, node.n_rows());
        else
            return false;
    }

    void run(std::vector<Choice>& choices, ChoiceSets& sets) {
        choices.assign(node_.left_out.size(), {});
        const std::vector<Column>& columns = node_.layout.table->columns;
        for (uint32_t at = 0; at < columns.size(); ++at) {
            if (columns[at].is_categorical)
                search_categories(at, choices, sets);
            else
                search_cuts(at, choices);
        }
    }

private:
    static constexpr bool kCounts = Stats::kCounts;

    // Cuts ------------------------------------------------------------------------------------

    // The best of some cuts for one kind.
    struct Best {
        double quality = -std::numeric_limits<double>::infinity();
        uint32_t cut = UINT32_MAX;
    };

    void search_cuts(uint32_t at, std::vector<Choice>& choices) {
        list_cuts(at);
        if (cuts_.size() == 0) return;
        if constexpr (kCounts)
            if (is_gini_) square_counts();
        size_t n = cuts_.size();
        below_.assign(without_kinds_.size() * (n + 1), {});
        above_.assign(without_kinds_.size() * (n + 1), {});
        missing_.assign(without_kinds_.size(), {});
        bool is_hopeless = true;
        for (size_t kind = 0; kind < without_kinds_.size(); ++kind) {
            find_best(kind);
            can_win_[kind] = floors_.empty() || top_of(kind) >= floors_[kind];
            is_hopeless &= !can_win_[kind];
        }
        if (is_hopeless) return;
        const Column& column = node_.layout.table->columns[at];
        auto offer_all = [&](auto&& code_of) {
            for (size_t k = 0; k < choices.size(); ++k) {
                if (!can_win_[kind_of_[k]]) continue;
                uint32_t code = code_of(node_.left_out[k]);
                offer(at, find_for(kind_of_[k], code, code == column.missing_code()), choices[k]);
            }
        };
        if (column.is_sparse)
            offer_all([&](uint32_t row) { return column.code_of(row); });
        else
            column.codes.with([&](auto* codes) {
                offer_all([&](uint32_t row) { return static_cast<uint32_t>(codes[row]); });
            });
    }

    // The best that any left-out row of a kind can have in this column.
    double top_of(size_t kind) const {
        size_t n = cuts_.size();
        return std::max({below_[kind * (n + 1) + n].quality, above_[kind * (n + 1)].quality,
                         missing_[kind].quality});
    }

    void list_cuts(uint32_t at) {
        const Layout& layout = node_.layout;
        const Column& column = layout.table->columns[at];
        if constexpr (kCounts) {
            bool is_ordered = layout.order_of[at] >= 0;
            if (is_gini_ && is_ordered && !has_missing(layout, at)) {
                cuts_.clear();
                column.codes.with([&]<class Code>(const Code* codes) {
                    OrderView<Code> order{at, layout.order(at, 0, layout.n_rows), layout.class_bits,
                                          codes};
                    window_->collect(order, cuts_);
                });
                return;
            }
        }
        CutLister<Stats>(layout, at, *member_.stats, scratch_.search, cuts_).run();
    }

    // What left-out rows reach by a cut: those of each kind, and all.
    double find_floor(const Split& winner) {
        const Column& column = node_.layout.table->columns[winner.column];
        cuts_.clear();
        std::vector<Slot> left(width_);
        int64_t rows_left = 0;
        for (uint32_t row : node_.layout.rows) {
            uint32_t code = column.code_of(row);
            bool is_missing = code == column.missing_code();
            if (is_missing ? !winner.missing_left : code > winner.code) continue;
            member_.stats->add(row, left.data());
            ++rows_left;
        }
        cuts_.add({winner.code, winner.next_code, rows_left, true}, left.data(), width_);
        square_counts();
        for (size_t kind = 0; kind < without_kinds_.size(); ++kind) {
            floors_.push_back(std::numeric_limits<double>::infinity());
            for (bool is_left : {false, true})
                if (has_kind(kind, 0, is_left))
                    floors_[kind] = std::min(floors_[kind], judge_cut(kind, 0, is_left));
        }
        return *std::min_element(floors_.begin(), floors_.end());
    }

    void find_best(size_t kind) {
        size_t n = cuts_.size();
        Best* below =
            below_.data() + kind * (n + 1);  // of cuts 0 .. j - 1, without a row above them
        Best* above = above_.data() + kind * (n + 1);  // of cuts j .. , without a row below them
        Best& missing = missing_[kind];
        auto take = [](Best& best, const Best& other) {
            if (other.quality > best.quality) best = other;
        };
        for (size_t cut = 0; cut < n; ++cut) {
            auto index = static_cast<uint32_t>(cut);
            Best on_right{judge_cut(kind, cut, false), index};
            above[cut] = {judge_cut(kind, cut, true), index};
            below[cut + 1] = below[cut];
            take(below[cut + 1], on_right);
            if (cuts_.n_missing != 0)
                take(missing, cuts_.cuts[cut].missing_left ? above[cut] : on_right);
        }
        for (size_t cut = n; cut-- > 0;)
            if (above[cut + 1].quality > above[cut].quality) above[cut] = above[cut + 1];
    }

    Best find_for(size_t kind, uint32_t code, bool is_missing) const {
        if (is_missing) return missing_[kind];
        size_t n = cuts_.size();
        auto first = std::partition_point(cuts_.cuts.begin(), cuts_.cuts.end(),
                                          [&](const Cut& cut) { return cut.code < code; });
        auto j = static_cast<size_t>(first - cuts_.cuts.begin());
        bool is_lowest = j == 0 && is_no_cut(cuts_, cuts_.cuts[0], code);
        const Best &below = below_[kind * (n + 1) + j],
                   &above = above_[kind * (n + 1) + (is_lowest ? kNextValue : j)];
        return above.quality > below.quality ? above : below;
    }

    void offer(uint32_t at, const Best& best, Choice& choice) const {
        if (best.cut == UINT32_MAX || best.quality == kNone ||
            !choice.is_beaten_by(best.quality, at))
            return;
        const Cut& cut = cuts_.cuts[best.cut];
        choice = {best.quality,        at, cut.code, cut.next_code, 0, cut.missing_left,
                  cuts_.n_missing != 0};
    }

    // Of a cut without a row of the kind on its left or on its right. Where it has none there, nobody asks.
    double judge_cut(size_t kind, size_t cut, bool is_left) {
        ++scratch_.work.split_evaluations;
        if constexpr (kCounts)
            if (is_gini_) return judge_counts(kind, cut, is_left);
        const SumsWithout<Stats>& sums_without_row = without_kinds_[kind];
        const Slot* slots = cuts_.slots(cut, width_);
        left_.assign(slots, slots + width_);
        int64_t rows_left = cuts_.cuts[cut].rows_left - (is_left ? 1 : 0);
        if (is_left)
            for (size_t k = 0; k < width_; ++k) left_[k] -= sums_without_row.row[k];
        if (Stats::is_classification && lacks(sums_without_row, is_left)) return kNone;
        std::optional<double> quality =
            judge(view_of(sums_without_row), left_, rows_left, scratch_.search, no_floor_);
        return quality.value_or(kNone);
    }

    static bool is_negative(const Slot& rest) {
        if constexpr (std::is_same_v<Slot, int64_t>)
            return rest < 0;
        else
            return rest.is_negative();
    }
    // Has the side no row that could be taken away? left_ is without it, if it stood there.
    bool lacks(const SumsWithout<Stats>& sums_without_row, bool is_left) const {
        for (size_t k = 0; k < width_; ++k) {
            Slot rest =
                is_left ? left_[k] : node_.totals.slots[k] - left_[k] - sums_without_row.row[k];
            if (is_negative(rest)) return true;
        }
        return false;
    }

    // The same by sums of squares, from which one count less takes 2 x - 1: rounding by rounding what class_quality gives.
    double judge_counts(size_t kind, size_t cut, bool is_left) const {
        const Slot* slots = cuts_.slots(cut, width_);
        size_t label = labels_[kind];
        int64_t on_left = slots[label], on_right = node_.totals.slots[label] - on_left;
        int64_t n_left = cuts_.cuts[cut].rows_left, n_right = node_.totals.rows - n_left;
        int64_t left = squares_[2 * cut], right = squares_[2 * cut + 1];
        if (is_left)
            left -= 2 * on_left - 1, --n_left;
        else
            right -= 2 * on_right - 1, --n_right;
        int64_t smallest = std::max<int64_t>(1, member_.rules->min_samples_leaf);
        if (n_left < smallest || n_right < smallest || (is_left ? on_left : on_right) == 0)
            return kNone;
        return static_cast<double>(left) / static_cast<double>(n_left) +
               static_cast<double>(right) / static_cast<double>(n_right);
    }
    bool has_kind(size_t kind, size_t cut, bool is_left) const {
        int64_t on_left = cuts_.slots(cut, width_)[labels_[kind]];
        return is_left ? on_left > 0 : on_left < node_.totals.slots[labels_[kind]];
    }
    void square_counts() {
        squares_.clear();
        for (size_t cut = 0; cut < cuts_.size(); ++cut) {
            const Slot* slots = cuts_.slots(cut, width_);
            int64_t left = 0, right = 0;
            for (size_t k = 0; k < width_; ++k) {
                int64_t on_left = slots[k], on_right = node_.totals.slots[k] - on_left;
                left += on_left * on_left, right += on_right * on_right;
            }
            squares_.push_back(left), squares_.push_back(right);
        }
    }

    NodeView<Stats> view_of(const SumsWithout<Stats>& sums_without_row) const {
        NodeView<Stats> view{*member_.stats,          *member_.rules,
                             sums_without_row.totals, sums_without_row.context,
                             node_.layout.rows,       0,
                             node_.n_rows()};
        view.variance = sums_without_row.description.variance;
        return view;
    }

    // Categories ------------------------------------------------------------------------------

    // Left-out rows of one kind and one category have the same choice.
    void search_categories(uint32_t at, std::vector<Choice>& choices, ChoiceSets& sets) {
        const Column& column = node_.layout.table->columns[at];
        Scratch<Slot>& scratch = scratch_.search;
        reserve_histogram(scratch, column.n_codes, width_);
        for (uint32_t row : node_.layout.rows) {
            uint32_t code = column.codes[row];
            member_.stats->add(row, scratch.histogram.cells() + code * width_);
            ++scratch.histogram_rows[code];
        }
        by_category_.clear();
        for (size_t k = 0; k < choices.size(); ++k)
            by_category_.push_back(
                {column.codes[node_.left_out[k]], kind_of_[k], static_cast<uint32_t>(k)});
        std::sort(by_category_.begin(), by_category_.end());
        Split found;
        uint32_t set = 0;
        for (size_t k = 0; k < by_category_.size(); ++k) {
            auto [code, kind, place] = by_category_[k];
            bool is_new =
                k == 0 || by_category_[k - 1][0] != code || by_category_[k - 1][1] != kind;
            if (is_new) {
                found = search_without(at, column, code, without_kinds_[kind]);
                if (found.exists()) {
                    set = static_cast<uint32_t>(sets.size());
                    sets.push_back(found.left_set);
                }
            }
            if (found.exists() && choices[place].is_beaten_by(found.quality, at))
                choices[place] = {found.quality,     at,          0, 0, set, found.missing_left,
                                  found.saw_missing, found.unseen};
        }
        clear_histogram(scratch, column.n_codes, width_);
    }

    Split search_without(uint32_t at, const Column& column, uint32_t code,
                         const SumsWithout<Stats>& sums_without_row) {
        Scratch<Slot>& scratch = scratch_.search;
        Slot* slots = scratch.histogram.cells() + code * width_;
        for (size_t k = 0; k < width_; ++k) slots[k] -= sums_without_row.row[k];
        --scratch.histogram_rows[code];
        scratch.present.clear();
        for (uint32_t each = 0; each < column.n_codes; ++each)
            if (scratch.histogram_rows[each] != 0) scratch.present.push_back(each);
        scratch_.findings.reset();
        NodeView<Stats> view = view_of(sums_without_row);
        CategoricalScan<Stats>(view, at, column.n_codes, scratch, scratch_.findings).run();
        scratch_.work.split_evaluations += scratch_.findings.n_offered;
        for (size_t k = 0; k < width_; ++k) slots[k] += sums_without_row.row[k];
        ++scratch.histogram_rows[code];
        return std::move(scratch_.findings.best);
    }

    static constexpr size_t kNextValue = 2;  // where the cuts of the second lowest value begin
    static constexpr double kNone = -std::numeric_limits<double>::infinity();

    const LeftOutNode<Stats>& node_;
    const MemberContext<Stats>& member_;
    const std::vector<SumsWithout<Stats>>& without_kinds_;
    const std::vector<uint32_t>& kind_of_;
    WorkerScratch<Stats>& scratch_;
    size_t width_;
    bool is_gini_ = false;  // of plain counts
    std::optional<GiniWindow> window_;
    std::vector<size_t> labels_;  // per kind
    std::vector<double> floors_;  // per kind, what its left-out rows surely reach; or empty
    std::vector<bool> can_win_ =
        std::vector<bool>(without_kinds_.size());  // per kind: in this column?
    std::vector<int64_t> squares_;  // (cut, side): the sum of squared counts
    Findings no_floor_;
    Cuts<Slot> cuts_;
    std::vector<Slot> left_;
    std::vector<Best> below_, above_;  // (kind, cut)
    std::vector<Best> missing_;  // per kind
    std::vector<std::array<uint32_t, 3>> by_category_;  // category, kind, left-out row
};

}  // namespace treefold
