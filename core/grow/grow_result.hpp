// What grow(), answer() and leave_one_out() ask of each kind of target. The kinds are compiled one by one (classes.cpp,
// weighted_classes.cpp, means.cpp, wide.cpp): together they take minutes. All that is done with a kind stands in one
// file (compile_kind.hpp), because most of it is the same scans.
#pragma once

#include <memory>

#include "grow/answers.hpp"
#include "grow/grow.hpp"
#include "grow/growing_tree.hpp"

namespace treefold {

// What has grown of a family, as trees or as answers, and what that took.
template <class Sink>
struct GrowResult {
    std::vector<std::unique_ptr<Sink>> sinks;  // by member
    Work work;
};

template <class Sink, class Stats>
GrowResult<Sink> grow_members(const Table& table, const TargetView& view, Family& family,
                              const std::vector<const Stats*>& stats_of_members, Workers& workers);

template <class Stats>
Left leave_each(const Table& table, const TargetView& view, Member& member, const Stats& stats,
                Workers& workers);

}  // namespace treefold
