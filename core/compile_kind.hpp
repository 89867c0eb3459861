// All that is compiled for one kind of target (harvest.hpp).
#pragma once

#include "family_grower.hpp"
#include "fixed_target.hpp"
#include "leave_each.hpp"

#define TREEFOLD_COMPILE_KIND(...)                                                                \
    template Harvest<GrowingTree> grow_members(const Table&, const TargetView&, Family&,          \
                                               const std::vector<const __VA_ARGS__*>&, Workers&); \
    template Harvest<AnswerSink> grow_members(const Table&, const TargetView&, Family&,           \
                                              const std::vector<const __VA_ARGS__*>&, Workers&);  \
    template Left leave_each(const Table&, const TargetView&, Member&, const __VA_ARGS__&, Workers&)
