"""Labels of every type, from the estimator to every form of the compiled model and back."""

from __future__ import annotations

import itertools
import json

import numpy as np
import onnx
import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC, LinearSVC

import svmcompile as sc

pytestmark = pytest.mark.compile

IRIS, SPECIES = load_iris(return_X_y=True)
ROWS = np.random.default_rng(0).normal(IRIS.mean(axis=0), 1.5, size=(300, 4))
UNSIGNED = [np.uint8, np.uint16, np.uint32, np.uint64]
SIGNED = [np.int8, np.int16, np.int32, np.int64]

CLASSES = {
    **{f"least of {t.__name__}": np.array([np.iinfo(t).min, -1, np.iinfo(t).max], t) for t in SIGNED},
    **{f"most of {t.__name__}": np.array([0, 7, np.iinfo(t).max], t) for t in UNSIGNED},
    "bool": np.array([False, True]),
    "float64": np.array([-1.5, 0.0, 2.5]) * 2,
    "float32": np.array([-1.0, 3.0, 5.0], np.float32),
    "text": np.array(["b", 'quote " and \\ and %d', "Ä ö"]),
    "empty text": np.array(["", "a", "b"]),
    "objects that are text": np.array(["a", "bb", "ccc"], dtype=object),
    "objects that are integers": np.array([-4, 2, 9], dtype=object),
    "objects that are bool": np.array([False, True], dtype=object),
}
C_TYPES = {
    "least of int64": "int64_t", "most of uint64": "uint64_t", "most of uint32": "int64_t",
    "float64": "double", "float32": "double",
}  # fmt: skip


def fitted(name):
    """An estimator; scikit-learn does not take every object as a label, so such are put in afterwards."""
    classes = CLASSES[name]
    numbers = SPECIES % len(classes)
    if classes.dtype == object and not isinstance(classes[0], str):
        estimator = SVC(gamma=0.2).fit(IRIS, numbers)
        estimator.classes_ = classes
        return estimator
    return SVC(gamma=0.2).fit(IRIS, classes[numbers])


def plain(value):
    return value.item() if isinstance(value, np.generic) else value


@pytest.mark.parametrize("name", CLASSES)
def test_predict_gives_the_original_type(tmp_path, name):
    estimator = fitted(name)
    expected = estimator.predict(ROWS)
    sc.write(sc.emit(sc.compile(estimator), ("c", "onnx"), "m", "f64"), tmp_path)
    for model in (sc.compile(estimator), *(sc.load(tmp_path, target=target) for target in ("c", "onnx"))):
        found = model.predict(ROWS)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
        assert [type(plain(one)) for one in found[:9]] == [type(plain(one)) for one in expected[:9]]
        assert len(set(found.tolist())) == len(CLASSES[name])  # every class is met
        assert model.predict(ROWS[:1]).dtype == expected.dtype
        assert model.predict(ROWS[:0]).dtype == expected.dtype
    assert sc.Program.load(tmp_path / "m.svmc").predict(ROWS).dtype == expected.dtype


@pytest.mark.parametrize("name", CLASSES)
def test_files_hold_the_labels_themselves(tmp_path, name):
    classes = CLASSES[name]
    files = sc.emit(sc.compile(fitted(name)), ("c", "onnx"), "m")
    text = classes.dtype.kind in "UO" and isinstance(classes[0], str)
    wanted = "char *const" if text else C_TYPES.get(name, "int32_t")
    assert f"extern const {wanted} m_labels[M_N_CLASSES];" in files["m.h"]
    assert f"M_N_CLASSES = {len(classes)}," in files["m.h"]
    sc.write(files, tmp_path)
    model = sc.load(tmp_path)
    table = model._library.m_labels
    stored = [model._ffi.string(one).decode() if text else one for one in table]
    assert stored == [plain(one) for one in classes]
    names = [model._ffi.string(model._library.m_label_name(at)).decode() for at in range(len(classes))]
    assert names == [str(plain(one)) for one in classes]
    for beyond in (-1, len(classes), 1 << 30, -(1 << 31)):
        assert model._ffi.string(model._library.m_label_name(beyond)) == b""
    (entry,) = (e for e in onnx.load(tmp_path / "m.onnx").metadata_props if e.key == "labels")
    assert json.loads(entry.value) == [plain(one) for one in classes]


@pytest.mark.parametrize(
    ("shape", "kind"), list(itertools.product(["ovr", "ovo"], [np.int8, np.str_, np.float32])), ids=str
)
def test_either_shape_of_scores_with_any_labels(tmp_path, shape, kind):
    classes = np.array([3, 5, 8, 9]).astype(kind)
    y = classes[(SPECIES + (IRIS[:, 0] > 6)) % 4]
    estimator = SVC(decision_function_shape=shape).fit(IRIS, y)
    sc.write(sc.emit(sc.compile(estimator), ("c", "onnx"), "m", "f64"), tmp_path)
    expected = estimator.decision_function(ROWS)
    for target in ("c", "onnx"):
        model = sc.load(tmp_path, target=target)
        found = model.decision_function(ROWS)
        assert found.shape == expected.shape == (len(ROWS), 4 if shape == "ovr" else 6)
        np.testing.assert_allclose(found, expected, atol=1e-10)
        np.testing.assert_array_equal(model.predict(ROWS), estimator.predict(ROWS))


def test_labels_that_no_code_can_hold_are_refused():
    for classes, message in (
        (np.array([b"a", b"b", b"c"]), "bytes"),
        (np.array([1, "a", 2.5], dtype=object), "float, int, str"),
        (np.array(["2020", "2021", "2022"], "datetime64[Y]"), "date"),
    ):
        estimator = LinearSVC().fit(IRIS, SPECIES)
        estimator.classes_ = classes
        with pytest.raises(sc.UnsupportedError, match=f"{message} cannot be compiled; retrain"):
            sc.compile(estimator)
