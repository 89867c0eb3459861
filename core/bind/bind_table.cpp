// Table: the encoded columns.

#include <memory>
#include <numeric>

#include "bind/bindings.hpp"
#include "data/table.hpp"

namespace treefold {

namespace {

// Keeps a Python object alive from where the interpreter lock need not be held.
std::shared_ptr<const void> hold(nb::object object) {
    return {object.release().ptr(), [](PyObject* held) {
                nb::gil_scoped_acquire lock;
                nb::handle(held).dec_ref();
            }};
}

template <class T, class Get>
nb::object per_column(const Table& table, Get&& get) {
    std::vector<T> values;
    for (const Column& column : table.columns) values.push_back(static_cast<T>(get(column)));
    return give(std::move(values));
}

nb::object flags(const Table& table, bool Column::* member) {
    nb::object bytes =
        per_column<uint8_t>(table, [&](const Column& column) { return column.*member; });
    return bytes.attr("view")("bool");
}

const Column& column_at(const Table& table, size_t column) {
    if (column >= table.columns.size()) throw nb::index_error("no such column");
    return table.columns[column];
}

}  // namespace

void bind_table(nb::module_& m) {
    nb::class_<Table>(m, "Table")
        .def(
            "__init__",
            [](Table* self, nb::handle_t<OwnedSource> source, int n_threads, bool may_borrow) {
                const Source& data = nb::cast<const OwnedSource&>(source).source;
                new (self) Table(run(n_threads, [&](Workers& workers) {
                    return encode(data, workers, may_borrow);
                }));
                if (self->borrows_values()) self->lender = hold(nb::borrow(source));
            },
            "source"_a, "n_threads"_a, "may_borrow"_a = false)
        .def_ro("n_rows", &Table::n_rows)
        .def_prop_ro("n_columns", [](const Table& self) { return self.columns.size(); })
        .def_prop_ro("nbytes", &Table::nbytes)
        .def_prop_ro("n_categories",
                     [](const Table& self) {
                         return per_column<int32_t>(self, [](const Column& column) {
                             return column.is_categorical ? column.n_codes : 0;
                         });
                     })
        .def_prop_ro("is_sparse", [](const Table& self) { return flags(self, &Column::is_sparse); })
        .def_prop_ro("has_missing",
                     [](const Table& self) { return flags(self, &Column::has_missing); })
        .def_prop_ro("n_codes",
                     [](const Table& self) {
                         return per_column<int64_t>(
                             self, [](const Column& column) { return column.n_codes; });
                     })
        .def(
            "values",
            [](const Table& self, size_t at) {
                const Column& column = column_at(self, at);
                if (!column.is_categorical) return give(column.list_values());
                std::vector<double> values(column.n_codes);
                std::iota(values.begin(), values.end(), 0.0);
                return give(std::move(values));
            },
            "column"_a)
        .def(
            "labels",
            [](const Table& self, size_t at) { return give(column_at(self, at).list_values()); },
            "column"_a)
        .def(
            "codes",
            [](const Table& self, size_t at) {
                const Column& column = column_at(self, at);
                std::vector<uint32_t> codes(self.n_rows);
                for (size_t row = 0; row < codes.size(); ++row) codes[row] = column.code_of(row);
                return give(std::move(codes));
            },
            "column"_a);
}

}  // namespace treefold
