"""Models whose numbers leave double when they are multiplied: compiled, or refused in words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.accelerate.registry import accelerate
from svmcompile.data import Data
from svmcompile.flow.program import open_model

HUGE = """svm_type {kind}
kernel_type {kernel}
nr_class 2
total_sv 3
rho 1e-46
{labels}SV
1e200 1:1e200 2:-1
-1e308 1:1e-46 2:3.4e38
0.5 1:-1.455 2:1e154
"""
KERNELS = {
    "linear": "linear",
    "rbf": "rbf\ngamma 1e30",
    "poly": "polynomial\ndegree 9\ngamma 1e38\ncoef0 1",
    "sigmoid": "sigmoid\ngamma 1e200\ncoef0 -1e308",
}
X = np.random.default_rng(0).normal(size=(60, 2))
pytestmark = pytest.mark.filterwarnings("ignore")


def model(folder: Path, kernel: str, kind: str) -> Path:
    labels = "label 0 1\nnr_sv 2 1\n" if kind == "c_svc" else ""
    path = folder / "m.model"
    path.write_text(HUGE.format(kind=kind, kernel=KERNELS[kernel], labels=labels))
    return path


@pytest.mark.parametrize("kind", ["c_svc", "epsilon_svr"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_whole_numbers_are_refused(kernel: str, kind: str, tmp_path: Path) -> None:
    program = sc.compile(model(tmp_path, kernel, kind), n_features=2)
    for precision in ("q15", "q7"):
        try:
            sc.emit(program, "c", "m", precision, "device", X=X)
        except sc.SvmCompileError as error:
            assert "whole numbers" in str(error) or "fixed point" in str(error)


@pytest.mark.parametrize(
    "method", ["reduced-set", "metric-tree", "sv-tree", "anytime", "certified", "linear"]
)
@pytest.mark.parametrize("kernel", KERNELS)
def test_methods_give_a_program_or_an_error(method: str, kernel: str, tmp_path: Path) -> None:
    for kind in ("c_svc", "epsilon_svr"):
        try:
            sc.compile(model(tmp_path, kernel, kind), method=method, X=X, n_features=2)
        except sc.SvmCompileError as error:
            assert method in str(error) or "scale the features" in str(error)


def test_an_error_of_our_own_is_not_taken_for_the_models(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: object) -> None:
        raise ValueError("ours")

    svm = open_model(SVC().fit(X, X[:, 0] > 0)).trained()
    chosen = "svmcompile.accelerate.exact.METHOD"
    from svmcompile.accelerate.exact import METHOD

    monkeypatch.setattr(chosen, METHOD.__class__(**{**vars_of(METHOD), "run": broken}))
    with pytest.raises(ValueError, match="ours"):
        accelerate(svm, Data(X, None), "exact", {})


def vars_of(thing: object) -> dict[str, object]:
    return {name: getattr(thing, name) for name in thing.__dataclass_fields__}  # type: ignore[attr-defined]


def test_so_many_classes_that_pairs_take_hours(tmp_path: Path) -> None:
    y = np.arange(210) % 70
    many = np.random.default_rng(1).normal(size=(210, 3)) + y[:, None]
    with pytest.raises(sc.SvmCompileError, match="2,415 lists"):
        sc.compile(SVC().fit(many, y), method="h1-tree", X=many)
    with pytest.raises(sc.SvmCompileError, match="2,415 lists"):
        sc.train(many, y, method="h1-tree")
