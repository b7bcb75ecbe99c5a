"""Seals: the report of an output folder holds the sha256 of every other file, and may be signed.

Whatever reads a folder compares. Digests tell that a file was changed by accident, or by somebody who did
not change the report as well; a signature (HMAC-SHA256 of the report, in NAME.hmac) tells it of anybody
without the key.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from svmcompile.data.table import reading
from svmcompile.errors import OptionError, ReadError
from svmcompile.files.atomic import as_bytes, check_path
from svmcompile.files.plain import json_text, read_json

DIGESTS = "digests"  # in the report
LEAST_KEY = 16  # bytes
WAY_OUT = 'compile the model again; if you changed it yourself, remove "digests" from the report'


def sealed(files: Mapping[str, str | bytes], name: str, key: bytes | None = None) -> dict[str, str | bytes]:
    """The files, with the digests of all others in the report NAME.json, and its signature."""
    report, signature = f"{name}.json", f"{name}.hmac"
    others = {path: data for path, data in files.items() if path not in (report, signature)}
    told = json.loads(files[report])
    told[DIGESTS] = {path: hashlib.sha256(as_bytes(data)).hexdigest() for path, data in others.items()}
    text = json_text(told)
    signed = {} if key is None else {signature: _sign(text.encode(), key) + "\n"}
    return {**others, report: text, **signed}


def _sign(report: bytes, key: bytes) -> str:
    return hmac.new(key, report, hashlib.sha256).hexdigest()


def read_key(path: Path) -> bytes:
    """The key in a file: all of its bytes."""
    key = read_plain(path)
    if len(key) < LEAST_KEY:
        raise OptionError(
            f"{path}: a key has at least {LEAST_KEY} bytes, this has {len(key)}; "
            "make one with: openssl rand -hex 32"
        )
    return key


def read_plain(path: Path) -> bytes:
    """The bytes of a plain file; an error for what might never end, such as a pipe."""
    with reading(path):
        if not stat.S_ISREG(path.stat().st_mode):
            raise ReadError(f"{path}: is not a plain file")
        return path.read_bytes()


def read_report(folder: Path, name: str) -> dict[str, Any]:
    """The report of a model; an error that says so where it is none."""
    path = folder / f"{name}.json"
    try:
        found = read_json(read_plain(path))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ReadError(f"{path}: is not a report of svmcompile; compile the model again")
    return found


def check_seal(
    folder: Path, name: str, paths: Iterable[str] | None = None, key: bytes | None = None
) -> int | None:
    """Refuse files (all that were written, or some) that are not as they were written; how many there are.

    None where the report has no digests, as that of an older version, or there is no report.
    """
    if key is not None:
        _check_signature(folder, name, key)
    if not (folder / f"{name}.json").exists():
        return None
    digests = read_report(folder, name).get(DIGESTS)
    if digests is None:
        if key is not None:
            raise ReadError(f"{folder / name}.json: is signed without digests; compile the model again")
        return None
    if not isinstance(digests, dict):
        raise ReadError(f"{folder / name}.json: {DIGESTS} is not an object; compile the model again")
    for path in sorted(digests) if paths is None else paths:
        _check_file(folder, path, digests)
    return len(digests)


def _check_file(folder: Path, path: str, digests: Mapping[str, Any]) -> None:
    file = folder / check_path(path)
    if path not in digests:
        raise ReadError(f"{file}: was not written by the last compile; remove it, or add its target")
    if not file.exists():
        raise ReadError(f"{file}: is missing, and the report lists it; {WAY_OUT}")
    if hashlib.sha256(read_plain(file)).hexdigest() != digests[path]:
        raise ReadError(f"{file}: was changed after it was compiled: its sha256 differs; {WAY_OUT}")


def _check_signature(folder: Path, name: str, key: bytes) -> None:
    path = folder / f"{name}.hmac"
    if not path.exists():
        raise ReadError(f"{path}: there is no signature; compile with --sign and the same key")
    found = read_plain(path).decode("ascii", "replace").strip()
    if not hmac.compare_digest(found.encode(), _sign(read_plain(folder / f"{name}.json"), key).encode()):
        raise ReadError(
            f"{path}: the signature is not that of the report under this key: the key is another, or files "
            "were changed"
        )
