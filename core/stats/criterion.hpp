// How good a split of classes is, from integers: exact until the one rounding at the end, and the
// same whatever the order of the classes.
//
// Class weights arrive as integers x_c of at most 61 bits in sum (grow/make_stats.hpp brings them there). A common factor
// of a power of two changes no comparison, so the grid they stand on does not matter.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace treefold {

enum class Criterion : uint8_t { gini, entropy, gain_ratio, squared_error };
inline constexpr std::array kCriterionNames{"gini", "entropy", "gain_ratio", "squared_error"};

// log2 in fixed point, 57 bits after the point, by repeated squaring: integers only, so every build
// and CPU gives the same bits, and log2(2x) is exactly log2(x) + 1.
inline int64_t log2_fixed(uint64_t x) {
    int whole = 63 - std::countl_zero(x);
    uint64_t mantissa = x << (63 - whole);  // [1, 2) with 63 bits after the point
    int64_t result = whole;
    for (int bit = 0; bit < 57; ++bit) {
        unsigned __int128 square = static_cast<unsigned __int128>(mantissa) * mantissa;
        bool is_two_or_more = static_cast<bool>(square >> 127);
        mantissa = static_cast<uint64_t>(square >> (is_two_or_more ? 64 : 63));
        result = result << 1 | (is_two_or_more ? 1 : 0);
    }
    return result;
}

// x log2 x, with the logarithms of small integers kept: counts are small integers. Copies share them.
class Logarithms {
public:
    Logarithms() = default;
    explicit Logarithms(size_t largest) : size_(largest + 1) {
        auto kept = std::make_shared<std::vector<int64_t>>(size_);
        for (size_t x = 1; x <= largest; ++x)
            (*kept)[x] = x % 2 == 0 ? (*kept)[x / 2] + (int64_t{1} << 57) : log2_fixed(x);
        values_ = kept->data();
        kept_ = std::move(kept);
    }
    size_t size() const { return size_; }
    __int128 times_log(int64_t x) const {
        if (x <= 0) return 0;
        auto index = static_cast<uint64_t>(x);
        return static_cast<__int128>(x) * (index < size_ ? values_[index] : log2_fixed(index));
    }

    // The same, rounded twice, of an integer below size().
    double times_log_float64(int64_t x) const {
        return static_cast<double>(x) * static_cast<double>(values_[x]);
    }

private:
    std::shared_ptr<const std::vector<int64_t>> kept_;
    const int64_t* values_ = nullptr;
    size_t size_ = 0;
};

inline int64_t total_of(std::span<const int64_t> x) {
    int64_t total = 0;
    for (int64_t part : x) total += part;
    return total;
}

inline double sum_of_squares(std::span<const int64_t> x, int64_t total) {
    if (total < int64_t{1} << 31) {
        int64_t sum = 0;
        for (int64_t part : x) sum += part * part;
        return static_cast<double>(sum);
    }
    unsigned __int128 sum = 0;
    for (int64_t part : x)
        sum += static_cast<unsigned __int128>(part) * static_cast<uint64_t>(part);
    return static_cast<double>(sum);
}

// W log2 W - sum x log2 x: the entropy times W.
inline __int128 entropy_times_weight(std::span<const int64_t> x, int64_t total,
                                     const Logarithms& logs) {
    __int128 sum = logs.times_log(total);
    for (int64_t part : x) sum -= logs.times_log(part);
    return sum;
}

inline constexpr double kLogUnit = 1.0 / (int64_t{1} << 57);

// parent_entropy: entropy_times_weight of the node, used by the entropy criteria. allowance: of the gain, what a column
// owes to chance.
inline double class_quality(Criterion criterion, std::span<const int64_t> left,
                            std::span<const int64_t> right, __int128 parent_entropy,
                            const Logarithms& logs, double allowance = 0.0) {
    int64_t weight_left = total_of(left), weight_right = total_of(right);
    if (criterion == Criterion::gini) {
        auto purity = [](std::span<const int64_t> side, int64_t weight) {
            return weight == 0 ? 0.0 : sum_of_squares(side, weight) / static_cast<double>(weight);
        };
        return purity(left, weight_left) + purity(right, weight_right) - allowance;
    }
    __int128 gain = parent_entropy - entropy_times_weight(left, weight_left, logs) -
                    entropy_times_weight(right, weight_right, logs);
    if (criterion == Criterion::entropy) return static_cast<double>(gain) - allowance;
    __int128 split_information = logs.times_log(weight_left + weight_right) -
                                 logs.times_log(weight_left) - logs.times_log(weight_right);
    if (split_information == 0) return 0.0;
    return (static_cast<double>(gain) - allowance) / static_cast<double>(split_information);
}

// What the best division of groups of categories gains where there is nothing to find, in variances of a row (kChanceBits of
// entropy). All that k more groups explain by chance has the mean k and the standard deviation sqrt(2 k); of normal means the best
// division takes 2 / pi of that, of few rows each and a rare class nearly all. The constants were chosen on tables
// (docs/benchmarks.md). Up to kFreeGroups that is no more than what the best cut of a number gains, among so many cuts.
inline constexpr size_t kFreeGroups = 5;
inline constexpr double kChancePerGroup = 0.95, kChanceSpread = 1.75;
inline constexpr double kChanceBits = 0.72;  // 1 / (2 ln 2)

inline double chance_of_groups(size_t n_groups) {
    if (n_groups <= kFreeGroups) return 0.0;
    auto more = static_cast<double>(n_groups - kFreeGroups);
    return kChancePerGroup * more + kChanceSpread * std::sqrt(more);
}

// Of gini, along the class whose order of the groups gains most: with two classes that is the impurity.
inline double chance_spread(std::span<const int64_t> x, int64_t total) {
    double squares = sum_of_squares(x, total), weight = static_cast<double>(total), most = 0.0;
    for (int64_t part : x) {
        if (part == 0 || part == total) continue;
        double own = static_cast<double>(part), others = static_cast<double>(total - part);
        most = std::max(
            most, own / weight * (others / weight + (squares - own * own) / (weight * others)));
    }
    return most;
}

inline double class_chance(Criterion criterion, std::span<const int64_t> x, int64_t n_rows) {
    int64_t total = total_of(x);
    double weight_of_row = static_cast<double>(total) / static_cast<double>(n_rows);
    if (criterion == Criterion::gini) return chance_spread(x, total) * weight_of_row;
    return kChanceBits * weight_of_row * (1.0 / kLogUnit);
}

inline double class_impurity(Criterion criterion, std::span<const int64_t> x,
                             const Logarithms& logs) {
    int64_t total = total_of(x);
    double weight = static_cast<double>(total);
    if (criterion == Criterion::gini) {
        unsigned __int128 squares = 0, whole = static_cast<unsigned __int128>(total) *
                                               static_cast<uint64_t>(total);
        for (int64_t part : x)
            squares += static_cast<unsigned __int128>(part) * static_cast<uint64_t>(part);
        return static_cast<double>(whole - squares) / static_cast<double>(whole);
    }
    return static_cast<double>(entropy_times_weight(x, total, logs)) * kLogUnit / weight;
}

}  // namespace treefold
