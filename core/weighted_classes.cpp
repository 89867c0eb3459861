// Classes whose weights add up within 128 bits.

#include "compile_kind.hpp"

namespace treefold {

TREEFOLD_COMPILE_KIND(ClassTarget<Fixed<2>>);

}  // namespace treefold
