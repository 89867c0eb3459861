// What the files that bind the core to Python share: array types, and calls without the interpreter lock.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <functional>
#include <span>
#include <vector>

#include "base/parallel.hpp"
#include "data/source.hpp"
#include "model/tree.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace treefold {

using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
using AnyVector = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<const T> span_of(const Vector<T>& values) {
    return {values.data(), values.shape(0)};
}

// The caller's arrays stay alive as long as the views on them.
struct OwnedSource {
    Source source;
    std::vector<nb::object> owners;
};

Type element_type(nb::dlpack::dtype dtype);

// Polls for Ctrl-C, if this is the thread that receives it, and tells `report`, unless it is null, how much work is
// done. An exception of the report is an interruption.
inline Poll polling(nb::handle report) {
    return [report](uint64_t done) {
        nb::gil_scoped_acquire lock;
        if (PyErr_CheckSignals() != 0) return true;
        if (!report) return false;
        PyObject* answer =
            PyObject_CallFunction(report.ptr(), "K", static_cast<unsigned long long>(done));
        Py_XDECREF(answer);
        return answer == nullptr;
    };
}

// Runs work without the interpreter lock; an interruption surfaces as the exception Python has set.
template <class Work>
auto run(int n_threads, Work&& work, nb::handle report = {}) {
    try {
        nb::gil_scoped_release release;
        Workers workers(n_threads, polling(report));
        return work(workers);
    } catch (const Interrupted&) {
        if (PyErr_Occurred()) throw nb::python_error();
        throw;
    }
}

template <class T>
nb::object give(std::vector<T>&& values) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
}

// A read-only view that keeps the object alive.
template <class T>
nb::object view(nb::handle owner, const std::vector<T>& values) {
    return nb::cast(
        nb::ndarray<nb::numpy, const T, nb::ndim<1>>(values.data(), {values.size()}, owner));
}

void bind_source(nb::module_& m);
void bind_table(nb::module_& m);
void bind_growth(nb::module_& m);
void bind_tree(nb::module_& m);
void bind_replay(nb::module_& m, nb::class_<Tree>& tree);

}  // namespace treefold
