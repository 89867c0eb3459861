// Classes whose weights add up within 128 bits.

#include "kinds/compile_kind.hpp"

namespace treefold {

TREEFOLD_COMPILE_KIND(ClassStats<Fixed<2>>);

}  // namespace treefold
