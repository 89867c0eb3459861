// How one tree grows: the parameters of an estimator, validated and made absolute by the caller.
#pragma once

#include <cstdint>
#include <vector>

#include "stats/criterion.hpp"

namespace treefold {

// fastest: filters in float64 leave out what cannot win. exact: none does, for tests that compare the two.
enum class Search : uint8_t { fastest, exact };

// Which of the nodes that wait are divided next. A tree is the same in the order of the last and of levels.
enum class Order : uint8_t { last, best, level };

struct Rules {
    Criterion criterion = Criterion::gini;
    int64_t max_depth = INT32_MAX;
    int64_t min_samples_split = 2;
    int64_t min_samples_leaf = 1;
    double min_weight_leaf = 0.0;
    int64_t min_samples_category =
        1;  // 1: categories as they come, and columns compare by raw gain
    uint64_t max_features = UINT64_MAX;  // columns tried per node
    int64_t max_leaf_nodes = 0;          // 0: no limit, depth first
    double min_impurity_decrease = 0.0;
    double min_impurity = 0.0;
    uint64_t seed = 0;
    uint64_t tree = 0;
    std::vector<double> class_multipliers;  // empty: none
    Search search = Search::fastest;
    Order order = Order::last;  // where max_leaf_nodes does not ask for the best
};

inline Order order_of(const Rules& rules) {
    return rules.max_leaf_nodes != 0 ? Order::best : rules.order;
}

}  // namespace treefold
