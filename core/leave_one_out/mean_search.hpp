// The best split of a node for each left-out row, where rows count one and targets are numbers.
//
// With A the sum of y - mean on the left of a cut and z = y_i - mean, leaving out row i makes
//     d = A (n - 1) - z n_r   (i on the left)   or   d = A (n - 1) + z n_l   (i on the right)
// and d^2 / (n_l n_r), with i's side one row smaller, is the quality. So a cut is a candidate only if |A| and the largest
// |z| reach what every left-out row surely has; candidates are tried for all left-out rows at once, in float64 with a bound
// of the error; where two come near each other, exact sums decide.
#pragma once

#include <cmath>
#include <optional>

#include "base/lanes.hpp"
#include "leave_one_out/column_groups.hpp"
#include "leave_one_out/left_out_node.hpp"
#include "leave_one_out/without.hpp"
#include "search/order_view.hpp"
#include "split/categorical.hpp"

namespace treefold {

class MeanSearch {
public:
    using Stats = MeanStats<2>;
    using Slot = Stats::Slot;

    // winner: a cut whose sides both stay large enough whoever leaves, if there is one.
    MeanSearch(const LeftOutNode<Stats>& node, const MemberContext<Stats>& member,
               const Split& winner, WorkerScratch<Stats>& mine)
        : node_(node), member_(member), scratch_(mine), target_(*member.stats),
          n_(static_cast<double>(node.n_rows())) {
        smallest_ = std::max(1.0, static_cast<double>(member.rules->min_samples_leaf));
        smallest_ = std::max(smallest_, std::ceil(member.rules->min_weight_leaf));
        center();
        if (winner.exists() && !winner.is_categorical) find_floor(winner);
    }

    void run(std::vector<Choice>& choices, ChoiceSets& sets) {
        size_t n_left_out = node_.left_out.size();
        choices.assign(n_left_out, {});
        best_.assign(n_left_out, kTooSmall), second_.assign(n_left_out, kTooSmall);
        which_.assign(n_left_out, 0.0);
        const std::vector<Column>& columns = node_.layout.table->columns;
        for (uint32_t at = 0; at < columns.size(); ++at) {
            has_categories_ |= columns[at].is_categorical;
            if (columns[at].is_categorical) continue;
            size_t first = candidates_.size();
            collect(at);
            if (candidates_.size() > first) try_column(at, first);
        }
        for (size_t k = 0; k < n_left_out; ++k) choices[k] = decide(k);
        for (uint32_t at = 0; at < columns.size(); ++at)
            if (columns[at].is_categorical) search_categories(at, choices, sets);
    }

private:
    static constexpr double kTooSmall = -1.0;

    struct Candidate {
        double sum;  // A, in units of the target's grid
        double n_left;
        uint32_t column, code, next_code;
        bool missing_left, saw_missing;
        uint32_t skipped;  // the left-out row whose cut this is not, or UINT32_MAX
        bool has_exact = false;
        Slot exact{};  // sum of the targets on the left
    };

    double value_of(uint32_t row) const { return target_.y[row] * target_.unit; }

    // The error of a sum of up to n terms y - mean: each addition is off by a rounding of at most sum |y - mean|, and
    // the mean by one of its own.
    void center() {
        constexpr double kRounding = 1.0 / (int64_t{1} << 52);
        mean_ = to_double(node_.totals.slots[0]) / n_;
        double spread = 0.0;
        for (uint32_t row : node_.layout.rows) spread += std::fabs(value_of(row) - mean_);
        for (uint32_t row : node_.left_out) {
            own_.push_back(value_of(row) - mean_);
            farthest_ = std::max(farthest_, std::fabs(own_.back()));
        }
        error_ = kRounding * ((n_ + 4) * spread + 2 * n_ * std::fabs(mean_));
        product_error_ = n_ * (error_ + 4 * kRounding * (spread + std::fabs(mean_)));
    }

