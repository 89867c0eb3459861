// Means whose sums fit 128 bits.

#include "kinds/compile_kind.hpp"

namespace treefold {

TREEFOLD_COMPILE_KIND(MeanStats<2>);

}  // namespace treefold
