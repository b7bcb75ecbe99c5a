"""skops in: every estimator that can be compiled is read from its skops file, and foreign types are not."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import pytest
import skops.io
from read_cases import blobs, program_of, queries
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, RepeatedKFold
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, SVR

from svmcompile.commands.support import make, points
from svmcompile.errors import ReadError, UnsupportedError
from svmcompile.read import read
from svmcompile.read.original import load_original
from svmcompile.read.sklearn.estimators import COMBINED
from svmcompile.read.sklearn.features import TRANSFORMERS
from svmcompile.read.sklearn.machines import MACHINES
from svmcompile.read.sklearn.wrappers import HOLDERS, WRAPPERS
from svmcompile.read.stored import load_skops

pytestmark = pytest.mark.filterwarnings("ignore")  # of training that did not converge


def assert_reads(tmp_path, estimator):
    skops.io.dump(estimator, tmp_path / "a.skops")
    svm = read(tmp_path / "a.skops")
    rows = points()[0] + np.random.default_rng(1).normal(size=(60, 4)) / 4
    expected = estimator.predict(rows)
    np.testing.assert_allclose(program_of(svm).predict(rows), expected, atol=1e-8)
    np.testing.assert_array_equal(load_original(tmp_path / "a.skops", svm).predict(rows), expected)


@pytest.mark.parametrize("name", MACHINES)
def test_every_estimator(tmp_path, name):
    assert_reads(tmp_path, make(name).fit(*points(name)))


@pytest.mark.parametrize("name", [*WRAPPERS, *HOLDERS])
def test_every_wrapper(tmp_path, name):
    assert_reads(tmp_path, make(name, SVC().fit(*points())).fit(*points(name)))


@pytest.mark.parametrize("name", [*TRANSFORMERS, *COMBINED])
def test_every_transformer(tmp_path, name):
    assert_reads(tmp_path, make_pipeline(make(name), SVC()).fit(*points()))


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("kind", [SVC, SVR])
def test_models_trained_on_sparse_rows(tmp_path, kind, form):
    X, y = blobs(3)
    estimator = kind().fit(form(X), y)
    skops.io.dump(estimator, tmp_path / "a.skops")
    expected = estimator.predict(queries())
    np.testing.assert_allclose(
        program_of(read(tmp_path / "a.skops")).predict(queries()), expected, atol=1e-8
    )


@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(SelectKBest(k=2), SVC()),
        make_pipeline(SelectKBest(f_regression, k=2), SVC()),
        make_pipeline(SimpleImputer(), SVC()),
        CalibratedClassifierCV(SVC()),
        CalibratedClassifierCV(SVC(), method="isotonic"),
        GridSearchCV(SVC(), {"C": [1, 2]}, scoring="f1_macro", cv=RepeatedKFold(n_splits=2, n_repeats=2)),
        GridSearchCV(SVC(), {"C": [1, 2]}, scoring=["accuracy", "f1_macro"], refit="accuracy"),
        GridSearchCV(SVC(), {"C": [1, 2]}),
    ],
    ids=lambda estimator: str(estimator)[:60],
)
def test_types_that_estimators_hold_are_loaded(estimator):
    """What skops would refuse of scikit-learn's own, and nothing else."""
    X, y = blobs(3)
    content = skops.io.dumps(estimator.fit(X, y))
    assert skops.io.get_untrusted_types(data=content)
    loaded = load_skops(content, "a.skops")
    assert type(loaded) is type(estimator)


class Foreign:
    pass


def test_foreign_types_are_named_with_a_way_out():
    estimator = make_pipeline(FunctionTransformer(np.exp), SelectKBest(k=2), SVC())
    estimator[0].extra = Foreign()
    content = skops.io.dumps(estimator.fit(*blobs(2)))
    with pytest.raises(ReadError, match=r"a.skops: .*not trust: .*Foreign.*skops.io.load") as error:
        load_skops(content, "a.skops")
    assert "f_classif" not in str(error.value)