    // d^2 / (n_l n_r) as above, for a left-out row on one side: d = base + factor z, scale = 1 / (n_l n_r); where a side would
    // be too small the quality is kTooSmall.
    struct Variant {
        double factor, scale, shift;
        bool is_legal() const { return shift == 0.0; }
    };
    struct Formula {
        double base;
        Variant left, right;
        double quality(bool is_left, double own) const {
            const Variant& variant = is_left ? left : right;
            double d = base + own * variant.factor;
            return d * d * variant.scale + variant.shift;
        }
    };
    Formula formula_of(double sum, double n_left) const {
        double n_right = n_ - n_left;
        auto variant = [&](double factor, double left, double right) {
            if (left < smallest_ || right < smallest_) return Variant{0.0, 0.0, kTooSmall};
            return Variant{factor, 1.0 / (left * right), 0.0};
        };
        return {sum * (n_ - 1), variant(-n_right, n_left - 1, n_right),
                variant(n_left, n_left, n_right - 1)};
    }

    // What every left-out row reaches at least, by the winner.
    void find_floor(const Split& winner) {
        const Column& column = node_.layout.table->columns[winner.column];
        auto is_left = [&](uint32_t row) {
            uint32_t code = column.code_of(row);
            return code == column.missing_code() ? winner.missing_left : code <= winner.code;
        };
        double sum = 0.0, n_left = 0.0;
        for (uint32_t row : node_.layout.rows)
            if (is_left(row)) sum += value_of(row) - mean_, n_left += 1.0;
        Formula f = formula_of(sum, n_left);
        double lowest = std::numeric_limits<double>::infinity();
        for (size_t k = 0; k < own_.size(); ++k)
            lowest = std::min(lowest, f.quality(is_left(node_.left_out[k]), own_[k]));
        double off = product_error_ * std::sqrt(std::max(f.left.scale, f.right.scale));
        double root = std::sqrt(std::max(0.0, lowest)) * (1 - kSlack) - off;
        floor_ = root > 0.0 ? root * root : 0.0;
    }

    // Candidates ------------------------------------------------------------------------------

    void collect(uint32_t at) {
        const Layout& layout = node_.layout;
        const Column& column = layout.table->columns[at];
        if (layout.order_of[at] >= 0 && !has_missing(layout, at))
            column.codes.with([&](auto* codes) { collect_ordered(at, codes); });
        else
            collect_listed(at, column);
    }

    template <class Code>
    void collect_ordered(uint32_t at, const Code* codes) {
        const Layout& layout = node_.layout;
        OrderView<Code> order{at, layout.order(at, 0, layout.n_rows), layout.class_bits, codes};
        const uint32_t* words = order.words.data();
        auto value = [&](size_t k) { return value_of(words[k] >> order.bits) - mean_; };
        const LaneMask no_sign = LaneMask{} + INT64_MAX;
        const Lanes zero{};
        Lanes n_left = Lanes{1, 2, 3, 4};
        double sum = 0.0;
        size_t k = 0, last = order.words.size() - 1;
        for (; k + 4 <= last; k += 4, n_left += 4.0) {
            Lanes sums{value(k), value(k + 1), value(k + 2), value(k + 3)};
            sums += __builtin_shuffle(sums, zero, LaneMask{4, 0, 1, 2});
            sums += __builtin_shuffle(sums, zero, LaneMask{4, 4, 0, 1});
            sums += sum;
            Lanes size = reinterpret_cast<Lanes>(reinterpret_cast<LaneMask>(sums) & no_sign);
            uint64_t hits = lane_bits(can_win(size, n_left));
            for (; hits != 0; hits &= hits - 1) {
                auto lane = static_cast<size_t>(std::countr_zero(hits));
                add_ordered(order, k + lane, sums[lane]);
            }
            sum = sums[3];
        }
        for (; k < last; ++k) {
            sum += value(k);
            Lanes size = Lanes{} + std::fabs(sum), at_k = Lanes{} + static_cast<double>(k + 1);
            if (lane_bits(can_win(size, at_k)) != 0) add_ordered(order, k, sum);
        }
    }
    LaneMask can_win(Lanes size, Lanes n_left) const {
        Lanes n_right = n_ - n_left, base = (size + error_) * (n_ - 1);
        Lanes on_left = base + farthest_ * n_right, on_right = base + farthest_ * n_left;
        Lanes limit = (floor_ * (1 - kSlack)) * (n_left * n_right);
        return ((on_left * on_left >= limit - (floor_ * n_right)) & (n_left > smallest_)) |
               ((on_right * on_right >= limit - (floor_ * n_left)) & (n_right > smallest_));
    }
    template <class Code>
    void add_ordered(const OrderView<Code>& order, size_t k, double sum) {
        if (order.code(k) == order.code(k + 1)) return;
        double n_left = static_cast<double>(k + 1);
        if (n_left < smallest_ || n_ - n_left < smallest_) return;
        candidates_.push_back(
            {sum, n_left, order.column, order.code(k), order.code(k + 1), true, false, UINT32_MAX});
    }

