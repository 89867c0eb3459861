// Histograms over blocks of columns: both layouts hold what is counted row by row, and are added and subtracted cell by cell.
//
// Prints how many lines were equal; ends with 1 at the first difference.

#include <cstdio>
#include <random>

#include "stats/histogram.hpp"

namespace {

using namespace treefold;

struct Pair {  // what a row adds, and a cell
    int64_t gradient = 0, hessian = 0;
    Pair& operator+=(const Pair& other) {
        gradient += other.gradient, hessian += other.hessian;
        return *this;
    }
    Pair& operator-=(const Pair& other) {
        gradient -= other.gradient, hessian -= other.hessian;
        return *this;
    }
    bool operator==(const Pair&) const = default;
};

struct Block {
    size_t n_rows, n_columns, n_codes;
    std::vector<uint8_t> codes;
    std::vector<Pair> pairs;
    std::vector<uint32_t> starts;

    Block(std::mt19937_64& random)
        : n_rows(random() % 200), n_columns(1 + random() % 90), n_codes(1 + random() % 40),
          codes(n_rows * n_columns + 16) {
        for (size_t k = 0; k < n_rows * n_columns; ++k)
            codes[k] = static_cast<uint8_t>(random() % n_codes);
        for (size_t row = 0; row < n_rows; ++row)
            pairs.push_back({static_cast<int64_t>(random() % 2001) - 1000,
                             static_cast<int64_t>(random() % 100)});
        for (size_t k = 0; k <= n_columns; ++k)
            starts.push_back(static_cast<uint32_t>(k * n_codes));
    }

    Histogram<Pair> fill(const HistogramLayout& layout, std::span<const uint32_t> rows) const {
        Histogram<Pair> histogram;
        histogram.reset(layout.size());
        histogram.fill(
            0, layout, {codes.data(), n_columns}, rows.size(),
            [&](size_t i) -> size_t { return rows[i]; }, [](size_t) { return 0u; },
            [&](size_t i) { return [add = pairs[rows[i]]](Pair* cell) { *cell += add; }; });
        return histogram;
    }
    Pair sum(std::span<const uint32_t> rows, size_t column, size_t code) const {
        Pair all;
        for (uint32_t row : rows)
            if (codes[row * n_columns + column] == code) all += pairs[row];
        return all;
    }
};

// Of the lines of a histogram: how many are what their rows add up to? SIZE_MAX: not all.
size_t count_equal(const Block& block, const HistogramLayout& layout,
                   const Histogram<Pair>& histogram, std::span<const uint32_t> rows) {
    size_t n_equal = 0;
    for (size_t column = 0; column < block.n_columns; ++column)
        histogram.scan(layout, column, static_cast<uint32_t>(block.n_codes),
                       [&](uint32_t code, const Pair* line) {
                           n_equal += *line == block.sum(rows, column, code);
                       });
    return n_equal == block.n_columns * block.n_codes ? n_equal : SIZE_MAX;
}

}  // namespace

int main(int, char** arguments) {
    std::mt19937_64 random(std::strtoull(arguments[1], nullptr, 10));
    size_t n_lines = 0;
    for (size_t k = 0; k < 60; ++k) {
        Block block(random);
        std::vector<uint32_t> all, left, right;
        for (uint32_t row = 0; row < block.n_rows; ++row) {
            if (random() % 4 == 0) continue;  // of another node
            all.push_back(row);
            (random() % 2 == 0 ? left : right).push_back(row);
        }
        for (const HistogramLayout& layout :
             {HistogramLayout::by_column(block.starts, 1),
              HistogramLayout::interleaved(block.n_columns, block.n_codes)}) {
            Histogram<Pair> whole = block.fill(layout, all), part = block.fill(layout, left);
            Histogram<Pair> sibling = whole;
            sibling.subtract(part);
            part.merge(block.fill(layout, right));  // of two halves
            for (size_t n : {count_equal(block, layout, whole, all),
                             count_equal(block, layout, sibling, right),
                             count_equal(block, layout, part, all)}) {
                if (n == SIZE_MAX) {
                    std::printf("block %zu of %zu rows differs\n", k, block.n_rows);
                    return 1;
                }
                n_lines += n;
            }
        }
    }
    std::printf("lines %zu\n", n_lines);
    return 0;
}
