"""Frames, sparse matrices and names of features, from training to the compiled model."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import svmcompile as sc

pytestmark = pytest.mark.compile

IRIS, SPECIES = load_iris(return_X_y=True)
NAMES = ["sepal length", "sepal width", "petal length", "*/ petal width"]
FRAME = pd.DataFrame(IRIS, columns=NAMES)


class OtherFrame:
    """What polars and others have in common: columns by name, and a method that gives an array."""

    def __init__(self, frame):
        self.columns, self._values = list(frame.columns), frame.to_numpy()

    def to_numpy(self):
        return self._values


@pytest.fixture(scope="module")
def trained():
    return make_pipeline(StandardScaler(), SVC()).fit(FRAME, SPECIES)


@pytest.fixture(scope="module")
def folder(trained, tmp_path_factory):
    path = tmp_path_factory.mktemp("named")
    sc.write(sc.emit(sc.compile(trained), ("c", "onnx"), "iris", "f64"), path)
    return path


@pytest.fixture(scope="module", params=["interpreter", "c", "onnx"])
def model(request, folder):
    if request.param == "interpreter":
        return sc.Program.load(folder / "iris.svmc")
    return sc.load(folder, target=request.param)


def test_frames_of_any_kind(model, trained):
    expected = trained.decision_function(FRAME)
    nullable = FRAME.astype("Float64")
    for rows in (FRAME, nullable, OtherFrame(FRAME), IRIS, IRIS.tolist(), sparse.csr_array(IRIS)):
        np.testing.assert_allclose(model.decision_function(rows), expected, atol=1e-10)
        np.testing.assert_array_equal(model.predict(rows), trained.predict(FRAME))


def test_frames_of_mixed_columns(model, trained):
    """A column of bool or of small integers makes an object array of a frame, and of rows."""
    mixed = FRAME.copy()
    mixed[NAMES[1]] = mixed[NAMES[1]] > 3
    mixed[NAMES[2]] = mixed[NAMES[2]].astype("int8")
    np.testing.assert_allclose(model.decision_function(mixed), trained.decision_function(mixed), atol=1e-10)


def test_another_order_is_refused_as_scikit_learn_refuses_it(model, trained):
    for wrong in (FRAME[NAMES[::-1]], OtherFrame(FRAME[NAMES[::-1]])):
        with pytest.raises(sc.OptionError, match="another order: column 0 is"):
            model.predict(wrong)
    with pytest.raises(ValueError, match="same order"):
        trained.predict(FRAME[NAMES[::-1]])
    back = FRAME[NAMES[::-1]][list(model.feature_names)]  # the way out that the message names
    np.testing.assert_array_equal(model.predict(back), trained.predict(FRAME))


def test_other_columns_are_refused(model):
    with pytest.raises(sc.OptionError, match=r"missing \['sepal width'\], unknown \['width'\]"):
        model.predict(FRAME.rename(columns={"sepal width": "width"}))
    with pytest.raises(sc.OptionError, match=r"unknown \['more'\]"):
        model.predict(FRAME.assign(more=1.0))
    doubled = FRAME[[*NAMES[:3], NAMES[0]]]
    with pytest.raises(sc.OptionError, match=r"missing \['\*/ petal width'\]"):
        model.predict(doubled)


def test_columns_without_text_names_go_by_position(model, trained):
    np.testing.assert_array_equal(model.predict(pd.DataFrame(IRIS)), trained.predict(FRAME))


def test_missing_values_are_nan(model):
    gaps = FRAME.astype("Float64")
    gaps.iloc[0, 0] = pd.NA
    scores = model.decision_function(gaps, **({} if isinstance(model, sc.Program) else {"allow_nan": True}))
    assert np.isnan(scores[0]).all() and np.isfinite(scores[1:]).all()


def test_text_in_a_frame_is_refused(model):
    with pytest.raises(sc.OptionError, match="not numbers"):
        model.predict(FRAME.astype({NAMES[0]: object}).replace({NAMES[0]: {IRIS[0, 0]: "five"}}))


def test_names_stand_in_every_file(folder, model):
    assert model.feature_names == tuple(NAMES)
    header = (folder / "iris.h").read_text()
    assert "Features, in order:" in header and "0: sepal length" in header
    assert header.count("*/ petal") == 0  # a name cannot end the comment
    (entry,) = (e for e in onnx.load(folder / "iris.onnx").metadata_props if e.key == "feature_names")
    assert json.loads(entry.value) == NAMES


def test_a_model_trained_without_names_takes_any_frame(tmp_path):
    estimator = SVR().fit(IRIS, SPECIES)
    sc.write(sc.emit(sc.compile(estimator), ("c", "onnx"), "m", "f64"), tmp_path)
    for one in (sc.compile(estimator), *(sc.load(tmp_path, target=t) for t in ("c", "onnx"))):
        np.testing.assert_allclose(
            one.predict(FRAME[NAMES[::-1]].to_numpy()), one.predict(FRAME[NAMES[::-1]])
        )


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array, sparse.lil_matrix])
def test_sparse_rows_of_any_kind(tmp_path, kind):
    """Also for a model trained on sparse rows, whose C code takes them by their features."""
    random = np.random.default_rng(0)
    X = sparse.random_array((200, 50), density=0.1, rng=random, format="csr")
    y = np.arange(200) % 3
    estimator = SVC().fit(X, y)
    sc.write(sc.emit(sc.compile(estimator), ("c", "onnx"), "m", "f64"), tmp_path)
    expected = estimator.decision_function(X)
    for one in (sc.compile(estimator), *(sc.load(tmp_path, target=t) for t in ("c", "onnx"))):
        np.testing.assert_allclose(one.decision_function(kind(X)), expected, atol=1e-10)
        np.testing.assert_array_equal(one.predict(kind(X)), estimator.predict(X))
