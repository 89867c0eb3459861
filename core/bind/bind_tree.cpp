// Tree: what has grown, and what it answers (paths: bind_replay.cpp).

#include <string>

#include "bind/bindings.hpp"

namespace treefold {

namespace {

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
    if (arrays.contains("unknown_go_to_left"))
        tree.unknown_go_to_left = take<uint8_t>(arrays, "unknown_go_to_left");
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
    if (tree.has_categories()) arrays["unknown_go_to_left"] = view(self, tree.unknown_go_to_left);
    return arrays;
}

template <class T>
void bind_array(nb::class_<Tree>& tree, const char* name, std::vector<T> Tree::* member) {
    tree.def_prop_ro(name, [member](nb::handle self) {
        return view(self, nb::cast<const Tree&>(self).*member);
    });
}

}  // namespace

void bind_tree(nb::module_& m) {
    nb::class_<Tree> tree(m, "Tree");
    tree.def_ro("n_classes", &Tree::n_classes)
        .def_prop_ro("node_count", &Tree::size)
        .def_prop_ro("n_features", [](const Tree& self) { return self.n_categories.size(); })
        .def_prop_ro("max_depth", &Tree::depth)
        .def_prop_ro("n_leaves", &Tree::n_leaves)
        .def_prop_ro("samples_of_all_nodes", &Tree::samples_of_all_nodes)
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
    bind_array(tree, "unknown_go_to_left", &Tree::unknown_go_to_left);
    bind_replay(m, tree);
}

}  // namespace treefold
