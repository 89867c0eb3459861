// The nodes that one row reaches: a tree of one member, asked by that row alone, of which only the answer is kept.
#pragma once

#include "grow/answers.hpp"
#include "grow/member_nodes.hpp"

namespace treefold {

// root: its rows, totals, depth and key are known. Writes the value of the leaf to the row's answer.
template <class Stats>
void follow_path(Growth<Stats>& growth, NodePointer<Stats> root, uint32_t row,
                 std::shared_ptr<Answers> answers, int worker) {
    using Nodes = MemberNodes<Stats, AnswerSink>;
    AnswerSink sink(std::move(answers), row);
    Sinks<AnswerSink> sinks{&sink};
    Nodes nodes(growth, {row});
    root->asked_begin = 0, root->asked_end = 1;
    nodes.describe(*root, *root->member, root->rows(), sink, worker);
    if (nodes.is_leaf(*root, *root->member, root->depth))
        return nodes.give_back(std::move(root), worker);
    Loop<Nodes> loop(nodes);
    loop.grow(loop.list_one(std::move(root)), sinks, nullptr, worker);
}

}  // namespace treefold
