"""Stored programs: nothing is lost, equal programs give equal bytes, hostile bytes give `ReadError`."""

from __future__ import annotations

import io
import json
import os
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs.strategies import machine_programs, origin, programs

from svmcompile.data.text import Text, Vectorizer
from svmcompile.errors import ReadError
from svmcompile.ir import nodes as ir
from svmcompile.ir import store
from svmcompile.ir.check import check
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Claim, Input, Labels, Origin, Output, Program, Saving
from svmcompile.ir.store import FORMAT, from_bytes, load, save, to_bytes

ROOT = Path(__file__).parents[2]
STORED = [ROOT / "tests" / "data" / f"format{number}.svmc" for number in range(1, FORMAT + 1)]
DIGEST = "84fc76cbb34fae36581008faad0ae37fd532f6017829d1890d979d7efbd78425"


def example() -> Program:
    """One of every kind of field: what the files in tests/data hold."""
    tables = {
        "shift": np.array([1.0, -2.0]), "factor": np.array([0.5, 0.25]), "offset": np.array([0.0, 1.0]),
        "vectors": np.arange(8.0).reshape(4, 2), "weights": np.array([[1.0, -1, 2, 0.5], [0.25, 3, -2, 1]]),
        "bias": np.array([0.1, -0.2, 0.3]),
    }  # fmt: skip
    body = (
        ir.Scale("z", "x", "shift", "factor", "offset"),
        ir.Clip("c", "z", -1.0, 1.0),
        ir.PairSum("sums", "c", "vectors", "weights", "bias", (2, 1, 1), Kernel("poly", 0.25, 1.0, 3)),
        ir.OvrScores("scores", "sums", 3),
        ir.Vote("label", "sums", 3),
    )
    source = Origin(
        "scikit-learn SVC", "ab" * 32, 4, 100, "exact", Claim.EXACT,
        (("depth", 3), ("name", "x"), ("rate", 0.5), ("fast", True)),
        (Saving("fold_scales", (10, 5), (64, 32)),), ("a note",),
    )  # fmt: skip
    outputs = (Output("scores", "scores"), Output("label", "label"))
    labels = Labels(("red", "gr\u00fcn", 'bl"ue'), "<U10")
    probes = np.array([[0.5, 0.25], [-1.0, 2.0]])
    names = ("height", "b\u00e4r")
    return check(Program(Input(2, "x", names), body, outputs, tables, labels, source, None, probes))


def zipped(members: dict[str, bytes], **options: Any) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", **options) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def changed(description: Any = None, tables: dict[str, bytes] | None = None) -> bytes:
    """The example's stored form with some of the JSON or some tables replaced."""
    outer = members(to_bytes(example()))
    outer["program.json"] = json.dumps(json.loads(outer["program.json"]) | (description or {})).encode()
    outer["tables.npz"] = zipped(members(outer["tables.npz"]) | (tables or {}))
    return zipped(outer)


def npy(header: str, data: bytes = b"") -> bytes:
    """An .npy file with any header."""
    text = header.encode().ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


@settings(max_examples=100, deadline=None)
@given(st.one_of(programs(), machine_programs()))
def test_a_stored_program_comes_back(program: Program) -> None:
    again = from_bytes(to_bytes(program))
    assert again == program
    assert to_bytes(again) == to_bytes(program)
    assert (again.input, again.body, again.outputs) == (program.input, program.body, program.outputs)
    assert (again.labels, again.origin, again.number) == (program.labels, program.origin, program.number)
    for name, table in program.tables.items():
        assert again.tables[name].dtype == table.dtype
        np.testing.assert_array_equal(again.tables[name], table)
    np.testing.assert_array_equal(again.probes, program.probes)


def test_a_file_comes_back(tmp_path: Path) -> None:
    save(example(), tmp_path / "a.svmc")
    assert load(tmp_path / "a.svmc") == example()
    assert Program.load(tmp_path / "a.svmc").origin == example().origin


def test_the_order_of_tables_and_their_memory_do_not_matter() -> None:
    one = example()
    tables = {name: np.asfortranarray(one.tables[name]) for name in reversed(one.tables)}
    assert to_bytes(one.replace(tables=tables)) == to_bytes(one)


