"""Optimisations off and on: each pass, instruction set and layout gives the labels of all others.

Bit-equal is what claims to be: whole numbers in every profile, and passes that only move powers of two.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC
from targets.c_build import LEVELS

import svmcompile as sc
from svmcompile import optimise as passes
from svmcompile.flow.emission import Request, emit_targets, prepare
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.interpret import interpret
from svmcompile.ir.program import Program
from svmcompile.optimise import PASSES
from tests.crossing.driven import answers

pytestmark = pytest.mark.filterwarnings("ignore")
MODELS: dict[str, Any] = {
    "rbf": make_pipeline(StandardScaler(), SVC(C=10.0)),
    "linear": make_pipeline(MinMaxScaler(), SVC(kernel="linear")),
    "square": make_pipeline(StandardScaler(), SVC(kernel="poly", degree=2, coef0=1.0)),
    "large": SVC(kernel="poly", degree=9, gamma=10.0, coef0=1.0, max_iter=2000),
    "projected": make_pipeline(StandardScaler(), PCA(4), StandardScaler(), SVR()),
    "columns": make_pipeline(
        ColumnTransformer([("a", StandardScaler(), [4, 1]), ("b", MinMaxScaler(), [0, 7, 2, 3, 6, 5])]),
        SVC(),
    ),
    "clipped": make_pipeline(
        ColumnTransformer([("a", MinMaxScaler(clip=True), [4, 1]), ("b", "passthrough", [0, 5])]), SVC()
    ),
}


def data() -> tuple[Any, Any]:
    """Rows with copies and zeros, and rows halfway between others, where labels change."""
    random = np.random.default_rng(0)
    X = (
        (random.normal(size=(120, 8)) * (random.random((120, 8)) < 0.3))
        .astype(np.float32)
        .astype(np.float64)
    )
    X[60:] = X[:60]
    y = (X @ random.normal(size=8) > 0.1).astype(int) + (X[:, 0] > 0.2)
    near = ((X[:60] + X[30:90]) / 2).astype(np.float32).astype(np.float64)
    return X, (y, near)


def assert_same(program: Program, other: Program, rows: Any) -> None:
    """Within the bounds of both, and with labels that no rounding decides alike."""
    bounds = [error_bounds(one, rows, "f64") for one in (program, other)]
    found, meant = interpret(program, rows), interpret(other, rows)
    sure = ~(bounds[0].unstable | bounds[1].unstable)
    assert sure.any()
    for name, value in found.items():
        if name == "label":
            assert np.array_equal(value[sure], meant[name][sure])
        else:
            assert (np.abs(value - meant[name]) <= 4 * (bounds[0].scores + bounds[1].scores)).all()


LEAVABLE = sorted({one.__name__ for one in PASSES[1:]})  # all others rely on the first
OF_SPARSE = "collapse_compressed"  # the pass for vectors that are held without their zeros


@pytest.mark.parametrize("name", MODELS)
def test_each_pass_off(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, (y, near) = data()
    model = MODELS[name].fit(X, y)
    everything, rows = sc.compile(model), np.vstack([X, near])
    for left_out in LEAVABLE:
        kept = tuple(one for one in PASSES if one.__name__ != left_out)
        monkeypatch.setattr(passes, "PASSES", kept)
        other = sc.compile(model)
        assert_same(everything, other, rows)
        if left_out == "balance_powers":
            same = [interpret(one, rows) for one in (everything, other)]
            assert all(np.array_equal(same[0][key], same[1][key]) for key in same[0])


def test_each_pass_does_something() -> None:
    """Else leaving it out shows nothing."""
    X, (y, _) = data()
    done = {one.by for model in MODELS.values() for one in sc.compile(model.fit(X, y)).origin.savings}
    assert done == {*LEAVABLE} - {OF_SPARSE}


def test_the_pass_of_sparse_vectors_off(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("KEPT_FROM", "FILLED"):
        monkeypatch.setattr(f"svmcompile.data.sparse.{limit}", 1)
    X, (y, near) = data()
    model = SVC(kernel="linear").fit(csr_array(X), y)
    everything = sc.compile(model)
    assert OF_SPARSE in {one.by for one in everything.origin.savings}
    monkeypatch.setattr(passes, "PASSES", tuple(one for one in PASSES if one.__name__ != OF_SPARSE))
    assert_same(everything, sc.compile(model), np.vstack([X, near]))


LAYOUTS = [("portable", "dense", ""), ("portable", "sparse", ""), ("device", "dense", "")] + [
    ("host", tables, level) for tables in ("dense", "sparse") for level in LEVELS
]


@pytest.fixture(scope="module")
def sigmoid() -> tuple[Program, Any]:
    """A model whose zeros stay zeros, so that it has every layout."""
    X, (y, near) = data()
    return sc.compile(SVC(kernel="sigmoid", gamma=0.3).fit(X, y)), np.vstack([X[:60], near])


@pytest.mark.compile
@pytest.mark.parametrize(("profile", "tables", "level"), LAYOUTS)
def test_each_layout_and_instruction_set(
    profile: str, tables: str, level: str, sigmoid: tuple[Program, Any], tmp_path: Path
) -> None:
    check_layout(*sigmoid, "f32", profile, tables, level, tmp_path)


@pytest.mark.compile
@pytest.mark.parametrize(
    ("number", "level"), [*(("f32", level) for level in LEVELS), ("f64", next(iter(LEVELS)))]
)
def test_cosines_in_each_instruction_set(number: str, level: str, tmp_path: Path) -> None:
    X, (y, near) = data()
    waves = make_pipeline(RBFSampler(n_components=21, random_state=0), LinearSVC()).fit(X, y)
    check_layout(sc.compile(waves), np.vstack([X[:60], near]), number, "host", "dense", level, tmp_path)


def check_layout(
    program: Program, rows: Any, number: str, profile: str, tables: str, level: str, folder: Path
) -> None:
    """C of an instruction set, under sanitizers, within its bounds, with labels that these decide."""
    request = Request.of(program, "c", "model", number, profile, tables, True)
    ready, request = prepare(program, request, None, None, None)
    emitted = emit_targets(ready, request)
    assert emitted.code
    flags = [f"-DMODEL_NO_{isa}" for isa in LEVELS.get(level, [])]
    found = answers(emitted.c, emitted.code.program, profile, rows, folder, flags)
    bounds, meant = error_bounds(program, rows, request.number), interpret(program, rows)
    sure = ~bounds.unstable
    for labels in found["label"]:
        assert np.array_equal(labels[sure, 0], meant["label"][sure])
    for scores in found["scores"]:
        assert (np.abs(scores - meant["scores"]) <= bounds.scores).all()


@pytest.mark.compile
def test_whole_numbers_are_bit_equal_in_every_profile(sigmoid: tuple[Program, Any], tmp_path: Path) -> None:
    program, rows = sigmoid
    fixed = sc.quantise(program, "q15", rows)
    meant = interpret(fixed, rows)
    for profile in ("portable", "device", "host"):
        for flag in ("-O0", "-O2"):
            request = Request.of(fixed, "c", "model", "q15", profile, None, False)
            emitted = emit_targets(fixed, request)
            (folder := tmp_path / f"{profile}{flag}").mkdir()
            found = answers(emitted.c, fixed, profile, rows, folder, [flag])
            for single in (*found["scores"], *found["label"]):
                name = "scores" if single.dtype == np.float32 else "label"
                assert np.array_equal(single, np.asarray(meant[name]).reshape(single.shape))
