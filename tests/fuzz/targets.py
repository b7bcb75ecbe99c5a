"""What is fuzzed: each reader, small good files to begin with, and words of its format."""

from __future__ import annotations

import atexit
import io
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

Run = Callable[[bytes], object]
MEMORY = Path("/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir())


@dataclass(frozen=True)
class Target:
    """A reader of bytes, good files, and words that mutations put in."""

    name: str
    run: Run
    seeds: Callable[[], list[bytes]]
    words: tuple[bytes, ...] = ()


def _model(format: str, content: bytes) -> object:
    from svmcompile.read import read_content

    return read_content("model", content, format)


def _program(content: bytes) -> object:
    from svmcompile.ir.store import from_bytes

    return from_bytes(content)


def _report(content: bytes) -> object:
    """NAME.json of an output folder, inspected, and the answer printed and stored."""
    from svmcompile.commands import inspect, show
    from svmcompile.commands.options import InspectOptions
    from svmcompile.files.plain import json_text
    from svmcompile.flow.form import form_in
    from svmcompile.ir.store import load

    folder = MEMORY / f"svmcompile-fuzz-{os.getpid()}"
    if not folder.exists():
        folder.mkdir()
        atexit.register(shutil.rmtree, folder)
        (folder / "m.svmc").write_bytes(_svmc()[0])
    (folder / "m.json").write_bytes(content)
    form_in(folder, "m", "c", load(folder / "m.svmc"))
    options = InspectOptions(thing=folder)
    told = inspect.run(options)
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        show.inspect(told, options)
    return json_text(told, default=str)


def _reports() -> list[bytes]:
    import svmcompile as sc

    files = sc.emit(sc.compile(_machines()[0]), "c", "m")
    told = json.loads(files["m.json"])
    with_digest = told | {"digests": {"m.svmc": told["digests"]["m.svmc"]}}
    plain = {key: value for key, value in told.items() if key != "digests"}
    return [json.dumps(one).encode() for one in (with_digest, plain)]


def _data(suffix: str, content: bytes, **wanted: Any) -> object:
    """Data files are read by their path."""
    from svmcompile.data import read_data

    path = MEMORY / f"svmcompile-fuzz-{os.getpid()}{suffix}"
    path.write_bytes(content)
    try:
        return read_data(path, label="y" if suffix in (".csv", ".parquet") else None, **wanted)
    finally:
        path.unlink()


def _machines() -> list[Any]:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.feature_selection import SelectKBest
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.multioutput import MultiOutputClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler
    from sklearn.svm import SVC, SVR, LinearSVC

    X = np.random.default_rng(0).normal(size=(12, 2)).round(2)
    y = np.arange(12) % 3
    return [
        make_pipeline(StandardScaler(), SVC()).fit(X, y),
        make_pipeline(SelectKBest(k=1), LinearSVC()).fit(X, y > 0),
        make_pipeline(PolynomialFeatures(), SVR(kernel="poly")).fit(X, y),
        CalibratedClassifierCV(SVC(), cv=2).fit(X, y > 0),
        OneVsRestClassifier(LinearSVC()).fit(X, np.eye(3, dtype=int)[y]),
        MultiOutputClassifier(SVC()).fit(X, np.stack([y, y > 0], axis=1)),
    ]


def _skops() -> list[bytes]:
    import skops.io

    return [skops.io.dumps(machine) for machine in _machines()]


def _onnx() -> list[bytes]:
    from skl2onnx import to_onnx

    sample = np.zeros((1, 2), np.float32)
    machines = _machines()
    return [bytes(to_onnx(machines[at], sample).SerializeToString()) for at in (0, 2)]


def _svmc() -> list[bytes]:
    import svmcompile as sc
    from svmcompile.ir.store import to_bytes

    return [to_bytes(sc.compile(machine)) for machine in _machines()]


def _libsvm() -> list[bytes]:
    from svmcompile.convert.libsvm import libsvm_files
    from svmcompile.flow.program import open_model

    text = libsvm_files(open_model(_machines()[0][-1]).trained(), "m.model")[0]["m.model"]
    return [text.encode(), LIBSVM]


def _stored(folder: str, pattern: str) -> list[bytes]:
    """Files that a library wrote, which need not be installed."""
    found = sorted((Path(__file__).parents[1] / "data" / folder).glob(pattern))
    return [path.read_bytes() for path in found]


def _arrays(save: Callable[..., None], **arrays: Any) -> bytes:
    buffer = io.BytesIO()
    save(buffer, **arrays)
    return buffer.getvalue()


def _npy() -> list[bytes]:
    return [_arrays(np.save, arr=np.arange(6, dtype=kind).reshape(3, 2)) for kind in ("<f8", "<i4", ">f4")]


def _npz() -> list[bytes]:
    X = np.arange(6.0).reshape(3, 2)
    return [_arrays(save, X=X, y=np.array(list("aba"))) for save in (np.savez, np.savez_compressed)]


def _parquet(column: str = "f", values: tuple[Any, ...] = (0.5, 1.5, 2.5)) -> list[bytes]:
    import pyarrow
    import pyarrow.parquet

    found = []
    for labels in ([0, 1, 1], pyarrow.array(["a", "b", "a"]).dictionary_encode()):
        buffer = io.BytesIO()
        pyarrow.parquet.write_table(pyarrow.table({column: list(values), "y": labels}), buffer)
        found.append(buffer.getvalue())
    return found


def _choice(content: bytes) -> object:
    """A record of `auto` or `explore`, from which a candidate is built again."""
    from svmcompile.commands.auto import resolve
    from svmcompile.commands.options import CompileOptions

    path = MEMORY / f"svmcompile-fuzz-{os.getpid()}.json"
    path.write_bytes(content)
    try:
        return resolve(
            CompileOptions(model=Path("m"), output=Path("out"), replay=path, data=_rows()[0]), _opened()
        )
    finally:
        path.unlink()


@lru_cache(1)
def _opened() -> Any:
    from svmcompile.flow.program import open_model

    return open_model(_machines()[0])


@lru_cache(1)
def _rows() -> tuple[Path, str]:
    """Rows that a candidate was fitted to, and their digest."""
    from svmcompile.choose.choice import data_digest
    from svmcompile.data import read_data

    path = MEMORY / f"svmcompile-fuzz-{os.getpid()}-rows.npy"
    np.save(path, np.random.default_rng(0).normal(size=(12, 2)))
    atexit.register(path.unlink)
    return path, data_digest(read_data(path))


def _choices() -> list[bytes]:
    candidate = {
        "number": 1, "method": "exact", "options": {}, "precision": "f32", "target": "c", "profile": "host",
        "tables": None, "soft_double": False, "state": "measured", "reason": "",
    }  # fmt: skip
    rows = {"file": "r", "sha256": _rows()[1], "fit": 6, "report": 6, "report_file": None}
    models = [{"sha256": _opened().trained().source.sha256}]
    record = {
        "winner": 1,
        "candidates": [candidate],
        "rows": rows,
        "models": models,
        "settings": {"seed": 0},
    }
    return [json.dumps(record).encode()]


LIBSVM = b"svm_type one_class\nkernel_type rbf\ngamma 0.5\nnr_class 2\ntotal_sv 1\nrho 0.1\nSV\n1 1:2 3:4\n"
CSV = [b"f,g,y\n1,2,a\n3,4.5,b\n", b'"f";y\n1,5;0\n2,5;1\n', b"f\ty\n1\t0\n"]
TEXT = [b'text,y\n"the fox, red",a\nb,c\n', b"y,t\n1,\xc3\xa9\n"]
ROWS = [b"1 1:0.5 3:2\n-1 2:1 # note\n", b"0 qid:1 0:1\n1 1:1\n"]
NUMBERS = (b"-1", b"0", b"1e308", b"nan", b"inf", b"2147483647", b"-2147483648", b"99999999999999999999")
NODES = (
    b"ObjectNode", b"FunctionNode", b"ConstructorFromReduceNode", b"MethodNode", b"PartialNode",
    b"TypeNode", b"OperatorFuncNode", b"CachedNode", b"SparseMatrixNode", b"sklearn.calibration",
    b"builtins", b"eval", b"memory", b"Pipeline", b"CountVectorizer", b"n_features_in_", b"csr_matrix",
)  # fmt: skip
HEADER = (b"'descr'", b"'fortran_order'", b"'shape'", b"(3, 2)", b"'<f8'", b"'|O'", b"'<U99999'", b"True")
KEYS = (
    b"svm_type",
    b"kernel_type",
    b"nr_class",
    b"total_sv",
    b"rho",
    b"label",
    b"probA",
    b"nr_sv",
    b"SV\n",
)
LIBLINEAR = [
    b"solver_type L2R_LR\nnr_class 3\nlabel 3 -1 7\nnr_feature 2\nbias 0.5\nw\n0.5 1 -2\n1 2 3\n-1 0 2\n",
    b"solver_type ONECLASS_SVM\nnr_class 2\nnr_feature 1\nbias -1\nrho 0.5\nw\n2 \n",
]
SOLVERS = (b"MCSVM_CS", b"L2R_L2LOSS_SVR", b"nr_class 2", b"label 1 2", b"bias -1", b"rho 1", b"\nw\n")
PMML = (
    b"<FieldRef field='a'/>", b"<Constant>0</Constant>", b"<NormDiscrete field='a' value='1'/>",
    b"</Apply>", b"<Apply function='/'>", b"maxWins='1'", b"threshold='1e308'", b"OneAgainstAll", b"&#0;",
    b"svmRepresentation='Coefficients'", b"normalizationMethod='logit'", b"defaultValue='1'", b"n='9'",
)  # fmt: skip
TAGS = (
    b"<_>", b"</_>", b"<!DOCTYPE a>", b"&amp;", b"<data>", b"<index>", b"\n   - [ 1. ]", b"[ ", b" ]", b"{",
    b"svm_type: ", b"svmType", b"C_SVC", b"ONE_CLASS", b"POLY", b"rho: 1\n", b"!!opencv-matrix", b"dt: f",
)  # fmt: skip
JSON = (b"null", b"[]", b"{}", b'"\\ud800"', b'"\\u001b[31m"', b'"[/]"', b"1e999", b"Infinity")
TARGETS = [
    Target(
        "report",
        _report,
        _reports,
        (*NUMBERS, *JSON),
    ),
    Target("libsvm", partial(_model, "libsvm"), _libsvm, (*NUMBERS, *KEYS, b"polynomial", b"1:")),
    Target("opencv", partial(_model, "opencv"), partial(_stored, "opencv", "*"), (*NUMBERS, *TAGS)),
    Target("liblinear", partial(_model, "liblinear"), lambda: LIBLINEAR, (*NUMBERS, *SOLVERS)),
    Target("pmml", partial(_model, "pmml"), partial(_stored, "pmml", "*.pmml"), (*NUMBERS, *PMML)),
    Target("svmlight", partial(_model, "svmlight"), partial(_stored, "svmlight", "*.model"), NUMBERS),
    Target("onnx", partial(_model, "onnx"), _onnx, (b"\xff" * 9 + b"\x01", b"Concat", b"Cast")),
    Target("skops", partial(_model, "skops"), _skops, (*NUMBERS, *NODES)),
    Target("svmc", _program, _svmc, (*NUMBERS, *HEADER, b"KernelSum", b"null", b"[]", b"{}")),
    Target("npy", partial(_data, ".npy"), _npy, (*NUMBERS, *HEADER)),
    Target("npz", partial(_data, ".npz"), _npz, (*NUMBERS, *HEADER, b"X.npy", b"y.npy")),
    Target("csv", partial(_data, ".csv"), lambda: CSV, (*NUMBERS, b'"', b";", b"\r", b"\0")),
    Target("libsvm data", partial(_data, ".libsvm"), lambda: ROWS, (*NUMBERS, b"qid:", b":", b"#")),
    Target("parquet", partial(_data, ".parquet"), _parquet, (b"PAR1", b"\xff" * 5)),
    Target(
        "text csv", partial(_data, ".csv", takes_text=True), lambda: TEXT, (b'"', b"\r", b"\0", b"text")
    ),
    Target(
        "text parquet",
        partial(_data, ".parquet", takes_text=True),
        partial(_parquet, "text", ("a fox", "b", "é")),
        (b"PAR1", b"\xff" * 5),
    ),
    Target("choice", _choice, _choices, (*NUMBERS, *JSON, b'"measured"', b'"winner"')),
]


def unpacked(content: bytes) -> dict[str, bytes]:
    """The members of a zip file; none of another."""
    return dict(_members(content)) if b"PK\5\6" in content else {}


@lru_cache(1000)
def _members(content: bytes) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    except Exception:
        return {}


def packed(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def swapped_json(content: bytes, choose: Callable[[int], int]) -> bytes:
    """JSON with one part put in the place of another."""
    try:
        tree = json.loads(content)
    except ValueError:
        return content
    places: list[tuple[Any, Any]] = []
    waiting = [tree] if isinstance(tree, (dict, list)) else []
    while waiting:
        node = waiting.pop()
        pairs = (
            node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        )
        for key, value in pairs:
            places.append((node, key))
            waiting.append(value)
    if len(places) > 1:
        (one, key), (other, name) = places[choose(len(places))], places[choose(len(places))]
        one[key] = json.loads(json.dumps(other[name]))
    return json.dumps(tree).encode()