    void collect_listed(uint32_t at, const Column& column) {
        CutLister<Stats>(node_.layout, at, target_, scratch_.search, cuts_).run();
        for (size_t k = 0; k < cuts_.size(); ++k) {
            const Cut& cut = cuts_.cuts[k];
            const Slot& exact = *cuts_.slots(k, 1);
            double n_left = static_cast<double>(cut.rows_left);
            double sum = to_double(exact) - n_left * mean_;
            if (lane_bits(can_win(Lanes{} + std::fabs(sum), Lanes{} + n_left)) == 0) continue;
            uint32_t skipped = UINT32_MAX;
            if (is_no_cut(cuts_, cut, cut.code))
                for (size_t each = 0; each < node_.left_out.size(); ++each)
                    if (column.code_of(node_.left_out[each]) == cut.code)
                        skipped = static_cast<uint32_t>(each);
            candidates_.push_back({sum, n_left, at, cut.code, cut.next_code, cut.missing_left,
                                   cuts_.n_missing != 0, skipped, true, exact});
        }
    }

    // Trying candidates -----------------------------------------------------------------------

    // All candidates of a column, from the first on, for all left-out rows.
    void try_column(uint32_t at, size_t first) {
        const Column& column = node_.layout.table->columns[at];
        size_t n_left_out = own_.size();
        codes_.resize(n_left_out), codes_with_missing_.resize(n_left_out);
        for (size_t k = 0; k < n_left_out; ++k) {
            uint32_t code = column.code_of(node_.left_out[k]);
            codes_[k] = code;
            codes_with_missing_[k] = code == column.missing_code() ? -1.0 : code;
        }
        for (size_t at_candidate = first; at_candidate < candidates_.size(); ++at_candidate)
            try_candidate(at_candidate);
    }
    void try_candidate(size_t at) {
        const Candidate& candidate = candidates_[at];
        Formula f = formula_of(candidate.sum, candidate.n_left);
        largest_scale_ = std::max({largest_scale_, f.left.scale, f.right.scale});
        const double* codes = (candidate.missing_left ? codes_with_missing_ : codes_).data();
        const double *own = own_.data(), code = candidate.code, number = static_cast<double>(at);
        double *best = best_.data(), *second = second_.data(), *which = which_.data();
        double kept_best = 0.0, kept_second = 0.0, kept_which = 0.0;
        bool skips = candidate.skipped != UINT32_MAX;
        if (skips)
            kept_best = best[candidate.skipped], kept_second = second[candidate.skipped],
            kept_which = which[candidate.skipped];
        size_t n_left_out = own_.size();
        for (size_t k = 0; k < n_left_out; ++k) {
            bool is_left = codes[k] <= code;
            double d = f.base + own[k] * (is_left ? f.left.factor : f.right.factor);
            double quality = d * d * (is_left ? f.left.scale : f.right.scale) +
                             (is_left ? f.left.shift : f.right.shift);
            double lower = quality < best[k] ? quality : best[k];
            second[k] = second[k] > lower ? second[k] : lower;
            which[k] = quality > best[k] ? number : which[k];
            best[k] = quality > best[k] ? quality : best[k];
        }
        if (skips)
            best[candidate.skipped] = kept_best, second[candidate.skipped] = kept_second,
            which[candidate.skipped] = kept_which;
    }

