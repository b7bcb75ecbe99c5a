"""Jets of what is left of a sum: an RBF sum and rows go in, an order of its vectors and jets come out.

The vectors that a Taylor polynomial of order 2 tells least of come first: those with most of the squared
norm of what it leaves out, weight_i (K_res weights)_i, with K_res the kernel without its orders up to 2.
They are taken part by part, since what is left changes with each. The order says what is cheap, never what
is true.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.bounds.margins import KernelError, U, direct_rounding
from svmcompile.accelerate.taylor.expansion import Expansion
from svmcompile.accelerate.taylor.front import blocks_of
from svmcompile.accelerate.taylor.sums import Local, RbfSum
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.node import At
from svmcompile.ir.polynomials import Blocks, jet_blocks
from svmcompile.progress import steps

ORDER = 2


@dataclass(frozen=True, eq=False, slots=True)
class Jets:
    """An RBF sum in an order of its own, and the jet of the vectors behind each end."""

    whole: RbfSum  # its vectors in order
    ends: list[int]
    found: list[Expansion]
    rounding: tuple[float, float]  # of the vectors met: by the sum of absolute terms, and once

    @property
    def all_ends(self) -> Array:
        """Of blocks, and of all vectors."""
        return np.array([*self.ends, len(self.whole.weights)])

    @property
    def bytes(self) -> int:
        d, cells = int(self.whole.vectors.shape[1]), self.found[0].gaps.shape[1]
        return 4 * (d + 1) + len(self.ends) * jet_bytes(d, cells)

    def blocks(self, rows: Array) -> Blocks:
        """What is known of rows after each block."""
        node, tables = jet_node(self)
        return jet_blocks(At(node, tables), rows)

    def some(self, kept: list[int]) -> Jets:
        """The same with fewer jets."""
        return replace(self, ends=[self.ends[at] for at in kept], found=[self.found[at] for at in kept])


def jet_bytes(d: int, cells: int) -> int:
    """Of the float32 tables of one jet."""
    return 4 * (d * (d + 1) // 2 + d + 2 * cells + 3)


def jets(
    whole: RbfSum, rows: Array, parts: int, cells: int, sharpen: int, error: KernelError
) -> Jets | None:
    """Jets after each part of the vectors but the last, about the mean of rows; None for few vectors."""
    kernel = Kernel("rbf", whole.gamma)
    gram = kernel.values(whole.vectors, whole.vectors)
    order, ends = order_vectors(Local(whole, rows, 0), gram, parts)
    if not ends:
        return None
    ordered = _part(whole, gram, order, whole.bias)
    found = []
    with steps("jets", len(ends)) as advance:
        for end in ends:
            rest = _part(whole, gram, order[end:], 0.0)
            found.append(Local(rest, rows, blocks_of(rest), sharpen).expansion(ORDER, cells=cells))
            advance(1)
    return Jets(ordered, ends, found, met_rounding(whole.weights, whole.bias, error))


def _part(whole: RbfSum, gram: Array, picks: NDArray[np.intp], bias: float) -> RbfSum:
    """The sum of some of the vectors."""
    weights = whole.weights[picks]
    norm = float(weights @ gram[np.ix_(picks, picks)] @ weights)
    return replace(whole, vectors=whole.vectors[picks], weights=weights, bias=bias, norm=norm)


def order_vectors(local: Local, gram: Array, parts: int) -> tuple[NDArray[np.intp], list[int]]:
    """An order of the vectors, and where its parts end but the last; fewer parts where vectors are few."""
    whole, m = local.whole, len(gram)
    ends = sorted({m * part // parts for part in range(1, parts)} - {0, m})
    inner = 2 * whole.gamma * (local.s @ local.s.T)
    fade = np.exp(-whole.gamma * np.square(local.s).sum(axis=1))
    rest = gram - np.outer(fade, fade) * (1 + inner + 0.5 * np.square(inner))
    rest *= np.outer(whole.weights, whole.weights)
    left, order = np.arange(m), list[int]()
    for start, end in zip([0, *ends], [*ends, m], strict=True):
        share = rest[np.ix_(left, left)].sum(axis=1)
        first = np.argsort(-share, kind="stable")[: end - start]
        order += left[first].tolist()
        left = np.delete(left, first)
    return np.array(order, dtype=np.intp), ends


def met_rounding(weights: Array, bias: float, error: KernelError) -> tuple[float, float]:
    """What the sum of the vectors met may be off by: by the sum of absolute terms, and once.

    Beside the direct sum's, it is rounded when it leaves double and when the jet is added; and the sum of
    absolute terms that it is held against is off by as much.
    """
    by_sum, once = direct_rounding(weights, bias, error)
    by_sum += 4 * U
    once += 4 * U * abs(bias) + 2 * by_sum * float(np.abs(weights).sum()) * error.flat
    return by_sum * (1 + 2 * by_sum), once


def jet_node(found: Jets, x: str = "x", exact: str = "exact") -> tuple[ir.JetSum, dict[str, Array]]:
    """The node of jets and its tables."""
    whole, (by_sum, once) = found.whole, found.rounding
    held: dict[str, Array] = {
        "vectors": whole.vectors,
        "weights": whole.weights,
        "bias": np.array([whole.bias]),
        "ends": np.array(found.ends, dtype=np.int32),
        "centre": found.found[0].centre,
        "constants": np.array([one.constant for one in found.found]),
        "slopes": np.stack([one.slope for one in found.found]),
        "squares": np.stack([one.squares for one in found.found]),
        "steps": np.array([found.found[0].step]),
        "gaps": np.stack([one.gaps[-1] for one in found.found]),
        "margins": np.array([one.margins[-1] + once for one in found.found]),
        "rounding": np.array([by_sum, once]),
    }
    names = {field: f"jet_{field}" for field in held}
    node = ir.JetSum(out="sums", x=x, exact=exact, kernel=Kernel("rbf", whole.gamma), **names)
    return node, {names[field]: table for field, table in held.items()}
