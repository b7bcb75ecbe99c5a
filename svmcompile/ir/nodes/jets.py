"""The node of a sum in blocks whose rest is a Taylor polynomial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Arithmetic
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.kinds import IndexTable, Kind, Lazy, Level, Table, Type, Value
from svmcompile.ir.node import (
    SHAPE_FLOPS,
    At,
    Node,
    Result,
    Work,
    features,
    float32_only,
    need,
    not_below_zero,
    shapes,
    sound_kernel,
)
from svmcompile.ir.polynomials import jet_blocks, jet_flops, met_and_tried


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

    level: ClassVar = Level.BOTH
    certificate: ClassVar = "jets"
    is_adaptive: ClassVar = True
    out: Value
    x: Value
    exact: Lazy
    vectors: Table  # [n, d], block after block
    weights: Table  # [n]
    bias: Table  # [1]
    ends: IndexTable  # [jets], rising, below n
    centre: Table  # [d], float32 numbers
    constants: Table  # [jets]
    slopes: Table  # [jets, d]
    squares: Table  # [jets, d (d + 1) / 2], lower triangle row by row
    steps: Table  # [1], cells per unit of u
    gaps: Table  # [jets, cells, 2]
    margins: Table  # [jets]
    rounding: Table  # [2]
    kernel: Kernel

    def result(self, at: At) -> Type:
        sound_kernel(self.kernel)
        need(self.kernel.kind == "rbf" and self.kernel.gamma >= 0, "the kernel has no jets")
        exact = at.exact
        need((exact.kind, exact.width) == (Kind.SCORES, 1), f"%{self.exact} is not one score")
        n, d = len(at.vectors), features(at)
        ends = at.ends.astype(np.int64)
        need(at.gaps.ndim == 3 and at.gaps.size > 0, "gaps are missing")
        jets, cells, _ = at.gaps.shape
        rising = len(ends) > 0 and ends[0] > 0 and ends[-1] < n and (np.diff(ends) > 0).all()
        need(bool(rising), "the ends of blocks do not rise")
        shapes(
            at,
            vectors=(n, d),
            weights=(n,),
            bias=(1,),
            ends=(jets,),
            centre=(d,),
            constants=(jets,),
            slopes=(jets, d),
            squares=(jets, d * (d + 1) // 2),
            steps=(1,),
            gaps=(jets, cells, 2),
            margins=(jets,),
            rounding=(2,),
        )
        float32_only(at, "centre")
        need(bool(at.steps[0] > 0), "steps are not above zero")
        not_below_zero(at, "gaps", "margins", "rounding")
        return Type(Kind.SCORES, 1)

    def run(self, at: At) -> NDArray[Any]:
        x = at.x
        found = jet_blocks(at, x)
        stop = found.stop
        unsure = stop == found.scores.shape[1]
        score = found.scores[np.arange(len(x)), np.where(unsure, 0, stop)]
        return np.where(unsure, at.exact[:, 0], score)[:, None].astype(x.dtype)

    def work(self, at: At, rows: At | None) -> Work:
        d, n = at.x.width, len(at.weights)
        met, tried = float(n), float(len(at.ends))
        if rows is not None:
            ends = np.append(at.ends.astype(np.int64), n)
            found = met_and_tried(jet_blocks(at, rows.x), ends)
            met, tried = (float(part.mean()) for part in found)
        start, jet = jet_flops(d)
        return Work(met, met * (2 * d + SHAPE_FLOPS["exp2"] + 4) + start + tried * jet)

    def needs_lazy(self, rows: At) -> NDArray[np.bool_]:
        """The rows that neither jets nor all vectors are sure of."""
        return np.asarray(jet_blocks(rows, rows.x).stop > len(rows.ends))

    def gives_sign(self, types: Mapping[str, Type]) -> bool:
        return True

    def error(self, at: At, a: Arithmetic) -> Result:
        value = self.value(at)
        stop = jet_blocks(at, at.x.value).stop
        decided = (stop <= len(at.ends))[:, None]
        return value, np.where(decided, 0.0, at.exact.error), False
