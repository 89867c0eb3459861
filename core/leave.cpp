#include "fixed_target.hpp"
#include "harvest.hpp"

namespace treefold {

Left leave_one_out(const Table& table, const TargetView& view, Member member, Workers& workers) {
    std::vector<Member> members;
    members.push_back(std::move(member));
    return with_targets(view, members, [&](const auto& targets) {
        return leave_each(table, view, members[0], *targets[0], workers);
    });
}

}  // namespace treefold
