"""Fixed point on emulated processors: flash, stack and work per prediction of digits 1 against 8.

An SVM with an RBF kernel, and a linear one beside float32.

    python examples/papers/fixed_devices.py [CPU ...]

Needs the extra `device`; for the ATmega328P also avr-gcc and simavr, which run fewer rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from common import read_words, table
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC, LinearSVC

import svmcompile as sc
from svmcompile.device.cost import find_cpu
from svmcompile.device.measure import measure
from svmcompile.ir.interpret import interpret_values

CPUS = ("cortex-m4f", "cortex-m0+", "rv32imac", "atmega328p")
AVR_ROWS = 12
LABELS = np.array([1, 8])


def split() -> list[Any]:
    X, y = load_digits(return_X_y=True)
    kept = (y == 1) | (y == 8)
    return list(train_test_split(X[kept], y[kept], test_size=0.4, random_state=0))


Variant = tuple[
    str, sc.Program, str, Any
]  # what rows are, the program, the function of the C, and its rows


def variants(X: Any, X_test: Any, y: Any) -> list[Variant]:
    counts = sc.compile(SVC(C=1, gamma=0.03 / 256).fit(X, y), X=X)
    model = sc.compile(SVC(C=1, gamma=0.03).fit(X / 16, y), X=X / 16)
    return [one for precision in ("q7", "q15") for one in fixed(counts, model, precision, X, X_test)]


def linear_variants(X: Any, X_test: Any, y: Any) -> list[Variant]:
    counts, model = (sc.compile(LinearSVC().fit(rows, y)) for rows in (X, X / 16))
    floats = ("f32", model, "predict", (X_test / 16).astype(np.float32))
    return [floats, *fixed(counts, model, "q7", X, X_test)]


def fixed(counts: Any, model: Any, precision: str, X: Any, X_test: Any) -> list[Variant]:
    """Rows of bytes, those that were quantised before, and floats."""
    kind = np.int8 if precision == "q7" else np.int16
    own = sc.quantise(counts, precision, X, given="u8")
    whole, rows = sc.quantise(model, precision, X / 16), (X_test / 16).astype(np.float32)
    value = whole.body[0].out
    quantised = interpret_values(whole, rows, {value})[value].astype(kind)
    return [
        (f"{precision}, bytes", own, "predict", X_test.astype(np.uint8)),
        (f"{precision}, quantised before", whole, "predict_q", quantised),
        (f"{precision}, floats", whole, "predict", rows),
    ]


def lines(found: list[Variant], cpus: list[str], expected: Any) -> Iterator[list[Any]]:
    for what, program, function, rows in found:
        files = sc.emit(program, name="digits", precision=str(program.number or "f32"), profile="device")
        for name in cpus:
            cpu = find_cpu(name)
            some = rows[:AVR_ROWS] if cpu.family == "avr" else rows
            made = measure(cpu, "digits", files, some, function)
            right = int((LABELS[made.values.ravel().astype(int)] == expected[: len(some)]).sum())
            work = f"{made.mean:,.0f} {made.unit}"
            yield [what, name, f"{made.flash:,}", made.ram, made.stack, work, f"{right}/{len(some)}"]


def main() -> None:
    cpus = read_words(__doc__, CPUS) or list(CPUS)
    X, X_test, y, _ = split()
    head = ["rows", "processor", "flash B", "RAM B", "stack B", "per prediction", "labels right"]
    machine = SVC(C=1, gamma=0.03).fit(X / 16, y).predict(X_test / 16)
    plane = LinearSVC().fit(X / 16, y).predict(X_test / 16)
    for title, found, expected in (
        ("Digits 1 against 8, 103 support vectors, 64 features", variants(X, X_test, y), machine),
        ("A linear SVM of the same digits", linear_variants(X, X_test, y), plane),
    ):
        print(table(title, head, lines(found, cpus, expected)), flush=True)


if __name__ == "__main__":
    main()
