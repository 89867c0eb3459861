// Classes whose weights add up within 64 bits (harvest.hpp).

#include "family_grower.hpp"
#include "fixed_target.hpp"

namespace treefold {

template Harvest<GrowingTree> grow_members(const Table&, const TargetView&, Family&,
                                           const std::vector<const ClassTarget<int64_t>*>&,
                                           Workers&);
template Harvest<AnswerSink> grow_members(const Table&, const TargetView&, Family&,
                                          const std::vector<const ClassTarget<int64_t>*>&,
                                          Workers&);

}  // namespace treefold
