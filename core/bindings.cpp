// The core as Python sees it (paths: bind_replay.cpp). Docstrings stand in src/treefold/_core.pyi.

#include "bindings.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <numeric>
#include <string>

#include "grow.hpp"
#include "random.hpp"

namespace treefold {

namespace {

// The caller's arrays stay alive as long as the views on them.
struct OwnedSource {
    Source source;
    std::vector<nb::object> owners;
};

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

template <class T>
std::vector<T> take(const nb::dict& arrays, const char* name) {
    if (!arrays.contains(name))
        throw DataError(std::string("not a valid tree: the array '") + name + "' is missing");
    Vector<T> array;
    if (!nb::try_cast(arrays[name], array, false))
        throw DataError(std::string("not a valid tree: the array '") + name +
                        "' has another type or shape");
    return {array.data(), array.data() + array.shape(0)};
}

Tree tree_from_arrays(const nb::dict& arrays, int n_classes) {
    Tree tree;
    tree.n_classes = n_classes;
    tree.n_categories = take<int32_t>(arrays, "n_categories");
    tree.children_right = take<int32_t>(arrays, "children_right");
    tree.feature = take<int32_t>(arrays, "feature");
    tree.threshold = take<double>(arrays, "threshold");
    tree.missing_go_to_left = take<uint8_t>(arrays, "missing_go_to_left");
    tree.float32_side = take<uint8_t>(arrays, "float32_side");
    tree.impurity = take<double>(arrays, "impurity");
    tree.n_node_samples = take<int32_t>(arrays, "n_node_samples");
    tree.weighted_n_node_samples = take<double>(arrays, "weighted_n_node_samples");
    tree.value = take<double>(arrays, "value");
    tree.category_begin = take<int64_t>(arrays, "category_begin");
    tree.category_words = take<uint64_t>(arrays, "category_words");
    complete_and_validate(tree);
    return tree;
}

// Offsets of the sets, also where the tree does without them.
nb::object category_begin(nb::handle self) {
    const Tree& tree = nb::cast<const Tree&>(self);
    if (tree.category_begin.empty()) return give(std::vector<int64_t>(tree.size() + 1));
    return view(self, tree.category_begin);
}

nb::dict tree_to_arrays(nb::handle self) {
    const Tree& tree = nb::cast<const Tree&>(self);
    nb::dict arrays;
    arrays["n_categories"] = view(self, tree.n_categories);
    arrays["children_right"] = view(self, tree.children_right);
    arrays["feature"] = view(self, tree.feature);
    arrays["threshold"] = view(self, tree.threshold);
    arrays["missing_go_to_left"] = view(self, tree.missing_go_to_left);
    arrays["float32_side"] = view(self, tree.float32_side);
    arrays["impurity"] = view(self, tree.impurity);
    arrays["n_node_samples"] = view(self, tree.n_node_samples);
    arrays["weighted_n_node_samples"] = view(self, tree.weighted_n_node_samples);
    arrays["value"] = view(self, tree.value);
    arrays["category_begin"] = category_begin(self);
    arrays["category_words"] = view(self, tree.category_words);
    return arrays;
}

const char* const kCriteria[] = {"gini", "entropy", "gain_ratio", "squared_error"};

Criterion parse_criterion(const std::string& name) {
    for (uint8_t k = 0; k < 4; ++k)
        if (name == kCriteria[k]) return static_cast<Criterion>(k);
    throw DataError("unknown criterion '" + name + "'");
}

// What Python says of a member: rows and asked may be missing (all rows; the whole tree), weights too (the family's).
struct MemberArrays {
    std::optional<Vector<uint32_t>> rows;
    std::optional<Vector<double>> weights;
    const Rules* rules;
    std::optional<Vector<uint32_t>> asked;
};

std::vector<uint32_t> to_rows(const Vector<uint32_t>& rows, size_t n_rows) {
    std::vector<uint32_t> result(rows.data(), rows.data() + rows.shape(0));
    for (uint32_t row : result)
        if (row >= n_rows) throw DataError("a row is not in the table");
    return result;
}

void require_weights(std::span<const double> weights, size_t n_rows) {
    if (!weights.empty() && weights.size() != n_rows)
        throw DataError("the table, the target and the weights differ in their number of rows");
    for (double weight : weights)
        if (!(weight >= 0) || std::isinf(weight))
            throw DataError("a weight is negative or not finite");
}

bool counts_rows_once(std::span<const double> weights) {
    return std::all_of(weights.begin(), weights.end(),
                       [](double weight) { return weight == 0.0 || weight == 1.0; });
}

// Only rows that exist for this member: of positive weight, and of a class that counts.
Member make_member(const Table& table, const TargetView& target, std::span<const double> weights,
                   const MemberArrays& arrays, size_t n_asking) {
    Member member;
    member.rules = *arrays.rules;
    member.weights = weights;
    if (arrays.weights) {
        member.weights = {arrays.weights->data(), arrays.weights->shape(0)};
        require_weights(member.weights, table.n_rows);
    }
    const std::vector<double>& multipliers = member.rules.class_multipliers;
    auto counts = [&](uint32_t row) {
        return (member.weights.empty() || member.weights[row] > 0) &&
               (multipliers.empty() || multipliers[static_cast<size_t>(target.classes[row])] > 0);
    };
    if (arrays.rows) {
        member.rows = to_rows(*arrays.rows, table.n_rows);
        for (size_t k = 1; k < member.rows.size(); ++k)
            if (member.rows[k] <= member.rows[k - 1])
                throw DataError("the rows of a member must ascend");
        std::erase_if(member.rows, [&](uint32_t row) { return !counts(row); });
    } else {
        member.rows.reserve(table.n_rows);
        for (uint32_t row = 0; row < table.n_rows; ++row)
            if (counts(row)) member.rows.push_back(row);
    }
    if (counts_rows_once(member.weights)) member.weights = {};  // its rows say it all
    if (arrays.asked && table.borrows_values())
        throw DataError("rows can only ask a table that keeps its values");
    member.demand.is_everything = !arrays.asked;
    if (arrays.asked) member.demand.rows = to_rows(*arrays.asked, n_asking);
    return member;
}

void require_rules(const TargetView& target, const Rules& rules) {
    if ((target.n_classes == 0) != (rules.criterion == Criterion::squared_error))
        throw DataError("the criterion does not fit the kind of target");
    if (!rules.class_multipliers.empty() &&
        rules.class_multipliers.size() != static_cast<size_t>(target.n_classes))
        throw DataError("one multiplier per class is needed");
    for (double multiplier : rules.class_multipliers)
        if (!(multiplier >= 0) || std::isinf(multiplier))
            throw DataError("a class multiplier is negative or not finite");
}

TargetView view_target(const Table& table, const AnyVector& target, int n_classes) {
    TargetView view;
    view.n_classes = n_classes;
    if (n_classes < 0) throw DataError("the number of classes is negative");
    bool is_plain = target.shape(0) < 2 || target.stride(0) == 1;
    Type type = element_type(target.dtype());
    if (!is_plain || type != (n_classes > 0 ? Type::int32 : Type::float64))
        throw nb::type_error(
            "treefold: the target must be contiguous int32 (classes) or float64 (numbers)");
    if (n_classes > 0)
        view.classes = {static_cast<const int32_t*>(target.data()), target.shape(0)};
    else
        view.numbers = {static_cast<const double*>(target.data()), target.shape(0)};
    if (view.n_rows() != table.n_rows)
        throw DataError("the table, the target and the weights differ in their number of rows");
    for (int32_t label : view.classes)
        if (label < 0 || label >= n_classes) throw DataError("a class number is out of range");
    for (double y : view.numbers)
        if (!std::isfinite(y)) throw DataError("the target has a value that is not finite");
    return view;
}

// A target with the weights that members have unless they bring their own.
struct FamilyArrays {
    AnyVector target;
    int n_classes;
    std::optional<Vector<double>> weights;
};

Questions read_questions(const Table& table, const Source& source) {
    if (source.columns.size() != table.columns.size())
        throw DataError("the questions and the table differ in their number of columns");
    return {read_lines(source), source.n_rows, source.columns.size()};
}

// Calls grow(table, view, family, workers).
template <class Grow>
auto grow_members(const Table& table, const FamilyArrays& arrays,
                  const std::vector<MemberArrays>& members, Sharing sharing, int n_threads,
                  Grow&& grow, nb::handle report = {}, const OwnedSource* questions = nullptr) {
    TargetView view = view_target(table, arrays.target, arrays.n_classes);
    std::span<const double> weights;
    if (arrays.weights) weights = {arrays.weights->data(), arrays.weights->shape(0)};
    require_weights(weights, table.n_rows);
    for (const MemberArrays& member : members) require_rules(view, *member.rules);
    auto grow_all = [&](Workers& workers) {
        Family family;
        family.sharing = sharing;
        if (questions != nullptr) family.questions = read_questions(table, questions->source);
        size_t n_asking = questions == nullptr ? table.n_rows : questions->source.n_rows;
        for (const MemberArrays& member : members)
            family.members.push_back(make_member(table, view, weights, member, n_asking));
        return grow(table, view, std::move(family), workers);
    };
    return run(n_threads, grow_all, report);
}

Tree grow_tree(const Table& table, const AnyVector& target, int n_classes,
               std::optional<Vector<double>> weights, const Rules& rules, int n_threads,
               std::optional<Vector<uint32_t>> asked) {
    Grown grown = grow_members(table, {target, n_classes, weights}, {{{}, {}, &rules, asked}},
                               Sharing::none, n_threads, grow);
    return std::move(grown.trees[0]);
}

Sharing parse_sharing(const std::string& name) {
    if (name == "none") return Sharing::none;
    if (name == "overlap") return Sharing::overlap;
    if (name == "folds") return Sharing::folds;
    throw DataError("unknown sharing '" + name + "'");
}

nb::dict work_to_dict(Work& work) {
    nb::dict result;
    result["rows_scanned"] = work.rows_scanned;
    result["statistic_updates"] = work.statistic_updates;
    result["serial_statistic_updates"] = work.serial_updates;
    result["split_evaluations"] = work.split_evaluations;
    result["nodes_grown"] = work.nodes_grown;
    result["forks"] = work.forks;
    result["heals"] = work.heals;
    result["ambiguous_rows"] = work.ambiguous_rows;
    result["nodes_by_members"] = give(std::move(work.nodes_by_members));
    std::vector<double> tests;
    for (size_t level = 0; level < work.level_nodes.size(); ++level)
        tests.push_back(static_cast<double>(work.level_tests[level]) /
                        static_cast<double>(std::max<uint64_t>(1, work.level_nodes[level])));
    result["distinct_tests_per_level"] = give(std::move(tests));
    result["peak_bytes"] = work.peak_bytes;
    result["stack_words"] = work.stack_words;
    return result;
}

std::vector<MemberArrays> read_members(const nb::list& members) {
    std::vector<MemberArrays> arrays;
    for (nb::handle member : members) {
        auto fields = nb::cast<nb::tuple>(member);
        if (fields.size() != 4) throw DataError("a member is (rows, weights, rules, asked)");
        MemberArrays one{{}, {}, nb::cast<const Rules*>(fields[2]), {}};
        if (!fields[0].is_none()) one.rows = nb::cast<Vector<uint32_t>>(fields[0], false);
        if (!fields[1].is_none()) one.weights = nb::cast<Vector<double>>(fields[1], false);
        if (!fields[3].is_none()) one.asked = nb::cast<Vector<uint32_t>>(fields[3], false);
        arrays.push_back(std::move(one));
    }
    return arrays;
}

nb::tuple grow_family(const Table& table, const AnyVector& target, int n_classes,
                      std::optional<Vector<double>> weights, const nb::list& members,
                      const std::string& sharing, int n_threads, const nb::object& report) {
    Grown grown = grow_members(table, {target, n_classes, weights}, read_members(members),
                               parse_sharing(sharing), n_threads, grow,
                               report.is_none() ? nb::handle() : nb::handle(report));
    nb::list trees;
    for (Tree& tree : grown.trees) trees.append(nb::cast(std::move(tree)));
    return nb::make_tuple(trees, work_to_dict(grown.work));
}

nb::tuple answer_family(const Table& table, const AnyVector& target, int n_classes,
                        std::optional<Vector<double>> weights, const nb::list& members,
                        int n_threads, const OwnedSource* questions) {
    Answered answered = grow_members(table, {target, n_classes, weights}, read_members(members),
                                     Sharing::none, n_threads, answer, {}, questions);
    nb::list values;
    for (std::vector<double>& each : answered.values) values.append(give(std::move(each)));
    return nb::make_tuple(values, work_to_dict(answered.work));
}

nb::tuple leave_out(const Table& table, const AnyVector& target, int n_classes,
                    std::optional<Vector<double>> weights, const Rules& rules,
                    const Vector<uint32_t>& asked, int n_threads) {
    TargetView view = view_target(table, target, n_classes);
    std::span<const double> shared;
    if (weights) shared = {weights->data(), weights->shape(0)};
    require_weights(shared, table.n_rows);
    require_rules(view, rules);
    Left left = run(n_threads, [&](Workers& workers) {
        Member member = make_member(table, view, shared, {{}, {}, &rules, asked}, table.n_rows);
        std::sort(member.demand.rows.begin(), member.demand.rows.end());
        return leave_one_out(table, view, std::move(member), workers);
    });
    return nb::make_tuple(give(std::move(left.values)), work_to_dict(left.work));
}

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
                if (rows) view = {rows->data(), rows->shape(0)};
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
}

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

void bind_rules(nb::module_& m) {
    nb::class_<Rules>(m, "Rules")
        .def(nb::init<>())
        .def("__copy__", [](const Rules& self) { return Rules(self); })
        .def_prop_rw(
            "criterion",
            [](const Rules& self) {
                return std::string(kCriteria[static_cast<size_t>(self.criterion)]);
            },
            [](Rules& self, const std::string& name) { self.criterion = parse_criterion(name); })
        .def_rw("max_depth", &Rules::max_depth)
        .def_rw("min_samples_split", &Rules::min_samples_split)
        .def_rw("min_samples_leaf", &Rules::min_samples_leaf)
        .def_rw("min_weight_leaf", &Rules::min_weight_leaf)
        .def_rw("max_features", &Rules::max_features)
        .def_rw("max_leaf_nodes", &Rules::max_leaf_nodes)
        .def_rw("min_impurity_decrease", &Rules::min_impurity_decrease)
        .def_rw("min_impurity", &Rules::min_impurity)
        .def_rw("seed", &Rules::seed)
        .def_rw("tree", &Rules::tree)
        .def_prop_rw(
            "class_multipliers",
            [](nb::handle self) {
                return view(self, nb::cast<const Rules&>(self).class_multipliers);
            },
            [](Rules& self, std::optional<Vector<double>> values) {
                self.class_multipliers.clear();
                if (values)
                    self.class_multipliers.assign(values->data(),
                                                  values->data() + values->shape(0));
            },
            nb::for_setter(nb::arg("values").none()));
}

template <class T>
void bind_array(nb::class_<Tree>& tree, const char* name, std::vector<T> Tree::* member) {
    tree.def_prop_ro(name, [member](nb::handle self) {
        return view(self, nb::cast<const Tree&>(self).*member);
    });
}

void bind_tree(nb::module_& m) {
    nb::class_<Tree> tree(m, "Tree");
    tree.def_ro("n_classes", &Tree::n_classes)
        .def_prop_ro("node_count", &Tree::size)
        .def_prop_ro("n_features", [](const Tree& self) { return self.n_categories.size(); })
        .def_prop_ro("max_depth", &Tree::depth)
        .def_prop_ro("n_leaves", &Tree::n_leaves)
        .def_prop_ro("value",
                     [](nb::handle self) {
                         const Tree& tree = nb::cast<const Tree&>(self);
                         return nb::cast(nb::ndarray<nb::numpy, const double, nb::ndim<2>>(
                             tree.value.data(), {tree.size(), tree.n_values()}, self));
                     })
        .def_static("from_arrays", &tree_from_arrays, "arrays"_a, "n_classes"_a)
        .def("to_arrays", &tree_to_arrays)
        .def(
            "apply",
            [](const Tree& self, const OwnedSource& source, int n_threads) {
                return give(run(n_threads, [&](Workers& workers) {
                    return apply(self, source.source, workers);
                }));
            },
            "source"_a, "n_threads"_a)
        .def(
            "decision_path",
            [](const Tree& self, const OwnedSource& source, int n_threads) {
                DecisionPath path = run(n_threads, [&](Workers& workers) {
                    return decision_path(self, source.source, workers);
                });
                return nb::make_tuple(give(std::move(path.begins)), give(std::move(path.nodes)));
            },
            "source"_a, "n_threads"_a)
        .def(
            "prune", [](const Tree& self, double ccp_alpha) { return prune(self, ccp_alpha); },
            "ccp_alpha"_a)
        .def("pruning_path",
             [](const Tree& self) {
                 PruningPath path = pruning_path(self);
                 return nb::make_tuple(give(std::move(path.alphas)),
                                       give(std::move(path.impurities)),
                                       give(std::move(path.n_leaves)));
             })
        .def("feature_importances",
             [](const Tree& self) { return give(feature_importances(self)); });
    bind_array(tree, "children_left", &Tree::children_left);
    bind_array(tree, "children_right", &Tree::children_right);
    bind_array(tree, "feature", &Tree::feature);
    bind_array(tree, "threshold", &Tree::threshold);
    bind_array(tree, "missing_go_to_left", &Tree::missing_go_to_left);
    bind_array(tree, "float32_side", &Tree::float32_side);
    bind_array(tree, "impurity", &Tree::impurity);
    bind_array(tree, "n_node_samples", &Tree::n_node_samples);
    bind_array(tree, "weighted_n_node_samples", &Tree::weighted_n_node_samples);
    bind_array(tree, "n_categories", &Tree::n_categories);
    tree.def_prop_ro("category_begin", &category_begin);
    bind_array(tree, "category_words", &Tree::category_words);
    bind_replay(tree);
}

bool cpu_runs_v3() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi2");
#else
    return false;
#endif
}

}  // namespace

}  // namespace treefold

