"""Files: formats are told apart, pickles need consent, and what is no model is refused by name."""

from __future__ import annotations

import os
import pickle
import sys
import zipfile
from pathlib import Path

import joblib
import numpy as np
import pytest
import skops.io
from read_cases import blobs, program_of
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, OneClassSVM

from svmcompile.errors import OptionError, ReadError, UnsupportedError
from svmcompile.ir.store import to_bytes
from svmcompile.read import READERS, read
from svmcompile.read.original import load_original

LIBSVM = b"svm_type nu_svr\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 0\nSV\n1 1:1 2:2 \n"


@pytest.fixture(scope="module")
def estimator():
    X, y = blobs(3)
    return make_pipeline(StandardScaler(), SVC()).fit(X, y)


class Bomb:
    """An object whose unpickling leaves a trace."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return (Path.touch, (Path(self.path),))


def test_libsvm_by_content_whatever_the_suffix(tmp_path):
    for name in ("a.model", "a.txt", "a.pkl", "a.onnx", "a"):
        (tmp_path / name).write_bytes(LIBSVM)
        for path in (tmp_path / name, str(tmp_path / name)):
            assert read(path).source.kind == "LIBSVM nu_svr"


def test_every_reader_exists():
    for name in READERS:
        with pytest.raises(ReadError, match=r"no.model: there is no such file"):
            read("no.model", format=name)


@pytest.mark.parametrize(
    "compress", [0, 3, ("zlib", 3), ("gzip", 3), ("bz2", 3), ("xz", 3), ("lzma", 3)], ids=str
)
def test_joblib(tmp_path, estimator, compress):
    path = tmp_path / "model.anything"
    joblib.dump(estimator, path, compress=compress)
    with pytest.raises(ReadError, match=r"can run any code.*--trust-pickle.*trust_pickle=True.*skops"):
        read(path)
    svm = read(path, trust_pickle=True)
    X, _ = blobs(3)
    np.testing.assert_array_equal(program_of(svm).predict(X), estimator.predict(X))


def test_lz4_is_told_to_be_a_pickle(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"\x04\x22\x4d\x18" + bytes(20))
    with pytest.raises(ReadError, match="is a pickle"):
        read(path)
    with pytest.raises(ReadError, match="cannot be unpickled"):
        read(path, trust_pickle=True)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle_protocols(tmp_path, estimator, protocol):
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(estimator, protocol=protocol))
    with pytest.raises(ReadError, match="can run any code"):
        read(path)
    assert read(path, trust_pickle=True).source.kind == "scikit-learn Pipeline(StandardScaler, SVC)"


@pytest.mark.parametrize("name", ["a.pkl", "a.joblib", "a.model", "a.skops", "a.onnx", "a"])
@pytest.mark.parametrize("compress", [0, 3])
def test_a_pickle_is_never_executed_without_consent(tmp_path, name, compress):
    trace = tmp_path / "executed"
    joblib.dump(Bomb(trace), tmp_path / name, compress=compress)
    for format in (None, *READERS):
        with pytest.raises((ReadError, UnsupportedError)):
            read(tmp_path / name, format=format)
    with pytest.raises(ReadError, match="can run any code"):
        load_original(tmp_path / name, None)
    assert not trace.exists()
    with pytest.raises(UnsupportedError, match="NoneType"):
        read(tmp_path / name, trust_pickle=True)
    assert trace.exists()  # the pickle was a live one


@pytest.mark.parametrize("thing", [{"model": 1}, [1, 2], np.zeros(3), "text", SVC], ids=str)
def test_pickles_of_other_things(tmp_path, thing):
    joblib.dump(thing, tmp_path / "a.joblib")
    name = "SVC is a class" if thing is SVC else type(thing).__name__
    with pytest.raises(UnsupportedError, match=name):
        read(tmp_path / "a.joblib", trust_pickle=True)


def test_damaged_pickles(tmp_path, estimator):
    content = pickle.dumps(estimator)
    for damaged in (content[:100], b"\x80\x04garbage", b"\x78\x9c" + b"x" * 50):
        (tmp_path / "a.pkl").write_bytes(damaged)
        with pytest.raises(ReadError, match="cannot be unpickled"):
            read(tmp_path / "a.pkl", trust_pickle=True)


@pytest.mark.parametrize("kind", [SVC, SVR, OneClassSVM, LinearSVC])
def test_skops(tmp_path, kind):
    X, y = blobs(2)
    fitted = make_pipeline(StandardScaler(), kind()).fit(X, y)
    skops.io.dump(fitted, tmp_path / "a.bin")
    svm = read(tmp_path / "a.bin")
    np.testing.assert_allclose(program_of(svm).predict(X), fitted.predict(X), atol=1e-10)
    assert svm.source.kind == read(fitted).source.kind
    assert svm.source.sha256 != read(fitted).source.sha256


def test_skops_with_untrusted_types(tmp_path):
    trace = tmp_path / "executed"
    estimator = SVC()
    estimator.extra = Bomb(trace)
    skops.io.dump(estimator, tmp_path / "a.skops")
    with pytest.raises(ReadError, match=r"does not trust: .*Bomb"):
        read(tmp_path / "a.skops")
    assert not trace.exists()


def test_damaged_skops(tmp_path, estimator):
    skops.io.dump(estimator, tmp_path / "a.skops")
    content = (tmp_path / "a.skops").read_bytes()
    for damaged in (content[:200], content[:-30], b"garbage"):
        (tmp_path / "a.skops").write_bytes(damaged)
        with pytest.raises(ReadError, match=r"a.skops: is a damaged"):
            read(tmp_path / "a.skops")


def test_sha256_is_of_the_file(tmp_path):
    import hashlib

    (tmp_path / "a.model").write_bytes(LIBSVM)
    assert read(tmp_path / "a.model").source.sha256 == hashlib.sha256(LIBSVM).hexdigest()


def test_files_that_are_something_else(tmp_path, estimator):
    (tmp_path / "a.bin").write_bytes(to_bytes(program_of(read(estimator))))
    with pytest.raises(ReadError, match=r"a.bin: is a program that svmcompile made.*inspect"):
        read(tmp_path / "a.bin")
    (tmp_path / "b.bin").write_bytes(onnx_bytes())
    with pytest.raises(UnsupportedError, match=r"b.bin: is an ONNX model without an SVM node.*pass the"):
        read(tmp_path / "b.bin")
    (tmp_path / "c.model").write_bytes(b"solver_type L2R_LR\nnr_class 2\n")
    with pytest.raises(ReadError, match=r"the file ends before the line 'w'.*not a LIBLINEAR model"):
        read(tmp_path / "c.model")
    (tmp_path / "e.xml").write_bytes(b"<?xml version='1.0'?><page/>")
    with pytest.raises(ReadError, match=r"e.xml: not a model file that is known; expected"):
        read(tmp_path / "e.xml")
    with zipfile.ZipFile(tmp_path / "d.zip", "w") as archive:
        archive.writestr("readme", "x")
    with pytest.raises(ReadError, match=r"d.zip: is a zip file"):
        read(tmp_path / "d.zip")
    np.savez(tmp_path / "rows.npz", X=np.zeros((2, 3)))
    with pytest.raises(ReadError, match=r"rows.npz: holds arrays, not a model; rows go with --data"):
        read(tmp_path / "rows.npz")


def onnx_bytes():
    from onnx import TensorProto, helper

    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1])
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1])
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [value], [out])
    return helper.make_model(graph).SerializeToString()


def test_paths_that_hold_no_model(tmp_path):
    (tmp_path / "empty.model").write_bytes(b"")
    (tmp_path / "odd.bin").write_bytes(b"\x00\x01\x02")
    (tmp_path / "odd.model").write_bytes(b"\x00\x01\x02")
    (tmp_path / "odd.onnx").write_bytes(b"\x00\x01\x02")
    cases = {
        "missing.model": "missing.model: there is no such file",
        ".": "is a folder",
        "empty.model": "empty.model: the file is empty",
        "odd.bin": "odd.bin: not a model file that is known",
        "odd.model": r"odd.model:1: .* is not plain text",
        "odd.onnx": "odd.onnx: is not a readable ONNX model",
    }
    for name, message in cases.items():
        with pytest.raises(ReadError, match=message):
            read(tmp_path / name)
    with pytest.raises(ReadError, match=r"no such file|cannot be read"):
        read("a\0b")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_pipes_do_not_hang(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ReadError, match="not a regular file"):
        read(tmp_path / "pipe")


def test_format_given(tmp_path, estimator):
    (tmp_path / "a.model").write_bytes(LIBSVM)
    assert read(tmp_path / "a.model", format="libsvm").n_features == 2
    with pytest.raises(OptionError, match="unknown format 'svm'; known: libsvm"):
        read(tmp_path / "a.model", format="svm")
    with pytest.raises(ReadError, match="damaged skops"):
        read(tmp_path / "a.model", format="skops")
    with pytest.raises(OptionError, match="for files"):
        read(estimator, format="pickle")


def test_reading_stays_lazy():
    """Importing the stage must not import the heavy libraries behind it."""
    import subprocess

    code = (
        "import sys, svmcompile.read, svmcompile.read.sklearn.estimators, svmcompile.read.original; "
        "print([m for m in ('sklearn', 'scipy', 'skops', 'joblib', 'libsvm', 'onnx') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
