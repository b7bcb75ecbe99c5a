"""reduced-set: few vectors in place of the support vectors, coefficients refitted.

Vectors are chosen greedily (kernel matching pursuit), by least squares on fitting rows and in the
SVM's feature space; where data is given they may then move (Burges, "Simplified support vector decision
rules", 1996). What agrees best with the SVM on held-out rows is kept. All sums of a
multi-class SVM share one set of vectors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from svmcompile.accelerate.builder import Builder
from svmcompile.accelerate.fitting.rows import (
    FittingRows,
    fitting_rows,
    kernel_sums,
    likeness,
)  # fmt: skip
from svmcompile.accelerate.reduced_set.select import (
    RIDGE,
    Fit,
    Order,
    boundary_weights,
    feature_fit,
    moved,
    ridge_fit,
    select_by_features,
    select_by_rows,
)
from svmcompile.accelerate.registry import Method, check_options
from svmcompile.data import Data
from svmcompile.errors import OptionError
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.program import Claim, Program
from svmcompile.model.svm import SVM

DATA_ROWS = 4000  # data rows used at most
CANDIDATES = 5000  # vectors to choose from at most
MOVES = 50  # steps of the vectors; more gains nothing on held-out rows
POOLS = ("vectors", "rows")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReducedSetOptions:
    """Few vectors stand for all support vectors, with refitted coefficients.

    `budget` is a number of vectors or, below 1, a share of the support vectors. With a `target` above 0
    as few vectors are taken as give this agreement on held-out rows, whatever the budget.
    """

    budget: float = 0.1
    target: float = 0.0
    candidates: str = "rows"  # where data is given: "vectors" or "rows" (the data rows as well)
    move: bool = True  # vectors may leave the candidates' places, where data is given
    synthetic_rows: int = 4000
    seed: int = 0

    def __post_init__(self) -> None:
        whole = self.budget < 1 or float(self.budget).is_integer()
        if not (self.budget > 0 and whole and np.isfinite(self.budget)):
            raise OptionError(f"budget {self.budget} is neither a number of vectors nor a share below 1")
        least = {"synthetic_rows": 0, "seed": 0}
        check_options("reduced-set", self, {"candidates": POOLS}, least, within={"target": (0, 1)})


@dataclass(frozen=True, eq=False)
class Reduced:
    """Vectors with their coefficients, how they were found and how well they do."""

    vectors: Array
    fit: Fit
    how: str
    agreement: float | None = None  # on held-out rows
    error: float = 0.0  # mean squared, there

    def sums(self, svm: SVM, z: Array) -> Array:
        return self.fit.predict(svm.kernel.values(z, self.vectors))


def reduced_set(svm: SVM, data: Data | None, options: ReducedSetOptions) -> Program:
    """f(x) ~ sum_i beta_i k(x, z_i) + b over few vectors z_i."""
    if data is None and options.target > 0:
        raise OptionError("a target agreement is measured on data; pass X (Python) or --data FILE")
    search = Search(svm, data, options)
    found = (
        search.to_target(options.target) if options.target > 0 else search.of(_count(svm, options.budget))
    )
    builder = Builder(svm)
    x = builder.preprocess()
    vectors = builder.table("vectors", found.vectors)
    weights, bias = builder.table("weights", found.fit.weights), builder.table("bias", found.fit.bias)
    builder.body.append(ir.KernelSum("sums", x, vectors, weights, bias, svm.kernel))
    return builder.finish(
        "sums", "reduced-set", Claim.APPROXIMATE, details=_details(svm, found, search.tried)
    )


def _count(svm: SVM, budget: float) -> int:
    return int(budget) if budget >= 1 else max(1, round(budget * svm.n_vectors))


def _details(svm: SVM, found: Reduced, tried: list[Reduced]) -> dict[str, Any]:
    """What was taken, and what else was tried."""
    return {
        "vectors": len(found.vectors),
        "support_vectors": svm.n_vectors,
        "chosen": found.how,
        "held_out_agreement": found.agreement,
        "tried": [
            {"vectors": len(one.vectors), "how": one.how, "held_out_agreement": one.agreement}
            for one in tried
        ],
    }


class Search:
    """Reduced sets of any size for one SVM."""

    def __init__(self, svm: SVM, data: Data | None, options: ReducedSetOptions) -> None:
        self.svm, self.options = svm, options
        self.rows: FittingRows | None = None
        if data is not None:
            self.rows = fitting_rows(svm, data, options.synthetic_rows, DATA_ROWS, options.seed)
        self.pool = self._pool(data)
        self.tried: list[Reduced] = []

    def of(self, count: int) -> Reduced:
        """The best reduced set of so many vectors; all support vectors, as they are, from there on."""
        svm = self.svm
        if count >= svm.n_vectors:
            return Reduced(
                svm.vectors, Fit(svm.weights_by_sum, svm.intercepts), "all of them, as they are", 1.0
            )
        if self.rows is None:
            return self._without_data(count)
        tried = [found for order, how in self._orders(count) for found in self._fitted(order, how)]
        self.tried += tried
        best = max(tried, key=lambda found: (found.agreement or 0.0, -found.error))
        return self._with_all_rows(best)

    def to_target(self, target: float) -> Reduced:
        """The smallest reduced set found that agrees so well, by doubling and bisection."""
        low, high = 0, 1
        found = self.of(high)
        while (found.agreement or 0.0) < target and high < self.svm.n_vectors:
            low, high = high, min(2 * high, self.svm.n_vectors)
            found = self.of(high)
        while high - low > 1:
            middle = (low + high) // 2
            smaller = self.of(middle)
            if (smaller.agreement or 0.0) >= target:
                high, found = middle, smaller
            else:
                low = middle
        return found

    def _pool(self, data: Data | None) -> Array:
        """The candidates: support vectors, heaviest first, and data rows."""
        svm = self.svm
        weight = np.abs(svm.weights_by_sum).sum(axis=0)
        pool = svm.vectors[np.sort(np.argsort(-weight, kind="stable")[:CANDIDATES])]
        if data is None or self.options.candidates == "vectors":
            return pool
        rows = svm.prepared(np.asarray(data.X, dtype=np.float64))
        rows = np.unique(rows[np.isfinite(rows).all(axis=1)], axis=0)
        room = CANDIDATES - len(pool)
        rows = rows[np.unique(np.linspace(0, len(rows) - 1, min(room, len(rows))).astype(int))]
        return np.concatenate([pool, rows]) if room > 0 else pool

    def _orders(self, count: int) -> Iterator[tuple[Order, str]]:
        """Selections of so many candidates."""
        rows = self.rows
        if rows is not None:
            values = self.svm.kernel.values(rows.z[~rows.held], self.pool)
            yield select_by_rows(values, rows.sums[~rows.held], count), "chosen by rows"
        kernel, pool = self.svm.kernel, self.pool
        targets = kernel_sums(self.svm, pool) - self.svm.intercepts
        diagonal = np.concatenate([kernel.values(v[None], v[None])[0] for v in pool])
        chosen = select_by_features(
            lambda i: kernel.values(pool, pool[i : i + 1])[:, 0], diagonal, targets, count
        )
        yield chosen, "chosen in feature space"

    def _without_data(self, count: int) -> Reduced:
        order, how = next(self._orders(count))
        vectors = self.pool[order]
        targets = kernel_sums(self.svm, vectors) - self.svm.intercepts
        gram = self.svm.kernel.values(vectors, vectors)
        return Reduced(vectors, feature_fit(gram, targets, self.svm.intercepts), f"{how}, projected")

    def _fitted(self, order: Order, how: str) -> Iterator[Reduced]:
        """Coefficients for chosen vectors with even and boundary weights, in place and moved."""
        assert self.rows is not None
        z, sums = self.rows.z[~self.rows.held], self.rows.sums[~self.rows.held]
        for name, weights in (("even", np.ones(len(z))), ("boundary", boundary_weights(sums))):
            for steps in (0, MOVES) if self.options.move else (0,):
                vectors = self.pool[order]
                if steps:
                    vectors = moved(self.svm.kernel, vectors, z, sums, weights, steps)
                fit = ridge_fit(self.svm.kernel.values(z, vectors), sums, weights, RIDGE)
                moves = "moved" if steps else "in place"
                yield self._judged(Reduced(vectors, fit, f"{how}, {moves}, {name} weights"))

    def _judged(self, found: Reduced) -> Reduced:
        assert self.rows is not None
        z, wanted = self.rows.z[self.rows.held], self.rows.sums[self.rows.held]
        if not len(z):  # too few rows to hold any out
            z, wanted = self.rows.z, self.rows.sums
        sums = found.sums(self.svm, z)
        error = float(np.square(sums - wanted).mean())
        return replace(found, agreement=likeness(self.svm, wanted, sums), error=error)

    def _with_all_rows(self, found: Reduced) -> Reduced:
        """The same vectors, coefficients fitted to held-out rows as well."""
        assert self.rows is not None
        weights = np.ones(len(self.rows.z))
        if "boundary" in found.how:
            weights = boundary_weights(self.rows.sums)
        values = self.svm.kernel.values(self.rows.z, found.vectors)
        return replace(found, fit=ridge_fit(values, self.rows.sums, weights, RIDGE))


METHOD = Method(reduced_set, ReducedSetOptions, Claim.APPROXIMATE, needs_data=False, takes_heads=True)
