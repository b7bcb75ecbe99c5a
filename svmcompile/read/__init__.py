"""read: a model file or an estimator becomes an SVM.

A new file format is one module here, one line in READERS and one rule in `format_of`.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import os
import zipfile
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Protocol, cast

from svmcompile.errors import OptionError, PluginError, ReadError
from svmcompile.model.svm import SVM, Source
from svmcompile.plugins import Reader as PluginReader
from svmcompile.plugins.entries import Plugin, find_plugin, guarded, load, plugins
from svmcompile.read.kernels import MAX_FEATURES

READERS: dict[str, str] = {
    "libsvm": "svmcompile.read.libsvm.model:read_text",
    "liblinear": "svmcompile.read.liblinear.model:read_liblinear",
    "svmlight": "svmcompile.read.svmlight:read_svmlight",
    "opencv": "svmcompile.read.opencv.model:read_opencv",
    "pmml": "svmcompile.read.pmml.model:read_pmml",
    "onnx": "svmcompile.read.onnx.model:read_onnx",
    "skops": "svmcompile.read.stored:load_skops",
    "pickle": "svmcompile.read.original:load_pickle",
}
SUFFIXES = {".model": "libsvm", **{f".{name}": name for name in ("skops", "onnx", "pmml", "svmc")}}
SUFFIXES |= dict.fromkeys((".yml", ".yaml"), "opencv")
SUFFIXES |= dict.fromkeys((".pkl", ".pickle", ".joblib"), "pickle")
COMPRESSED = (  # what joblib writes around a pickle
    b"ZF", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda", b"\x1f\x8b", b"BZh",
    b"\xfd7zXZ", b"\x5d\x00\x00", b"\x04\x22\x4d\x18",
)  # fmt: skip
WORDS_WITHIN = 4096
ONNX_SECOND_FIELDS = b"\x12\x1a\x22\x28\x32\x3a\x42\x72"  # what may follow ir_version in a ModelProto


class Reader(Protocol):
    """A function that turns the bytes of a file into an SVM, or the estimator it holds.

    `where` names the file in messages.
    """

    def __call__(
        self, content: bytes, where: str, *, trust_pickle: bool, n_features: int | None
    ) -> object: ...


def read(
    source: object, *, format: str | None = None, trust_pickle: bool = False, n_features: int | None = None
) -> SVM:
    """The SVM in a file (a path) or in a fitted estimator.

    `format` is a key of READERS and overrules what a file looks like.
    `n_features` matters for LIBSVM models, which do not store it; for others it must match.
    """
    content = content_of(source) if isinstance(source, (str, os.PathLike)) else b""
    return read_content(source, content, format, trust_pickle=trust_pickle, n_features=n_features)[0]


def read_content(
    source: object,
    content: bytes,
    format: str | None = None,
    *,
    trust_pickle: bool = False,
    n_features: int | None = None,
) -> tuple[SVM, object]:
    """The SVM in a file (path and content) or an estimator; with it the estimator, or else the path."""
    from svmcompile.read.sklearn.estimators import read_estimator

    _check_n_features(n_features)
    if isinstance(source, (str, os.PathLike)):
        where = os.fspath(source)
        reader = _reader(format or format_of(content, where), where)
        model = reader(content, where, trust_pickle=trust_pickle, n_features=n_features)
    elif format is not None:
        raise OptionError(f"format {format!r} is for files; got a {type(source).__name__}")
    else:
        where, model = type(source).__name__, source
    svm = model if isinstance(model, SVM) else read_estimator(model, where)
    if content and svm is not model:
        svm = replace(svm, source=Source(svm.source.kind, hashlib.sha256(content).hexdigest()))
    if n_features is not None and svm.n_features != n_features:
        raise ReadError(f"{where}: has {svm.n_features} features, n_features says {n_features}")
    return svm, source if svm is model else model


def content_of(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a model file."""
    try:
        file = Path(path)
        if file.is_dir():
            raise ReadError(f"{path}: is a folder; pass a model file")
        if not file.exists():
            raise ReadError(f"{path}: there is no such file")
        if not file.is_file():
            raise ReadError(f"{path}: is not a regular file; pass a model file")
        return file.read_bytes()
    except (OSError, ValueError, TypeError) as error:
        raise ReadError(f"{path!r}: cannot be read ({error})") from None


def _reader(format: str, where: str) -> Reader:
    refuse_known(format, where)
    if format not in READERS:
        return _plugged(format)
    module, function = READERS[format].split(":")
    return cast(Reader, getattr(importlib.import_module(module), function))


