// How much members have in common: the different sets of them that rows train.
#pragma once

#include <vector>

#include "grow/request.hpp"

namespace treefold {

// How many different sets of members some rows train, of so many that are evenly spaced in a table. rows: of each
// member.
size_t count_strata(const std::vector<NamedRows>& rows, size_t n_rows, size_t n_looked_at);

}  // namespace treefold
