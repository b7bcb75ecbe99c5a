"""An attack on the promise SAME_LABEL: random machines, random options, rows on the boundary.

    make attack MINUTES=30                               random cases for half an hour
    python -m tests.attack.attack --seed 7 --case 3      one case again

A row counts as wrong where its label differs from the original's and a sum in more digits than double says
that rounding of the original's own double sums cannot have made the difference. A case that fails is saved
with the command that replays it. Cases depend on seed and number alone, never on time.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

import svmcompile as sc
from svmcompile.errors import SvmCompileError
from tests.attack.machines import Machine, draw_machine
from tests.attack.reference import has_digits, possible
from tests.attack.rows import boundary, ordinary

ROWS = 4000  # of a case, half of them on the boundary
MOST_NUMBERS = 400_000  # in all rows of a case
FORMS = ("host", "host", "portable", "portable", "device", "onnx")
# What the methods may be asked for, beside their defaults.
OPTIONS: dict[str, dict[str, tuple[Any, ...]]] = {
    "exact": {},
    "certified": {
        "leaves": (0, 1, 3, 8), "order": (0, 1, 2, 3), "rank": (-1, 0, 1, 4), "cells": (0, 2, 32),
        "max_bytes": (0, 2000, 1 << 20), "fallback": ("auto", "direct", "anytime", "jets"),
        "tune": ("host", "portable", "flops"),
    },
    "anytime": {
        "ordering": ("sgma", "min-wz", "hybrid"), "block": (0, 1, 8), "k_max": (0, 16),
        "r_coords": ("auto", "0", "all"), "tune": ("host", "portable", "flops"),
    },
}  # fmt: skip
METHODS = ("certified", "certified", "anytime", "exact")


@dataclass(frozen=True, eq=False)
class Case:
    """What is compiled, how, and how it is emitted."""

    machine: Machine
    method: str
    options: dict[str, Any]
    form: str
    precision: str

    def text(self) -> str:
        told = {**self.machine.drawn, **self.options}
        words = " ".join(
            f"{key}={value:.3g}" if isinstance(value, float) else f"{key}={value}"
            for key, value in told.items()
        )
        return f"{self.machine.kind} {self.method} {self.form} {self.precision}: {words}"


@dataclass
class Tally:
    """What came of the cases so far."""

    cases: int = 0
    refused: int = 0  # with an error that says why
    unpromised: int = 0  # the program claims less than SAME_LABEL
    rows: int = 0
    edge: int = 0  # of them on the boundary
    other: int = 0  # labels that differ from the original's within its own rounding
    wrong: int = 0
    failed: list[str] = field(default_factory=list)

    def text(self) -> str:
        rate = f"; no more than {3 / self.rows:.2g} of rows at 95 %" if self.rows and not self.wrong else ""
        return (
            f"{self.cases} cases ({self.refused} refused, {self.unpromised} without the promise), "
            f"{self.rows} rows, {self.edge} of them on the boundary: {self.wrong} labels wrong, "
            f"{self.other} others within the original's own rounding{rate}"
        )


def draw_case(seed: int, number: int) -> Case:
    random = np.random.default_rng([seed, number])
    method = str(random.choice(METHODS))
    known = OPTIONS[method]
    asked = [name for name in known if random.random() < 0.4]
    options: dict[str, Any] = {"force": bool(random.random() < 0.8)}
    if method == "exact":
        options = {"labels": "certain"}
    options |= {name: known[name][int(random.integers(len(known[name])))] for name in asked}
    form, precision = str(random.choice(FORMS)), str(random.choice(["f32", "f32", "f64"]))
    machine = draw_machine(random)
    if machine.kind == "rest" and form == "onnx":
        form = "portable"  # ONNX expands sums that are compared with each other
    return Case(machine, method, options, form, precision)


def rows_of(case: Case, random: np.random.Generator, most: int = ROWS) -> tuple[Any, int]:
    """Rows of the case's number type, and how many of them, the first, are on the boundary."""
    X, number = case.machine.X, np.float32 if case.precision == "f32" else np.float64
    total = min(most, max(40, MOST_NUMBERS // X.shape[1]))
    with np.errstate(all="ignore"):
        edge = boundary(case.machine.model.predict, X, total // 2, number, random)
        rows = np.concatenate([edge, ordinary(X, total - len(edge), number, random)])
    return rows, len(edge)


def compiled(case: Case) -> Any:
    """The program of a case, or None where it does not promise labels."""
    program = sc.compile(case.machine.model, method=case.method, X=case.machine.X, **case.options)
    return program if program.origin.claim is sc.Claim.SAME_LABEL else None


def wrong_rows(case: Case, program: Any, rows: Any, folder: Path) -> tuple[Any, int]:
    """Which rows get a wrong label, and how many another one within rounding."""
    target = "onnx" if case.form == "onnx" else "c"
    profile = "portable" if case.form == "onnx" else case.form
    files = sc.emit(program, target, "model", case.precision, profile, soft_double=True)
    sc.write(files, folder)
    found = sc.load(folder, target=target).predict(rows)
    wide = rows.astype(np.float64)
    differ = np.flatnonzero(found != case.machine.model.predict(wide))
    wrong = ~possible(case.machine.model, wide[differ], np.asarray(found)[differ])
    return differ[wrong], int((~wrong).sum())


def attack(
    seed: int, numbers: Iterator[int], tally: Tally, kept: Path | None = None, most: int = ROWS
) -> Iterator[str]:
    """Attack case by case; tells what came of each."""
    for number in numbers:
        case, random = draw_case(seed, number), np.random.default_rng([seed, number, 1])
        tally.cases += 1
        try:
            program = compiled(case)
            if program is None:
                tally.unpromised += 1
                yield f"{number} {case.text()}: no promise"
                continue
            rows, edge = rows_of(case, random, most)
            with tempfile.TemporaryDirectory() as folder:
                wrong, other = wrong_rows(case, program, rows, Path(folder))
        except SvmCompileError as error:
            tally.refused += 1
            yield f"{number} {case.text()}: refused: {error}"
            continue
        tally.rows, tally.edge, tally.other = tally.rows + len(rows), tally.edge + edge, tally.other + other
        tally.wrong += len(wrong)
        if len(wrong):
            tally.failed.append(save(case, rows[wrong], seed, number, kept) if kept else str(number))
        yield f"{number} {case.text()}: {len(wrong)} of {len(rows)} wrong" + (
            f", {other} other" if other else ""
        )


def save(case: Case, rows: Any, seed: int, number: int, kept: Path) -> str:
    """The model, the rows with wrong labels and the command that replays the case."""
    import joblib

    place, command = (
        kept / f"{seed}-{number}",
        f"python -m tests.attack.attack --seed {seed} --case {number}",
    )
    place.mkdir(parents=True, exist_ok=True)
    joblib.dump(case.machine.model, place / "model.joblib")
    np.save(place / "wrong_rows.npy", rows)
    (place / "case.txt").write_text(f"{case.text()}\n{command}\n")
    return f"{place}: {command}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--case", type=int, help="this case alone")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--out", type=Path, default=Path("out/attack"), help="where failing cases go")
    words = parser.parse_args()
    if not has_digits():
        sys.exit("numpy's longdouble has no more digits than a double here: nothing to compare with")
    end, tally = time.monotonic() + 60 * words.minutes, Tally()
    numbers = iter([words.case]) if words.case is not None else count(words.first)
    print(f"seed {words.seed}")
    with tempfile.TemporaryDirectory() as cache:
        os.environ["SVMCOMPILE_CACHE"] = cache
        for line in attack(words.seed, numbers, tally, words.out):
            print(line, flush=True)
            if time.monotonic() > end:
                break
    print("\n".join([tally.text(), *tally.failed]))
    sys.exit(bool(tally.wrong))


if __name__ == "__main__":
    main()