    // Deciding --------------------------------------------------------------------------------

    Choice decide(size_t place) {
        if (best_[place] < 0.0) return {};
        is_known_ = false;
        double off = 2 * product_error_ * std::sqrt(largest_scale_) * (1 + kSlack);
        double root = std::sqrt(best_[place]);
        double reached = root * (1 - kSlack) - off;
        bool is_clear = reached > 0.0 && second_[place] < reached * reached;
        if (is_clear) {
            Candidate& candidate = candidates_[static_cast<size_t>(which_[place])];
            double quality = has_categories_ ? exact_quality(candidate, place) : best_[place];
            return make_choice(candidate, quality);
        }
        double least = reached > 0.0 ? reached * reached : 0.0;
        return decide_exactly(place, least);
    }

    Choice decide_exactly(size_t place, double least) {
        Choice choice;
        const Candidate* chosen = nullptr;
        uint32_t column = UINT32_MAX, code = 0;
        for (size_t k = 0; k < candidates_.size(); ++k) {
            Candidate& candidate = candidates_[k];
            if (candidate.skipped == place) continue;
            if (candidate.column != column) {
                column = candidate.column;
                code = node_.layout.table->columns[column].code_of(node_.left_out[place]);
            }
            Formula f = formula_of(candidate.sum, candidate.n_left);
            bool is_left = sends_left(candidate, code);
            double quality = f.quality(is_left, own_[place]);
            if (quality < least || !(is_left ? f.left : f.right).is_legal()) continue;
            quality = exact_quality(candidate, place);
            if (chosen == nullptr || quality > choice.quality)
                choice = make_choice(candidate, quality), chosen = &candidate;
        }
        return choice;
    }
    bool sends_left(const Candidate& candidate, uint32_t code) const {
        bool is_missing = code == node_.layout.table->columns[candidate.column].missing_code();
        return is_missing ? candidate.missing_left : code <= candidate.code;
    }
    static Choice make_choice(const Candidate& candidate, double quality) {
        return {quality, candidate.column,       candidate.code,       candidate.next_code,
                0,       candidate.missing_left, candidate.saw_missing};
    }

    // By the one function that decides. Of one left-out row, equal sums have equal quality, on whichever side they stand.
    double exact_quality(Candidate& candidate, size_t place) {
        if (!candidate.has_exact) add_up_column(candidate.column);
        uint32_t row = node_.left_out[place];
        const Column& column = node_.layout.table->columns[candidate.column];
        bool is_left = sends_left(candidate, column.code_of(row));
        Slot left = candidate.exact, right = node_.totals.slots[0] - left;
        auto n_left = static_cast<int64_t>(candidate.n_left);
        int64_t n_right = node_.totals.rows - n_left;
        (is_left ? left : right) -= target_.product(row);
        --(is_left ? n_left : n_right);
        bool is_same = is_known_ && ((n_left == known_rows_ && left == known_sum_) ||
                                     (n_right == known_rows_ && right == known_sum_));
        if (!is_same) {
            ++scratch_.work.split_evaluations;
            known_quality_ = target_.quality({n_left, &left}, {n_right, &right}, {}, unused_);
        }
        is_known_ = true, known_rows_ = n_left, known_sum_ = left;
        return known_quality_;
    }

    // The exact sums of all candidates of an ordered column.
    void add_up_column(uint32_t at) {
        auto first = std::find_if(candidates_.begin(), candidates_.end(),
                                  [&](const Candidate& each) { return each.column == at; });
        Slot sum{};
        double n_left = 0.0;
        for (uint32_t word : node_.layout.order(at, 0, node_.layout.n_rows)) {
            sum += target_.product(word >> node_.layout.class_bits);
            n_left += 1.0;
            if (first->n_left != n_left) continue;
            first->exact = sum, first->has_exact = true;
            if (++first == candidates_.end() || first->column != at) return;
        }
    }

