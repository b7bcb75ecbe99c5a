"""Rows stored with generated C, with the results the math program gives for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Number
from svmcompile.ir.bounds import error_bounds, fixed_bounds, is_exact
from svmcompile.ir.graph import float_number
from svmcompile.ir.interpret import entering, interpret
from svmcompile.ir.program import Program
from svmcompile.targets.c.api import row_type
from svmcompile.targets.c.literals import real, string, wrap

SAMPLES = 6  # texts
SPARSE_ROW = "indices + starts[i], values + starts[i], starts[i + 1] - starts[i]"


@dataclass(frozen=True, eq=False)
class SelfTest:
    """Rows, and what must come out of them within a tolerance each."""

    rows: NDArray[np.float64]
    expected: NDArray[np.float64]
    labels: NDArray[np.int64] | None
    tolerances: NDArray[np.float64]
    texts: list[str] = field(default_factory=list)  # whose counts the rows are

    @classmethod
    def of(cls, program: Program, number: Number) -> SelfTest:
        """The probe rows of a math program whose label rounding cannot change."""
        texts = program.input.text.samples(SAMPLES) if program.input.text else []
        rows = program.input.text.rows(texts) if texts else program.probes.reshape(-1, program.n_features)
        if not len(rows):
            empty = np.zeros((0, 1))
            return cls(rows, empty, None, empty[:, 0])
        if program.number:
            return cls._of_whole(program, rows, texts)
        bounds = error_bounds(program, rows, number)
        outputs = interpret(program, rows)
        none = np.zeros((len(rows), 0))  # of a program that gives labels alone
        limits = bounds.scores
        scores = outputs.get("scores", outputs.get("value", none))
        if not scores.shape[1] and "probabilities" in outputs:
            scores, limits = outputs["probabilities"], bounds.probabilities
        # Sums of expected value, error and tolerance must not overflow in the number type.
        largest = float(np.finfo(np.float32 if number == "f32" else np.float64).max) / 8
        fits = (np.abs(scores) < largest) & (limits < largest)  # false for NaN
        usable = ~bounds.unstable & fits.all(axis=1)
        labels = outputs["label"][usable] if "label" in outputs else None
        tolerances = 2 * limits[usable].max(axis=1, initial=0.0)
        kept = [text for text, is_kept in zip(texts, usable, strict=True) if is_kept] if texts else []
        return cls(rows[usable], scores[usable], labels, tolerances, kept)

    @classmethod
    def _of_whole(cls, program: Program, rows: NDArray[np.float64], texts: list[str]) -> SelfTest:
        """In whole numbers what comes out is known to the last bit, unless float steps come before."""
        rows = entering(program, rows, np.float64).astype(np.float64)
        bounds, exact = fixed_bounds(program, rows), is_exact(program)
        known = ~bounds.unstable & np.isfinite(bounds.scores).all(axis=1)
        usable = np.full(len(rows), True) if exact else known
        outputs = {name: value[usable] for name, value in interpret(program, rows).items()}
        scores = outputs.get("scores", outputs.get("value", np.zeros((int(usable.sum()), 0))))
        tolerances = 0.0 if exact else bounds.scores[usable].max(axis=1, initial=0.0)
        kept = [text for text, is_kept in zip(texts, usable, strict=False) if is_kept]
        return cls(rows[usable], scores, outputs.get("label"), tolerances + np.zeros(len(scores)), kept)

    def context(
        self, program: Program, name: str, by_feature: bool = False, copy: str = ""
    ) -> dict[str, Any]:
        """What `self_test.j2` needs; rows are stored `by_feature` where whole ones could be huge.

        `copy` names the array each row goes to first, where code cannot read tables as other memory.
        """
        number = float_number(program)
        width = self.expected.shape[1]
        suffix, row = ("_sparse", SPARSE_ROW) if by_feature else ("", copy or "inputs[i]")
        if self.texts:
            suffix, row, by_feature, copy = "_text", "texts[i]", False, ""
        function = "decision_function" if program.output("scores") else "predict_proba"
        call = f"{name}_{function}{suffix}({row}, outputs)"
        if program.labels is None:
            alone = f"outputs[0] = {name}_predict{suffix}({row})"
            call = alone if width == 1 else f"{name}_predict{suffix}({row}, outputs)"
        labels = None if self.labels is None else [str(label) for label in self.labels.ravel()]
        targets = len(program.labels.targets) if program.labels else 0
        predict = f"{name}_predict{suffix}({row}{', found' if targets else ''})"
        return {
            "rows": len(self.rows),
            "width": program.n_features,
            "outputs": width,
            "texts": wrap([string(text) for text in self.texts], " " * 8),
            "inputs": "" if by_feature or self.texts else _rows(self.rows, program.input.number or number),
            "row_type": row_type(program),
            "by_feature": self._by_feature(number) if by_feature else None,
            "predict": predict,
            "targets": targets,
            "expected": _rows(self.expected, number),
            "tolerances": wrap([real(value, number) for value in self.tolerances], " " * 8),
            "labels": wrap(labels, " " * 8) if labels else "",
            "call": call,
            "row_copy": copy,
        }

    def _by_feature(self, number: str) -> dict[str, Any]:
        """The rows by their non-zero features; a last entry stands where there are none at all."""
        row, column = np.nonzero(self.rows)
        values = self.rows[row, column]
        starts = np.searchsorted(row, np.arange(len(self.rows) + 1))
        return {
            "count": len(column) + 1,
            "starts": wrap(map(str, starts), " " * 8),
            "indices": wrap([*map(str, column), "0"], " " * 8),
            "entries": wrap([real(value, number) for value in [*values, 0.0]], " " * 8),
        }


def _rows(table: NDArray[np.float64], number: str) -> str:
    lines = (wrap([real(value, number) for value in row], " " * 10).strip() for row in table)
    return ",\n".join(f"        {{ {line} }}" for line in lines)
