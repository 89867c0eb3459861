// Classes whose weights add up within 64 bits.

#include "kinds/compile_kind.hpp"

namespace treefold {

TREEFOLD_COMPILE_KIND(ClassStats<int64_t>);

}  // namespace treefold
