// What grow() and answer() ask of each kind of target. They are compiled one by one (grow_classes.cpp, grow_means.cpp,
// grow_wide.cpp): together they take minutes.
#pragma once

#include <memory>

#include "answers.hpp"
#include "grow.hpp"
#include "growing_tree.hpp"

namespace treefold {

// What has grown of a family, as trees or as answers, and what that took.
template <class Sink>
struct Harvest {
    std::vector<std::unique_ptr<Sink>> sinks;  // by member
    Work work;
};

template <class Sink, class Target>
Harvest<Sink> grow_members(const Table& table, const TargetView& view, Family& family,
                           const std::vector<const Target*>& targets, Workers& workers);

}  // namespace treefold
