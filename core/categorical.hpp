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

    // scratch.present lists the categories of the node; scratch.histogram and histogram_rows have their
    // statistics and, at n_codes, those of the missing rows.
    CategoricalScan(const NodeView<Target>& node, uint32_t column, uint32_t n_codes,
                    Scratch<Slot>& scratch, Findings& findings)
        : node_(node), column_(column), n_codes_(n_codes), width_(node.target.width()),
          scratch_(scratch), findings_(findings) {
        missing_rows_ = scratch.histogram_rows[n_codes];
    }

    // Returns whether the column varies in this node.
    bool run() {
        const std::vector<uint32_t>& present = scratch_.present;
        if (present.empty() || present.size() + (missing_rows_ != 0) < 2) return false;
        if (missing_rows_ != 0) {
            start();
            for (uint32_t code : present) add(code);
            offer(present.size(), present, false);
        }
        if (present.size() < 2) return true;
        if constexpr (!Target::is_classification) {
            try_prefixes(0);
        } else {
            size_t n_classes = 0, first = 0;
            for (size_t k = width_; k-- > 0;)
                if (node_.totals.slots[k] != Slot(0)) ++n_classes, first = k;
            if (n_classes <= 2)
                try_prefixes(first);
            else if (present.size() <= kExhaustive)
                try_subsets();
            else
                for (size_t k = 0; k < width_; ++k)
                    if (node_.totals.slots[k] != Slot(0)) try_prefixes(k);
        }
        return true;
    }

private:
    Side<Slot> category(uint32_t code) const {
        return {scratch_.histogram_rows[code], scratch_.histogram.data() + code * width_};
    }
    void start() {
        scratch_.left.assign(width_, Slot(0));
        rows_ = 0;
    }
    void add(uint32_t code) {
        Side<Slot> side = category(code);
        rows_ += side.rows;
        for (size_t k = 0; k < width_; ++k) scratch_.left[k] += side.slots[k];
    }

    // Categories of equal share move together. If all are equal the lowest goes alone, so that a node can split at
    // zero gain (XOR of two categorical columns).
    void try_prefixes(size_t k) {
        auto& order = scratch_.by_share;
        order.clear();
        for (uint32_t code : scratch_.present)
            order.emplace_back(
                node_.target.share(category(code), k, node_.context, scratch_.scaled), code);
        std::sort(order.begin(), order.end());
        start();
        std::vector<uint32_t>& codes = scratch_.chosen;
        codes.clear();
        for (auto [share, code] : order) codes.push_back(code);
        bool all_equal = order.front().first == order.back().first;
        for (size_t i = 0; i + 1 < order.size(); ++i) {
            add(order[i].second);
            if (all_equal) return offer_both(1, codes);
            if (order[i].first != order[i + 1].first) offer_both(i + 1, codes);
        }
    }

    void try_subsets() {
        // Bit i of `others` decides about present[i + 1]; present[0] is always left.
        const std::vector<uint32_t>& present = scratch_.present;
        std::vector<uint32_t>& codes = scratch_.chosen;
        for (uint32_t others = 0; others + 1 < uint32_t{1} << (present.size() - 1); ++others) {
            codes.assign(1, present[0]);
            for (size_t i = 1; i < present.size(); ++i)
                if (others >> (i - 1) & 1) codes.push_back(present[i]);
            start();
            for (uint32_t code : codes) add(code);
            offer_both(codes.size(), codes);
        }
    }

    // The first `count` of codes, which scratch.left adds up, with and without the missing rows.
    void offer_both(size_t count, const std::vector<uint32_t>& codes) {
        if (missing_rows_ != 0) {
            scratch_.moved = scratch_.left;
            int64_t rows = rows_;
            add(n_codes_);
            offer(count, codes, true);
            scratch_.left = scratch_.moved;
            rows_ = rows;
        }
        offer(count, codes, false);
    }

    void offer(size_t count, const std::vector<uint32_t>& codes, bool with_missing) {
        std::optional<double> quality = judge(node_, scratch_.left, rows_, scratch_, findings_);
        if (!quality) return;
        Split split =
            categorical_split(*quality, column_, n_codes_, {codes.data(), count}, scratch_.present);
        split.saw_missing = missing_rows_ != 0;
        bool holds_codes = has_bit(split.left_set.data(), codes[0]);
        split.missing_left = holds_codes == with_missing;
        findings_.offer(std::move(split));
    }

    const NodeView<Target>& node_;
    uint32_t column_, n_codes_;
    size_t width_;
    Scratch<Slot>& scratch_;
    Findings& findings_;
    int64_t missing_rows_ = 0, rows_ = 0;
};

}  // namespace treefold