NB_MODULE(TREEFOLD_MODULE, m) {
    using namespace treefold;
    m.attr("build") = std::string(TREEFOLD_INSTRUCTION_SET);
    m.def("cpu_runs_v3", &cpu_runs_v3);
    bind_source(m);
    bind_table(m);
    bind_rules(m);
    bind_tree(m);
    m.def("grow", &grow_tree, "table"_a, nb::arg("target").noconvert(), "n_classes"_a,
          nb::arg("sample_weight").noconvert().none(), "rules"_a, "n_threads"_a,
          nb::arg("asked").noconvert().none() = nb::none());
    m.def("leave_one_out", &leave_out, "table"_a, nb::arg("target").noconvert(), "n_classes"_a,
          nb::arg("sample_weight").noconvert().none(), "rules"_a, nb::arg("asked").noconvert(),
          "n_threads"_a);
    m.def("read_lines", [](const OwnedSource& self) {
        std::vector<double> lines = read_lines(self.source);
        size_t n_rows = self.source.n_rows, n_columns = self.source.columns.size();
        return give(std::move(lines)).attr("reshape")(n_rows, n_columns);
    });
    m.def("grow_family", &grow_family, "table"_a, nb::arg("target").noconvert(), "n_classes"_a,
          nb::arg("sample_weight").noconvert().none(), "members"_a, "sharing"_a, "n_threads"_a,
          "report"_a = nb::none());
    m.def("answer_family", &answer_family, "table"_a, nb::arg("target").noconvert(), "n_classes"_a,
          nb::arg("sample_weight").noconvert().none(), "members"_a, "n_threads"_a,
          "questions"_a.none() = nb::none());
    m.def(
        "draw_bag",
        [](uint64_t seed, uint64_t tree, uint64_t n_rows) {
            return give(draw_bag(seed, tree, n_rows));
        },
        "seed"_a, "tree"_a, "n_rows"_a);
}
