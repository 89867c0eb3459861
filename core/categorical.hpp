// Sets of categories, exactly: which categories of a node go left.
//
// Two classes or a mean: the best set is a prefix of the order by mean (Breiman et al. 1984), so C categories
// have C - 1 candidates. More classes: every subset up to kExhaustive categories, else prefixes per class.
#pragma once

#include <algorithm>

#include "findings.hpp"

namespace treefold {

template <class Target>
class CategoricalScan {
public:
    using Slot = typename Target::Slot;
    static constexpr size_t kExhaustive = 8;

    // The histogram of the node (scratch.histogram, scratch.histogram_rows) has n_codes categories and,
    // at n_codes, the missing rows.
    CategoricalScan(const NodeView<Target>& node, uint32_t column, uint32_t n_codes, Scratch<Slot>& scratch,
                    Findings& findings)
        : node_(node), column_(column), n_codes_(n_codes), width_(node.target.width()), scratch_(scratch),
          findings_(findings) {
        for (uint32_t code = 0; code < n_codes; ++code)
            if (scratch.histogram_rows[code] != 0) present_.push_back(code);
        missing_rows_ = scratch.histogram_rows[n_codes];
    }

    bool run() {
        if (present_.empty() || present_.size() + (missing_rows_ != 0) < 2) return false;
        if (missing_rows_ != 0) offer(present_, false);
        if (present_.size() < 2) return true;
        if constexpr (!Target::is_classification) {
            try_prefixes(0);
        } else {
            std::vector<size_t> classes = classes_present();
            if (classes.size() <= 2)
                try_prefixes(classes[0]);
            else if (present_.size() <= kExhaustive)
                try_subsets();
            else
                for (size_t k : classes) try_prefixes(k);
        }
        return true;
    }

private:
    Side<Slot> category(uint32_t code) const {
        return {scratch_.histogram_rows[code], scratch_.histogram.data() + code * width_};
    }

    std::vector<size_t> classes_present() const {
        std::vector<size_t> classes;
        for (size_t k = 0; k < width_; ++k)
            if (node_.totals.slots[k] != Slot(0)) classes.push_back(k);
        return classes;
    }

    // Categories of equal share move together.
    void try_prefixes(size_t k) {
        std::vector<std::pair<double, uint32_t>> order;
        for (uint32_t code : present_)
            order.emplace_back(node_.target.share(category(code), k, node_.context, scratch_.scaled), code);
        std::sort(order.begin(), order.end());
        std::vector<uint32_t> prefix;
        for (size_t i = 0; i + 1 < order.size(); ++i) {
            prefix.push_back(order[i].second);
            if (order[i].first != order[i + 1].first) offer_both(prefix);
        }
    }

    void try_subsets() {
        // Bit i of `others` decides about present_[i + 1]; present_[0] is always left.
        std::vector<uint32_t> subset;
        for (uint32_t others = 0; others + 1 < uint32_t{1} << (present_.size() - 1); ++others) {
            subset.assign(1, present_[0]);
            for (size_t i = 1; i < present_.size(); ++i)
                if (others >> (i - 1) & 1) subset.push_back(present_[i]);
            offer_both(subset);
        }
    }

    void offer_both(const std::vector<uint32_t>& codes) {
        if (missing_rows_ != 0) offer(codes, true);
        offer(codes, false);
    }

    // `codes` and, where asked, the missing rows against the rest.
    void offer(const std::vector<uint32_t>& codes, bool with_missing) {
        scratch_.left.assign(width_, Slot(0));
        int64_t rows = 0;
        for (uint32_t code : codes) add(code, rows);
        if (with_missing) add(n_codes_, rows);
        int64_t others = node_.totals.rows - rows;
        if (rows < node_.rules.min_samples_leaf || others < node_.rules.min_samples_leaf) return;
        scratch_.right = node_.totals.slots;
        for (size_t k = 0; k < width_; ++k) scratch_.right[k] -= scratch_.left[k];
        Side<Slot> a{rows, scratch_.left.data()}, b{others, scratch_.right.data()};
        if (!weighs_enough(a) || !weighs_enough(b)) return;
        double quality = node_.target.quality(a, b, node_.context, scratch_.scaled);
        if (quality < findings_.best.quality) return;
        findings_.offer(make_split(codes, with_missing, quality));
    }

    void add(uint32_t code, int64_t& rows) {
        Side<Slot> side = category(code);
        rows += side.rows;
        for (size_t k = 0; k < width_; ++k) scratch_.left[k] += side.slots[k];
    }

    // Normalised: the left set holds the lowest category present.
    Split make_split(const std::vector<uint32_t>& codes, bool with_missing, double quality) const {
        Split split;
        split.quality = quality;
        split.column = column_;
        split.is_categorical = true;
        split.saw_missing = missing_rows_ != 0;
        split.left_set.assign(n_codes_ / 64 + 1, 0);
        for (uint32_t code : codes) split.left_set[code / 64] |= uint64_t{1} << (code % 64);
        split.missing_left = with_missing;
        if (has_bit(split.left_set.data(), present_[0])) return split;
        for (uint32_t code : present_) split.left_set[code / 64] ^= uint64_t{1} << (code % 64);
        split.missing_left = !with_missing;
        return split;
    }

    bool weighs_enough(Side<Slot> side) {
        return node_.rules.min_weight_leaf <= 0.0 ||
               node_.target.weight_of(side, node_.context, scratch_.scaled) >= node_.rules.min_weight_leaf;
    }

    const NodeView<Target>& node_;
    uint32_t column_, n_codes_;
    size_t width_;
    Scratch<Slot>& scratch_;
    Findings& findings_;
    std::vector<uint32_t> present_;
    int64_t missing_rows_ = 0;
};

}  // namespace treefold
