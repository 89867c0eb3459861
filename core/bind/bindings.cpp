// The core as Python sees it, in the order of the data: bind_source, bind_table, bind_growth, bind_tree (and
// bind_replay for its paths). Docstrings stand in src/treefold/_core.pyi.

#include "bind/bindings.hpp"

#include <nanobind/stl/string.h>

#include <string>

namespace treefold {

namespace {

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
    nb::set_leak_warnings(false);  // what a thread still holds when Python ends is nobody's mistake
    m.attr("build") = std::string(TREEFOLD_INSTRUCTION_SET);
    m.def("cpu_runs_v3", &cpu_runs_v3);
    bind_source(m);
    bind_table(m);
    bind_tree(m);
    bind_growth(m);
}