def test_any_difference_makes_programs_unequal() -> None:
    one = example()
    others = [
        one.replace(labels=Labels((1, 2, 3), "<i8")),
        one.replace(probes=one.probes + 1),
        one.replace(tables=one.tables | {"bias": np.array([0.1, -0.2, 0.30000001])}),
        one.replace(origin=origin()),
    ]
    assert len({one, *others}) == 5
    assert one != "a program"


def test_bytes_do_not_depend_on_the_hash_seed() -> None:
    code = (
        "import sys; sys.path[:0] = sys.argv[1:]\n"
        "from test_store import example\n"
        "from svmcompile.optimise import optimise\n"
        "from svmcompile.lower import lower\n"
        "print(example().digest, optimise(example()).digest, lower(optimise(example()), 'f32').digest)"
    )
    paths = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "ir")]
    results = [
        subprocess.run(
            [sys.executable, "-c", code, *paths],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert results[0] == results[1]
    assert results[0].split()[0] == example().digest


@pytest.mark.parametrize("stored", STORED, ids=lambda path: str(path.stem))
def test_a_file_of_every_format_still_loads(stored: Path) -> None:
    program = load(stored)
    assert program == example()
    assert program.digest == DIGEST


# Hostile files.


def opens(content: bytes) -> bool:
    """Whether bytes are a program; anything but a program or `ReadError` fails the test."""
    try:
        assert isinstance(from_bytes(content), Program)
    except ReadError:
        return False
    return True


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_random_bytes(content: bytes) -> None:
    assert not opens(content)
    assert not opens(b"PK\x03\x04" + content)


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 255), st.integers(-1, 40))
def test_mutated_bytes(at: int, byte: int, cut: int) -> None:
    content = bytearray(to_bytes(example()))
    content[at % len(content)] = byte
    if cut >= 0:
        del content[at % len(content) : at % len(content) + cut]
    opens(bytes(content))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_mutated_descriptions(data: Any) -> None:
    """Valid zip, valid JSON, any value anywhere: a program or `ReadError`, and a program can be listed."""
    outer = members(to_bytes(example()))
    description = json.loads(outer["program.json"])
    place, key = description, data.draw(st.sampled_from(sorted(description)))
    while isinstance(place[key], (dict, list)) and place[key] and data.draw(st.integers(0, 3)):
        place = place[key]
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
    odd = [
        None,
        True,
        -1,
        0,
        2.5,
        1e400,
        float("nan"),
        10**30,
        "",
        "x",
        "rbf",
        "\ud800",
        [],
        [[]],
        {},
        [1, "a"],
    ]
    place[key] = data.draw(st.sampled_from(odd))
    outer["program.json"] = json.dumps(description).encode()
    try:
        program = from_bytes(zipped(outer))
    except ReadError:
        return
    program.text()
    program.cost()
    assert from_bytes(to_bytes(program)) == program


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="{}()[]'\",:<f84desc_ortan_rhapeTFlsu0123456789- \n\\", max_size=80))
def test_random_table_headers(header: str) -> None:
    assert not opens(changed(tables={"table.bias.npy": npy(header, bytes(24))}))


@pytest.mark.parametrize(
    "shape", ["(1000000000000,)", "(1000000,1000000)", "(-1,)", "(3,-1)", "(0,99999999999999999999)"]
)
def test_a_forged_size_allocates_nothing(shape: str) -> None:
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
    assert not opens(changed(tables={"table.bias.npy": npy(header, bytes(24))}))


HEADERS = ("{'descr': '<f8', 'shape': (3,", '"""', "\\\\", "(" * 110, "[3L]", "{}", "\x00")


@pytest.mark.filterwarnings("ignore:Reading")  # numpy's, about files of Python 2
@pytest.mark.parametrize("header", HEADERS)
def test_headers_that_no_parser_likes(header: str) -> None:
    assert not opens(changed(tables={"table.bias.npy": npy(header, bytes(24))}))


