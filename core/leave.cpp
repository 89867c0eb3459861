#include "fixed_target.hpp"
#include "leave_each.hpp"

namespace treefold {

// Compiled in leave_wide.cpp, beside this.
extern template Left leave_each(const Table&, const TargetView&, Member&,
                                const ClassTarget<Fixed<2>>&, Workers&);
extern template Left leave_each(const Table&, const TargetView&, Member&,
                                const ClassTarget<Fixed<kWideLimbs>>&, Workers&);
extern template Left leave_each(const Table&, const TargetView&, Member&,
                                const MeanTarget<kWideLimbs>&, Workers&);

Left leave_one_out(const Table& table, const TargetView& view, Member member, Workers& workers) {
    std::vector<Member> members;
    members.push_back(std::move(member));
    return with_targets(view, members, [&](const auto& targets) {
        return leave_each(table, view, members[0], *targets[0], workers);
    });
}

}  // namespace treefold
