"""Long work says how far it is, to whoever asks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.progress import showing, steps


@pytest.mark.parametrize(
    ("method", "what"),
    [("metric-tree", {"growing a tree"}), ("sv-tree", {"kernel values", "growing a tree"})],
)
def test_methods_that_take_long_show_it(method: str, what: set[str]) -> None:
    seen: dict[str, list[int]] = {}

    @contextmanager
    def show(title: str, total: int) -> Iterator[Any]:
        seen.setdefault(title, [0, 0])[1] += total

        def advance(done: int) -> None:
            seen[title][0] += done

        yield advance

    X, y = load_iris(return_X_y=True)
    with showing(show):
        sc.compile(SVC().fit(X, y == 1), method=method, X=X)
    assert set(seen) == what
    assert all(0 < done <= total for done, total in seen.values())


def test_without_a_listener_nothing_happens() -> None:
    with steps("work", 3) as advance:
        advance(3)
