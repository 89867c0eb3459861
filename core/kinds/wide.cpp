// Everything wider.

#include "kinds/compile_kind.hpp"

namespace treefold {

TREEFOLD_COMPILE_KIND(ClassStats<Fixed<kWideLimbs>>);
TREEFOLD_COMPILE_KIND(MeanStats<kWideLimbs>);

}  // namespace treefold
