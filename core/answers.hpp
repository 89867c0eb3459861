// Where answers go when no tree is kept: a line of values for each row that asks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace treefold {

class Answers {
public:
    // width: values of a leaf, one per class or the mean.
    Answers(size_t n_rows, size_t width) : width_(width), values_(n_rows * width) {}
    double* of(uint32_t row) { return values_.data() + row * width_; }
    std::vector<double>&& give() { return std::move(values_); }

private:
    size_t width_;
    std::vector<double> values_;  // (row of the table, value)
};

}  // namespace treefold
