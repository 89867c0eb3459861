// What the scans in float64 read: a column's rows in order, with their codes.
#pragma once

#include "search/layout.hpp"
#include "split/findings.hpp"

namespace treefold {

// Products of two row counts stay exact in float64 up to here.
inline constexpr size_t kMostRows = size_t{1} << 26;

// A kept order of one node: words are row << bits | class.
template <class Code>
struct OrderView {
    uint32_t column;
    std::span<const uint32_t> words;
    int bits;
    const Code* codes;

    // May the node be cut between rows k and k + 1?
    bool is_legal(size_t k, int64_t smallest) const {
        auto n_left = static_cast<int64_t>(k) + 1,
             n_right = static_cast<int64_t>(words.size()) - n_left;
        return n_left >= smallest && n_right >= smallest && code(k) != code(k + 1);
    }
    uint32_t code(size_t k) const { return codes[words[k] >> bits]; }
};

template <class Code>
void offer_cut(const OrderView<Code>& order, size_t k, double quality, Findings& findings) {
    findings.offer(numeric_split(quality, order.column, order.code(k), order.code(k + 1)));
}

// A sparse column in one node: words and codes of the listed rows by ascending code; all other rows are at zero.
struct ListView {
    uint32_t column;
    std::span<const uint32_t> words, codes;
    int bits;
    uint32_t zero_code;
    bool has_zero;  // is any row of the node at zero?
};

}  // namespace treefold
