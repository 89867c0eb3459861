// grow: the family as its target asks for, then the trees as they are handed out.

#include "grow.hpp"

#include "fixed_target.hpp"
#include "harvest.hpp"
#include "memory.hpp"

namespace treefold {

namespace {

// So many nodes take more room as finished trees than it takes time to make room.
constexpr size_t kManyNodes = 100'000;

}  // namespace

Grown grow(const Table& table, const TargetView& view, Family family, Workers& workers) {
    for (const Member& member : family.members)
        if (member.rows.empty()) throw DataError("no row has a positive weight");
    if (family.members.empty()) return {};
    Harvest harvest = with_targets(view, family.members, [&](const auto& targets) {
        using Target = std::remove_cvref_t<decltype(*targets[0])>;
        return grow_members<Target>(table, view, family, targets, workers);
    });
    for (const auto& tree : harvest.trees) tree->settle_all();
    read_thresholds(table, harvest.trees, workers);
    size_t n_nodes = 0;
    for (const auto& tree : harvest.trees) n_nodes += tree->size();
    if (n_nodes > kManyNodes) release_freed();  // targets, layouts, desks
    Grown grown{std::vector<Tree>(harvest.trees.size()), std::move(harvest.work)};
    for (size_t member = 0; member < harvest.trees.size(); ++member) {
        grown.trees[member] = std::move(*harvest.trees[member]).in_preorder(view.n_classes);
        harvest.trees[member].reset();
    }
    return grown;
}

}  // namespace treefold
