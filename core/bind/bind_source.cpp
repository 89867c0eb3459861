// Source: the caller's columns.

#include <nanobind/stl/optional.h>

#include "bind/bindings.hpp"
#include "data/table.hpp"

namespace treefold {

Type element_type(nb::dlpack::dtype dtype) {
    using Code = nb::dlpack::dtype_code;
    auto code = static_cast<Code>(dtype.code);
    auto pick = [&](Type by8, Type by16, Type by32, Type by64) {
        switch (dtype.bits) {
            case 8: return by8;
            case 16: return by16;
            case 32: return by32;
            case 64: return by64;
            default: throw nb::type_error("treefold: unsupported integer size");
        }
    };
    if (code == Code::Bool) return Type::boolean;
    if (code == Code::Int) return pick(Type::int8, Type::int16, Type::int32, Type::int64);
    if (code == Code::UInt) return pick(Type::uint8, Type::uint16, Type::uint32, Type::uint64);
    if (code == Code::Float && dtype.bits == 32) return Type::float32;
    if (code == Code::Float && dtype.bits == 64) return Type::float64;
    throw nb::type_error("treefold: arrays must be boolean, integer, float32 or float64");
}

namespace {

IndexView index_view(const AnyVector& vector) {
    Type type = element_type(vector.dtype());
    bool is_plain = vector.shape(0) < 2 || vector.stride(0) == 1;
    if ((type != Type::int32 && type != Type::int64) || !is_plain)
        throw nb::type_error("treefold: sparse indices must be contiguous int32 or int64");
    return {vector.data(), type == Type::int64, vector.shape(0)};
}

void add_sparse(OwnedSource& self, size_t first, const AnyVector& data, const AnyVector& indices,
                const AnyVector& begins, size_t n_columns, bool by_columns) {
    SparseView view;
    view.values = {data.data(), data.shape(0) < 2 ? 1 : data.stride(0), element_type(data.dtype())};
    view.indices = index_view(indices);
    view.begins = index_view(begins);
    if (data.shape(0) != indices.shape(0))
        throw DataError("sparse data: as many values as indices are needed");
    view.first_column = first;
    view.n_columns = n_columns;
    self.source.add_sparse(view, by_columns);
    for (const AnyVector* vector : {&data, &indices, &begins})
        self.owners.push_back(nb::cast(*vector));
}

}  // namespace

void bind_source(nb::module_& m) {
    nb::class_<OwnedSource>(m, "Source")
        .def(
            "__init__",
            [](OwnedSource* self, size_t n_rows, size_t n_columns) {
                new (self) OwnedSource{Source(n_rows, n_columns), {}};
            },
            "n_rows"_a, "n_columns"_a)
        .def(
            "add_dense",
            [](OwnedSource& self, size_t first, const AnyMatrix& values) {
                if (values.shape(0) != self.source.n_rows)
                    throw DataError("the array and the source differ in their number of rows");
                DenseView corner{values.data(), values.stride(0), element_type(values.dtype())};
                self.source.add_dense(first, values.shape(1), corner, values.stride(1));
                self.owners.push_back(nb::cast(values));
            },
            "first_column"_a, nb::arg("values").noconvert())
        .def(
            "add_csc",
            [](OwnedSource& self, size_t first, const AnyVector& data, const AnyVector& indices,
               const AnyVector& begins) {
                size_t n_columns = begins.shape(0) == 0 ? 0 : begins.shape(0) - 1;
                add_sparse(self, first, data, indices, begins, n_columns, true);
            },
            "first_column"_a, nb::arg("data").noconvert(), nb::arg("indices").noconvert(),
            nb::arg("indptr").noconvert())
        .def(
            "add_csr",
            [](OwnedSource& self, size_t first, const AnyVector& data, const AnyVector& indices,
               const AnyVector& begins, size_t n_columns) {
                add_sparse(self, first, data, indices, begins, n_columns, false);
            },
            "first_column"_a, nb::arg("data").noconvert(), nb::arg("indices").noconvert(),
            nb::arg("indptr").noconvert(), "n_columns"_a)
        .def(
            "add_table",
            [](OwnedSource& self, nb::object table, std::optional<Vector<uint32_t>> rows) {
                std::span<const uint32_t> view;
                if (rows) view = span_of(*rows);
                self.source.add_table(nb::cast<const Table&>(table), view);
                self.owners.push_back(std::move(table));
                if (rows) self.owners.push_back(nb::cast(*rows));
            },
            "table"_a, nb::arg("rows").noconvert().none() = nb::none())
        .def(
            "set_categories",
            [](OwnedSource& self, size_t column, uint32_t n_categories) {
                self.source.set_categories(column, n_categories);
            },
            "column"_a, "n_categories"_a)
        .def(
            "set_labels", [](OwnedSource& self, size_t column) { self.source.set_labels(column); },
            "column"_a);
    m.def("read_lines", [](const OwnedSource& self) {
        std::vector<double> lines = read_lines(self.source);
        size_t n_rows = self.source.n_rows, n_columns = self.source.columns.size();
        return give(std::move(lines)).attr("reshape")(n_rows, n_columns);
    });
}

}  // namespace treefold