    // Categories ------------------------------------------------------------------------------

    void search_categories(uint32_t at, std::vector<Choice>& choices, ChoiceSets& sets) {
        const Column& column = node_.layout.table->columns[at];
        Scratch<Slot>& scratch = scratch_.search;
        reserve_histogram(scratch, column.n_codes, 1);
        for (uint32_t row : node_.layout.rows) {
            scratch.histogram.cells()[column.codes[row]] += target_.product(row);
            ++scratch.histogram_rows[column.codes[row]];
        }
        variances_.resize(choices.size());
        for (size_t k = 0; k < choices.size(); ++k) {
            // Without its allowance for chance, which asks for the variance, a set has not less quality.
            Split found = search_without(at, column, node_.left_out[k], {});
            if (!found.exists() || !choices[k].is_beaten_by(found.quality, at)) continue;
            if (member_.rules->min_samples_category > 1) {
                found = search_without(at, column, node_.left_out[k], variance_without(k));
                if (!choices[k].is_beaten_by(found.quality, at)) continue;
            }
            choices[k] = {found.quality,
                          at,
                          0,
                          0,
                          static_cast<uint32_t>(sets.size()),
                          found.missing_left,
                          found.saw_missing,
                          found.unseen};
            sets.push_back(found.left_set);
        }
        clear_histogram(scratch, column.n_codes, 1);
    }

    Scaled variance_without(size_t place) {
        std::optional<Scaled>& variance = variances_[place];
        if (!variance)
            variance =
                describe_without(node_, node_.left_out[place], target_, scratch_.search.scaled)
                    .description.variance;
        return *variance;
    }

    Split search_without(uint32_t at, const Column& column, uint32_t row, Scaled variance) {
        Scratch<Slot>& scratch = scratch_.search;
        uint32_t code = column.codes[row];
        Slot own = target_.product(row);
        Stats::Totals totals = node_.totals;
        totals.slots[0] -= own, --totals.rows;
        scratch.histogram.cells()[code] -= own, --scratch.histogram_rows[code];
        scratch.present.clear();
        for (uint32_t each = 0; each < column.n_codes; ++each)
            if (scratch.histogram_rows[each] != 0) scratch.present.push_back(each);
        scratch_.findings.reset();
        Stats::Context context;
        NodeView<Stats> view{target_, *member_.rules, totals, context, node_.layout.rows, 0, 0};
        view.variance = variance;
        CategoricalScan<Stats>(view, at, column.n_codes, scratch, scratch_.findings).run();
        scratch.histogram.cells()[code] += own, ++scratch.histogram_rows[code];
        return std::move(scratch_.findings.best);
    }

    const LeftOutNode<Stats>& node_;
    const MemberContext<Stats>& member_;
    WorkerScratch<Stats>& scratch_;
    const Stats& target_;
    double n_, smallest_ = 1.0;
    double mean_ = 0.0, farthest_ = 0.0;  // of the target, of the left-out rows from it
    double error_ = 0.0, product_error_ = 0.0;  // of a sum A, of d
    double floor_ = 0.0, largest_scale_ = 0.0;
    bool has_categories_ = false;
    std::vector<double> own_;  // z, per left-out row
    std::vector<std::optional<Scaled>> variances_;  // of the node without each left-out row
    std::vector<Candidate> candidates_;  // in the order of the tie rule
    Cuts<Slot> cuts_;
    std::vector<double> codes_, codes_with_missing_;  // of one column, per left-out row
    std::vector<double> best_, second_,
        which_;  // per left-out row: qualities, and the number of the best
    bool is_known_ = false;
    int64_t known_rows_ = 0;
    Slot known_sum_{};
    double known_quality_ = 0.0;
    std::vector<int64_t> unused_;
};

}  // namespace treefold
