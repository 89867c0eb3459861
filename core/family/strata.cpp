#include "family/strata.hpp"

#include <algorithm>

#include "family/patterns.hpp"

namespace treefold {

size_t count_strata(const std::vector<NamedRows>& rows, size_t n_rows, size_t n_looked_at) {
    Patterns patterns(rows.size());
    std::vector<uint64_t> set(patterns.n_words());
    n_looked_at = std::min(n_looked_at, n_rows);
    for (size_t k = 0; k < n_looked_at; ++k) {
        auto row = static_cast<uint32_t>(n_rows * k / n_looked_at);
        std::fill(set.begin(), set.end(), 0);
        for (size_t member = 0; member < rows.size(); ++member)
            if (rows[member].trains(row)) set[member / 64] |= uint64_t{1} << (member % 64);
        patterns.intern(set.data());
    }
    return patterns.size();
}

}  // namespace treefold
