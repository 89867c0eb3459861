// Where the rows of each node are: stretches of a few arrays that splits divide in place and in order.
//
//   rows     the rows of a node, ascending                      [begin, end)
//   orders   per ordered column the same rows by ascending code  [begin, end)   (the single sort, kept)
//   listed   per sparse column the rows that are not zero, by code, with their codes; each node
//            has its own stretch of each column that is not all zero in it
//
// A word of an order or a list is row << class_bits | class: the scan of classes needs no other memory.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/memory.hpp"
#include "base/pack.hpp"
#include "search/plan.hpp"

namespace treefold {

// A column's stretch of `listed` in one node.
struct Stretch {
    uint32_t column;
    size_t begin, end;
};

struct Layout : Plan {
    size_t n_rows = 0;  // rows in the root
    Words rows;
    Words order_words;  // one order after another, n_rows words each
    std::vector<uint32_t> listed_words, listed_codes;
    std::vector<Stretch> root_stretches;  // the sparse columns, ascending
    std::vector<uint32_t> position;  // of a row in `rows`; only where sparse columns are looked up

    // Nothing is left but the memory.
    void clear() {
        n_rows = 0;
        rows.clear(), order_words.clear();
        listed_words.clear(), listed_codes.clear();
        root_stretches.clear(), position.clear();
    }
    uint32_t* words_of(size_t order) { return order_words.data() + order * n_rows; }
    std::span<const uint32_t> order(size_t column, size_t begin, size_t end) const {
        auto which = static_cast<size_t>(order_of[column]);
        return {order_words.data() + which * n_rows + begin, end - begin};
    }
    // Gives the memory of rows and orders back where nobody reads them again.
    void forget(size_t begin, size_t end) {
        size_t n_bytes = (end - begin) * sizeof(uint32_t);
        release_pages(rows.data() + begin, n_bytes);
        for (size_t order = 0; order < n_orders; ++order)
            release_pages(words_of(order) + begin, n_bytes);
    }
    size_t nbytes() const {
        return sizeof(uint32_t) * (rows.size() + order_words.size() + listed_words.size() +
                                   listed_codes.size() + position.size());
    }
};

// One byte per row of the table: does it go left? Every worker has its own. (Bits would fit a nearer cache but take
// twice the instructions: at 100,000 rows bytes give the faster fit, by 4%.)
class Sides {
public:
    explicit Sides(size_t n_rows) : is_left_(n_rows) {}
    uint8_t is_left(uint32_t row) const { return is_left_[row]; }
    void set(uint32_t row, bool left) { is_left_[row] = left; }

private:
    std::vector<uint8_t> is_left_;
};

// Divides items in place, left before right, each side in its old order; returns how many went left.
// spare: as large as items, and kPacked more.
template <class IsLeft>
size_t divide(std::span<uint32_t> items, uint32_t* spare, IsLeft&& is_left) {
    size_t n_left = 0, k = 0, count = items.size();
    uint32_t* first = items.data();
    for (; kPacks && k + kPacked <= count; k += kPacked) {
        Packable eight(first + k);
        uint32_t bits = left_bits(first + k, is_left);
        eight.pack(bits, first + n_left);  // never ahead of the read
        eight.pack(~bits & 255, spare + (k - n_left));
        n_left += static_cast<size_t>(std::popcount(bits));
    }
    for (; k < count; ++k) {
        uint32_t item = first[k];
        first[n_left] = item;
        spare[k - n_left] = item;
        n_left += is_left(item);
    }
    if (n_left != count) std::memcpy(first + n_left, spare, (count - n_left) * sizeof(uint32_t));
    return n_left;
}

// The same where only one side is needed: its items end up where divide() would put them.
template <class IsLeft>
void keep_left(std::span<uint32_t> items, IsLeft&& is_left) {
    size_t n_left = 0, k = 0, count = items.size();
    uint32_t* first = items.data();
    for (; kPacks && k + kPacked <= count; k += kPacked) {
        uint32_t bits = left_bits(first + k, is_left);
        Packable(first + k).pack(bits, first + n_left);
        n_left += static_cast<size_t>(std::popcount(bits));
    }
    for (; k < count; ++k) {
        first[n_left] = first[k];
        n_left += is_left(first[k]);
    }
}
template <class IsLeft>
void keep_right(std::span<uint32_t> items, uint32_t* spare, IsLeft&& is_left) {
    size_t n_right = 0, k = 0, count = items.size();
    const uint32_t* first = items.data();
    for (; kPacks && k + kPacked <= count; k += kPacked) {
        uint32_t bits = ~left_bits(first + k, is_left) & 255;
        Packable(first + k).pack(bits, spare + n_right);
        n_right += static_cast<size_t>(std::popcount(bits));
    }
    for (; k < count; ++k) {
        spare[n_right] = first[k];
        n_right += !is_left(first[k]);
    }
    std::memcpy(items.data() + (count - n_right), spare, n_right * sizeof(uint32_t));
}

Layout lay_out(const Plan& plan, Words rows, std::span<const int32_t> classes, Workers& workers);

}  // namespace treefold
