// Leave-one-out for targets wider than leave.cpp's.

#include "fixed_target.hpp"
#include "leave_each.hpp"

namespace treefold {

template Left leave_each(const Table&, const TargetView&, Member&, const ClassTarget<Fixed<2>>&,
                         Workers&);
template Left leave_each(const Table&, const TargetView&, Member&,
                         const ClassTarget<Fixed<kWideLimbs>>&, Workers&);
template Left leave_each(const Table&, const TargetView&, Member&, const MeanTarget<kWideLimbs>&,
                         Workers&);

}  // namespace treefold
