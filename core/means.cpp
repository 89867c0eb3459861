// Means whose sums fit 128 bits.

#include "compile_kind.hpp"

namespace treefold {

TREEFOLD_COMPILE_KIND(MeanTarget<2>);

}  // namespace treefold
