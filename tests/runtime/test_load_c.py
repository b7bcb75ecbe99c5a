"""A loaded model: the interpreter's answers, for all that scikit-learn takes, without the GIL."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from load_cases import FEATURES, classifier, regressor, sample, written
from scipy import sparse

import svmcompile as sc
from svmcompile.errors import OptionError, UnsupportedError
from svmcompile.ir.bounds import error_bounds
from svmcompile.runtime.c import CModel

pytestmark = pytest.mark.compile

ROWS = sample(60, seed=1)
BACKENDS = ("interpreter", "c", "onnx")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A classifier and a regressor, emitted for both targets."""
    root = tmp_path_factory.mktemp("models")
    models = {"classifier": classifier(), "regressor": regressor()}
    return {kind: written(model, root / kind, ("c", "onnx")) for kind, model in models.items()}


@pytest.fixture
def model(folders: dict[str, Path]) -> Any:
    return sc.load(folders["classifier"])


def backend(folder: Path, which: str) -> Any:
    return (
        sc.Program.load(folder / "model.svmc") if which == "interpreter" else sc.load(folder, target=which)
    )


# Inputs


def inputs() -> dict[str, Any]:
    wide = np.zeros((len(ROWS), 2 * FEATURES))
    wide[:, ::2] = ROWS
    return {
        "float32": ROWS.astype(np.float32),
        "Fortran order": np.asfortranarray(ROWS),
        "strided": wide[:, ::2],
        "backwards": ROWS[::-1][::-1],
        "big-endian": ROWS.astype(">f8"),
        "list": ROWS.tolist(),
        "sparse matrix": sparse.csr_matrix(ROWS),
        "sparse array": sparse.coo_array(ROWS),
        "object": ROWS.astype(object),
    }


@pytest.mark.parametrize("kind", inputs())
def test_inputs_of_every_kind(kind: str, model: Any) -> None:
    data = inputs()[kind]
    np.testing.assert_array_equal(model.predict(data), model.predict(ROWS))
    np.testing.assert_array_equal(model.decision_function(data), model.decision_function(ROWS))


def test_inputs_are_not_changed(model: Any) -> None:
    for dtype in (np.float32, np.float64):
        rows = np.ascontiguousarray(ROWS, dtype=dtype)
        rows.flags.writeable = False
        before = rows.tobytes()
        model.predict(rows)
        model.decision_function(rows)
        assert rows.tobytes() == before


def test_data_frames_must_have_the_columns_of_training(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="DataFrames need pandas")
    names = list("abcd")
    frame = pandas.DataFrame(sample(), columns=names)
    estimator = classifier().fit(frame, np.digitize(frame["a"], [0.0]))
    loaded = sc.load(written(estimator, tmp_path / "out"))
    assert (loaded.predict(frame) == estimator.predict(frame)).all()
    with pytest.raises(OptionError, match=r"another order: column 0 is 'c', the model's is 'a'"):
        loaded.predict(frame[["c", "a", "d", "b"]])
    with pytest.raises(OptionError, match=r"missing \['d'\]"):
        loaded.predict(frame[["a", "b", "c"]])


@pytest.mark.parametrize("shape", [(4,), (3, 5), (3, 3), (2, 2, 4), (0,), ()])
def test_wrong_shapes_are_refused(shape: tuple[int, ...], model: Any) -> None:
    for function in (model.predict, model.decision_function):
        with pytest.raises(OptionError, match=r"expected a matrix|features"):
            function(np.zeros(shape))


def test_rows_that_are_not_numbers_are_refused(model: Any) -> None:
    with pytest.raises(OptionError, match="not numbers"):
        model.predict([["a"] * FEATURES])


@pytest.mark.parametrize("which", BACKENDS)
@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_no_rows(kind: str, which: str, folders: dict[str, Path]) -> None:
    loaded = backend(folders[kind], which)
    full, none = loaded.predict(ROWS), loaded.predict(ROWS[:0])
    assert none.shape == (0,) and none.dtype == full.dtype
    if kind == "classifier":
        assert loaded.decision_function(ROWS[:0]).shape == (0, 3)


