"""How many threads a call may use."""

import joblib
import pytest

from treefold import DecisionTreeClassifier, threads


@pytest.fixture(autouse=True)
def no_counts(monkeypatch):
    monkeypatch.setattr(threads, "_counts", {})
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


@pytest.mark.parametrize("n_jobs", [None, 1, 3, -1, -2])
def test_the_count_is_that_of_joblib(n_jobs):
    for _ in range(2):
        assert threads.effective_n_jobs(n_jobs) == joblib.effective_n_jobs(n_jobs)


def test_a_count_of_cpus_is_asked_for_once_in_a_while(monkeypatch):
    asked = []
    monkeypatch.setattr(joblib, "effective_n_jobs", lambda n_jobs: asked.append(n_jobs) or 5)
    assert [threads.effective_n_jobs(-1) for _ in range(3)] == [5, 5, 5]
    assert asked == [-1]
    monkeypatch.setattr(threads, "_LASTING", 0.0)
    threads._counts.clear()
    assert [threads.effective_n_jobs(-1) for _ in range(3)] == [5, 5, 5]
    assert asked == [-1] * 4


def test_limits_and_backends_are_heard_at_once(monkeypatch):
    free = threads.effective_n_jobs(-1)
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    assert threads.effective_n_jobs(-1) == 1
    monkeypatch.delenv("LOKY_MAX_CPU_COUNT")
    assert threads.effective_n_jobs(-1) == free
    with joblib.parallel_config(backend="sequential"):
        assert threads.effective_n_jobs(-1) == joblib.effective_n_jobs(-1)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert threads.effective_n_jobs(-1) == 1


def test_any_number_of_threads_may_be_asked_for():
    assert threads.effective_n_jobs(10**10) == threads.effective_n_jobs(10**5) < 10**4
    X = [[0.0], [1.0], [2.0], [3.0]]
    model = DecisionTreeClassifier(n_jobs=10**10).fit(X, [0, 1, 0, 1])
    assert model.predict(X).tolist() == [0, 1, 0, 1]
