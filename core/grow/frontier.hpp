// Nodes that wait to be divided, and which of them come next.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "split/rules.hpp"

namespace treefold {

// Kind: of nodes (loop.hpp). Where it ranks them, the best can be asked for.
template <class Kind>
class Frontier {
public:
    using Node = typename Kind::Node;

    explicit Frontier(Order order) : order_(order) {}
    bool empty() const { return nodes_.empty(); }

    void push(Node node) {
        nodes_.push_back(std::move(node));
        if constexpr (Kind::kRanks)
            if (order_ == Order::best) std::push_heap(nodes_.begin(), nodes_.end(), Kind::is_worse);
    }

    // Those that come next: the last one, the best one, or all that wait, first come first.
    void take(std::vector<Node>& taken) {
        taken.clear();
        if (order_ == Order::level) return std::swap(taken, nodes_);
        if constexpr (Kind::kRanks)
            if (order_ == Order::best) std::pop_heap(nodes_.begin(), nodes_.end(), Kind::is_worse);
        taken.push_back(std::move(nodes_.back()));
        nodes_.pop_back();
    }

private:
    Order order_;
    std::vector<Node> nodes_;
};

}  // namespace treefold
