#include "table.hpp"

#include <algorithm>

namespace treefold {

uint32_t Column::code_of(size_t row) const {
    if (!is_sparse) return codes[row];
    auto found = std::lower_bound(listed_rows.begin(), listed_rows.end(), row);
    if (found == listed_rows.end() || *found != row) return zero_code;
    return listed_codes[static_cast<size_t>(found - listed_rows.begin())];
}

// + 0.0 makes -0.0 positive, as it was when the column was encoded.
void Column::read_values(const std::vector<bool>& is_wanted, double* out) const {
    codes.with([&](const auto* code_of) {
        with_type(origin.type, origin.data, [&](auto* data) {
            for (size_t row = 0; row < codes.size(); ++row)
                if (is_wanted[code_of[row]])
                    out[code_of[row]] =
                        static_cast<double>(data[static_cast<ptrdiff_t>(row) * origin.stride]) +
                        0.0;
        });
    });
}

std::vector<double> Column::list_values() const {
    if (!borrows_values()) return values;
    std::vector<double> all(n_codes);
    std::vector<bool> is_wanted(n_codes + 1, true);
    is_wanted[missing_code()] = false;
    read_values(is_wanted, all.data());
    return all;
}

bool Table::borrows_values() const {
    return std::any_of(columns.begin(), columns.end(),
                       [](const Column& column) { return column.borrows_values(); });
}

size_t Table::nbytes() const {
    size_t total = sizeof(Table) + columns.size() * sizeof(Column);
    for (const Column& column : columns)
        total += column.codes.nbytes() + 8 * column.values.size() +
                 4 * (column.listed_rows.size() + column.listed_codes.size());
    return total;
}

}  // namespace treefold
