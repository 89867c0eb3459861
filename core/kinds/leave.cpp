#include "grow/grow_result.hpp"
#include "grow/make_stats.hpp"

namespace treefold {

Left leave_one_out(const Table& table, const TargetView& view, Member member, Workers& workers) {
    std::vector<Member> members;
    members.push_back(std::move(member));
    return with_stats(view, members, [&](const auto& stats_of_members) {
        return leave_each(table, view, members[0], *stats_of_members[0], workers);
    });
}

}  // namespace treefold
