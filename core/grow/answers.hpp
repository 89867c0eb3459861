// Where answers go when no tree is kept: a line of values for each row that asks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "split/split.hpp"
#include "stats/statistics.hpp"

namespace treefold {

class Answers {
public:
    // width: values of a leaf, one per class or the mean.
    Answers(size_t n_rows, size_t width) : width_(width), values_(n_rows * width) {}
    size_t width() const { return width_; }
    double* of(uint32_t row) { return values_.data() + row * width_; }
    std::vector<double>&& give() { return std::move(values_); }

private:
    size_t width_;
    std::vector<double> values_;  // (row, value)
};

// What the growth loop tells its nodes to instead of a tree. A node's value waits with the first row that asks there:
// children write over it, and a leaf hands it to the others. Copies write to the same answers.
class AnswerSink {
public:
    static constexpr bool serves_groups = false;
    static constexpr bool keeps_nodes = false;  // those that nobody asks for need no description

    // first: the line of the first row that asks; those of the others follow.
    explicit AnswerSink(std::shared_ptr<Answers> answers, uint32_t first = 0)
        : answers_(std::move(answers)), first_(first), unasked_(answers_->width()) {}

    double* value(size_t, std::span<const uint32_t> asked) {
        return asked.empty() ? unasked_.data() : line_of(asked[0]);
    }
    void close(std::span<const uint32_t> asked) {
        for (size_t k = 1; k < asked.size(); ++k)
            std::copy_n(line_of(asked[0]), answers_->width(), line_of(asked[k]));
    }
    std::vector<double>&& give() { return answers_->give(); }

    size_t add_nodes(size_t) { return 0; }
    void drop_nodes(size_t) {}
    void describe(size_t, const Description&, int64_t) {}
    void set_split(size_t, const Split&, size_t) {}
    AnswerSink start_subtree(std::span<const size_t>) const { return *this; }
    void graft(std::span<const size_t>, AnswerSink&&) {}
    void keep_order(const std::vector<uint32_t>&) {}

private:
    double* line_of(uint32_t place) { return answers_->of(first_ + place); }

    std::shared_ptr<Answers> answers_;
    uint32_t first_;
    std::vector<double> unasked_;  // a line for values that nobody reads
};

}  // namespace treefold
