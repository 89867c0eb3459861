// grow and answer: the family as its target asks for, then the trees or the answers as they are handed out.

#include "grow/grow.hpp"

#include "base/memory.hpp"
#include "grow/grow_result.hpp"
#include "grow/make_stats.hpp"

namespace treefold {

namespace {

// So many nodes take more room as finished trees than it takes time to make room.
constexpr size_t kManyNodes = 100'000;

template <class Sink>
GrowResult<Sink> grow_into(const Table& table, const TargetView& view, Family& family,
                           Workers& workers) {
    constexpr bool kKeepsTrees = std::is_same_v<Sink, GrowingTree>;
    for (const Member& member : family.members) {
        if (member.rows.size() == 0) throw DataError("no row has a positive weight");
        if (member.rules.max_leaf_nodes != 0 && !(kKeepsTrees && member.demand.is_everything))
            throw DataError("which leaves a tree of max_leaf_nodes has, only the whole tree knows");
    }
    if (family.members.empty()) return {};
    return with_stats(view, family.members, [&](const auto& stats_of_members) {
        return grow_members<Sink>(table, view, family, stats_of_members, workers);
    });
}

}  // namespace

Grown grow(const Table& table, const TargetView& view, Family family, Workers& workers) {
    auto [trees, work] = grow_into<GrowingTree>(table, view, family, workers);
    for (const auto& tree : trees) tree->settle_all();
    read_thresholds(table, trees, workers);
    size_t n_nodes = 0;
    for (const auto& tree : trees) n_nodes += tree->size();
    if (n_nodes > kManyNodes) release_freed();  // targets, layouts, scratches
    Grown grown{std::vector<Tree>(trees.size()), std::vector<std::vector<int64_t>>(trees.size()),
                std::move(work)};
    for (size_t member = 0; member < trees.size(); ++member) {
        grown.trees[member] =
            std::move(*trees[member]).in_preorder(view.n_classes, grown.leaves[member]);
        trees[member].reset();
    }
    return grown;
}

Answered answer(const Table& table, const TargetView& view, Family family, Workers& workers) {
    auto [sinks, work] = grow_into<AnswerSink>(table, view, family, workers);
    Answered answered{{}, std::move(work)};
    for (const auto& sink : sinks) answered.values.push_back(sink->give());
    return answered;
}

}  // namespace treefold
