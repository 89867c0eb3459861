#include "grow/request.hpp"

#include <algorithm>

#include "base/lanes.hpp"
#include "data/table.hpp"

namespace treefold {

Words read_rows(std::span<const uint32_t> rows, size_t n_rows, bool must_ascend) {
    Words own(rows.begin(), rows.end());  // first: the caller's may change
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

bool NamedRows::trains(uint32_t row) const {
    return std::binary_search(rows.begin(), rows.end(), row) == do_train;
}

void TrainingRows::turn_round() {
    constexpr uint32_t kAtOnce = 8;
    Words rows(size() + kAtOnce);
    uint32_t* to = rows.data();
    for_each_stretch([&](uint32_t first, uint32_t last) {
        for (uint32_t row = first; row < last; row += kAtOnce) {
            CountLanes eight = CountLanes{0, 1, 2, 3, 4, 5, 6, 7} + row;
            std::memcpy(to + (row - first), &eight, sizeof eight);
        }
        to += last - first;  // what is written behind it the next stretch mends
    });
    rows.resize(size());
    list_ = std::move(rows);
    is_listed_ = true;
}

}  // namespace treefold
