"""Fixed point on emulated processors: flash, stack and work per prediction of digits 1 against 8.

    python examples/papers/fixed_devices.py [CPU ...]

Needs the extra `device`; for the ATmega328P also avr-gcc and simavr, which run fewer rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from common import read_words, table
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

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


def variants(X: Any, X_test: Any, y: Any) -> list[tuple[str, sc.Program, str, Any]]:
    """What rows are, the program, the function of the C code, and rows for it."""
    counts = sc.compile(SVC(C=1, gamma=0.03 / 256).fit(X, y), X=X)
    model = sc.compile(SVC(C=1, gamma=0.03).fit(X / 16, y), X=X / 16)
    found: list[tuple[str, sc.Program, str, Any]] = []
    for precision, kind in (("q7", np.int8), ("q15", np.int16)):
        own = sc.quantise(counts, precision, X, given="u8")
        found.append((f"{precision}, bytes", own, "predict", X_test.astype(np.uint8)))
        fixed, rows = sc.quantise(model, precision, X / 16), (X_test / 16).astype(np.float32)
        value = fixed.body[0].out
        quantised = interpret_values(fixed, rows, {value})[value].astype(kind)
        found.append((f"{precision}, quantised before", fixed, "predict_q", quantised))
        found.append((f"{precision}, floats", fixed, "predict", rows))
    return found


def main() -> None:
    words = read_words(__doc__, CPUS)
    X, X_test, y, _ = split()
    expected = SVC(C=1, gamma=0.03).fit(X / 16, y).predict(X_test / 16)
    lines = []
    for what, program, function, rows in variants(X, X_test, y):
        files = sc.emit(program, name="digits", precision=str(program.number), profile="device")
        for cpu in words or CPUS:
            found = find_cpu(cpu)
            some = rows[:AVR_ROWS] if found.family == "avr" else rows
            made = measure(found, "digits", files, some, function)
            right = int((LABELS[made.values.ravel().astype(int)] == expected[: len(some)]).sum())
            work = f"{made.mean:,.0f} {made.unit}"
            cells = [what, cpu, f"{made.flash:,}", made.ram, made.stack, work, f"{right}/{len(some)}"]
            lines.append(cells)
    head = ["rows", "processor", "flash B", "RAM B", "stack B", "per prediction", "labels right"]
    print(table("Digits 1 against 8, 103 support vectors, 64 features", head, lines))


if __name__ == "__main__":
    main()
