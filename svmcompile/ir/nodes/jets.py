"""The node of a sum in blocks whose rest is a Taylor polynomial."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Arithmetic
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.kinds import IndexTable, Kind, Lazy, Table, Type, Value
from svmcompile.ir.node import SHAPE_FLOPS, At, Node, Result, Work, dims, need
from svmcompile.ir.polynomials import count_met_and_tried, jet_blocks, jet_flops


@dataclass(frozen=True, slots=True)
class JetSum(Node):
    """A sum of RBF kernels, vector by vector; what is still to come is a Taylor polynomial (a jet).

    k_i = kernel(x, vectors[i]), in order. With h = x - centre, u = gamma |h|^2 and the cell
    floor(u steps[0]) of the row, after the first ends[j] vectors

        score_j = bias + sum_{i < ends[j]} weights_i k_i
                  + exp(-u) (constants[j] + slopes[j] . h + sum_{a <= b} squares[j, ba] h_a h_b)

    is sure of its sign where |score_j| is above

        margins[j] + u gaps[j, cell, side] + rounding[0] sum_{i < ends[j]} |weights_i k_i|

    with side 0 for scores above zero and 1 below. Jets are for rows within the cells. The first score that
    is sure is given. Without one it is bias + sum_i weights_i k_i if that is larger than
    rounding[0] sum_i |weights_i k_i| + rounding[1], else the exact score; for rows that are not finite the
    latter. Gaps bound what the jets of vectors to come leave out, margins the rounding of float32 code.
    """

    certificate: ClassVar = "jets"
    is_sign: ClassVar = True
    is_adaptive: ClassVar = True
    out: Value
    x: Value
    exact: Lazy
    vectors: Table = field(metadata=dims("n d"))  # block after block
    weights: Table = field(metadata=dims("n"))
    bias: Table = field(metadata=dims("1"))
    ends: IndexTable = field(metadata=dims("jets"))  # rising, below n
    centre: Table = field(metadata=dims("d", "float32"))
    constants: Table = field(metadata=dims("jets"))
    slopes: Table = field(metadata=dims("jets d"))
    squares: Table = field(metadata=dims("jets triangle"))  # d (d + 1) / 2, lower triangle row by row
    steps: Table = field(metadata=dims("1"))  # cells per unit of u
    gaps: Table = field(metadata=dims("jets cells 2", "bound"))
    margins: Table = field(metadata=dims("jets", "bound"))
    rounding: Table = field(metadata=dims("2", "bound"))
    kernel: Kernel

    def result(self, at: At) -> Type:
        need(self.kernel.kind == "rbf" and self.kernel.gamma >= 0, "the kernel has no jets")
        need(at.exact == Type(Kind.SCORES, 1), f"%{self.exact} is not one score")
        need(at.gaps.size > 0, "gaps are missing")
        at.fit(triangle=at.d * (at.d + 1) // 2)
        steps = np.diff(at.ends.astype(np.int64), prepend=0, append=len(at.vectors))
        need(bool((steps > 0).all()), "the ends of blocks do not rise")
        need(bool(at.steps[0] > 0), "steps are not above zero")
        return Type(Kind.SCORES, 1)

    def run(self, at: At) -> NDArray[Any]:
        found = jet_blocks(at, at.x)
        unsure = found.stop == found.scores.shape[1]
        score = found.scores[np.arange(len(at.x)), np.where(unsure, 0, found.stop)]
        return np.where(unsure, at.exact[:, 0], score)[:, None].astype(at.x.dtype)

    def work(self, at: At, rows: At | None) -> Work:
        d, n = at.x.width, len(at.weights)
        met, tried = float(n), float(len(at.ends))
        if rows is not None:
            ends = np.append(at.ends.astype(np.int64), n)
            found = count_met_and_tried(jet_blocks(at, rows.x), ends)
            met, tried = (float(part.mean()) for part in found)
        start, jet = jet_flops(d)
        return Work(met, met * (2 * d + SHAPE_FLOPS["exp2"] + 4) + start + tried * jet)

    def needs_lazy(self, rows: At) -> NDArray[np.bool_]:
        """The rows that neither jets nor all vectors are sure of."""
        return np.asarray(jet_blocks(rows, rows.x).stop > len(rows.ends))

    def error(self, at: At, a: Arithmetic) -> Result:
        decided = jet_blocks(at, at.x.value).stop <= len(at.ends)
        return self.value(at), np.where(decided[:, None], 0.0, at.exact.error), False
