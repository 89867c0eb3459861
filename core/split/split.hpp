// A split, which of two wins, and where it sends a row: the one routing function of the library.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace treefold {

// Where a split sends categories that its node has not: with the group of rare ones, if there is one.
enum class Unseen : uint8_t { as_missing, left, right };

struct Split {
    double quality = -std::numeric_limits<double>::infinity();
    uint32_t column = UINT32_MAX;
    bool is_categorical = false;
    bool missing_left = true;
    bool saw_missing = false;
    Unseen unseen = Unseen::as_missing;
    uint32_t code = 0;                // numeric: codes up to this one go left
    uint32_t next_code = 0;  // the next code present in the node; n_codes for `present | missing`
    std::vector<uint64_t>
        left_set;  // categorical: the categories that go left, as bits; bit n_codes: unknown ones

    bool exists() const { return column != UINT32_MAX; }
};

// A cut of a numeric column without missing values.
inline Split numeric_split(double quality, uint32_t column, uint32_t code, uint32_t next_code) {
    Split split;
    split.quality = quality;
    split.column = column;
    split.code = code;
    split.next_code = next_code;
    return split;
}

// The same for a categorical column of which the node has two categories: the lower one goes left.
inline void single_out(Split& split, uint32_t n_codes) {
    split.is_categorical = true;
    split.left_set.assign(n_codes / 64 + 1, 0);
    split.left_set[split.code / 64] |= uint64_t{1} << (split.code % 64);
}

// Some of the categories present in the node against the others; the left set is the one with the lowest of all.
// rare: those of them that go together, of which the first stands for all among the chosen.
inline Split categorical_split(double quality, uint32_t column, uint32_t n_codes,
                               std::span<const uint32_t> chosen, std::span<const uint32_t> present,
                               std::span<const uint32_t> rare) {
    Split split;
    split.quality = quality;
    split.column = column;
    split.is_categorical = true;
    split.left_set.assign(n_codes / 64 + 1, 0);
    auto flip = [&](uint32_t code) { split.left_set[code / 64] ^= uint64_t{1} << (code % 64); };
    auto is_left = [&](uint32_t code) { return split.left_set[code / 64] >> (code % 64) & 1; };
    for (uint32_t code : chosen) flip(code);
    if (!rare.empty() && is_left(rare[0]))
        for (uint32_t code : rare.subspan(1)) flip(code);
    if (!is_left(present[0]))
        for (uint32_t code : present) flip(code);
    if (!rare.empty()) split.unseen = is_left(rare[0]) ? Unseen::left : Unseen::right;
    return split;
}

// Sets as binary numbers of equal length.
inline int compare_sets(std::span<const uint64_t> a, std::span<const uint64_t> b) {
    for (size_t k = a.size(); k-- > 0;)
        if (a[k] != b[k]) return a[k] < b[k] ? -1 : 1;
    return 0;
}

// The tie rule: quality, then lower column, then lower threshold or set, then missing left.
inline bool is_better(const Split& a, const Split& b) {
    if (a.quality != b.quality) return a.quality > b.quality;
    if (a.column != b.column) return a.column < b.column;
    if (a.is_categorical) {
        int order = compare_sets(a.left_set, b.left_set);
        if (order != 0) return order < 0;
    } else if (a.code != b.code) {
        return a.code < b.code;
    }
    return a.missing_left && !b.missing_left;
}

inline bool has_bit(const uint64_t* words, uint64_t bit) {
    return words[bit / 64] >> (bit % 64) & 1;
}

// Where a value goes, for codes while growing and for numbers while predicting. A category must be
// below 64 * n_words or be passed as missing.
template <class Value>
bool goes_left(Value value, Value threshold, bool is_missing, bool missing_left,
               const uint64_t* left_set) {
    if (is_missing) return missing_left;
    if (left_set != nullptr) return has_bit(left_set, static_cast<uint64_t>(value));
    return value <= threshold;
}

// The midpoint of two neighbours; the left one where the midpoint rounds up to the right one.
inline double threshold_between(double left, double right) {
    double middle = (left + right) / 2;
    if (!std::isfinite(middle)) middle = left / 2 + right / 2;
    return middle < right ? middle : left;
}

// Where the values belong that round to the float32 nearest to a threshold, given the node's values next to it. With
// that, scikit-learn's trees, which see only float32, can be given the same splits (interop.py).
enum class Float32Side : uint8_t { left, right, coincide };

inline Float32Side float32_side(double threshold, double below, double above) {
    auto nearest = static_cast<float>(threshold), left = static_cast<float>(below),
         right = static_cast<float>(above);
    if (left == right || std::isinf(left) || std::isinf(right)) return Float32Side::coincide;
    // Without a jump: which side it is cannot be foreseen.
    int goes_left = int{nearest == left} |
                    (int{static_cast<double>(nearest) <= threshold} & int{nearest != right});
    return static_cast<Float32Side>(1 - goes_left);
}

// How many tests a list of splits has.
inline uint64_t n_different(const std::vector<Split>& splits) {
    uint64_t count = 0;
    for (size_t k = 0; k < splits.size(); ++k) {
        auto is_same = [&](const Split& other) {
            return other.column == splits[k].column && other.code == splits[k].code &&
                   other.left_set == splits[k].left_set;
        };
        count += splits[k].exists() &&
                 std::none_of(splits.begin(), splits.begin() + static_cast<ptrdiff_t>(k), is_same);
    }
    return count;
}

}  // namespace treefold
