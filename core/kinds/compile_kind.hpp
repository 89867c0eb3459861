// All that is compiled for one kind of target (grow_result.hpp).
#pragma once

#include "family/family_grower.hpp"
#include "grow/make_stats.hpp"
#include "leave_one_out/leave_each.hpp"

#define TREEFOLD_COMPILE_KIND(...)                                                          \
    template GrowResult<GrowingTree> grow_members(const Table&, const TargetView&, Family&, \
                                                  const std::vector<const __VA_ARGS__*>&,   \
                                                  Workers&);                                \
    template GrowResult<AnswerSink> grow_members(const Table&, const TargetView&, Family&,  \
                                                 const std::vector<const __VA_ARGS__*>&,    \
                                                 Workers&);                                 \
    template Left leave_each(const Table&, const TargetView&, Member&, const __VA_ARGS__&, Workers&)
