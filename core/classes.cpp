// Classes whose weights add up within 64 bits.

#include "compile_kind.hpp"

namespace treefold {

TREEFOLD_COMPILE_KIND(ClassTarget<int64_t>);

}  // namespace treefold
