#include "family.hpp"

#include <algorithm>

#include "table.hpp"

namespace treefold {

std::vector<uint32_t> read_rows(std::span<const uint32_t> rows, size_t n_rows, bool must_ascend) {
    std::vector<uint32_t> own(rows.begin(), rows.end());  // first: the caller's may change
    uint32_t descends = 0, largest = 0;  // no early end: this way it is done eight at a time
    for (size_t k = 1; k < own.size(); ++k) descends |= own[k - 1] >= own[k];
    if (must_ascend && descends != 0) throw DataError("the rows of a member must ascend");
    if (descends == 0)
        largest = own.empty() ? 0 : own.back();
    else
        for (uint32_t row : own) largest = std::max(largest, row);
    if (!own.empty() && largest >= n_rows) throw DataError("a row is not in the table");
    return own;
}

}  // namespace treefold
