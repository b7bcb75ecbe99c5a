"""store: programs as `.svmc` files, a zip of `program.json` and `tables.npz`.

Equal programs give equal bytes: fixed dates, sorted keys, tables in name order.
Files are untrusted: nothing is unpickled and every size is checked before use.
"""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Callable
from dataclasses import MISSING, asdict, fields
from functools import partial
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np
from numpy.typing import NDArray

from svmcompile.data.arrays import read_array
from svmcompile.data.categories import NO_CATEGORIES, Categories, MissingKind, TextColumn
from svmcompile.data.table import MAX_FEATURES, reading
from svmcompile.data.text import NO_TEXT, Analyzer, Text, Vectorizer
from svmcompile.errors import ReadError, SvmCompileError
from svmcompile.ir.arithmetic import FIXED, WholeInput
from svmcompile.ir.check import check
from svmcompile.ir.kernel import Kernel, KernelKind
from svmcompile.ir.kinds import Decision, LeafRule, Norm, Order, Rule, Shape, Test
from svmcompile.ir.layout import check_compressed
from svmcompile.ir.nodes import NODES, CsrLeaves, CsrSum, Node
from svmcompile.ir.program import Claim, Input, Labels, Origin, Output, Program, Saving, Scalar

FORMAT = 4
PLAIN = 3  # the format of programs whose probe rows are stored whole, which older versions read
MAGIC = b"PK\x03\x04"
MAX_LABEL_BYTES = 1 << 26  # a dtype may claim any width; what labels need is far below this
npy_format: Any = np.lib.format  # numpy 2.2 has no types for it
OLDEST_DATE = (1980, 1, 1, 0, 0, 0)
TABLE_TYPES = ("<f2", "<f4", "<f8", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4")
PROBES = "probes"  # the probe rows travel among the tables under this key
PROBE_PARTS = ("probes.starts", "probes.columns", "probes.values")  # or, without their zeros, under these
MOST_PROBES = 1 << 27  # numbers of probe rows with all their zeros


def _upgrade_1_to_2(description: dict[str, Any]) -> dict[str, Any]:
    """Methods may report details."""
    origin = {**description["origin"], "details": {}}
    return {**description, "origin": origin, "format": 2}


def _upgrade_2_to_3(description: dict[str, Any]) -> dict[str, Any]:
    """Fewer nodes: those that differed by the kind of value or by layout are one; JetSum has no gate."""
    names = {
        "Beside": "Join", "Columns": "Pick", "TiledLists": "PlaneLists",
        "StagedSum": "BoundedSum", "StagedVote": "BoundedVote",
    }  # fmt: skip
    fields = {"Columns": {"values": "x"}, "JetSum": {"gate": ""}}
    body = []
    for item in description["body"]:
        others = fields.get(item["node"], {})
        values = {others.get(key, key): value for key, value in item.items() if others.get(key) != ""}
        body.append({**values, "node": names.get(item["node"], item["node"])})
    return {**description, "body": body, "format": 3}


def _upgrade_3_to_4(description: dict[str, Any]) -> dict[str, Any]:
    """Probe rows may be stored without their zeros."""
    return {**description, "format": 4}


# Each format change adds a function here and keeps an old file in tests/data.
UPGRADES: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {
    1: _upgrade_1_to_2, 2: _upgrade_2_to_3, 3: _upgrade_3_to_4,
}  # fmt: skip


def to_bytes(program: Program) -> bytes:
    """The stored form."""
    arrays = {f"table.{name}": table for name, table in program.tables.items()}
    arrays |= _compressed_probes(program) if _is_wide(program) else {PROBES: program.probes}
    return _zip(
        {
            "program.json": json.dumps(_describe(program), sort_keys=True, indent=1).encode(),
            "tables.npz": _zip({f"{name}.npy": _npy(arrays[name]) for name in sorted(arrays)}),
        }
    )


def from_bytes(content: bytes, where: str = "program") -> Program:
    """The program behind a stored form; `ReadError` for anything else."""
    try:
        members = _unzip(content)
        description = json.loads(members["program.json"])
        arrays = {name[:-4]: _array(data) for name, data in _unzip(members["tables.npz"]).items()}
        return check(_rebuild(_upgrade(description), arrays))
    except SvmCompileError as error:
        raise ReadError(f"{where}: {error}") from None
    except (
        zipfile.BadZipFile, KeyError, ValueError, TypeError, AttributeError, NotImplementedError,
        EOFError, OSError, IndexError, RecursionError, MemoryError, OverflowError, RuntimeError,
        SyntaxError, struct.error,
    ) as error:  # fmt: skip
        raise ReadError(f"{where}: not a readable svmcompile program: {error!r}") from None


def save(program: Program, path: Path) -> None:
    """Write a `.svmc` file in one step."""
    from svmcompile.files import write_file

    write_file(path, to_bytes(program))


def load(path: Path) -> Program:
    """Read a `.svmc` file."""
    with reading(path):
        content = path.read_bytes()
    return from_bytes(content, str(path))


def _is_wide(program: Program) -> bool:
    """Whether probe rows are stored without their zeros: where vectors are."""
    return any(isinstance(node, (CsrLeaves, CsrSum)) for node in program.body) and program.probes.size > 0


def _compressed_probes(program: Program) -> dict[str, NDArray[Any]]:
    rows, columns = np.nonzero(program.probes)
    starts = np.searchsorted(rows, np.arange(len(program.probes) + 1))
    parts = (starts.astype(np.int32), columns.astype(np.int32), program.probes[rows, columns])
    return dict(zip(PROBE_PARTS, parts, strict=True))


def _probes(arrays: dict[str, NDArray[Any]], width: int) -> NDArray[Any]:
    """The probe rows, whole; `arrays` loses what they were stored in."""
    if PROBES in arrays:
        return arrays.pop(PROBES)
    starts, columns, values = (arrays.pop(name) for name in PROBE_PARTS)
    flat = starts.ndim == columns.ndim == values.ndim == 1 and len(columns) == len(values)
    if not (flat and 0 < width <= MAX_FEATURES and 0 < len(starts) * width <= MOST_PROBES):
        raise ValueError("the probe rows do not fit together")
    check_compressed(starts, columns, width)
    found: NDArray[Any] = np.zeros((len(starts) - 1, width))
    found[np.repeat(np.arange(len(found)), np.diff(starts)), columns] = values
    return found


def _zip(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name, OLDEST_DATE)
            info.create_system = 3
            archive.writestr(info, content)
    return buffer.getvalue()


def _unzip(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        if any(info.compress_type != zipfile.ZIP_STORED for info in members):
            raise ValueError("a member is compressed")
        if sum(info.file_size for info in members) > len(content):
            raise ValueError("the members claim more bytes than there are")
        return {info.filename: archive.read(info) for info in members}


def _npy(array: NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    npy_format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
    return buffer.getvalue()


def _array(content: bytes) -> NDArray[Any]:
    """An array from `.npy` bytes, as `to_bytes` writes them."""
    found = read_array(content)
    if found.dtype.str not in TABLE_TYPES or not found.flags.c_contiguous:
        raise ValueError(f"table of type {found.dtype}")
    return found


def _describe(program: Program) -> dict[str, Any]:
    return {
        "format": FORMAT if _is_wide(program) else PLAIN,
        "input": _input(program.input),
        "body": [{"node": type(node).__name__, **asdict(node)} for node in program.body],
        "outputs": [asdict(output) for output in program.outputs],
        "labels": _described_labels(program.labels) if program.labels else None,
        "origin": asdict(program.origin),
        "number": program.number,
    }


def _described_labels(labels: Labels) -> dict[str, Any]:
    """The labels; targets only where there are some."""
    return {key: value for key, value in asdict(labels).items() if key != "targets" or value}


def _input(described: Input) -> dict[str, Any]:
    """The input; its number type, its text and its categories where they are not the usual ones."""
    idle = {"number": "", "text": asdict(NO_TEXT), "categories": asdict(NO_CATEGORIES)}
    return {key: value for key, value in asdict(described).items() if value != idle.get(key)}


def _upgrade(description: dict[str, Any]) -> dict[str, Any]:
    version = description["format"]
    if not isinstance(version, int) or version > FORMAT:
        raise ReadError(f"format {version} is newer than this svmcompile reads ({FORMAT}); update it")
    while version < FORMAT:
        description = UPGRADES[version](description)
        version += 1
    return description


def _rebuild(description: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Program:
    if description["number"] not in (None, "f32", "f64", *FIXED):
        raise ValueError(f"number type {description['number']!r}")
    described = _read(Input, description["input"])
    if description["number"] in FIXED:
        _check_fixed(description["origin"]["details"]["fixed"], described.width)
    probes = _probes(arrays, described.width)
    return Program(
        input=described,
        body=tuple(_node(item) for item in description["body"]),
        outputs=tuple(_read(Output, output) for output in description["outputs"]),
        tables={name[len("table.") :]: array for name, array in arrays.items()},
        labels=_labels(description["labels"]) if description["labels"] else None,
        origin=_read(Origin, description["origin"]),
        number=description["number"],
        probes=probes,
    )


def _check_fixed(told: dict[str, Any], width: int) -> None:
    """What a program in whole numbers states: its error, the range of features, slacks of tests."""
    ends = [_finite(told[name]) for name in ("error", "low", "high") if name in told]
    if not all(end.shape in ((), (width,)) for end in ends) or ends[0].ndim or "error" not in told:
        raise ValueError("the stated error or range does not fit")
    for slack in told.get("slacks", {}).values():
        _finite(slack)


def _finite(stored: Any) -> NDArray[Any]:
    found = np.asarray(stored)
    if found.dtype.kind not in "if" or not np.isfinite(found).all():
        raise ValueError(f"{stored!r:.40} is not made of finite numbers")
    return found


def _read(kind: Callable[..., Any], stored: dict[str, Any]) -> Any:
    """A dataclass from its stored fields, each of the type that the class declares."""
    known = {field.name: field for field in fields(cast(Any, kind))}
    needed = {name for name, field in known.items() if field.default is field.default_factory is MISSING}
    if not needed <= set(stored) <= set(known):  # files may be older than a field that has a default
        raise ValueError(f"wrong fields for {kind.__name__}")
    return kind(**{name: FIELD_READERS[str(known[name].type)](value) for name, value in stored.items()})


def _node(item: dict[str, Any]) -> Node:
    kinds = {kind.__name__: kind for kind in NODES}
    node: Node = _read(kinds[item["node"]], {key: value for key, value in item.items() if key != "node"})
    return node


def _details(stored: Any) -> dict[str, Any]:
    if not isinstance(stored, dict):
        raise ValueError(f"details {stored!r}")
    return stored


def _two(stored: list[Any]) -> tuple[int, int]:
    before, after = stored
    return int(before), int(after)


def _scalar(stored: Any) -> Scalar:
    if not isinstance(stored, (bool, int, float, str)):
        raise ValueError(f"option value {stored!r}")
    return stored


def _labels(stored: dict[str, Any]) -> Labels:
    dtype = np.dtype(str(stored["dtype"]))
    if dtype.itemsize * len(stored["values"]) > MAX_LABEL_BYTES:
        raise ValueError(f"labels of type {dtype}")
    targets = tuple(tuple(map(int, places)) for places in stored.get("targets", ()))
    labels = Labels(tuple(stored["values"]), str(stored["dtype"]), targets)
    if Labels.of(labels.array(), "labels").values != labels.values:
        raise ValueError("labels do not fit their type")
    if not all(1 < len({*one}) == len(one) and 0 <= min(one) <= max(one) < len(labels) for one in targets):
        raise ValueError("targets are not lists of two labels or more")
    return labels


def _one_of(known: tuple[str, ...], stored: str) -> str:
    if stored not in known:
        raise ValueError(f"{stored!r} is none of {', '.join(known)}")
    return stored


CHOICES: dict[str, Any] = {
    "KernelKind": KernelKind, "Shape": Shape, "Rule": Rule, "Norm": Norm, "Order": Order,
    "LeafRule": LeafRule, "WholeInput": WholeInput, "Decision": Decision, "Analyzer": Analyzer,
    "Test": Test, "MissingKind": MissingKind,
}  # fmt: skip
FIELD_READERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("str", "Value", "Lazy", "Table", "IndexTable", "OutputName"), str),
    **{name: partial(_one_of, get_args(choice)) for name, choice in CHOICES.items()},
    "Kernel": partial(_read, Kernel),
    "Claim": Claim,
    "Text": partial(_read, Text),
    "tuple[Vectorizer, ...]": lambda items: tuple(_read(Vectorizer, item) for item in items),
    "Categories": partial(_read, Categories),
    "tuple[TextColumn, ...]": lambda items: tuple(_read(TextColumn, item) for item in items),
    "Mapping[str, Any]": _details,
    "tuple[int, int]": _two,
    "tuple[int, ...]": lambda items: tuple(int(item) for item in items),
    "tuple[float, ...]": lambda items: tuple(float(item) for item in items),
    "tuple[str, ...]": lambda items: tuple(map(str, items)),
    "tuple[tuple[str, Scalar], ...]": lambda items: tuple((str(name), _scalar(v)) for name, v in items),
    "tuple[Saving, ...]": lambda items: tuple(_read(Saving, item) for item in items),
    "float": float,
    "int": int,
    "bool": bool,
}