@pytest.mark.parametrize("which", BACKENDS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_rows_that_are_not_finite(bad: float, which: str, folders: dict[str, Path]) -> None:
    rows = ROWS.copy()
    rows[::2, 1] = bad
    reference = backend(folders["classifier"], "interpreter")
    loaded = backend(folders["classifier"], which)
    raw = {} if which == "interpreter" else {"allow_nan": True}
    scores = loaded.decision_function(rows, **raw)
    assert np.isnan(scores[::2]).all() and np.isfinite(scores[1::2]).all()
    assert (loaded.predict(rows, **raw) == reference.predict(rows)).all()
    values = backend(folders["regressor"], which).predict(rows, **raw)
    assert np.isnan(values[::2]).all() and np.isfinite(values[1::2]).all()


def test_numbers_beyond_float_are_infinite_there(tmp_path: Path) -> None:
    loaded = sc.load(written(regressor(), tmp_path / "out", precision="f32"))
    assert loaded.precision == "f32"
    assert np.isnan(loaded.predict(np.full((1, FEATURES), 1e300))).all()


# Outputs

CLASSES: dict[str, Any] = {
    "int64": [3, -1, 7],
    "int32": np.array([3, -1, 7], dtype=np.int32),
    "uint8": np.array([0, 200, 7], dtype=np.uint8),
    "uint64": np.array([0, 2**64 - 1, 7], dtype=np.uint64),
    "bool": [True, False],
    "str": ["b", "a", "long name"],
    "object": np.array(["b", "a", "long name"], dtype=object),
    "float64": [5.0, -1.0, 2.0],
    "float32": np.array([5.0, -1.0, 2.0], dtype=np.float32),
}


@pytest.mark.parametrize("kind", CLASSES)
def test_labels_keep_their_type(kind: str, tmp_path: Path) -> None:
    estimator = classifier(CLASSES[kind])
    loaded = sc.load(written(estimator, tmp_path / "out"))
    found, meant = loaded.predict(ROWS), estimator.predict(ROWS)
    assert found.dtype == meant.dtype
    assert found.tolist() == meant.tolist()


def test_regressor(folders: dict[str, Path]) -> None:
    loaded = sc.load(folders["regressor"])
    assert isinstance(loaded, CModel) and loaded.self_test() == 0
    np.testing.assert_allclose(loaded.predict(ROWS), regressor().predict(ROWS), rtol=0, atol=1e-12)
    assert loaded.predict(ROWS).dtype == np.float64
    with pytest.raises(UnsupportedError, match="no decision function"):
        loaded.decision_function(ROWS)


def test_no_probabilities(model: Any) -> None:
    with pytest.raises(UnsupportedError, match="no probabilities"):
        model.predict_proba(ROWS)


def test_two_classes_have_flat_scores(tmp_path: Path) -> None:
    estimator = classifier((0, 1))
    scores = sc.load(written(estimator, tmp_path / "out")).decision_function(ROWS)
    assert scores.shape == (len(ROWS),)
    np.testing.assert_allclose(scores, estimator.decision_function(ROWS), rtol=0, atol=1e-12)


def test_results_do_not_depend_on_the_batch(model: Any) -> None:
    whole = model.decision_function(ROWS)
    for step in (1, 7):
        parts = [model.decision_function(ROWS[at : at + step]) for at in range(0, len(ROWS), step)]
        assert np.concatenate(parts).tobytes() == whole.tobytes()


# Threads


def test_python_runs_on_while_c_computes(model: Any) -> None:
    """With the GIL held, this thread would stand still for as long as C computes."""
    rows = np.tile(ROWS, (20_000, 1))
    done: list[float] = []

    def work() -> None:
        start = time.perf_counter()
        model._call("predict", rows, np.empty(len(rows), dtype=np.int32))
        done.append(time.perf_counter() - start)

    thread = threading.Thread(target=work)
    longest, last = 0.0, time.perf_counter()
    thread.start()
    while thread.is_alive():
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    assert done[0] > 0.1
    assert longest < done[0] / 2


def test_threads_do_not_disturb_each_other(model: Any) -> None:
    whole = model.decision_function(np.tile(ROWS, (200, 1)))
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.append(model.decision_function(np.tile(ROWS, (200, 1)))))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all(scores.tobytes() == whole.tobytes() for scores in found)


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_a_row_alone_is_answered_like_one_of_many(kind: str, folders: dict[str, Path]) -> None:
    loaded = sc.load(folders[kind])
    together = loaded.predict(ROWS)
    alone = [loaded.predict(row[None]) for row in ROWS]
    assert {(one.dtype, one.shape) for one in alone} == {(together.dtype, (1,))}
    if kind == "classifier":
        assert np.concatenate(alone).tolist() == together.tolist()
    else:
        bounds = error_bounds(sc.Program.load(folders[kind] / "model.svmc"), ROWS, loaded.precision)
        assert (np.abs(np.concatenate(alone) - together) <= 2 * bounds.scores[:, 0]).all()
