// Small nodes: which of the few-valued numeric columns can have the best cut? Sixteen columns at a time, every row
// against every row, without a histogram or a jump that depends on the data.
//
//   lane        a column; a row's codes stand side by side (Layout::few_codes)
//   row j       the cut after the code of row j: the rows i with code_i <= code_j go left
//   quality     (A n_r + B n_l) / (n_l n_r), where A and B sum the squared class counts of either side: whole numbers
//               of 16 bits for up to kPairRows rows, divided in float32
//
// What remains is searched exactly. (Letter: 1.2 times as fast a growth.)
#pragma once

#include <array>

#include "kernels.hpp"

namespace treefold {

inline constexpr size_t kPairRows = 63;  // n^3 / 4 < 2^16

class PairFilter {
public:
    // Rows by label; counts: rows of each label, which add up to at most kPairRows.
    void prepare(std::span<const uint32_t> rows, std::span<const uint32_t> labels,
                 std::span<const int64_t> counts) {
        n_rows_ = rows.size();
        n_labels_ = counts.size();
        std::array<uint8_t, kPairRows> next;
        uint8_t sum = 0;
        for (size_t k = 0; k < n_labels_; ++k) {
            counts_[k] = static_cast<uint8_t>(counts[k]);
            next[k] = sum;
            sum = static_cast<uint8_t>(sum + counts_[k]);
        }
        for (size_t i = 0; i < n_rows_; ++i) rows_[next[labels[i]]++] = rows[i];
    }

    // Is this less work than histograms?
    static bool is_worth(size_t n_rows, size_t n_columns) {
        size_t n_blocks = (n_columns + kColumns - 1) / kColumns;
        return n_rows <= kPairRows && n_rows * n_blocks < 2 * n_columns;
    }

    // The best quality of each of the columns first .. last - 1 of layout.few_columns, up to roundings of float32.
    std::span<const float> run(const Layout& layout, size_t first, size_t last) {
        best_.assign((last - first + kColumns - 1) / kColumns * kColumns, 0.0f);
        for (size_t from = first; from < last; from += kColumns) {
            load(layout, from, std::min(kColumns, last - from));
            for (size_t j = 0; j < n_rows_; j += 2)
                try_cuts(codes_[j], codes_[j + 1], best_.data() + (from - first));
        }
        return {best_.data(), last - first};
    }

private:
    static constexpr size_t kColumns = 16;
    static constexpr float kTiny =
        1e-30f;  // lost beside any whole number but zero: 0 / 0 becomes 0
    using Codes = uint8_t __attribute__((vector_size(kColumns)));
    using Counts = uint16_t __attribute__((vector_size(2 * kColumns)));

    // The last row stands there twice, so that rows come in pairs.
    void load(const Layout& layout, size_t from, size_t n_columns) {
        for (size_t i = 0; i < n_rows_; ++i) {
            const uint8_t* line = layout.few_line(rows_[i]) + from;
            codes_[i] = Codes{};
            if (n_columns == kColumns)
                std::memcpy(&codes_[i], line, kColumns);
            else
                std::memcpy(&codes_[i], line, n_columns);
        }
        codes_[n_rows_] = codes_[n_rows_ - 1];
    }

    struct Sums {
        Counts a{}, b{};
        Codes n_left{};

        void add_label(Codes below, size_t n_rows) {
            n_left += below;
            Counts left = __builtin_convertvector(below, Counts);
            Counts right = static_cast<uint16_t>(n_rows) - left;
            a += left * left;
            b += right * right;
        }
    };

    void try_cuts(Codes one, Codes other, float* best) const {
        Sums sums_one, sums_other;
        const Codes* codes = codes_.data();
        for (size_t k = 0; k < n_labels_; ++k) {
            Codes below_one{}, below_other{};
            for (size_t i = counts_[k]; i > 0; --i, ++codes) {
                below_one -= reinterpret_cast<Codes>(*codes <= one);
                below_other -= reinterpret_cast<Codes>(*codes <= other);
            }
            sums_one.add_label(below_one, counts_[k]);
            sums_other.add_label(below_other, counts_[k]);
        }
        judge(sums_one, best);
        judge(sums_other, best);
    }
    void judge(const Sums& sums, float* best) const {
        Counts left = __builtin_convertvector(sums.n_left, Counts);
        Counts right = static_cast<uint16_t>(n_rows_) - left;
        Counts top = sums.a * right + sums.b * left, bottom = left * right;
        for (size_t half : {0, 1}) {
            FloatLanes quality = to_floats(top, half) / (to_floats(bottom, half) + kTiny), before;
            std::memcpy(&before, best + 8 * half, sizeof before);
            before = quality > before ? quality : before;
            std::memcpy(best + 8 * half, &before, sizeof before);
        }
    }
    static FloatLanes to_floats(Counts counts, size_t half) {
        uint16_t __attribute__((vector_size(kColumns))) part;
        std::memcpy(&part, reinterpret_cast<const char*>(&counts) + kColumns * half, sizeof part);
        return __builtin_convertvector(__builtin_convertvector(part, IntLanes), FloatLanes);
    }

    size_t n_rows_ = 0, n_labels_ = 0;
    std::array<uint32_t, kPairRows> rows_;
    std::array<uint8_t, kPairRows> counts_;  // rows per label
    std::array<Codes, kPairRows + 1> codes_;
    std::vector<float> best_;
};

}  // namespace treefold
