// Everything wider (harvest.hpp).

#include "family_grower.hpp"
#include "fixed_target.hpp"

namespace treefold {

template Harvest<GrowingTree> grow_members(const Table&, const TargetView&, Family&,
                                           const std::vector<const ClassTarget<Fixed<2>>*>&,
                                           Workers&);
template Harvest<AnswerSink> grow_members(const Table&, const TargetView&, Family&,
                                          const std::vector<const ClassTarget<Fixed<2>>*>&,
                                          Workers&);
template Harvest<GrowingTree> grow_members(
    const Table&, const TargetView&, Family&,
    const std::vector<const ClassTarget<Fixed<kWideLimbs>>*>&, Workers&);
template Harvest<AnswerSink> grow_members(const Table&, const TargetView&, Family&,
                                          const std::vector<const ClassTarget<Fixed<kWideLimbs>>*>&,
                                          Workers&);
template Harvest<GrowingTree> grow_members(const Table&, const TargetView&, Family&,
                                           const std::vector<const MeanTarget<kWideLimbs>*>&,
                                           Workers&);
template Harvest<AnswerSink> grow_members(const Table&, const TargetView&, Family&,
                                          const std::vector<const MeanTarget<kWideLimbs>*>&,
                                          Workers&);

}  // namespace treefold
