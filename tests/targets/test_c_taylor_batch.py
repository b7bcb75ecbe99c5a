"""Batches through Taylor polynomials in C: of any length, with empty leaves, with rows not finite."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_build import LEVELS, SANITIZE, build, compilers, run, sanitizing_compiler
from c_cases import real_type
from taylor_cases import SIZES, Case, made, near_and_far

from svmcompile.ir.interpret import interpret

pytestmark = pytest.mark.compile

NAMES = ("d1_leaves", "d2", "d3", "d8", "d13", "d16")  # 5, 16, 3, 8, 1 and 32 leaves
COUNTS = (1, 3, 4, 7, 8, 9, 15, 16, 17, 33, 1023, 1024, 1025, 2050)
EVERY = 37  # rows one of which is not finite: in the midst of vectors, at their ends too


@cache
def cases() -> dict[str, Case]:
    return {name: made(*SIZES[name]) for name in NAMES}


@cache
def rows_of(name: str) -> tuple[Any, Any]:
    """Rows in mixed order, some of them not finite, and their labels."""
    case = cases()[name]
    generator = np.random.default_rng(5)
    rows = generator.permutation(near_and_far(case, 1400))[: COUNTS[-1]]
    expected = case.model.predict(rows).astype(np.int64)
    odd = np.arange(0, len(rows), EVERY)
    rows[odd, generator.integers(0, rows.shape[1], len(odd))] = np.resize(
        [np.nan, np.inf, -np.inf], len(odd)
    )
    expected[odd] = interpret(case.program, rows[odd])["label"]
    return rows, expected


def batches(name: str) -> Iterator[Any]:
    """Batches of all lengths; in some all rows are near each other, so that most leaves stay empty."""
    rows, _ = rows_of(name)
    for count in COUNTS:
        yield np.arange(len(rows) - count, len(rows))
    near = np.argsort(np.nan_to_num(rows).sum(axis=1))
    for start, count in ((0, 5), (100, 40), (len(rows) // 2, 33)):
        yield near[start : start + count]


def agrees(binary: Path, name: str, chosen: Any, number: Any) -> bool:
    rows, expected = rows_of(name)
    given = rows[chosen].astype(real_type(number))
    found = run(binary, name, cases()[name].program, given, number).labels
    return bool((found == expected[chosen]).all())


@pytest.mark.parametrize(
    ("number", "level"), [("f64", next(iter(LEVELS))), *(("f32", level) for level in LEVELS)]
)
def test_labels_of_batches(number: Any, level: str, tmp_path: Path) -> None:
    programs = {name: case.program for name, case in cases().items()}
    without = [f"-D{name.upper()}_NO_{isa}" for name in NAMES for isa in LEVELS[level]]
    compiler = next(iter(compilers().values()))
    binary = build(programs, tmp_path, number, compiler, "-O1", *without, profile="host")
    for name in NAMES:
        for chosen in batches(name):
            assert agrees(binary, name, chosen, number), (name, len(chosen))


def test_nothing_is_read_beside_the_rows(tmp_path: Path) -> None:
    programs = {name: cases()[name].program for name in ("d3", "d13")}
    binary = build(programs, tmp_path, "f32", sanitizing_compiler(), *SANITIZE, profile="host")
    for name in programs:
        for chosen in batches(name):
            assert agrees(binary, name, chosen, "f32"), (name, len(chosen))
