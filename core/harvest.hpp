// What grow() asks of each kind of target. They are compiled one by one (grow_classes.cpp, grow_means.cpp,
// grow_wide.cpp): together they take minutes.
#pragma once

#include <memory>

#include "grow.hpp"
#include "growing_tree.hpp"

namespace treefold {

// The trees of a family as they have grown, and what that took.
struct Harvest {
    std::vector<std::unique_ptr<GrowingTree>> trees;  // by member
    Work work;
};

template <class Target>
Harvest grow_members(const Table& table, const TargetView& view, Family& family,
                     const std::vector<const Target*>& targets, Workers& workers);

}  // namespace treefold
