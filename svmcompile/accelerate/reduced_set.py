"""reduced-set: few vectors in place of the support vectors, coefficients refitted.

Vectors are chosen greedily (kernel matching pursuit), by least squares on fitting rows and in the
SVM's feature space; where data is given they may then move (Burges, "Simplified support vector decision
rules", 1996). What agrees best with the SVM on held-out rows is kept. All sums of a
multi-class SVM share one set of vectors.

Pursuit takes, step by step, the candidate that lowers the remaining squared error most once all
coefficients are refitted (orthogonal least squares), summed over all outputs. Ties go to the first
candidate. The loss of a set of vectors is that of its best coefficients (variable projection), so only
the vectors are unknowns: Burges' reduced set, with fitting rows in place of the feature space.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.builder import Builder
from svmcompile.accelerate.fitting.field import derivative
from svmcompile.accelerate.fitting.linear import boundary_weights
from svmcompile.accelerate.fitting.rows import FittingRows, fitting_rows, kernel_sums, likeness
from svmcompile.accelerate.options import check_options, option
from svmcompile.accelerate.registry import Method
from svmcompile.data import Data
from svmcompile.errors import OptionError
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Claim, Program
from svmcompile.model.svm import SVM

DATA_ROWS = 4000  # data rows used at most
CANDIDATES = 5000  # vectors to choose from at most
MOVES = 50  # steps of the vectors; more gains nothing on held-out rows
POOLS = ("vectors", "rows")
RANK = 1e-10  # a candidate is spent when this share of its squared norm is left
Order = NDArray[np.int64]
RIDGE = 1e-7  # beside the mean squared norm of a column
TINY_RIDGE = 1e-10  # where the fit is a projection


@dataclass(frozen=True, slots=True, kw_only=True)
class ReducedSetOptions:
    """A few vectors replace all support vectors, with refitted coefficients."""

    budget: float = option(
        0.1, "How many vectors to keep: a number of them or, below 1, a share of the support vectors.",
        words="a whole number, or a share between 0 and 1",
    )  # fmt: skip
    target: float = option(
        0.0, "If above 0, ignore the budget and keep as few vectors as agree this much on held-out rows.",
        least=0, most=1,
    )  # fmt: skip
    candidates: str = option(
        "rows", "Where data is given: choose among the support vectors only, or among data rows too.",
        among=POOLS,
    )  # fmt: skip
    move: bool = option(True, "Where data is given: move the chosen vectors to where they fit best.")
    synthetic_rows: int = option(
        4000, "How many fitting rows to make up between neighbouring data rows.", least=0
    )
    seed: int = option(0, "Seed of the rows that are made up and held out.", least=0)

    def __post_init__(self) -> None:
        whole = self.budget < 1 or float(self.budget).is_integer()
        if not (self.budget > 0 and whole and np.isfinite(self.budget)):
            raise OptionError(f"budget {self.budget} is neither a number of vectors nor a share below 1")
        check_options("reduced-set", self)


def select_by_rows(values: Array, targets: Array, count: int) -> Order:
    """Columns of kernel values [rows, candidates] that together fit the targets [rows, outputs]."""
    left = values - values.mean(axis=0)  # the bias is always part of the fit
    wanted = _even(targets - targets.mean(axis=0))
    norms = np.square(left).sum(axis=0)
    floor = RANK * norms
    chosen: list[int] = []
    while len(chosen) < count:
        gains = np.square(wanted.T @ left).sum(axis=0)
        best = _best(gains, norms, floor)
        if best < 0:
            break
        chosen.append(best)
        unit = left[:, best] / np.sqrt(norms[best])
        along = unit @ left
        left -= np.outer(unit, along)
        wanted -= np.outer(unit, unit @ wanted)
        norms = np.maximum(norms - np.square(along), 0.0)
        norms[best] = 0.0
    return np.array(chosen, dtype=np.int64)


def select_by_features(
    column: Callable[[int], Array], diagonal: Array, targets: Array, count: int
) -> Order:
    """Candidates whose images span the SVM's own vector best, by a pivoted Cholesky factorisation.

    `column(i)` gives the kernel of all candidates with candidate i, `targets` [candidates, outputs] are
    the SVM's sums without intercepts, that is the inner products with the vector to be approximated.
    """
    wanted = _even(targets)
    norms = diagonal.astype(np.float64).copy()
    floor = RANK * np.abs(norms)
    factor = np.zeros((len(norms), min(count, len(norms))))
    chosen: list[int] = []
    while len(chosen) < count:
        best = _best(np.square(wanted).sum(axis=1), norms, floor)
        if best < 0:
            break
        done = len(chosen)
        residual = column(best) - factor[:, :done] @ factor[best, :done]
        along = residual / np.sqrt(norms[best])
        wanted -= np.outer(along, wanted[best] / np.sqrt(norms[best]))
        norms = np.maximum(norms - np.square(along), 0.0)
        norms[best] = 0.0
        factor[:, done] = along
        chosen.append(best)
    return np.array(chosen, dtype=np.int64)


def _even(targets: Array) -> Array:
    """Targets scaled so that every output counts the same."""
    sizes = np.sqrt(np.square(targets).mean(axis=0))
    return np.asarray(targets / np.where(sizes > 0, sizes, 1.0))


def _best(gains: Array, norms: Array, floor: Array) -> int:
    """The candidate with the largest gain per squared norm, -1 where all are spent."""
    alive = norms > floor
    if not alive.any():
        return -1
    return int(np.argmax(np.where(alive, gains / np.where(alive, norms, 1.0), -1.0)))


@dataclass(frozen=True, eq=False)
class Fit:
    """out = values @ weights.T + bias."""

    weights: Array  # [outputs, vectors]
    bias: Array  # [outputs]

    def predict(self, values: Array) -> Array:
        return np.asarray(values @ self.weights.T + self.bias)


def ridge_fit(values: Array, targets: Array, row_weights: Array, ridge: float) -> Fit:
    """Least squares of targets [rows, outputs] on kernel values [rows, vectors] and a constant."""
    share = row_weights / row_weights.sum()
    centre, level = share @ values, share @ targets
    left, wanted = values - centre, targets - level
    gram = left.T @ (left * share[:, None])
    size = float(np.trace(gram)) / max(1, len(gram))
    gram[np.diag_indices_from(gram)] += ridge * size + np.finfo(np.float64).tiny
    weights = _solve(gram, left.T @ (wanted * share[:, None])).T
    return Fit(weights, level - weights @ centre)


def feature_fit(gram: Array, targets: Array, intercepts: Array) -> Fit:
    """The projection of the SVM's vector on the span of the chosen ones; the bias stays.

    `gram` is the kernel among the chosen vectors, `targets` [vectors, outputs] the SVM's sums there.
    """
    size = float(np.abs(np.diag(gram)).mean())
    ridged = gram + TINY_RIDGE * size * np.eye(len(gram))
    return Fit(_solve(ridged, targets).T, intercepts.copy())


def _solve(matrix: Array, right: Array) -> Array:
    """A symmetric system; the least-squares solution where the matrix is singular."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    try:
        return np.asarray(cho_solve(cho_factor(matrix), right))
    except LinAlgError:
        return np.asarray(np.linalg.lstsq(matrix, right, rcond=None)[0])