@pytest.mark.parametrize("dtype", ["|O", "<M8[s]", ">f8", "<i8", "<c16", "<U4", "[('a', '<f8')]"])
def test_other_types_of_table_are_refused(dtype: str) -> None:
    descr = dtype if dtype.startswith("[") else repr(dtype)
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': (3,), }}"
    with pytest.raises(ReadError, match=r"table of type|not a readable"):
        from_bytes(changed(tables={"table.bias.npy": npy(header, bytes(24))}))


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "sprung",))

    buffer = io.BytesIO()
    np.save(buffer, np.array([Trap()], dtype=object), allow_pickle=True)
    for content in (buffer.getvalue(), pickle.dumps(Trap())):
        assert not opens(changed(tables={"table.bias.npy": content}))
        assert not opens(content)
    assert not (tmp_path / "sprung").exists()


def test_compressed_and_overlapping_members_are_refused() -> None:
    bomb = zipped({"program.json": bytes(10**7), "tables.npz": b""}, compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(ReadError, match="compressed"):
        from_bytes(bomb)
    content = bytearray(to_bytes(example()))
    at = content.rindex(b"PK\x01\x02") + 20  # the sizes of the last member in the directory
    content[at : at + 8] = (2**31).to_bytes(4, "little") * 2
    with pytest.raises(ReadError, match="more bytes"):
        from_bytes(bytes(content))


def test_labels_of_monstrous_width_are_refused_unmade() -> None:
    labels = {"values": ["a", "b", "c"], "dtype": "<U500000000"}
    with pytest.raises(ReadError, match="labels of type"):
        from_bytes(changed({"labels": labels}))


@pytest.mark.parametrize(
    "labels",
    [
        {"values": [1, 2, "3"], "dtype": "<i8"},
        {"values": [1, 2, 2], "dtype": "<i8"},
        {"values": [1, 2, 300], "dtype": "|i1"},
        {"values": ["abc", "b", "c"], "dtype": "<U1"},
        {"values": [1, 2, 3], "dtype": "<M8[s]"},
    ],
)
def test_labels_that_do_not_fit_are_refused(labels: Any) -> None:
    assert not opens(changed({"labels": labels}))


def test_a_newer_format_is_refused_with_advice() -> None:
    with pytest.raises(ReadError, match=rf"format {FORMAT + 1} is newer .*update"):
        from_bytes(changed({"format": FORMAT + 1}))


def test_a_malformed_program_is_refused_by_name() -> None:
    with pytest.raises(ReadError, match=r"odd.svmc: .*not well formed"):
        from_bytes(changed({"outputs": []}), "odd.svmc")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"none\.svmc"):
        load(tmp_path / "none.svmc")


@pytest.mark.parametrize(
    "change",
    [
        {"most": 65},
        {"fewest": 0},
        {"shortest": 1 << 40},
        {"hashed": 1 << 40},
        {"hashed": -1},
        {"terms": ["a", "a"]},
        {"terms": ["a"]},
        {"analyzer": "any"},
    ],
)
def test_text_of_a_stored_program_is_checked(change: dict[str, Any]) -> None:
    text = Text((Vectorizer("word", True, 2, 1, 1, False, ("a", "b")),))
    tables = {"w": np.ones((1, 2)), "b": np.zeros(1), "c": np.zeros(2)}
    node = ir.Affine("value", "x", "w", "b", "c")
    program = Program(Input(2, text=text), (node,), (Output("value", "value"),), tables, None, origin())
    stored = to_bytes(program)
    assert from_bytes(stored) == program
    with zipfile.ZipFile(io.BytesIO(stored)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    told = json.loads(members["program.json"])
    told["input"]["text"]["parts"][0].update(change)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("program.json", json.dumps(told))
        archive.writestr("tables.npz", members["tables.npz"])
    with pytest.raises(ReadError):
        from_bytes(buffer.getvalue())


def test_probe_rows_without_their_zeros_are_few() -> None:
    """A file of a few kilobytes could claim 16 GB of them."""
    none = np.zeros(0)
    parts = dict(
        zip(store.PROBE_PARTS, (np.zeros(1001, np.int32), none.astype(np.int32), none), strict=True)
    )
    with pytest.raises(ValueError, match="the probe rows do not fit together"):
        store._probes(parts, 2_000_000)