def renamed(content, old, new):
    """The file with a class changed for another."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(out, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            if name == "schema.json":
                assert f'"{old[1]}"' in data.decode()
                schema = json.loads(data, object_hook=lambda node: _swapped(node, old, new))
                data = json.dumps(schema).encode()
            target.writestr(name, data)
    return out.getvalue()


def _swapped(node, old, new):
    if node.get("__class__") == old[1] and node.get("__module__") == old[0]:
        node |= {"__class__": new[1], "__module__": new[0]}
    return node


@pytest.mark.parametrize(
    "new",
    [
        ("os", "system"),
        ("subprocess", "Popen"),
        ("builtins", "eval"),
        ("sklearn.metrics._scorer", "partial"),
    ],
    ids=str,
)
def test_a_file_cannot_smuggle_in_another_class(new):
    content = skops.io.dumps(SVC().fit(*blobs(2)))
    hostile = renamed(content, ("sklearn.svm._classes", "SVC"), new)
    with pytest.raises((ReadError, UnsupportedError)):
        load_skops(hostile, "a.skops")


def with_attribute(estimator, node_of):
    """The file of an estimator with one more attribute, a node made of a skops file's root."""
    content, out = skops.io.dumps(estimator), io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(out, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            if name == "schema.json":
                schema = json.loads(data)
                attributes = schema["content"]
                attributes["content"]["extra_"] = node_of(target)
                kinds = attributes["key_types"]["content"]
                kinds.append({key: value for key, value in kinds[0].items() if key != "__id__"})
                data = json.dumps(schema).encode()
            target.writestr(name, data)
    return out.getvalue()


def test_sparse_matrices_have_their_indices_within():
    machine = SVC().fit(*blobs(2))
    machine.extra_ = sparse.csr_matrix(np.eye(5))
    machine.extra_.indices[0] = 10**6
    with pytest.raises(ReadError, match=r"damaged skops file .*indices"):
        load_skops(skops.io.dumps(machine), "a.skops")


def test_whole_numbers_are_short():
    """Many long ones may have one hash, and a set of them would take minutes."""
    alike = {
        "__loader__": "SetNode",
        "content": [{"__loader__": "JsonNode", "content": str(2**61 * 10**3)}],
    }
    content = with_attribute(SVC().fit(*blobs(2)), lambda target: alike)
    with pytest.raises(ReadError, match="a whole number of more than 20 digits"):
        load_skops(content, "a.skops")


def call_of(function, arguments, target):
    """A node that calls a function with arguments, whose arrays are put into the file."""
    with zipfile.ZipFile(io.BytesIO(skops.io.dumps(arguments))) as inner:
        for name in inner.namelist():
            if name != "schema.json":
                target.writestr(name, inner.read(name))
        content = json.loads(inner.read("schema.json"))
    module, name = function
    return {
        "__loader__": "ConstructorFromReduceNode",
        "__module__": module,
        "__class__": name,
        "content": content,
    }


def test_reading_fits_nothing(tmp_path):
    """A call of scikit-learn's own that fits a pipeline would write where the pipeline's memory says."""
    X, y = blobs(2)
    place = tmp_path / "written"
    inner = make_pipeline(StandardScaler(), SVC())
    inner.memory = str(place)
    order = np.arange(len(X))
    arguments = (inner, X, y, order, order, "sigmoid", np.unique(y))
    function = ("sklearn.calibration", "_fit_classifier_calibrator_pair")
    content = with_attribute(SVC().fit(X, y), lambda target: call_of(function, arguments, target))
    (tmp_path / "a.skops").write_bytes(content)
    with pytest.raises(ReadError, match=r"memory=.*a place on disk"):
        read(tmp_path / "a.skops")
    assert not place.exists()


def test_nothing_in_a_file_is_called(monkeypatch):
    """Functions, methods and partial calls of trusted modules stay names."""
    called = []
    monkeypatch.setattr("sklearn.calibration._fit_calibrator", lambda *given: called.append(given))
    function = ("sklearn.calibration", "_fit_calibrator")
    X, y = blobs(2)
    content = with_attribute(SVC().fit(X, y), lambda target: call_of(function, (1, 2), target))
    loaded = load_skops(content, "a.skops")
    assert not called and type(loaded.extra_).__name__ == "_fit_calibrator" and not callable(loaded.extra_)


@pytest.mark.parametrize(
    "estimator",
    [
        Pipeline([("a", StandardScaler()), ("b", SVC())], memory="here"),
        make_pipeline(CountVectorizer(input="filename"), SVC().fit(*blobs(2))),
        make_pipeline(FunctionTransformer(np.exp), SVC().fit(*blobs(2))),
    ],
    ids=["memory", "file name", "callable"],
)
def test_places_and_callables_are_refused(tmp_path, estimator):
    (tmp_path / "a.skops").write_bytes(skops.io.dumps(estimator))
    with pytest.raises(
        (ReadError, UnsupportedError), match=r"place on disk|CountVectorizer|Python function"
    ):
        read(tmp_path / "a.skops")


def test_a_file_does_not_decide_how_many_processes_run():
    estimator = make_pipeline(FeatureUnion([("a", StandardScaler())]), SVC()).fit(*blobs(2))
    estimator[0].n_jobs = 999  # after fitting, which would start them
    assert load_skops(skops.io.dumps(estimator), "a.skops")[0].n_jobs is None


@pytest.mark.parametrize("packed", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_small_file_stays_small(packed):
    """A megabyte of zeros in a few bytes is fine, a gigabyte is not; nor is a matrix of that many zeros."""
    X, y = blobs(2)
    estimator = SVC().fit(X, y)
    estimator.support_vectors_ = np.zeros((1000, 100))
    assert load_skops(skops.io.dumps(estimator, compression=packed), "a").support_vectors_.shape == (
        1000,
        100,
    )
    if packed == zipfile.ZIP_DEFLATED:
        estimator.support_vectors_ = np.zeros((1000, 20_000))
    else:
        estimator.support_vectors_ = sparse.csr_matrix((10_000, 20_000))
    content = skops.io.dumps(estimator, compression=packed)
    assert len(content) < 300_000
    with pytest.raises(ReadError, match="would take more than 64 MB"):
        load_skops(content, "a.skops")