def moved(
    kernel: Kernel, vectors: Array, rows: Array, targets: Array, row_weights: Array, steps: int
) -> Array:
    """The vectors after at most so many steps of L-BFGS."""
    from scipy.optimize import minimize

    share = row_weights / row_weights.sum()

    def loss(flat: Array) -> tuple[float, Array]:
        at = flat.reshape(vectors.shape)
        values = kernel.values(rows, at)
        fit = ridge_fit(values, targets, share, RIDGE)
        miss = (fit.predict(values) - targets) * share[:, None]
        pull = miss @ fit.weights  # the loss by each kernel value
        if kernel.kind == "rbf":
            slope = 2 * kernel.gamma * values * pull
            gradient = slope.T @ rows - slope.sum(axis=0)[:, None] * at
        else:
            gradient = (derivative(kernel, values, rows, at) * pull).T @ rows
        return 0.5 * float((miss * (fit.predict(values) - targets)).sum()), gradient.ravel()

    start = vectors.ravel().astype(np.float64)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": steps})
    return np.asarray(found.x).reshape(vectors.shape)


@dataclass(frozen=True, eq=False)
class Reduced:
    """Vectors with their coefficients, how they were found and how well they do."""

    vectors: Array
    fit: Fit
    how: str
    agreement: float | None = None  # on held-out rows
    error: float = 0.0  # mean squared, there


def reduced_set(svm: SVM, data: Data | None, options: ReducedSetOptions) -> Program:
    """f(x) ~ sum_i beta_i k(x, z_i) + b over few vectors z_i."""
    if data is None and options.target > 0:
        raise OptionError("a target agreement is measured on data; pass X (Python) or --data FILE")
    search, count = Search(svm, data, options), int(options.budget)
    if options.budget < 1:
        count = max(1, round(options.budget * svm.n_vectors))
    found = search.to_target(options.target) if options.target > 0 else search.of(count)
    builder = Builder(svm)
    x = builder.preprocess()
    vectors = builder.table("vectors", found.vectors)
    weights, bias = builder.table("weights", found.fit.weights), builder.table("bias", found.fit.bias)
    builder.body.append(ir.KernelSum("sums", x, vectors, weights, bias, svm.kernel))
    details = {
        "vectors": len(found.vectors),
        "support_vectors": svm.n_vectors,
        "chosen": found.how,
        "held_out_agreement": found.agreement,
        "tried": [
            {"vectors": len(one.vectors), "how": one.how, "held_out_agreement": one.agreement}
            for one in search.tried
        ],
    }
    return builder.finish("sums", "reduced-set", Claim.APPROXIMATE, details=details)


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
            fit = Fit(svm.weights_by_sum, svm.intercepts)
            return Reduced(svm.vectors, fit, "all of them, as they are", 1.0)
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
        pool: Array = svm.vectors[np.sort(np.argsort(-weight, kind="stable")[:CANDIDATES])]
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

        def column(i: int) -> Array:
            return kernel.values(pool, pool[i : i + 1])[:, 0]

        yield select_by_features(column, diagonal, targets, count), "chosen in feature space"

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
                yield self._judge(Reduced(vectors, fit, f"{how}, {moves}, {name} weights"))

    def _judge(self, found: Reduced) -> Reduced:
        assert self.rows is not None
        z, wanted = self.rows.z[self.rows.held], self.rows.sums[self.rows.held]
        if not len(z):  # too few rows to hold any out
            z, wanted = self.rows.z, self.rows.sums
        sums = found.fit.predict(self.svm.kernel.values(z, found.vectors))
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


METHOD = Method(
    reduced_set, ReducedSetOptions, Claim.APPROXIMATE, needs_data=False, takes_heads=True,
    quicker=("move=false", "budget=32"),
)  # fmt: skip
