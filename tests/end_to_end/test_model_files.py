"""Models of other libraries, from their file to C and ONNX, and converted where that is possible."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import svmcompile as sc
from svmcompile.commands import convert
from svmcompile.commands.options import ConvertOptions
from svmcompile.errors import UnsupportedError
from svmcompile.read import read

DATA = Path(__file__).resolve().parents[1] / "data"
FILES = (
    "opencv/votes.yml", "opencv/linear.xml", "opencv/one_class.yml", "svmlight/sigmoid.model",
    "pmml/discrete.pmml", "pmml/threshold.pmml", "pmml/jpmml_svc.pmml", "pmml/jpmml_logistic.pmml",
    "pmml/one_against_all.pmml", "pmml/claims.pmml",
)  # fmt: skip


def rows_for(svm, count=500):
    rows = np.random.default_rng(0).normal(size=(count, svm.n_features)).astype(np.float32)
    for note in svm.notes:
        if note.startswith("feature "):
            rows[:, svm.feature_names.index(note.split("'")[1])] %= note.count(", ") + 1
            rows[:, svm.feature_names.index(note.split("'")[1])] //= 1
    return rows.astype(np.float64)


@pytest.mark.compile
@pytest.mark.parametrize("name", FILES)
def test_c_and_onnx_of_a_model_file(tmp_path, name):
    svm = read(DATA / name)
    files = sc.emit(
        sc.compile(DATA / name), target=("c", "onnx"), name="m", precision="f64", profile="portable"
    )
    sc.write(files, tmp_path / "out")
    report = sc.verify(tmp_path / "out", DATA / name, rows_for(svm))
    assert report.ok and len(report.comparisons) == 3, report


@pytest.mark.parametrize(
    "name", ["opencv/votes.yml", "opencv/one_class.yml", "svmlight/poly.model", "opencv/linear.xml"]
)
def test_a_model_file_as_libsvm_text(tmp_path, name):
    convert.run(ConvertOptions(model=DATA / name, output=tmp_path / "m.model"))
    before, after = read(DATA / name), read(tmp_path / "m.model", n_features=read(DATA / name).n_features)
    rows = rows_for(before)
    one, other = sc.compile(DATA / name), sc.compile(tmp_path / "m.model", n_features=after.n_features)
    np.testing.assert_array_equal(one.predict(rows), other.predict(rows))


def test_what_libsvm_cannot_hold_is_refused(tmp_path):
    with pytest.raises(UnsupportedError):
        convert.run(ConvertOptions(model=DATA / "pmml/one_against_all.pmml", output=tmp_path / "m.model"))
