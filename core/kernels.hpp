// Scans in float64 that only leave out what cannot win; what survives is decided by the exact quality.
#pragma once

#include "findings.hpp"
#include "rows.hpp"

namespace treefold {

// Returns whether the column was dealt with.
template <class Target, class Code>
bool scan_in_float64(const NodeView<Target>&, uint32_t, std::span<const uint32_t>, int, const Code*, Findings&) {
    return false;
}

template <class Target>
void prepare_float64(NodeView<Target>&, const Description&) {}

template <class Target>
void resolve_pending(const Layout&, const NodeView<Target>&, Findings&, Scratch<typename Target::Slot>&) {}

}  // namespace treefold
