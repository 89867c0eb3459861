#include "model/count_correct.hpp"

#include <algorithm>

#include "base/parallel.hpp"

namespace treefold {

namespace {

template <class Number>
void add_up_lines(const Tree& tree, std::span<Number> lines) {
    size_t width = lines.size() / tree.size();
    for (size_t node = tree.size(); node-- > 0;) {  // children come after their parents
        if (tree.is_leaf(node)) continue;
        Number *own = &lines[node * width], *left = own + width;
        Number* right = &lines[static_cast<size_t>(tree.children_right[node]) * width];
        for (size_t k = 0; k < width; ++k) own[k] += left[k] + right[k];
    }
}

// The class that each node predicts.
std::vector<uint32_t> find_answers(const Tree& tree) {
    size_t width = tree.n_values();
    std::vector<uint32_t> answers(tree.size());
    for (size_t node = 0; node < tree.size(); ++node) {
        const double* value = &tree.value[node * width];
        answers[node] = static_cast<uint32_t>(std::max_element(value, value + width) - value);
    }
    return answers;
}

// (node, test): the rows that reach the node and would be predicted rightly there.
std::vector<double> count_correct_at_nodes(const CountRequest& request) {
    const Tree& tree = *request.tree;
    size_t width = tree.n_values(), n_tests = request.tests.size();
    std::vector<uint32_t> answers = find_answers(tree), reached;
    std::vector<double> right(tree.size() * n_tests);
    for (size_t test = 0; test < n_tests; ++test) {
        const TestRows& rows = request.tests[test];
        reached.assign(tree.size() * width, 0);
        for (size_t row = 0; row < rows.leaves.size(); ++row)
            ++reached[static_cast<size_t>(rows.leaves[row]) * width +
                      static_cast<size_t>(rows.classes[row])];
        add_up_lines<uint32_t>(tree, reached);
        for (size_t node = 0; node < tree.size(); ++node)
            right[node * n_tests + test] = reached[node * width + answers[node]];
    }
    return right;
}

}  // namespace

void add_up(const Tree& tree, std::span<double> lines) { add_up_lines(tree, lines); }

// An request each, or all on one after the other if they are few.
std::vector<std::vector<double>> count_correct(std::span<const CountRequest> requests,
                                               Workers& workers) {
    std::vector<std::vector<double>> right(requests.size());
    auto hold = [&](size_t request, Workers& own) {
        const CountRequest& held = requests[request];
        right[request] = replay_sums(*held.tree, held.cells, count_correct_at_nodes(held), own);
    };
    if (requests.size() < static_cast<size_t>(workers.size())) {
        for (size_t request = 0; request < requests.size(); ++request) hold(request, workers);
        return right;
    }
    workers.for_each(requests.size(), [&](size_t request, int) {
        Workers alone(1, nullptr);
        hold(request, alone);
    });
    return right;
}

}  // namespace treefold
