"""Read-back: a table that is not the program's, to the last bit, is not emitted."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from c_cases import LARGE_INTS, RBF, THREE_WORDS, dense, optimised, pairs
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.errors import EmitError
from svmcompile.ir.program import Labels
from svmcompile.model.svm import LabelRule
from svmcompile.targets.c import literals, model
from svmcompile.targets.c.read_back import check_tables

WORDS = Labels(('a"b\\', "%s ??/ é", "trois"), "<U8")
EMISSIONS: dict[str, dict[str, Any]] = {
    "f32": {"precision": "f32", "profile": "portable"},
    "f64": {"precision": "f64", "profile": "host"},
    "f16": {"precision": "f32", "profile": "host", "tables": "f16"},
    "device": {"precision": "f32", "profile": "device"},
    "q15": {"precision": "q15", "profile": "device", "ranges": (-3.0, 3.0)},
}
Arguments = tuple[Any, ...]


def read(monkeypatch: pytest.MonkeyPatch, **emission: Any) -> Arguments:
    """What the reader is given where a model is emitted."""
    seen: list[Arguments] = []

    def watched(*given: Any) -> None:
        seen.append(given)
        check_tables(*given)

    monkeypatch.setattr(model, "check_tables", watched)
    sc.emit(optimised(pairs(RBF, LabelRule.VOTE, emission.pop("labels", WORDS))), name="model", **emission)
    return seen[0]


@pytest.mark.parametrize("bulk", [False, True], ids=["decimals", "bytes"])
@pytest.mark.parametrize("name", EMISSIONS)
def test_a_digit_that_is_off_is_caught(name: str, bulk: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if bulk:
        monkeypatch.setattr(literals, "MAX_DECIMAL_BYTES", 0)
    source, tables, *others = read(monkeypatch, **EMISSIONS[name])
    assert len(tables) >= 3
    for table in tables:
        start = source.index(table + ("_bulk" if bulk else "["))
        start, end = source.index("= {", start) + 3, source.index("\n};", start)
        first = r"(?<=\\)\d" if bulk else r"(?<![\w.])\d"  # digit of an escape, or of a number
        places = [start + one.start() for one in re.finditer(first, source[start:end])]
        at = places[len(places) // 2]
        other = str((int(source[at]) + 1) % (4 if bulk else 10))
        with pytest.raises(EmitError, match=f"does not read back.*{table}"):
            check_tables(source[:at] + other + source[at + 1 :], tables, *others)


CORRUPTIONS: dict[str, tuple[str, str]] = {
    "a label": (r"trois", "troiz"),
    "a label less": (r',\s*"trois"', ""),
    "the type": (r"static const float (model_weights)", r"static const double \1"),
    "the size": (r"(model_weights)\[\d+\]", r"\1[2]"),
    "a number less": (r"(model_weights\[\d+\] = \{\n.*?), \S+?f", r"\1"),
    "no table": (r"static const float model_weights", "static float model_weights"),
    "one twice": (r"(static const float model_bias\[.*?\};\n)", r"\1\1"),
    "a double": (r"(model_weights\[\d+\] = \{\n.*?)f,", r"\1,"),
    "no number": (r"(model_weights\[\d+\] = \{\n\s*)\S+?f,", r"\1nan(0)f,"),
}


@pytest.mark.parametrize("what", CORRUPTIONS)
def test_other_faults_are_caught(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source, *others = read(monkeypatch, **EMISSIONS["f32"])
    damaged = re.sub(*CORRUPTIONS[what], source, count=1, flags=re.DOTALL)
    assert damaged != source
    with pytest.raises(EmitError, match="does not read back"):
        check_tables(damaged, *others)


def test_a_fault_of_the_templates_stops_emission(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader is always on: nothing is written."""
    real = literals.real
    monkeypatch.setattr(
        literals, "real", lambda value, number: real(np.float32(value * (1 + 1e-6)), number)
    )
    with pytest.raises(EmitError, match="please report"):
        sc.emit(optimised(dense(RBF, LabelRule.NONE, None)))


@pytest.mark.parametrize("labels", [LARGE_INTS, THREE_WORDS, Labels((-0.5, 0.1, 1e300), "<f8")])
def test_labels_of_every_kind_read_back(labels: Labels, monkeypatch: pytest.MonkeyPatch) -> None:
    source, tables, given, *others = read(monkeypatch, precision="f32", labels=labels)
    with pytest.raises(EmitError, match="model_labels"):
        check_tables(source, tables, Labels((*given.values[:-1], given.values[0]), given.dtype), *others)


def test_points_of_a_given_kernel_read_back() -> None:
    X = np.random.default_rng(0).normal(size=(40, 3))
    sc.emit(sc.compile(SVC(kernel="precomputed").fit(X @ X.T, X[:, 0] > 0)))


def test_decimals_next_to_a_tie_are_rounded_once() -> None:
    """Just above the middle of two floats, but nearer to it than a double can tell."""
    text = "1.00000005960464477540f"  # 1 + 2^-24 (1 + 1e-17): a compiler rounds it up
    source = f"static const float model_w[1] = {{\n    {text}\n}};\n"
    up, down = np.nextafter(np.float32(1), np.float32(2)), np.float32(1)
    assert np.float32(float(text[:-1])) == down
    check_tables(source, {"model_w": np.array([up])}, None, "model_labels", set())
    with pytest.raises(EmitError, match="model_w"):
        check_tables(source, {"model_w": np.array([down])}, None, "model_labels", set())


def test_a_decimal_halfway_between_two_numbers_is_the_even_one() -> None:
    even = np.float32(34431168)  # neighbours are 4 apart here; 34431170 lies between two of them
    odd = np.nextafter(even, np.float32(np.inf))
    source = "static const float t[1] = {\n    34431170.0f\n};\n"
    check_tables(source, {"t": np.array([even])}, None, "labels", set())
    with pytest.raises(EmitError, match=r"t\[0\] is 34431170"):
        check_tables(source, {"t": np.array([odd])}, None, "labels", set())
