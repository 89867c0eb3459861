// Everything wider (harvest.hpp).

#include "family_grower.hpp"
#include "fixed_target.hpp"

namespace treefold {

template Harvest grow_members(const Table&, const TargetView&, Family&,
                              const std::vector<const ClassTarget<Fixed<2>>*>&, Workers&);
template Harvest grow_members(const Table&, const TargetView&, Family&,
                              const std::vector<const ClassTarget<Fixed<kWideLimbs>>*>&, Workers&);
template Harvest grow_members(const Table&, const TargetView&, Family&,
                              const std::vector<const MeanTarget<kWideLimbs>*>&, Workers&);

}  // namespace treefold
