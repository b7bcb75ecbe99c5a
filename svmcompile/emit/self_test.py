"""Rows stored with generated C, with the results the math program gives for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.emit.literals import real, wrap
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.interpret import interpret
from svmcompile.ir.program import Number, Program


@dataclass(frozen=True, eq=False)
class SelfTest:
    """Rows, and what must come out of them within a tolerance each."""

    rows: NDArray[np.float64]
    expected: NDArray[np.float64]
    labels: NDArray[np.int64] | None
    tolerances: NDArray[np.float64]

    @classmethod
    def of(cls, program: Program, number: Number) -> SelfTest:
        """The probe rows of a math program whose label rounding cannot change."""
        rows = program.probes.reshape(-1, program.n_features)
        if not len(rows):
            empty = np.zeros((0, 1))
            return cls(rows, empty, None, empty[:, 0])
        bounds = error_bounds(program, rows, number)
        outputs = interpret(program, rows)
        scores = outputs["scores" if "scores" in outputs else "value"]
        # Sums of expected value, error and tolerance must not overflow in the number type.
        largest = float(np.finfo(np.float32 if number == "f32" else np.float64).max) / 8
        fits = (np.abs(scores) < largest) & (bounds.scores < largest)  # false for NaN
        usable = ~bounds.unstable & fits.all(axis=1)
        labels = outputs["label"][usable] if "label" in outputs else None
        tolerances = 2 * bounds.scores[usable].max(axis=1, initial=0.0)
        return cls(rows[usable], scores[usable], labels, tolerances)

    def context(self, program: Program, name: str) -> dict[str, Any]:
        """What `self_test.j2` needs."""
        number = program.number or "f64"
        width = self.expected.shape[1]
        call = f"{name}_decision_function(inputs[i], outputs)"
        if program.labels is None:
            call = f"outputs[0] = {name}_predict(inputs[i])"
        labels = None if self.labels is None else [str(label) for label in self.labels]
        return {
            "rows": len(self.rows),
            "width": program.n_features,
            "outputs": width,
            "inputs": _rows(self.rows, number),
            "expected": _rows(self.expected, number),
            "tolerances": wrap([real(value, number) for value in self.tolerances], " " * 8),
            "labels": wrap(labels, " " * 8) if labels else "",
            "call": call,
        }


def _rows(table: NDArray[np.float64], number: str) -> str:
    lines = []
    for row in table:
        text = wrap([real(value, number) for value in row], " " * 10)
        lines.append(" " * 8 + "{ " + text.strip() + " }")
    return ",\n".join(lines)
