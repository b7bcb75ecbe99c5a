"""Graphs with an input for each feature: text as strings, as skl2onnx takes frames."""

from __future__ import annotations

import numpy as np
import pytest
from programs.categories import ENCODERS, frame, labels
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

import svmcompile as sc
from svmcompile.errors import OptionError
from svmcompile.runtime import onnx as runtime

pytestmark = pytest.mark.filterwarnings("ignore")
TRAINED, ROWS = frame(500, missing=0.1), frame(2000, 1, missing=0.1, unknown=0.2)
ROWS = ROWS.assign(colour=ROWS["colour"].str.replace("\0", "-", regex=False))


def fitted(name="several", machine=None):
    return make_pipeline(ENCODERS[name], machine or SVC()).fit(TRAINED, labels(TRAINED))


def feed_of(inputs, rows, number):
    """The columns of a frame for a session; a missing text is an empty one."""
    return {
        one.name: rows[[one.name]].astype(object).fillna("").to_numpy()
        if one.type == "tensor(string)"
        else rows[[one.name]].to_numpy().astype(number)
        for one in inputs
    }


@pytest.mark.parametrize("precision", ["f32", "f64"])
@pytest.mark.parametrize("name", ["several", "most-frequent", "marked", "rare-together"])
def test_a_session_takes_the_columns_of_a_frame(name, precision):
    session_of = pytest.importorskip("onnxruntime").InferenceSession
    model, number = fitted(name), np.float32 if precision == "f32" else np.float64
    files = sc.emit(sc.compile(model), "onnx", "m", precision, onnx_input="columns")
    session = session_of(files["m.onnx"], providers=["CPUExecutionProvider"])
    kinds = {one.name: one.type for one in session.get_inputs()}
    assert kinds["colour"] == "tensor(string)" and kinds["size"] != "tensor(string)"
    assert ("shape" in kinds) == (name != "marked")  # which does not read it
    label, scores = session.run(["label", "scores"], feed_of(session.get_inputs(), ROWS, number))
    wanted = model.decision_function(ROWS)
    error = np.abs(scores.ravel() - wanted).max()
    assert error < (5e-5 if precision == "f32" else 1e-12)
    assert (label.astype(bool) == model.predict(ROWS))[np.abs(wanted) > error].all()


@pytest.mark.parametrize("start", ["_session", "_reference"])
def test_such_a_graph_is_loaded_and_verified(start, tmp_path, monkeypatch):
    pytest.importorskip("onnxruntime")
    monkeypatch.setattr(runtime, "_session", getattr(runtime, start))
    model = fitted(machine=LinearSVC())
    sc.write(sc.emit(sc.compile(model), "onnx", "m", "f64", onnx_input="columns"), tmp_path)
    rows = ROWS[:300]
    np.testing.assert_allclose(
        sc.load(tmp_path).decision_function(rows), model.decision_function(rows), atol=1e-12
    )
    assert sc.verify(tmp_path, model, rows).ok


def test_numbers_alone_have_an_input_each(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = SVC().fit(X, X[:, 0] > 0)
    sc.write(sc.emit(sc.compile(model), "onnx", "m", onnx_input="columns"), tmp_path)
    assert (sc.load(tmp_path).predict(X) == model.predict(X)).all()


def test_what_columns_do_not_go_with():
    program = sc.compile(fitted())
    with pytest.raises(OptionError, match=r"looks text up by an operator of ai\.onnx\.ml"):
        sc.emit(program, "onnx", onnx_input="columns", onnx_form="plain")
    with pytest.raises(OptionError, match="take another"):
        sc.emit(program, "onnx", onnx_input="columns", onnx_names="label=colour")


def test_triton_is_told_of_every_input():
    files = sc.emit(sc.compile(fitted()), "onnx", "m", onnx_input="columns", kit="triton")
    config = files["triton/m/config.pbtxt"]
    assert config.count("TYPE_STRING") == 3 and 'name: "colour"' in config and 'name: "size"' in config
