// Subtrees that a task grows: each member that takes part has a tree of its own there, to be grafted on afterwards.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "family/group.hpp"

namespace treefold {

// What a task grows of one member: subtrees below some of its nodes.
template <class Sink>
struct Branch {
    size_t member;
    std::vector<size_t> records;
    std::optional<Sink> tree;
};

// The branches of a node, whose parts are numbered anew in the order of the records.
template <class Sink, class Stats>
std::vector<Branch<Sink>> list_branches(Node<Stats>& node) {
    std::vector<Branch<Sink>> branches;
    auto add = [&](Part<Stats>& part, const Seat<Stats>& seat) {
        auto found =
            std::find_if(branches.begin(), branches.end(),
                         [&](const Branch<Sink>& branch) { return branch.member == seat.member; });
        if (found == branches.end())
            found = branches.insert(branches.end(), {seat.member, {}, std::nullopt});
        found->records.push_back(part.record);
        part.record = found->records.size() - 1;
    };
    if (node.lone)
        add(node.group->shares[*node.lone], *node.group->shares[*node.lone].seat);
    else if (node.group)
        for (Share<Stats>& share : node.group->shares) add(share, *share.seat);
    else if (!node.birth)
        add(node, *node.seat);
    else
        for (ForkSide<Stats>* side : {&node.birth->fork().left, &node.birth->fork().right})
            for (Share<Stats>& share : side->shares) add(share, *share.seat);
    return branches;
}

}  // namespace treefold
