#include "family.hpp"

#include <algorithm>

#include "table.hpp"

namespace treefold {

std::vector<uint32_t> read_rows(std::span<const uint32_t> rows, size_t n_rows, bool must_ascend) {
    uint32_t largest = 0;
    for (uint32_t row : rows) largest = std::max(largest, row);
    if (!rows.empty() && largest >= n_rows) throw DataError("a row is not in the table");
    uint32_t descends = 0;  // no early end: this way it is done eight at a time
    for (size_t k = 1; k < rows.size(); ++k) descends |= rows[k - 1] >= rows[k];
    if (must_ascend && descends != 0) throw DataError("the rows of a member must ascend");
    return {rows.begin(), rows.end()};
}

}  // namespace treefold
