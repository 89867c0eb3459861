// Means whose sums fit 128 bits (harvest.hpp).

#include "family_grower.hpp"
#include "fixed_target.hpp"

namespace treefold {

template Harvest<GrowingTree> grow_members(const Table&, const TargetView&, Family&,
                                           const std::vector<const MeanTarget<2>*>&, Workers&);
template Harvest<AnswerSink> grow_members(const Table&, const TargetView&, Family&,
                                          const std::vector<const MeanTarget<2>*>&, Workers&);

}  // namespace treefold
