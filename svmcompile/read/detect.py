"""detect: which format the bytes of a model file are in, by content first, then by suffix."""

from __future__ import annotations

import io
import zipfile
from pathlib import PurePath

from svmcompile.errors import ReadError, UnsupportedError

SUFFIXES = {
    ".model": "libsvm",
    ".skops": "skops",
    ".pkl": "pickle",
    ".pickle": "pickle",
    ".joblib": "pickle",
    ".onnx": "onnx",
    ".svmc": "svmc",
}
COMPRESSED = (  # what joblib writes around a pickle
    b"ZF", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda", b"\x1f\x8b", b"BZh",
    b"\xfd7zXZ", b"\x5d\x00\x00", b"\x04\x22\x4d\x18",
)  # fmt: skip
ONNX_SECOND_FIELDS = b"\x12\x1a\x22\x28\x32\x3a\x42\x72"  # what may follow ir_version in a ModelProto


def format_of(content: bytes, where: str) -> str:
    """A key of READERS, or an error that says what the file is and what to do."""
    if not content:
        raise ReadError(f"{where}: the file is empty")
    found = _by_content(content, where) or SUFFIXES.get(PurePath(where).suffix.lower())
    if found is None:
        raise ReadError(
            f"{where}: not a model file that is known; expected a LIBSVM text model, "
            "an ONNX model, a skops file, or a pickle or joblib file of a scikit-learn estimator"
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
    if name == "liblinear":
        raise UnsupportedError(
            f"{where}: is a LIBLINEAR model, which cannot be read; "
            "train scikit-learn's LinearSVC or LinearSVR"
        )


def _by_content(content: bytes, where: str) -> str | None:
    if content.startswith(b"svm_type"):
        return "libsvm"
    if content.startswith(b"solver_type"):
        return "liblinear"
    if content.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _by_members(content, where)
    if content.startswith(COMPRESSED) or (
        content[0] == 0x80 and content[1:2] in (b"\2", b"\3", b"\4", b"\5")
    ):
        return "pickle"
    if content[0] == 0x08 and len(content) > 2 and content[1] < 32 and content[2] in ONNX_SECOND_FIELDS:
        return "onnx"
    return None


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
    raise ReadError(f"{where}: is a zip file, but neither a skops model nor a program; pass a model file")
