// Tree.replay_*: matrices of cells in, one line per cell out. count_correct: the same for many trees and tests.

#include "bind/bindings.hpp"
#include "model/count_correct.hpp"
#include "model/replay.hpp"

namespace treefold {

namespace {

using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Rows of the matrix are cells: five float64 each, in the order of the struct.
std::span<const Cell> read_cells(const Matrix& matrix) {
    static_assert(sizeof(Cell) == 5 * sizeof(double));
    if (matrix.shape(1) != 5) throw DataError("a cell has five limits");
    for (size_t k = 0; k < matrix.size(); ++k)
        if (std::isnan(matrix.data()[k])) throw DataError("a limit is not a number");
    return {reinterpret_cast<const Cell*>(matrix.data()), matrix.shape(0)};
}

template <class T>
nb::object give_lines(std::vector<T>&& values, size_t n_lines) {
    size_t width = n_lines == 0 ? 0 : values.size() / n_lines;
    return give(std::move(values)).attr("reshape")(n_lines, width);
}

std::span<const int64_t> read_leaves(const Tree& tree, const Vector<int64_t>& leaves) {
    std::span<const int64_t> rows = span_of(leaves);
    for (int64_t leaf : rows)
        if (leaf < 0 || leaf >= static_cast<int64_t>(tree.size()))
            throw DataError("a row ends in a node that the tree does not have");
    return rows;
}

nb::object give_nodes(const Tree& tree, const Matrix& cells, const Vector<int64_t>& leaves,
                      int n_threads) {
    std::span<const int64_t> rows = read_leaves(tree, leaves);
    return give_lines(
        run(n_threads,
            [&](Workers& workers) { return replay_nodes(tree, read_cells(cells), rows, workers); }),
        cells.shape(0));
}

nb::object give_sums(const Tree& tree, const Matrix& cells, const Matrix& statistics,
                     int n_threads) {
    if (statistics.shape(0) != tree.size()) throw DataError("one line per node is needed");
    std::span<const double> values{statistics.data(), statistics.size()};
    return give_lines(run(n_threads,
                          [&](Workers& workers) {
                              return replay_sums(tree, read_cells(cells), values, workers);
                          }),
                      cells.shape(0));
}

nb::object give_totals(const Tree& tree, const Matrix& lines) {
    if (lines.shape(0) != tree.size()) throw DataError("one line per node is needed");
    std::vector<double> totals(lines.data(), lines.data() + lines.size());
    add_up(tree, totals);
    return give_lines(std::move(totals), tree.size());
}

// Arrays of one request, which its views are of.
struct RequestArrays {
    const Tree* tree;
    Matrix cells;
    std::vector<Vector<int64_t>> leaves;
    std::vector<Vector<int32_t>> classes;
};

template <class T>
std::vector<Vector<T>> read_vectors(nb::handle list) {
    std::vector<Vector<T>> vectors;
    for (nb::handle each : nb::cast<nb::list>(list))
        vectors.push_back(nb::cast<Vector<T>>(each, false));
    return vectors;
}

RequestArrays read_request(nb::handle given) {
    auto fields = nb::cast<nb::tuple>(given);
    if (fields.size() != 4) throw DataError("a request is (tree, cells, leaves, classes)");
    return {nb::cast<const Tree*>(fields[0]), nb::cast<Matrix>(fields[1], false),
            read_vectors<int64_t>(fields[2]), read_vectors<int32_t>(fields[3])};
}

CountRequest view_request(const RequestArrays& arrays) {
    const Tree& tree = *arrays.tree;
    if (arrays.leaves.size() != arrays.classes.size())
        throw DataError("a test needs leaves and classes");
    CountRequest request{&tree, read_cells(arrays.cells), {}};
    for (size_t k = 0; k < arrays.leaves.size(); ++k) {
        std::span<const int32_t> classes = span_of(arrays.classes[k]);
        if (arrays.leaves[k].shape(0) != classes.size())
            throw DataError("one class per leaf is needed");
        for (int32_t label : classes)
            if (label < 0 || label >= tree.n_classes)
                throw DataError("a class number is out of range");
        request.tests.push_back({read_leaves(tree, arrays.leaves[k]), classes});
    }
    return request;
}

nb::list give_right(const nb::list& given, int n_threads) {
    std::vector<RequestArrays> arrays;
    std::vector<CountRequest> requests;
    for (nb::handle each : given) arrays.push_back(read_request(each));
    for (const RequestArrays& each : arrays) requests.push_back(view_request(each));
    auto right = run(n_threads, [&](Workers& workers) { return count_correct(requests, workers); });
    nb::list lines;
    for (size_t k = 0; k < right.size(); ++k)
        lines.append(give_lines(std::move(right[k]), requests[k].cells.size()));
    return lines;
}

}  // namespace

void bind_replay(nb::module_& m, nb::class_<Tree>& tree) {
    tree.def(
            "replay_tree",
            [](const Tree& self, const Matrix& cells) {
                if (cells.shape(0) != 1) throw DataError("one cell makes one tree");
                return replay_tree(self, read_cells(cells)[0]);
            },
            nb::arg("cells").noconvert())
        .def(
            "replay_sizes",
            [](const Tree& self, const Matrix& cells, int n_threads) {
                CellSizes sizes = run(n_threads, [&](Workers& workers) {
                    return replay_sizes(self, read_cells(cells), workers);
                });
                return nb::make_tuple(give(std::move(sizes.n_leaves)),
                                      give(std::move(sizes.depths)));
            },
            nb::arg("cells").noconvert(), "n_threads"_a)
        .def(
            "replay_leaf_map",
            [](const Tree& self, const Matrix& cells, int n_threads) {
                return give_lines(run(n_threads,
                                      [&](Workers& workers) {
                                          return replay_leaf_map(self, read_cells(cells), workers);
                                      }),
                                  cells.shape(0));
            },
            nb::arg("cells").noconvert(), "n_threads"_a)
        .def("replay_nodes", &give_nodes, nb::arg("cells").noconvert(),
             nb::arg("leaves").noconvert(), "n_threads"_a)
        .def("replay_sums", &give_sums, nb::arg("cells").noconvert(),
             nb::arg("statistics").noconvert(), "n_threads"_a)
        .def("add_up", &give_totals, nb::arg("lines").noconvert());
    m.def("count_correct", &give_right, "requests"_a, "n_threads"_a);
}

}  // namespace treefold