def plugged_reader(format: str) -> tuple[Plugin, PluginReader]:
    """The plugin that reads a format which is not built in, and what it declares."""
    known = [one.name for one in plugins("reader", READERS)]
    if format not in known:
        raise OptionError(f"unknown format {format!r}; known: {', '.join([*READERS, *known])}")
    plugin = find_plugin(format, READERS, "reader")
    return plugin, load(plugin, PluginReader)


def _plugged(format: str) -> Reader:
    plugin, found = plugged_reader(format)
    read = guarded(plugin, found.read)

    def reader(content: bytes, where: str, *, trust_pickle: bool, n_features: int | None) -> object:
        svm = read(content, where, n_features)
        return svm.check(where) if isinstance(svm, SVM) else svm

    return reader


def _check_n_features(n_features: int | None) -> None:
    whole = isinstance(n_features, int) and not isinstance(n_features, bool)
    if n_features is not None and not (whole and 0 < n_features <= MAX_FEATURES):
        raise OptionError(f"n_features is {n_features!r}; expected an integer in 1..{MAX_FEATURES}")


def format_of(content: bytes, where: str) -> str:
    """A key of READERS, or an error that says what the file is and what to do."""
    if not content:
        raise ReadError(f"{where}: the file is empty")
    suffix = PurePath(where).suffix.lower()
    found, problems = _by_content(content, where), list[str]()
    if found is None:
        by_content, by_suffix = _by_plugins(content, suffix, problems)
        found = by_content or SUFFIXES.get(suffix) or by_suffix
    if found is None:
        raise ReadError(
            f"{where}: not a model file that is known; expected a LIBSVM, LIBLINEAR or SVM-light model, "
            "an SVM of OpenCV, PMML, an ONNX model, a skops file, or a pickle or joblib file of a "
            "scikit-learn estimator; rows go with --data" + "".join(f"; {one}" for one in problems)
        )
    refuse_known(found, where)
    return found


def refuse_known(name: str, where: str) -> None:
    """Formats that are recognised but hold no model this stage can read."""
    if name == "svmc":
        raise ReadError(
            f"{where}: is a program that svmcompile made (.svmc), not a model; "
            "open it with Program.load or `svmcompile inspect`, or pass the model it was made from"
        )


def _by_plugins(content: bytes, suffix: str, problems: list[str]) -> tuple[str | None, str | None]:
    """The formats of plugins that know a file by its content, and by its suffix; broken ones are noted."""
    by_content = by_suffix = None
    for plugin in plugins("reader", READERS):
        try:
            if plugin.problem:
                raise plugin.error(plugin.problem)
            reader = load(plugin, PluginReader)
            if by_content is None and reader.recognises and guarded(plugin, reader.recognises)(content):
                by_content = plugin.name
        except PluginError as error:
            problems.append(str(error))
            continue
        by_suffix = by_suffix or (plugin.name if suffix in reader.suffixes else None)
    return by_content, by_suffix


def _by_content(content: bytes, where: str) -> str | None:
    if content.startswith(b"svm_type"):
        return "libsvm"
    if content.startswith(b"solver_type"):
        return "liblinear"
    if content.startswith(b"SVM-light Version"):
        return "svmlight"
    if content.startswith((b"%YAML", b"<", b"{", b"\xef\xbb\xbf<")):
        return _by_words(content)
    if content.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _by_members(content, where)
    if content.startswith((*COMPRESSED, b"\x80\2", b"\x80\3", b"\x80\4", b"\x80\5")):
        return "pickle"
    if content[0] == 0x08 and len(content) > 2 and content[1] < 32 and content[2] in ONNX_SECOND_FIELDS:
        return "onnx"
    return None


def _by_words(content: bytes) -> str | None:
    """Text whose names are met near its beginning."""
    words = {"opencv": (b"%YAML", b"<opencv_storage", b'"opencv_ml_svm"'), "pmml": (b"<PMML", b":PMML")}
    start = content[:WORDS_WITHIN]
    return next((name for name, known in words.items() if any(word in start for word in known)), None)


def _by_members(content: bytes, where: str) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
    except Exception as error:  # zipfile raises many kinds for damaged archives
        raise ReadError(f"{where}: is a damaged zip file ({error})") from None
    if "schema.json" in names:
        return "skops"
    if "program.json" in names:
        return "svmc"
    if names and all(name.endswith(".npy") for name in names):
        raise ReadError(f"{where}: holds arrays, not a model; rows go with --data")
    raise ReadError(f"{where}: is a zip file, but neither a skops model nor a program; pass a model file")
