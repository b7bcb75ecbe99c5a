"""linear: one weight vector per sum of the SVM, fitted to the SVM's own decision values on data.

The floor of every trade-off: no method answers in less work, so whatever else is taken should agree more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, product
from typing import Any

import numpy as np

from svmcompile.accelerate.builder import Builder, remarked
from svmcompile.accelerate.fitting.linear import Linear, boundary_weights, ridge_path
from svmcompile.accelerate.fitting.rows import kernel_sums, likeness
from svmcompile.accelerate.options import check_options, option
from svmcompile.accelerate.registry import Method
from svmcompile.data import Data
from svmcompile.errors import OptionError
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array, nearest_float32
from svmcompile.ir.program import Claim, Program
from svmcompile.model.svm import SVM

DATA_ROWS = 20_000  # data rows used at most
FOLDS = 5
RIDGES = (0.1, 0.01, 0.001)  # tried unless one is given
WEIGHTS = ("even", "boundary")
Machines = tuple[SVM, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearOptions:
    """One linear function per pair of classes, class or value; no kernel values at all.

    It is fitted to the SVM's decision values on the data, whose labels are not used.
    """

    weights: str = option(
        "auto", "How rows count: all the same, those near the boundary more, or as cross-validation says.",
        among=("auto", *WEIGHTS),
    )  # fmt: skip
    ridge: float = option(
        0.0,
        "Ridge penalty, a share of the features' mean variance; 0 means by cross-validation.",
        least=0,
    )
    seed: int = option(0, "Seed of the folds, and of the rows taken where there are very many.", least=0)

    def __post_init__(self) -> None:
        check_options("linear", self)


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """Rows as machines with one front see them, and the sums of these machines there."""

    machines: Machines
    z: Array
    sums: Array

    @property
    def is_linear(self) -> bool:
        return all(one.kernel.kind == "linear" for one in self.machines)

    def fits(self, rows: Any, weights: str, ridges: tuple[float, ...]) -> list[Linear]:
        """A function for each ridge; the machines' own where these are linear."""
        if self.is_linear:
            return [self._own()] * len(ridges)
        targets = self.sums[rows]
        even = np.ones(len(targets))
        return ridge_path(
            self.z[rows], targets, even if weights == "even" else boundary_weights(targets), ridges
        )

    def _own(self) -> Linear:
        slopes = np.concatenate([one.weights_by_sum @ one.vectors for one in self.machines])
        centre = nearest_float32(self.z.mean(axis=0))
        bias = np.concatenate([one.intercepts for one in self.machines])
        return Linear(slopes, bias + slopes @ centre, centre)


def linear(svm: SVM, data: Data | None, options: LinearOptions) -> Program:
    """f(x) ~ w x + b for every sum of the SVM."""
    assert data is not None
    rows, seen = _seen(svm, data, options.seed)
    weights = WEIGHTS if options.weights == "auto" else (options.weights,)
    ridges = (options.ridge,) if options.ridge else RIDGES
    tried = list(_tried(svm, seen, weights, ridges)) if len(rows) >= 2 * FOLDS else []
    best = max(tried, key=lambda one: (one["held_out_agreement"], -one["held_out_error"]), default=None)
    chosen = best or {"weights": weights[0], "ridge": ridges[-1], "held_out_agreement": None}
    everything = np.arange(len(rows))
    functions = [one.fits(everything, chosen["weights"], (chosen["ridge"],))[0] for one in seen]
    details = {**chosen, "rows": len(rows), "tried": tried}
    program = _program(svm, seen, functions, details)
    own = "the kernel is linear: method exact computes the same function, and claims so"
    return remarked(program, rows, [own] if all(one.is_linear for one in seen) else [])


def _seen(svm: SVM, data: Data, seed: int) -> tuple[Array, list[Seen]]:
    """Rows to fit to, in random order, and what groups of machines with the same front make of them."""
    rows = np.asarray(data.X, dtype=np.float64)
    rows = rows[np.random.default_rng(seed).permutation(len(rows))[:DATA_ROWS]]
    groups = [tuple(group) for _, group in groupby(svm.parts or (svm,), key=lambda one: id(one.front))]
    with np.errstate(all="ignore"):
        prepared = [group[0].prepared(rows) for group in groups]
    finite = np.all([np.isfinite(z).all(axis=1) for z in prepared], axis=0)
    if not finite.any():
        raise OptionError("linear: the data has no row whose values are all finite; give rows to fit to")
    return rows[finite], [
        Seen(group, z[finite], np.hstack([kernel_sums(one, z[finite]) for one in group]))
        for group, z in zip(groups, prepared, strict=True)
    ]


def _tried(
    svm: SVM, seen: list[Seen], weights: tuple[str, ...], ridges: tuple[float, ...]
) -> Iterator[dict[str, Any]]:
    """Each way to fit, judged on rows left out of the fit; every row is left out once."""
    wanted = np.hstack([one.sums for one in seen])
    fold = np.arange(len(wanted)) % FOLDS
    found = {way: np.empty_like(wanted) for way in product(weights, ridges)}
    for left_out, name in product(range(FOLDS), weights):
        out = fold == left_out
        fits = zip(*(one.fits(np.flatnonzero(~out), name, ridges) for one in seen), strict=True)
        for ridge, functions in zip(ridges, fits, strict=True):
            values = [f.values(one.z[out]) for f, one in zip(functions, seen, strict=True)]
            found[name, ridge][out] = np.hstack(values)
    for (name, ridge), sums in found.items():
        agreement, error = likeness(svm, wanted, sums), float(np.square(sums - wanted).mean())
        yield {"weights": name, "ridge": ridge, "held_out_agreement": agreement, "held_out_error": error}


def _program(svm: SVM, seen: list[Seen], functions: list[Linear], details: dict[str, Any]) -> Program:
    builder, sums = Builder(svm), ""
    for index, (group, function) in enumerate(zip(seen, functions, strict=True)):
        own = f"part{index}_" if svm.parts else ""
        x = builder.preprocess(own, front=group.machines[0].front)
        weights = builder.table(f"{own}weights", function.weights)
        bias, centre = (
            builder.table(f"{own}bias", function.bias),
            builder.table(f"{own}centre", function.centre),
        )
        builder.body.append(ir.Affine(f"{own}sums", x, weights, bias, centre))
        if sums:
            builder.body.append(ir.Join(f"{own}and_before", sums, f"{own}sums"))
        sums = builder.body[-1].out
    return builder.finish(sums, "linear", Claim.APPROXIMATE, details=details)


METHOD = Method(
    linear, LinearOptions, Claim.APPROXIMATE, needs_data=True, takes_heads=True, takes_parts=True
)
