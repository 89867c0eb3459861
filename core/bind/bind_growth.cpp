// Rules and growth: one tree, a family, answers, leave-one-out.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <memory>
#include <string>

#include "base/random.hpp"
#include "bind/bindings.hpp"
#include "family/strata.hpp"
#include "grow/grow.hpp"
#include "search/plan.hpp"

namespace treefold {

namespace {

Criterion parse_criterion(const std::string& name) {
    for (uint8_t k = 0; k < kCriterionNames.size(); ++k)
        if (name == kCriterionNames[k]) return static_cast<Criterion>(k);
    throw DataError("unknown criterion '" + name + "'");
}

// What Python says of a member: the rows that train, or those that do not (neither: all do); weights may be missing (the
// family's), and asked (the whole tree).
struct MemberArrays {
    std::optional<Vector<uint32_t>> rows, left_out;
    std::optional<Vector<double>> weights;
    const Rules* rules;
    std::optional<Vector<uint32_t>> asked;
    bool is_whole = false;  // even if rows ask
};

Search parse_search(const std::string& name) {
    if (name != "fastest" && name != "exact") throw DataError("unknown search '" + name + "'");
    return name == "exact" ? Search::exact : Search::fastest;
}

Order parse_order(const std::string& name) {
    if (name != "last" && name != "level") throw DataError("unknown order '" + name + "'");
    return name == "level" ? Order::level : Order::last;
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

TrainingRows read_training_rows(const std::optional<Vector<uint32_t>>& rows,
                                const std::optional<Vector<uint32_t>>& left_out, size_t n_rows) {
    if (rows && left_out) throw DataError("a member names the rows that train or the others");
    if (rows) return TrainingRows::of(read_rows(span_of(*rows), n_rows, true));
    Words others;
    if (left_out) others = read_rows(span_of(*left_out), n_rows, true);
    return TrainingRows::all_but(std::move(others), n_rows);
}

// Only rows that exist for this member: of positive weight, and of a class that counts.
Member make_member(const Table& table, const TargetView& target, std::span<const double> weights,
                   const MemberArrays& arrays, size_t n_asking) {
    Member member;
    member.rules = *arrays.rules;
    member.weights = weights;
    if (arrays.weights) {
        member.weights = span_of(*arrays.weights);
        require_weights(member.weights, table.n_rows);
    }
    const std::vector<double>& multipliers = member.rules.class_multipliers;
    member.rows = read_training_rows(arrays.rows, arrays.left_out, table.n_rows);
    if (!member.weights.empty() || !multipliers.empty())
        std::erase_if(member.rows.list(), [&](uint32_t row) {
            return (!member.weights.empty() && !(member.weights[row] > 0)) ||
                   (!multipliers.empty() &&
                    !(multipliers[static_cast<size_t>(target.classes[row])] > 0));
        });
    if (counts_rows_once(member.weights)) member.weights = {};  // its rows say it all
    if (arrays.asked && table.borrows_values())
        throw DataError("rows can only ask a table that keeps its values");
    member.demand.is_everything = !arrays.asked || arrays.is_whole;
    if (arrays.asked) member.demand.rows = read_rows(span_of(*arrays.asked), n_asking, false);
    if (member.demand.rows.size() > INT32_MAX) throw DataError("too many rows ask");
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
    if (arrays.weights) weights = span_of(*arrays.weights);
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
    Grown grown = grow_members(table, {target, n_classes, weights}, {{{}, {}, {}, &rules, asked}},
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
    result["histograms_handed_on"] = work.histograms_handed_on;
    result["ambiguous_rows"] = work.ambiguous_rows;
    result["nodes_by_members"] = give(std::move(work.nodes_by_members));
    std::vector<double> tests;
    for (size_t level = 0; level < work.level_nodes.size(); ++level)
        tests.push_back(static_cast<double>(work.level_tests[level]) /
                        static_cast<double>(std::max<uint64_t>(1, work.level_nodes[level])));
    result["distinct_tests_per_level"] = give(std::move(tests));
    nb::dict columns_by_search;
    for (size_t way = 0; way < kWays; ++way)
        columns_by_search[kWayNames[way]] = work.columns_by_way.n[way];
    result["columns_by_search"] = columns_by_search;
    result["peak_bytes"] = work.peak_bytes;
    result["stack_words"] = work.stack_words;
    return result;
}

template <class T>
std::optional<Vector<T>> read_optional(nb::handle field) {
    if (field.is_none()) return {};
    return nb::cast<Vector<T>>(field, false);
}

std::vector<MemberArrays> read_members(const nb::list& members) {
    std::vector<MemberArrays> arrays;
    for (nb::handle member : members) {
        auto fields = nb::cast<nb::tuple>(member);
        if (fields.size() != 6)
            throw DataError("a member is (rows, left_out, weights, rules, asked, is_whole)");
        auto rows_at = [&](size_t at) { return read_optional<uint32_t>(fields[at]); };
        arrays.push_back({rows_at(0), rows_at(1), read_optional<double>(fields[2]),
                          nb::cast<const Rules*>(fields[3]), rows_at(4),
                          nb::cast<bool>(fields[5])});
    }
    return arrays;
}

// members: (rows, left_out) of each.
size_t count_strata_of(const nb::list& members, size_t n_rows, size_t n_looked_at) {
    std::vector<std::optional<Vector<uint32_t>>> arrays;  // of each: one of the two, or none
    std::vector<bool> do_train;
    for (nb::handle member : members) {
        auto fields = nb::cast<nb::tuple>(member);
        do_train.push_back(!fields[0].is_none());
        arrays.push_back(read_optional<uint32_t>(fields[do_train.back() ? 0 : 1]));
    }
    std::vector<NamedRows> rows;
    for (size_t k = 0; k < arrays.size(); ++k)
        rows.push_back(
            {arrays[k] ? span_of(*arrays[k]) : std::span<const uint32_t>(), do_train[k]});
    return count_strata(rows, n_rows, n_looked_at);
}

nb::tuple grow_family(const Table& table, const AnyVector& target, int n_classes,
                      std::optional<Vector<double>> weights, const nb::list& members,
                      const std::string& sharing, int n_threads, const nb::object& report) {
    Grown grown = grow_members(table, {target, n_classes, weights}, read_members(members),
                               parse_sharing(sharing), n_threads, grow,
                               report.is_none() ? nb::handle() : nb::handle(report));
    nb::list trees, leaves;
    for (Tree& tree : grown.trees) trees.append(nb::cast(std::move(tree)));
    for (std::vector<int64_t>& each : grown.leaves) leaves.append(give(std::move(each)));
    return nb::make_tuple(trees, leaves, work_to_dict(grown.work));
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
    if (weights) shared = span_of(*weights);
    require_weights(shared, table.n_rows);
    require_rules(view, rules);
    Left left = run(n_threads, [&](Workers& workers) {
        Member member = make_member(table, view, shared, {{}, {}, {}, &rules, asked}, table.n_rows);
        std::sort(member.demand.rows.begin(), member.demand.rows.end());
        return leave_one_out(table, view, std::move(member), workers);
    });
    return nb::make_tuple(give(std::move(left.values)), work_to_dict(left.work));
}

void bind_rules(nb::module_& m) {
    nb::class_<Rules>(m, "Rules")
        .def(nb::init<>())
        .def("__copy__", [](const Rules& self) { return Rules(self); })
        .def_prop_rw(
            "criterion",
            [](const Rules& self) {
                return std::string(kCriterionNames[static_cast<size_t>(self.criterion)]);
            },
            [](Rules& self, const std::string& name) { self.criterion = parse_criterion(name); })
        .def_prop_rw(
            "search",
            [](const Rules& self) {
                return std::string(self.search == Search::exact ? "exact" : "fastest");
            },
            [](Rules& self, const std::string& name) { self.search = parse_search(name); })
        .def_prop_rw(
            "order",
            [](const Rules& self) {
                return std::string(self.order == Order::level ? "level" : "last");
            },
            [](Rules& self, const std::string& name) { self.order = parse_order(name); })
        .def_rw("max_depth", &Rules::max_depth)
        .def_rw("min_samples_split", &Rules::min_samples_split)
        .def_rw("min_samples_leaf", &Rules::min_samples_leaf)
        .def_rw("min_samples_category", &Rules::min_samples_category)
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

}  // namespace

void bind_growth(nb::module_& m) {
    bind_rules(m);
    m.def("grow", &grow_tree, "table"_a, nb::arg("target").noconvert(), "n_classes"_a,
          nb::arg("sample_weight").noconvert().none(), "rules"_a, "n_threads"_a,
          nb::arg("asked").noconvert().none() = nb::none());
    m.def("leave_one_out", &leave_out, "table"_a, nb::arg("target").noconvert(), "n_classes"_a,
          nb::arg("sample_weight").noconvert().none(), "rules"_a, nb::arg("asked").noconvert(),
          "n_threads"_a);
    m.def("grow_family", &grow_family, "table"_a, nb::arg("target").noconvert(), "n_classes"_a,
          nb::arg("sample_weight").noconvert().none(), "members"_a, "sharing"_a, "n_threads"_a,
          "report"_a = nb::none());
    m.def(
        "can_search_together",
        [](const Table& table, const Rules& rules) { return can_search_together(table, rules); },
        "table"_a, "rules"_a);
    m.def("count_strata", &count_strata_of, "members"_a, "n_rows"_a, "n_looked_at"_a);
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

}  // namespace treefold
