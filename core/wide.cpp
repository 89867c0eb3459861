// Everything wider.

#include "compile_kind.hpp"

namespace treefold {

TREEFOLD_COMPILE_KIND(ClassTarget<Fixed<kWideLimbs>>);
TREEFOLD_COMPILE_KIND(MeanTarget<kWideLimbs>);

}  // namespace treefold
